"""Edits of a text, counted in UTF-16 units and applied in order, each to the result of the one before.

Editors replace many places going through a text in one direction, from either end. Such edits are places in the text
as it was, and one pass puts all of them in. Others are applied one by one, each in a block of the text.
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final, NamedTuple, overload

from ..errors import Refused
from ..protocol import ErrorCode, TextEdit
from .text import utf16_length

_BLOCK_BYTES: Final = 1 << 14
"""Of a text whose edits go to and fro: one costs the blocks it passes by, and moving the rest of its own."""

MAX_NEAR: Final = 16
"""Edits of one change that somebody who follows a part of the text looks at one by one."""

_ANY_LENGTH: Final = sys.maxsize

_Place = tuple[int, int, str]
"""The units [start, end) of a text as it was, and what replaces them."""


class Near(NamedTuple):
    """Edits that have to do with a part of a text.

    Attributes:
        moved: by how many units the edits before the part move it. They aren't in ``edits``, nor counted there.
        edits: in order, each counted in the result of the one before.
    """

    moved: int
    edits: Sequence[TextEdit]


class EditSequence(Sequence[TextEdit]):
    """Edits of a text of ``length`` units, found to lie within it.

    Attributes:
        start: no unit before is touched.
        end: none from here on is, counted in the text as it was.
        one_way: they go through the text in one direction.

    Raises:
        Refused: INVALID_RANGE, naming the edit.

    """

    __slots__ = ("_edits", "_ends", "_grown", "_places", "_starts", "end", "one_way", "start")

    def __init__(self, edits: Sequence[TextEdit], length: int) -> None:
        self._edits = edits
        places = _downwards(edits, length)
        if places is None:
            places = _upwards(edits, length)
        self._places = places or []
        self.one_way = places is not None
        if places:
            self.start, self.end = places[0][0], places[-1][1]
        else:
            self.start, self.end = _extent(edits, length) if edits else (0, 0)
        self._starts: list[int] | None = None  # of the places, and so on, once somebody looks for those near one
        self._ends: list[int] = []
        self._grown: list[int] = []  # by the first n places

    @classmethod
    def of(cls, edits: Sequence[TextEdit]) -> EditSequence:
        """The sequence of edits, which may be one already; that they lie within a text is not found out otherwise."""
        return edits if isinstance(edits, cls) else cls(edits, _ANY_LENGTH)

    def __len__(self) -> int:
        return len(self._edits)

    def __iter__(self) -> Iterator[TextEdit]:
        return iter(self._edits)

    @overload
    def __getitem__(self, index: int) -> TextEdit: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[TextEdit]: ...
    def __getitem__(self, index: int | slice) -> TextEdit | Sequence[TextEdit]:
        return self._edits[index]

    def near(self, start: int, end: int) -> Near | None:
        """As `edits_near`, without going through all edits."""
        if not self.one_way:
            if self.start <= end and self.end >= start:
                return None
            return Near(grown(self._edits) if self.end < start else 0, ())
        if self._starts is None:
            self._starts = [place[0] for place in self._places]
            self._ends = [place[1] for place in self._places]
            sizes = (utf16_length(text) - (end - start) for start, end, text in self._places)
            self._grown = list(accumulate(sizes, initial=0))
        first, last = bisect_left(self._ends, start), bisect_right(self._starts, end)
        if last - first > MAX_NEAR:
            return None
        before = self._grown[first]
        moved = (growth - before for growth in self._grown[first:last])
        edits = [
            TextEdit(start + by, end + by, text)
            for (start, end, text), by in zip(self._places[first:last], moved, strict=True)
        ]
        return Near(before, edits)

    def apply(self, text: str, length: int, origin: int = 0) -> str:
        """The new text of one that has so many units; or of the part from ``origin`` on that all edits lie in.

        Raises:
            Refused: INVALID_RANGE, an edit cuts a surrogate pair; it is named.

        """
        if not self.one_way:
            return _apply_in_blocks(text, self._edits, origin)
        if length == len(text):
            parts: list[str] = []
            at = 0
            for start, end, new in self._places:
                parts += text[at : start - origin], new
                at = end - origin
            return "".join((*parts, text[at:]))
        content = text.encode("utf-16-le") + b"\0\0"  # there is a unit behind each edit, then
        encoded = {new: new.encode("utf-16-le") for _, _, new in self._places}  # mostly a few texts in many places
        pieces: list[bytes] = []
        at = 0
        for number, (start, end, new) in enumerate(self._places):
            first, behind = 2 * (start - origin), 2 * (end - origin)
            if content[first + 1] & 0xFC == 0xDC or content[behind + 1] & 0xFC == 0xDC:
                raise self._inside_pair(number, _is_second_half(content, first))
            pieces += content[at:first], encoded[new]
            at = behind
        return b"".join((*pieces, content[at:-2])).decode("utf-16-le")

    def _inside_pair(self, place: int, at_start: bool) -> Refused:
        number = place if self._edits[0].start == self._places[0][0] else len(self._edits) - 1 - place
        edit = self._edits[number]
        return _inside_pair(edit.start if at_start else edit.end, number)


def apply_edits(text: str, edits: Sequence[TextEdit], length: int | None = None) -> str:
    """Apply edits in order, each to the result of the one before.

    ``length`` is the text's in UTF-16 units, if that is known.

    Raises:
        Refused: INVALID_RANGE, naming the edit.

    """
    if length is None:
        length = utf16_length(text)
    return EditSequence(edits, length).apply(text, length)


def edits_near(edits: Sequence[TextEdit], start: int, end: int) -> Near | None:
    """What edits of a text have to do with its units [start, end), for somebody who follows these.

    Up to `MAX_NEAR` edits are all looked at. Of more, those that touch the units, as they were, count; where the
    edits go to and fro, all of them do if what lies between the first and the last place that they touch does.

    Returns None if more than `MAX_NEAR` count.
    """
    if len(edits) <= MAX_NEAR:
        return Near(0, edits)
    return EditSequence.of(edits).near(start, end)


def grown(edits: Sequence[TextEdit]) -> int:
    """By how many units edits make a text longer."""
    return sum(utf16_length(edit.text) - (edit.end - edit.start) for edit in edits)


def check_range(start: int, end: int, length: int, edit: int | None = None) -> None:
    """Whether [start, end) lies in a text of so many units.

    Raises:
        Refused: INVALID_RANGE, naming the edit of that number.

    """
    if start <= end <= length:
        return
    where = "" if edit is None else f"edit {edit}: "
    what = f"offset {start}" if start == end and edit is None else f"the range {start}..{end}"
    problem = f"is outside the text, whose places are 0 to {length}, in UTF-16 units"
    if start > end:
        problem = "is reversed; the smaller offset comes first"
    raise Refused(ErrorCode.INVALID_RANGE, f"{where}{what} {problem}")


def _upwards(edits: Sequence[TextEdit], length: int) -> list[_Place] | None:
    """The places of edits each of which is before what the last one left; None if one isn't."""
    places: list[_Place] = []
    ceiling = length
    for number, (start, end, text) in enumerate((edit.start, edit.end, edit.text) for edit in edits):
        if end > ceiling and number:
            return None
        if not start <= end <= length:
            check_range(start, end, length, number)
        places.append((start, end, text))
        ceiling = start
    places.reverse()
    return places


def _downwards(edits: Sequence[TextEdit], length: int) -> list[_Place] | None:
    """The places of edits each of which is behind what the last one left; None if one isn't."""
    places: list[_Place] = []
    floor = moved = 0
    for number, edit in enumerate(edits):
        start, end, text = edit.start, edit.end, edit.text
        if start < floor:
            return None
        if not start <= end <= length + moved:
            check_range(start, end, length + moved, number)
        places.append((start - moved, end - moved, text))
        size = len(text) if text.isascii() else utf16_length(text)
        floor = start + size
        moved += size - (end - start)
    return places


def _extent(edits: Sequence[TextEdit], length: int) -> tuple[int, int]:
    """What all edits lie in, as units of the text as it was."""
    start = rest = now = length
    for number, edit in enumerate(edits):
        check_range(edit.start, edit.end, now, number)
        start, rest = min(start, edit.start), min(rest, now - edit.end)
        now += utf16_length(edit.text) - (edit.end - edit.start)
    return start, length - rest


def _apply_in_blocks(text: str, edits: Sequence[TextEdit], origin: int) -> str:
    """Apply edits in any order to the blocks of the text's UTF-16 units, going from one to the next."""
    content = memoryview(text.encode("utf-16-le"))
    blocks = [bytearray(content[at : at + _BLOCK_BYTES]) for at in range(0, len(content), _BLOCK_BYTES)]
    blocks = blocks or [bytearray()]
    number = begin = 0  # the block that the last edit was in, and where it begins
    for count, edit in enumerate(edits):
        start, end = 2 * (edit.start - origin), 2 * (edit.end - origin)
        while start < begin:
            number -= 1
            begin -= len(blocks[number])
        while start > begin + len(blocks[number]):
            begin += len(blocks[number])
            number += 1
        block = blocks[number]
        if end + 2 > begin + len(block) and number + 1 < len(blocks):  # the unit behind the edit is looked at, too
            last, size = number + 1, len(block)
            while last < len(blocks) and end + 2 > begin + size:
                size += len(blocks[last])
                last += 1
            block = bytearray().join(blocks[number:last])
            blocks[number:last] = [block]
        first, behind = start - begin, end - begin
        if _is_second_half(block, first):
            raise _inside_pair(edit.start, count)
        if _is_second_half(block, behind):
            raise _inside_pair(edit.end, count)
        block[first:behind] = edit.text.encode("utf-16-le")
        if len(block) > 2 * _BLOCK_BYTES:
            blocks[number : number + 1] = [block[at : at + _BLOCK_BYTES] for at in range(0, len(block), _BLOCK_BYTES)]
    return b"".join(blocks).decode("utf-16-le")


def _is_second_half(content: bytes | bytearray, at: int) -> bool:
    """Whether the little-endian unit there is the second half of a surrogate pair."""
    return at < len(content) and 0xDC <= content[at + 1] <= 0xDF


def _inside_pair(offset: int, edit: int) -> Refused:
    return Refused(ErrorCode.INVALID_RANGE, f"edit {edit}: offset {offset} lies inside a surrogate pair")
