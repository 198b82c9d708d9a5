"""A token bucket: what may be spent in the long run, and at once."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic


class TokenBucket:
    """Fills steadily up to a bound, and is emptied by what is spent.

    What a thing costs is known at its end, so the balance may be below zero then: whoever has anything may begin, and
    waits the longer afterwards. So nothing is reserved that is not used, and in the long run nobody has more.

    Args:
        rate: how much it fills in a second.
        burst: what it holds at most, and in the beginning.
        now: a clock in seconds.

    """

    __slots__ = ("_balance", "_burst", "_now", "_rate", "_seen")

    def __init__(self, rate: float, burst: float, now: Callable[[], float] = monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._now = now
        self._balance = burst
        self._seen = now()

    @property
    def full(self) -> bool:
        """Whether it is as a new one would be."""
        return self._filled() >= self._burst

    @property
    def wait(self) -> float:
        """Seconds until there is anything in it; 0 if there is."""
        balance = self._filled()
        return 0.0 if balance > 0 else -balance / self._rate + 1 / self._rate

    def spend(self, amount: float) -> None:
        """Take so much out of it, whether it is there or not."""
        self._balance = self._filled() - amount

    def change(self, rate: float, burst: float) -> None:
        """Fill otherwise from now on; what was spent stays spent."""
        spent = self._burst - self._filled()
        self._rate, self._burst, self._balance = rate, burst, burst - spent

    def _filled(self) -> float:
        now = self._now()
        self._balance = min(self._burst, self._balance + (now - self._seen) * self._rate)
        self._seen = now
        return self._balance
