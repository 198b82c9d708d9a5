"""Which kinds of edits are wanted most, in view of what there is already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

_MOST: Final = 20.0
_SMOOTHING: Final = 0.3
"""Records of a kind of weight 1 that are taken for made at the start, where all lags would be endless."""


class Balance:
    """Counts the records of each kind in each language group and wishes for those that are behind.

    Kinds that apply to nearly every function would otherwise crowd out those that apply to few.
    """

    def __init__(self, weight_of: Callable[[str], float]) -> None:
        """``weight_of`` says how often a kind should occur in relation to others."""
        self._weight_of = weight_of
        self._made: Counter[tuple[str, str]] = Counter()
        self._totals: Counter[str] = Counter()
        self._weights: dict[str, float] = {}

    def expect(self, group: str, kinds: Iterable[str]) -> None:
        """Say which kinds a group may have: the shares of all refer to them."""
        self._weights[group] = sum(map(self._weight_of, kinds))

    def count(self, group: str, kind: str) -> None:
        """A record of this kind was made."""
        self._made[group, kind] += 1
        self._totals[group] += 1

    def lag(self, group: str, kind: str) -> float:
        """How many times too few records of a kind there are: 1 where it has its share, below where more."""
        mean = self._totals[group] / self._weights[group]
        return (mean + _SMOOTHING) / (self._made[group, kind] / self._weight_of(kind) + _SMOOTHING)

    def wish(self, group: str, kind: str, power: float) -> float:
        """How much a kind is wanted: its weight, times its lag to a power."""
        factor = float(self.lag(group, kind) ** power)
        return self._weight_of(kind) * min(_MOST, max(1 / _MOST, factor))
