"""From UTF-16 offsets to string indices and back in texts with characters beyond the basic plane."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import Final

from .text import string_index, utf16_length, utf16_offset

BLOCK_CHARS: Final = 4096
"""What a block has at most. Looking into one takes up to ten microseconds."""


class OffsetIndex:
    """How many characters and how many UTF-16 units the blocks of a text have.

    It doesn't hold the text, which has to be given to what looks into a block. Finding a place costs one block, and
    following a change the blocks it touches, however many characters of two units there are.
    """

    __slots__ = ("_indices", "_offsets")

    def __init__(self, indices: list[int], offsets: list[int]) -> None:
        """Take where the blocks begin and, last, where the text ends: as string indices and as UTF-16 offsets."""
        self._indices = indices
        self._offsets = offsets

    @classmethod
    def of(cls, text: str) -> OffsetIndex:
        """The index of a text. It takes a millisecond for a million characters."""
        chars, units = _counted(text)
        return cls(list(accumulate(chars, initial=0)), list(accumulate(units, initial=0)))

    @property
    def length(self) -> int:
        """The text's, in UTF-16 units."""
        return self._offsets[-1]

    def index(self, text: str, offset: int) -> int:
        """The string index of an offset in the text that this is the index of.

        Raises:
            ValueError: it lies outside the text or inside a surrogate pair.

        """
        block = bisect_right(self._offsets, offset) - 1
        if 0 <= block < len(self._offsets) - 1:
            start, first = self._indices[block], self._offsets[block]
            end = self._indices[block + 1]
            if self._offsets[block + 1] - first == end - start:
                return start + offset - first
            try:
                return start + string_index(text[start:end], offset - first)
            except ValueError:
                raise ValueError(f"offset {offset} lies inside a surrogate pair") from None
        if offset == self._offsets[-1]:
            return self._indices[-1]
        raise ValueError(f"offset {offset} is outside the text, which has {self._offsets[-1]} UTF-16 units")

    def offset(self, text: str, index: int) -> int:
        """The offset of a string index, which must be within the text that this is the index of."""
        block = bisect_right(self._indices, index) - 1
        start, first = self._indices[block], self._offsets[block]
        return first + utf16_offset(text[start:index], index - start)

    def blocks_around(self, start: int, end: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """The whole blocks in which the units [start, end) lie: as string indices and as UTF-16 offsets."""
        first, last = self._blocks(start, end)
        return (self._indices[first], self._indices[last]), (self._offsets[first], self._offsets[last])

    def replaced(self, text: str, start: int, end: int, length: int) -> OffsetIndex:
        """The index after the units [start, end) have been replaced, which made ``text`` of ``length`` units."""
        first, last = self._blocks(start, end)
        if first and self._indices[last] - self._indices[first] < BLOCK_CHARS:
            first -= 1  # or small blocks would pile up
        index, offset = self._indices[first], self._offsets[first]
        grown = len(text) - self._indices[-1]
        chars, units = _counted(text[index : self._indices[last] + grown])
        moved = length - self._offsets[-1]
        return OffsetIndex(
            [
                *self._indices[:first],
                *accumulate(chars, initial=index),
                *(at + grown for at in self._indices[last + 1 :]),
            ],
            [
                *self._offsets[:first],
                *accumulate(units, initial=offset),
                *(at + moved for at in self._offsets[last + 1 :]),
            ],
        )

    def _blocks(self, start: int, end: int) -> tuple[int, int]:
        """The first block that has to do with the units [start, end), and the one behind the last."""
        most = len(self._offsets) - 1
        first = min(bisect_right(self._offsets, start) - 1, max(most - 1, 0))
        return first, min(max(bisect_right(self._offsets, end), first + 1), most)


def _counted(text: str) -> tuple[list[int], list[int]]:
    """The characters and the units of each block that a text is cut into."""
    blocks = [text[at : at + BLOCK_CHARS] for at in range(0, len(text), BLOCK_CHARS)]
    return list(map(len, blocks)), list(map(utf16_length, blocks))
