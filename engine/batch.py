"""What one pass computes: rows of several sequences over a paged cache. Torch-free, as are those who plan passes."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

BLOCK_SIZE: Final = 16
"""Tokens in a block of the paged KV cache."""


@dataclass(slots=True)
class SequenceSlice:
    """Consecutive rows of a batch that belong to one sequence.

    Row ``first_row + i`` is the token at ``position + i``. It attends to all positions up to its own; their keys
    and values lie in the blocks of ``block_table`` (position p in block ``block_table[p // BLOCK_SIZE]``), which
    already has room for the new rows. A table in an ``array("i")`` is read fastest.
    """

    first_row: int
    rows: int
    position: int
    block_table: Sequence[int]

    @property
    def length(self) -> int:
        """Positions of the sequence that hold a token after the pass."""
        return self.position + self.rows

    @property
    def positions(self) -> range:
        """The position of each row."""
        return range(self.position, self.length)

    def slots(self) -> list[int]:
        """Where the keys and values of every position up to ``length`` lie: block * BLOCK_SIZE + place in it."""
        used = self.block_table[: -(-self.length // BLOCK_SIZE)]
        return [slot for block in used for slot in range(block * BLOCK_SIZE, (block + 1) * BLOCK_SIZE)][: self.length]


@dataclass(slots=True)
class Batch:
    """The input of one pass: ``token_ids`` of all rows, and the rows whose logits are wanted, ascending."""

    token_ids: list[int]
    slices: list[SequenceSlice]
    logit_rows: list[int] = field(default_factory=list)


def join_tables(slices: Iterable[SequenceSlice]) -> array[int]:
    """The block tables of all, one after the other, as int32.

    Raises:
        OverflowError: a block number is no int32.

    """
    joined = array("i")
    for piece in slices:
        joined.extend(piece.block_table)
    return joined
