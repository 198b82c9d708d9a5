"""Look at a service again and again."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from ..telemetry.scrape import MetricsPage, Unreadable
from .figures import Figures
from .view import render


class Watch:
    """A service over the last so many seconds.

    Until so long has passed, that is since the first look; in that one, since the service's start.
    """

    def __init__(
        self, page: MetricsPage, url: str, window: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._page = page
        self._url = url
        self._window = window
        self._clock = clock
        self._looks: deque[tuple[float, Figures]] = deque()

    def look(self) -> RenderableType:
        """Read the metrics and make a screen of them.

        Raises:
            Unreadable: they can't be read.

        """
        try:
            now = Figures.parse(self._page.read())
        except ValueError as error:
            raise Unreadable(f"{self._page.url} has no metrics: {error}") from None
        at = self._clock()
        while len(self._looks) > 1 and at - self._looks[1][0] >= self._window:
            self._looks.popleft()
        self._looks.append((at, now))
        since, earliest = self._looks[0]
        if since == at:
            return render(self._url, now, now, None)
        return render(self._url, now, now.since(earliest), at - since)


def show_once(watch: Watch, to: Console) -> None:
    """Print one screen.

    Raises:
        Unreadable: the metrics can't be read.

    """
    to.print(watch.look())


def show_live(watch: Watch, to: Console, interval: float, sleep: Callable[[float], None] = time.sleep) -> None:
    """Show one screen after another until Ctrl-C. While the service can't be read, the last one stays, and says so.

    Raises:
        KeyboardInterrupt: Ctrl-C.
        Unreadable: not even the first time.

    """
    last = watch.look()
    with Live(last, console=to, screen=True, auto_refresh=False) as live:
        live.refresh()
        while True:
            sleep(interval)
            try:
                last = shown = watch.look()
            except Unreadable as error:
                shown = Group(Text(f"{error}; trying again", style="red"), last)
            live.update(shown, refresh=True)
