"""How late the event loop wakes: nothing that runs on it may keep the others waiting for long."""

from __future__ import annotations

import asyncio
from typing import Final

from .metrics import Metrics
from .tracing import Clock, clock

INTERVAL: Final = 0.05
"""Seconds between two looks. A block shorter than this is seen by chance, in proportion to its length."""
STALL: Final = 0.005
"""Lateness, in seconds, that counts as a stall."""


class LagMonitor:
    """Sets a timer again and again, and observes how long after its time it is called.

    uvloop's timers are exact to a millisecond, so lateness below that says only that there is none.
    """

    def __init__(self, metrics: Metrics, now: Clock = clock) -> None:
        self._metrics = metrics
        self._now = now
        self._timer: asyncio.TimerHandle | None = None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to look."""
        due = self._now() + round(INTERVAL * 1e9)
        self._timer = loop.call_later(INTERVAL, self._wake, loop, due)

    def stop(self) -> None:
        """Look no more. Idempotent."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wake(self, loop: asyncio.AbstractEventLoop, due: int) -> None:
        late = max(self._now() - due, 0) / 1e9
        self._metrics.loop_lag.observe(late)
        if late > STALL:
            self._metrics.loop_stalls.inc()
        self.start(loop)
