"""What a pass costs on this machine, by its rows and what they attend to."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class PassCost:
    """Time of a pass: a measured curve over its rows, and a part for each key that a row attends to.

    Only proportions matter. Whatever the figures, they decide how much is drafted, never what comes out.

    Attributes:
        curve: rows and seconds of passes without context, ascending and at least two; between and beyond, lines.
        per_key: seconds for each row and key.
    """

    curve: tuple[tuple[int, float], ...]
    per_key: float = 0.0

    def __post_init__(self) -> None:
        rows, seconds = [rows for rows, _ in self.curve], [seconds for _, seconds in self.curve]
        if len(rows) < 2 or sorted(set(rows)) != rows or sorted(seconds) != seconds or seconds[0] <= 0:
            raise ValueError(f"a cost curve ascends, over two points at least: {self.curve}")

    def seconds(self, rows: int, keys: int = 0) -> float:
        """The time of a pass of so many rows that attend to so many keys, all rows' together."""
        right = min(max(bisect_left(self.curve, (rows,)), 1), len(self.curve) - 1)
        (left_rows, left_seconds), (right_rows, right_seconds) = self.curve[right - 1], self.curve[right]
        share = (rows - left_rows) / (right_rows - left_rows)
        return left_seconds + share * (right_seconds - left_seconds) + self.per_key * keys


USUAL_COST: Final = PassCost(((1, 1.0), (32, 2.0), (64, 3.2), (128, 5.6)), per_key=1.2e-5)
"""As long as it was not measured: the default model on two cores, in passes of one row."""
