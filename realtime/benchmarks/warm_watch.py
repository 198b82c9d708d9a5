"""Whether a service has done the warm work it was asked for, as its /metrics say: nothing on the wire tells."""

from __future__ import annotations

import asyncio
import re
import time
from typing import Final, NamedTuple

from ..telemetry.scrape import MetricsPage, Unreadable
from .service import ServiceFailed

_POLL_SECONDS: Final = 0.03
_QUIET_SECONDS: Final = 0.25
"""How long nothing may have happened when all is done: one place may be named, and not begun, while another ends."""
_START_SECONDS: Final = 5.0
"""After which a place that was not begun won't be, such as one that has no room."""
LONGEST_SECONDS: Final = 300.0
"""A slow processor takes a minute for some thousand tokens."""
_COUNT: Final = re.compile(rb'^warmline_warm_requests_total\{event="(\w+)"\} (\S+)$', re.MULTILINE)
_ENDS: Final = ("finished", "cancelled", "dropped")


class WarmCounts(NamedTuple):
    """Warm requests of a service since it started."""

    begun: int
    ended: int


class WarmWatch:
    """Looks at a service's warm work. What other clients of it have warmed counts, too."""

    def __init__(self, url: str, api_key: str | None) -> None:
        self._page = MetricsPage(url, api_key)

    async def counts(self) -> WarmCounts:
        """What was begun and has ended so far.

        Raises:
            ServiceFailed: /metrics can't be read.

        """
        return await asyncio.to_thread(self._counts)

    async def until_done(self, before: WarmCounts) -> float | None:
        """Wait until all has ended that was begun, something since ``before``, and nothing more begins.

        Returns the seconds until the last of it ended; None if nothing was begun, or after five minutes.
        """
        began = changed = time.monotonic()
        last = before
        while True:
            counts = await self.counts()
            now = time.monotonic()
            if counts != last:
                last, changed = counts, now
            if counts.begun == counts.ended > before.ended and now - changed >= _QUIET_SECONDS:
                return changed - began
            if now - began >= (LONGEST_SECONDS if counts.begun > before.begun else _START_SECONDS):
                return None
            await asyncio.sleep(_POLL_SECONDS)

    def _counts(self) -> WarmCounts:
        try:
            page = self._page.read()
        except Unreadable as error:
            raise ServiceFailed(f"{error} (it says when warm work is done)") from None
        found = {name.decode(): int(float(value)) for name, value in _COUNT.findall(page)}
        return WarmCounts(found.get("started", 0), sum(found.get(name, 0) for name in _ENDS))
