"""How likely the next draft tokens of a source are to stand: a running estimate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

CLASSES: Final = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128)
"""Evidence from which on a class begins. A token's evidence is its draft's and the draft tokens before it."""
_CLASS_OF: Final = [max(i for i, first in enumerate(CLASSES) if first <= evidence) for evidence in range(129)]
_LAST: Final = len(CLASSES) - 1

USUAL_CHANCES: Final = {
    "edit": (0.075, 0.33, 0.6, 0.7, 0.88, 0.93, 0.95, 0.965, 0.98, 0.988, 0.993, 0.992, 0.99),
    "suffix": (0.1, 0.27, 0.53, 0.63, 0.78, 0.86, 0.92, 0.956, 0.978, 0.989, 0.992, 0.99, 0.99),
    "model": (0.5, 0.6, 0.65, 0.7, 0.72, 0.75, 0.77, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8),
}
"""Chances of a token by class, by source, as long as nothing was observed. Those of "edit" and "suffix" were measured
over 179 edits; those of "model" are a guess."""
_RATE: Final = 1 / 48
"""What an observation counts for."""
_MOST: Final = 0.998
"""No chance is taken to be better: a draft would have no end."""


class Acceptance:
    """The chance of a draft token by its evidence, for one source in one sequence.

    Observed are all tokens that the source would have drafted, also those that no pass verified. So a source that is
    off because it fails is probed in every pass, and that costs no row.
    """

    def __init__(self, chances: Sequence[float]) -> None:
        """``chances`` by class to begin with."""
        self._chances = list(chances)
        self._runs: list[float] = []  # see `run`, by class; empty when out of date

    def chance(self, evidence: int) -> float:
        """The probability that a token of such evidence stands."""
        return self._chances[_class_of(evidence)]

    def run(self, evidence: int) -> float:
        """How many draft tokens are expected to stand, one after the other, from such evidence on."""
        if not self._runs:
            self._runs = self._expected_runs()
        return self._runs[_class_of(evidence)]

    def observe(self, evidence: int, draft: Sequence[int], emitted: Sequence[int]) -> None:
        """Compare a draft with what was emitted in its place."""
        for index, (guess, token) in enumerate(zip(draft, emitted, strict=False), evidence):
            place = _class_of(index)
            self._chances[place] += _RATE * ((_MOST if guess == token else 0.0) - self._chances[place])
            if guess != token:
                break
        self._runs = []

    def _expected_runs(self) -> list[float]:
        chance = self._chances[_LAST]
        runs = [chance / (1 - chance)]
        for place in range(_LAST - 1, -1, -1):
            chance, width = self._chances[place], CLASSES[place + 1] - CLASSES[place]
            through = chance**width
            runs.append(chance * (1 - through) / (1 - chance) + through * runs[-1])
        return runs[::-1]


def _class_of(evidence: int) -> int:
    return _CLASS_OF[evidence] if evidence < len(_CLASS_OF) else _LAST
