"""Where much changed lines stand in an original, by what many of them say together.

Two words changed in a short line leave it about as like its original as some other line happens to be. Told line by
line, that is nothing to go by. But each line is more like its own original than it is like the lines around that one,
so over several lines in a row the right pairing stands out.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import sqrt
from typing import Final

from rapidfuzz.distance import Indel

# Measured on random texts of 10 to 200 lines (code, words, rows of a table): with 25 to 60, no insertion of up to 60
# unrelated lines of the same kind is taken for a change.
EVIDENCE: Final = 40.0
"""By how many characters the pairs must be more alike than usual, together."""
DENSE: Final = 0.7
"""The share of the lines that must have a pair: a block written after the model of another has fewer."""
LATEST: Final = 3
"""One of so many last lines must have a pair, or the change has ended before them."""
SKIP_COST: Final = 0.5
"""Of an original character between two pairs, so that a jump has to be earned."""


def pair_by_resemblance(lines: Sequence[str], original: Sequence[str], free: int = 0) -> list[tuple[int, int]]:
    """The pairs (index of a line, index of its original), both rising, that make the lines most alike in all.

    A pair counts by how far its likeness lies above what is usual between its line and the original's: the mean and
    one standard deviation. So in unrelated text, however uniform, no pairing gains much. Skipping any of the first
    ``free`` lines of the original costs nothing. Takes time proportional to the product of the two counts.

    Returns: [] where the lines don't tell.
    """
    costs = (0.0 if index < free else SKIP_COST * (len(line) + 1) for index, line in enumerate(original))
    skipping = list(accumulate(costs, initial=0.0))
    scores = [-cost for cost in skipping]  # of the best pairing, by how many original lines it has passed
    table: list[list[int]] = []  # a row for each line: which original it pairs with in that pairing, -1 for none
    for line in lines:
        likeness = [Indel.normalized_similarity(line, other) for other in original]
        usual = _usual(likeness)
        row = [-1] * len(scores)
        extended = scores[:]
        for old, other in enumerate(original):
            paired = scores[old] + (len(line) + len(other)) * (likeness[old] - usual)
            if paired > extended[old + 1]:
                extended[old + 1], row[old + 1] = paired, old
            skipped = extended[old] - (skipping[old + 1] - skipping[old])
            if skipped > extended[old + 1]:
                extended[old + 1], row[old + 1] = skipped, row[old]
        scores = extended
        table.append(row)
    passed = max(range(len(scores)), key=scores.__getitem__)
    if scores[passed] < EVIDENCE:
        return []
    pairs: list[tuple[int, int]] = []
    for new in range(len(lines) - 1, -1, -1):
        old = table[new][passed]
        if old >= 0:
            pairs.append((new, old))
            passed = old
    if len(pairs) < DENSE * len(lines) or pairs[0][0] < len(lines) - LATEST:
        return []
    return pairs[::-1]


def _usual(likeness: Sequence[float]) -> float:
    if not likeness:
        return 0.0
    mean = sum(likeness) / len(likeness)
    return mean + sqrt(sum((one - mean) ** 2 for one in likeness) / len(likeness))
