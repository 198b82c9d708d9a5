"""What passes cost, corrected by each that runs: a measurement is short, and others use the machine, too."""

from __future__ import annotations

import math
from bisect import bisect_left
from itertools import accumulate
from typing import Final

from ..batch import Batch
from ..budget import attended
from .cost import PassCost

_FURTHER_ROWS: Final = (128, 512)
"""Points of the curve beyond those that were measured: passes of prompts have so many rows."""
_LEVEL_RATE: Final = 0.4
_RATE: Final = 0.1
"""What a pass moves, of what it differs by: the machine's speed as a whole, and the figures it is made of. The first
is more, so that other work on the machine, which passes of all sizes feel, is hardly taken for another curve."""
_EARLY: Final = 5
_EARLY_PASSES: Final = 100
"""So many times as much a figure moves at first, and less and less until so many passes were about it. What was
measured decides which passes run, so a figure that is far off would else keep away those that could correct it. Not
the first one: it is what others are compared with, and the machine's speed is told apart from it."""
_MOST: Final = 0.3
"""A pass counts as no further off: one that the system interrupted says little more than one that was a bit slow."""
_SLOWER: Final = 0.5
"""What a pass that took longer than expected counts, beside one that took less: nothing makes a pass too short."""
_FARTHEST: Final = math.log(8)
"""No figure leaves what was measured by more."""
_NOTICED: Final = 0.03
"""By less the cost is not made anew: what is computed from it is kept."""
_LEAST_KEY: Final = 2e-6
"""What a key is taken to cost at least, in passes of one row: from nothing there would be no way up."""


class LearnedCost:
    """A measured `PassCost` that follows what real passes take.

    Kept are logarithms: of the time at each point of the curve, of a key's, and of how many times as long everything
    takes just now. A pass moves them towards what it took, in the proportion in which they make up what was expected
    of it (robust regression, a normalised step of Huber's loss for each pass; one that took longer weighs less). So
    interrupted passes hardly move anything, and figures that no pass is about stay as they are. A figure moves most
    in the first passes about it.

    Attributes:
        cost: the current one, another object whenever it has changed by some per cent.
    """

    def __init__(self, measured: PassCost, scored_part: float = 0.0) -> None:
        """``scored_part`` is the part of a row's work that is done only where its logits are wanted."""
        last = measured.curve[-1][0]
        self._rows = [rows for rows, _ in measured.curve] + [rows for rows in _FURTHER_ROWS if rows > last]
        key = max(measured.per_key, _LEAST_KEY * measured.seconds(1))
        # At each of the rows, and last that of a key.
        self._measured = [math.log(seconds) for seconds in (*map(measured.seconds, self._rows), key)]
        self._figures = list(self._measured)
        self._seen = [0.0] * len(self._figures)  # the passes about each, by its part in them
        self._level = 0.0
        self._scored_part = scored_part
        self._publish()

    def observe_pass(self, batch: Batch, seconds: float) -> None:
        """A pass took so long from its beginning to its end."""
        keys = sum(attended(piece.position, piece.rows) for piece in batch.slices)
        self.observe(len(batch.token_ids), keys, seconds, len(batch.logit_rows))

    def observe(self, rows: int, keys: int, seconds: float, scored: int) -> None:
        """A pass of ``rows`` over ``keys``, all rows' together, took so long; the logits of ``scored`` were wanted.

        The curve is about rows whose logits are wanted; others count as less than one.
        """
        if seconds <= 0:
            return
        parts = self._parts(rows - self._scored_part * (rows - scored), keys)
        expected = sum(part for _, part in parts)
        off = math.log(seconds / expected) - self._level
        step = max(off, -_MOST) if off < 0 else _SLOWER * min(off, _MOST)
        self._level += _LEVEL_RATE * step
        step *= _RATE * expected / sum(part * part for _, part in parts)
        for index, part in parts:
            early = 1 + (_EARLY - 1) * max(1 - self._seen[index] / _EARLY_PASSES, 0.0) if index else 1.0
            self._seen[index] += part / expected
            least, most = self._measured[index] - _FARTHEST, self._measured[index] + _FARTHEST
            self._figures[index] = min(max(self._figures[index] + early * step * part, least), most)
        if any(abs(self._figures[index] - self._published[index]) > _NOTICED for index, _ in parts):
            self._publish()

    @property
    def row_seconds(self) -> float:
        """What a pass of one row takes just now."""
        return math.exp(self._level) * self.cost.seconds(1)

    def _parts(self, rows: float, keys: int) -> list[tuple[int, float]]:
        """The figures that make up what is expected of a pass, and the seconds of each; none that has no part."""
        right = min(max(bisect_left(self._rows, rows), 1), len(self._rows) - 1)
        first, last = self._rows[right - 1], self._rows[right]
        share = min(max((rows - first) / (last - first), 0.0), 1.0)
        beyond = max(rows / last, 1.0)
        weights = ((right - 1, 1 - share), (right, share * beyond), (len(self._rows), keys))
        return [(index, weight * math.exp(self._figures[index])) for index, weight in weights if weight]

    def _publish(self) -> None:
        self._published = list(self._figures)
        *curve, key = map(math.exp, self._figures)
        self.cost = PassCost(tuple(zip(self._rows, accumulate(curve, max), strict=True)), key)
