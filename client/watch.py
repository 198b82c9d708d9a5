"""Finds out that a connection is dead that looks alive: nothing comes, and no error either."""

from __future__ import annotations

from typing import Final, Literal

SLEPT: Final = 3.0
"""Seconds that the wall clock may run ahead of the monotonic one before this counts as the machine's sleep."""
AFTER_SLEEP: Final = 5.0
"""Seconds that the other side has to answer after that. What was open then is mostly gone, without a word."""

Verdict = Literal["fine", "ask", "dead"]


class Watch:
    """Decides, from time to time, whether the other side has to be asked for a sign of life, or is gone.

    Args:
        interval: after so many seconds of silence it is asked, and after as many more it is gone.
        now, wall: the monotonic clock and the wall clock, in seconds.

    """

    def __init__(self, interval: float, now: float, wall: float) -> None:
        self._interval = interval
        self._now, self._wall = now, wall
        self._asked: float | None = None
        self._patience = interval

    @property
    def every(self) -> float:
        """How often to `look`, in seconds."""
        return min(self._interval / 4, 1.0)

    def look(self, now: float, wall: float, heard: float) -> Verdict:
        """``heard`` is when the other side last said something, by the monotonic clock."""
        # The monotonic clock stands still while a machine sleeps, or is late with us when the process was stopped.
        late = now - self._now - self.every
        slept = wall - self._wall - (now - self._now) > SLEPT or late > SLEPT
        self._now, self._wall = now, wall
        if self._asked is not None and heard >= self._asked:
            self._asked = None
        if slept or (self._asked is None and now - heard >= self._interval):
            self._asked = now
            self._patience = min(AFTER_SLEEP, self._interval) if slept else self._interval
            return "ask"
        if self._asked is not None and now - self._asked >= self._patience:
            return "dead"
        return "fine"
