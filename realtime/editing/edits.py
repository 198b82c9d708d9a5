"""Turns the new text of a range, while a model writes it, into minimal operations over the text that was there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from typing import Final

from rapidfuzz.distance import Indel

from ..documents.text import utf16_length
from ..protocol import Operation
from .alignment import Hunk, LineAligner

DIFFERENCE_AREA: Final = 1 << 25
"""The sum of products of lengths that is compared item by item at once (3 ms); beyond, coarser items are taken."""
_WORD_AREA: Final = 1 << 10
"""What finding the words of a text counts for, for each character."""

_WORD: Final = re.compile(r"\w+|\n|[^\S\n]+|[^\w\s]")

Change = tuple[int, int, str]
"""A slice of a text, by start and end, and what replaces it."""


class EditAligner:
    """Makes the operations of one edit. Feed it the model's text as it comes, then finish it once.

    Text is fed with ``\\n`` line ends, however it is cut in pieces. A line that is kept keeps the line end that it
    has in the original; an inserted one gets the line end that most lines of the original have (``line_end`` if there
    is none), or of ``whole``, where the original is what is left of that. Only ``\\n`` and ``\\r\\n`` end a line.
    Operations count UTF-16 units and never split a character.

    The two texts are *in step* at the end of a line of new text once an operation has left for it: everything
    written so far is then said by operations, and it is decided where the original goes on. That is so at the end of
    each copied line while nothing is pending; after a change, once the lines that follow have settled where it ends;
    and in a change that outgrew `alignment.HELD_LINES`, where its older lines leave unsettled. Operations leave only
    at such points. So at any moment those that have left, applied to the original, give the new text up to the last
    point in step and then the original from there on.
    """

    def __init__(self, original: str, line_end: str = "\n", *, whole: str | None = None) -> None:
        lines = original.split("\n")
        last = lines.pop()
        self._is_crlf = [line.endswith("\r") for line in lines]
        self._lines = [line.removesuffix("\r") + "\n" for line in lines]
        if last:
            self._is_crlf.append(False)
            self._lines.append(last)
        of_range = original if whole is None else whole
        ends, crlf = of_range.count("\n"), of_range.count("\r\n")
        self._line_end = line_end if not ends else "\r\n" if 2 * crlf > ends else "\n"
        self._line = 0  # of the original, the next that no operation covers
        self._aligner = LineAligner(self._lines)
        self._unfinished: list[str] = []  # pieces of a line

    def feed(self, text: str) -> list[Operation]:
        """Take the next piece of new text; returns the operations that can leave now, possibly none."""
        if "\n" not in text:
            self._unfinished.append(text)
            return []
        first, *others = text.split("\n")
        lines = ["".join((*self._unfinished, first)), *others]
        self._unfinished = [lines.pop()]
        return self._operations(hunk for line in lines for hunk in self._aligner.push(line + "\n"))

    def finish(self, completed: bool) -> list[Operation]:
        """End the edit; returns the operations that remain.

        If it is completed, all operations together give exactly the new text. If it was cut short, nothing more is
        said: the original stays as it is from the last point in step on.
        """
        if not completed:
            return []
        return self._operations(self._aligner.finish("".join(self._unfinished)))

    def _operations(self, hunks: Iterable[Hunk]) -> list[Operation]:
        operations: list[Operation] = []
        kept = deleted = 0
        inserted: list[str] = []

        def close_change() -> None:
            nonlocal deleted
            if deleted:
                operations.append(-deleted)
            if inserted:
                operations.append("".join(inserted))
            deleted = 0
            inserted.clear()

        effort = Effort()
        for hunk in hunks:
            for units, is_kept, text in self._steps(hunk, effort):
                if is_kept and units:
                    close_change()
                    kept += units
                elif units or text:
                    if kept:
                        operations.append(kept)
                        kept = 0
                    deleted += units
                    if text:
                        inserted.append(text)
        close_change()
        if kept:
            operations.append(kept)
        return operations

    def _steps(self, hunk: Hunk, effort: Effort) -> Iterator[tuple[int, bool, str]]:
        """Units of the original to keep or delete, and text to insert there, in order."""
        first = self._line
        self._line += hunk.lines
        if hunk.text is None:
            yield sum(map(self._units, range(first, self._line))), True, ""
            return
        removed = "".join(self._lines[first : self._line])
        line, at = first, 0
        for start, end, text in [*shortest_changes(removed, hunk.text, effort), (len(removed), len(removed), "")]:
            for stop, is_kept in ((start, True), (end, False)):
                part = removed[at:stop]
                line_ends = part.count("\n")
                units = utf16_length(part) + sum(self._is_crlf[line : line + line_ends])
                line, at = line + line_ends, stop
                yield units, is_kept, "" if is_kept else text.replace("\n", self._line_end)

    def _units(self, line: int) -> int:
        return utf16_length(self._lines[line]) + self._is_crlf[line]


class Effort:
    """What finding differences may still cost, as an area: the loop that waits for it serves others, too."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = DIFFERENCE_AREA

    def affords(self, area: int) -> bool:
        """Whether there is so much left, which then is spent."""
        if area > self._left:
            return False
        self._left -= area
        return True


def shortest_changes(removed: str, added: str, effort: Effort | None = None) -> list[Change]:
    """What to replace in one text to get another, in order: the fewest characters, whole words where that is free.

    Where the effort doesn't last, texts are compared word by word only, or replaced between their first and last
    difference.
    """
    if removed == added:
        return []
    if not removed or not added:
        return [(0, len(removed), added)]
    effort = effort or Effort()
    by_words = _changes_by_words(removed, added, effort)
    by_characters = effort.affords(len(removed) * len(added))
    if by_characters and (by_words is None or _size(by_words) != Indel.distance(removed, added)):
        return _changes_by_characters(removed, added, 0)
    return [_enclosing_change(removed, added)] if by_words is None else by_words


def _size(changes: Iterable[Change]) -> int:
    return sum(end - start + len(text) for start, end, text in changes)


def _changes_by_words(removed: str, added: str, effort: Effort) -> list[Change] | None:
    if not effort.affords(_WORD_AREA * (len(removed) + len(added))):
        return None
    old, new = _WORD.findall(removed), _WORD.findall(added)
    if not effort.affords(len(old) * len(new)):
        return None
    old_offsets = list(accumulate(map(len, old), initial=0))
    changes: list[Change] = []
    for old_start, old_end, new_start, new_end in _differences(old, new):
        start, end = old_offsets[old_start], old_offsets[old_end]
        text = "".join(new[new_start:new_end])
        if start < end and text and effort.affords((end - start) * len(text)):
            changes += _changes_by_characters(removed[start:end], text, start)
        else:
            changes.append((start, end, text))
    return changes


def _changes_by_characters(removed: str, added: str, offset: int) -> list[Change]:
    return [
        (offset + old_start, offset + old_end, added[new_start:new_end])
        for old_start, old_end, new_start, new_end in _differences(removed, added)
    ]


def _differences(old: str | list[str], new: str | list[str]) -> Iterator[tuple[int, int, int, int]]:
    """The slices of two sequences between the items that their longest common subsequence keeps."""
    old_at = new_at = 0
    for block in Indel.opcodes(old, new).as_matching_blocks():
        if old_at < block.a or new_at < block.b:
            yield old_at, block.a, new_at, block.b
        old_at, new_at = block.a + block.size, block.b + block.size


def _enclosing_change(removed: str, added: str) -> Change:
    start = _common(removed, added, lambda text, length: text[:length])
    old, new = removed[start:], added[start:]
    end = _common(old, new, lambda text, length: text[len(text) - length :])
    return start, len(removed) - end, new[: len(new) - end]


def _common(one: str, other: str, part: Callable[[str, int], str]) -> int:
    """How long the longest parts of two texts are that are equal."""
    equal, beyond = 0, min(len(one), len(other)) + 1
    while beyond - equal > 1:
        length = (equal + beyond) // 2
        if part(one, length) == part(other, length):
            equal = length
        else:
            beyond = length
    return equal
