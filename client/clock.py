"""How far the server's clock is from ours, from four timestamps (RFC 5905, section 8)."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import Final

SAMPLES: Final = 8
DRIFT: Final = 15e-6
"""How fast two clocks may part, as RFC 5905 assumes (PHI)."""


def now() -> int:
    """A monotonic clock in microseconds, fine-grained on every platform."""
    return time.perf_counter_ns() // 1000


@dataclass(frozen=True, slots=True)
class ClockSample:
    """One exchange: the server's clock minus ours, and the round trip without the server's share, in microseconds."""

    offset: float
    delay: int
    at: int

    def error_bound(self, at: int) -> float:
        """How far ``offset`` may be off at a later time of our clock: half the delay, plus drift since then."""
        return self.delay / 2 + DRIFT * (at - self.at)


class ClockFilter:
    """Keeps the newest samples and trusts the one with the smallest error bound."""

    def __init__(self) -> None:
        self._samples: deque[ClockSample] = deque(maxlen=SAMPLES)

    def add(self, sent: int, received: int, replied: int, arrived: int) -> ClockSample:
        """Take an exchange: ``sent`` and ``arrived`` on our clock, ``received`` and ``replied`` on the server's."""
        sample = ClockSample(
            offset=((received - sent) + (replied - arrived)) / 2,
            delay=max((arrived - sent) - (replied - received), 0),
            at=arrived,
        )
        self._samples.append(sample)
        return sample

    def best(self, at: int) -> ClockSample | None:
        """The sample that says most of the server's clock at ``at``; None before the first one."""
        return min(self._samples, key=lambda sample: sample.error_bound(at), default=None)

    def offset(self, at: int) -> float | None:
        """The server's clock minus ours, as well as it is known at ``at``; None before the first sample."""
        sample = self.best(at)
        return None if sample is None else sample.offset
