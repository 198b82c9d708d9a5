"""How likely the next draft tokens of a source are to stand: a running estimate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

CLASSES: Final = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128)
"""Evidence from which on a class begins. A token's evidence is its draft's and the draft tokens before it."""
_CLASS_OF: Final = [max(i for i, first in enumerate(CLASSES) if first <= evidence) for evidence in range(129)]
_LAST: Final = len(CLASSES) - 1
_WIDTHS: Final = [end - first for first, end in pairwise(CLASSES)][::-1]
"""Of the classes that have an end, from the last one down."""

USUAL_CHANCES: Final = {
    "edit": (0.075, 0.33, 0.6, 0.7, 0.88, 0.93, 0.95, 0.965, 0.98, 0.988, 0.993, 0.992, 0.99),
    "suffix": (0.1, 0.27, 0.53, 0.63, 0.78, 0.86, 0.92, 0.956, 0.978, 0.989, 0.992, 0.99, 0.99),
    "model": (0.5, 0.6, 0.65, 0.7, 0.72, 0.75, 0.77, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8),
}
"""Chances of a token by class, by source, as they usually are. Those of "edit" and "suffix" were measured over 179
edits; those of "model" are a guess."""
_IN_STEP: Final = 6
"""Evidence from which on a draft goes on until something new comes. Less says how good guesses are at a new place."""
_FIRST_IN_STEP: Final = CLASSES.index(_IN_STEP)
_USUAL: Final = 2.0
"""Wrong tokens for which it counts that a sequence is usually like others."""
_KEPT: Final = 0.99
"""What is left of an observation with each later one."""
_MOST: Final = 0.998
"""No chance is taken to be better: a draft would have no end."""
_LEAST: Final = 0.01
_FOUND_PER_PASS: Final = 1 / 4
"""Of the tokens that are expected to stand, the part that a pass brings: drafts end before, or are wrong before."""


class Acceptance:
    """The chance of a draft token by its evidence, for one source in one sequence.

    Sequences differ most in how often something new comes, which is the same for all evidence in step. So what is
    estimated is how many times as many tokens are wrong as usually: in step, and not yet in step.

    Observed are all tokens that the source would have drafted, also those that no pass verified. So a source that is
    off because it fails is probed in every pass, and that costs no row.
    """

    def __init__(self, chances: Sequence[float]) -> None:
        """``chances`` by class as they usually are."""
        self._usually_wrong = [1 - chance for chance in chances]
        self._wrong = [_USUAL, _USUAL]  # not yet in step, in step
        self._expected = [_USUAL, _USUAL]
        self._chances: list[float] = []  # this and the next by class; empty when out of date
        self._runs: list[float] = []

    def chance(self, evidence: int) -> float:
        """The probability that a token of such evidence stands."""
        return self._current_chances()[_class_of(evidence)]

    def run(self, evidence: int) -> float:
        """How many draft tokens are expected to stand, one after the other, from such evidence on."""
        return self._current_runs()[_class_of(evidence)]

    def expectations(self, evidence: int) -> Iterator[tuple[float, float]]:
        """For each token of a draft of such evidence, without end: the probability that it stands, with all before
        it, and the passes that verifying it saves.

        It saves what it would have cost later. Where tokens can be foreseen from there on that is little, as one
        pass brings many of them.
        """
        chances, runs, stands = self._current_chances(), self._current_runs(), 1.0
        for place in range(_class_of(evidence), _LAST + 1):
            chance, saves = chances[place], 1 / (1 + _FOUND_PER_PASS * runs[place])
            end = CLASSES[place + 1] if place < _LAST else None
            while end is None or evidence < end:
                stands *= chance
                yield stands, stands * saves
                evidence += 1

    def observe(self, evidence: int, draft: Sequence[int], emitted: Sequence[int]) -> None:
        """Compare a draft with what was emitted in its place."""
        for guess, token in zip(draft, emitted, strict=False):
            in_step = evidence >= _IN_STEP
            wrong, expected = float(guess != token), self._usually_wrong[_class_of(evidence)]
            self._wrong[in_step] = _USUAL + _KEPT * (self._wrong[in_step] - _USUAL) + wrong
            self._expected[in_step] = _USUAL + _KEPT * (self._expected[in_step] - _USUAL) + expected
            if wrong:
                break
            evidence += 1
        self._chances, self._runs = [], []

    def _current_chances(self) -> list[float]:
        if not self._chances:
            early, late = (wrong / expected for wrong, expected in zip(self._wrong, self._expected, strict=True))
            chances = [1 - early * usually_wrong for usually_wrong in self._usually_wrong[:_FIRST_IN_STEP]]
            chances += [1 - late * usually_wrong for usually_wrong in self._usually_wrong[_FIRST_IN_STEP:]]
            self._chances = [_MOST if chance > _MOST else _LEAST if chance < _LEAST else chance for chance in chances]
        return self._chances

    def _current_runs(self) -> list[float]:
        if not self._runs:
            *chances, last = self._current_chances()
            run = last / (1 - last)
            runs = [run]
            for chance, width in zip(reversed(chances), _WIDTHS, strict=True):
                through = chance**width
                run = chance * (1 - through) / (1 - chance) + through * run
                runs.append(run)
            self._runs = runs[::-1]
        return self._runs


@dataclass(frozen=True, slots=True)
class Outlook:
    """`Acceptance.expectations`, found anew and as far as needed by whoever iterates over it."""

    acceptance: Acceptance
    evidence: int

    def __iter__(self) -> Iterator[tuple[float, float]]:
        return self.acceptance.expectations(self.evidence)


def _class_of(evidence: int) -> int:
    return _CLASS_OF[evidence] if evidence < len(_CLASS_OF) else _LAST
