"""From UTF-16 offsets to string indices in texts with characters beyond the basic plane."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

from .text import utf16_length

MOST_PAIRS: Final = 4096
"""Above it, counting through the text is no slower."""

_BEYOND: Final = re.compile("[\U00010000-\U0010ffff]")


class PairIndex:
    """Where the characters of two UTF-16 units are in a text: each offset that lies before them is moved by one.

    Files have none or a few, so that finding a place, and following a change, takes microseconds in a megabyte, too.
    """

    __slots__ = ("_offsets",)

    def __init__(self, offsets: list[int]) -> None:
        """Take the offsets of those characters, in order."""
        self._offsets = offsets

    @classmethod
    def of(cls, text: str, length: int) -> PairIndex | None:
        """The index of a text of so many units; None if there are too many such characters."""
        pairs = length - len(text)
        if pairs > MOST_PAIRS:
            return None
        return cls(list(_pairs(text, 0)) if pairs else [])

    def index(self, offset: int) -> int:
        """The string index of an offset within the text.

        Raises:
            ValueError: it lies inside a surrogate pair.

        """
        before = bisect_left(self._offsets, offset)
        if before and self._offsets[before - 1] == offset - 1:
            raise ValueError(f"offset {offset} lies inside a surrogate pair")
        return offset - before

    def replaced(self, start: int, end: int, text: str) -> PairIndex:
        """The index after the units [start, end) have been replaced by a text."""
        length = utf16_length(text)
        if not self._offsets and length == len(text):
            return self
        first, last = bisect_left(self._offsets, start), bisect_left(self._offsets, end)
        moved = length - (end - start)
        inserted = _pairs(text, start) if length > len(text) else ()
        return PairIndex([*self._offsets[:first], *inserted, *(at + moved for at in self._offsets[last:])])


def _pairs(text: str, start: int) -> Iterator[int]:
    """The offsets of the characters of two units in a text that begins at ``start``."""
    return (start + match.start() + number for number, match in enumerate(_BEYOND.finditer(text)))
