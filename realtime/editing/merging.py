"""Where the range of an edit is while a person goes on changing the document, and which of its operations stand.

Operations count over the range as it was when the edit was asked for, and nothing sent is ever rewritten. So both
ends keep a tracker for each edit, and give it the same changes of the document in the same order. The idea is that of
operational transformation with a server in the middle (Nichols et al., "High-latency, low-bandwidth windowing in the
Jupiter collaboration system", UIST 1995), and simpler: one side makes the changes, the other the operations.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ..documents.text import utf16_length
from ..documents.text_edits import EditSequence, Near, apply_edits, edits_near
from ..errors import Refused
from ..protocol import Applied, Operation, TextEdit

MAX_MARKS: Final = 64
"""A person who changes more places of what is not applied has changed all that lies between them."""

MAX_UNSEEN: Final = 1024
"""Edits that the tracker's text may lag behind."""


@dataclass(slots=True)
class _Mark:
    """What a person did to the part that is not applied: units [at, end) of the original became ``inserted`` units.

    A mark stays when its text is taken back: whether an operation meets it must not depend on when that arrives.
    """

    at: int
    end: int
    inserted: int


class RangeTracker:
    """Follows the range of one edit. All offsets and lengths are UTF-16 units.

    The range has two parts. In the first, whose operations are *applied*, the document already reads as they say, and
    what a person changes there is merged. The second is the original with marks where a person changed it: a kept
    unit passes over them, and an operation that deletes or inserts *conflicts* with a mark that overlaps or touches
    it. A change before or after the range, or an insertion exactly at one of its ends, is outside.

    A change of more places of the range than one looks at (see `edits_near`) is a conflict with all that is not
    applied. An operation stands if neither it nor one before it conflicts. With the same changes and operations,
    however they interleave, two trackers come to the same number, and to the same text.

    Args:
        request: the edit.
        start: where the range begins in the document.
        original: the text of the range.
        decides: this is the side that makes the operations. A change of the part that no operation has reached yet
            is a conflict there, since what comes was made without it. The other side learns of it by `finish`.
            With a conflict the edit is over, and this side need follow the range no further: after a change of too
            many places only ``standing`` is right.

    Attributes:
        request: the edit.
        start: where the range begins in the current document.
        applied: how many operations are in the document.

    """

    def __init__(self, request: int, start: int, original: str, *, decides: bool = False) -> None:
        self.request = request
        self.start = start
        self.applied = 0
        self._decides = decides
        self._text = original
        self._unseen: list[TextEdit] = []  # edits within the range that `_text` has not taken yet
        self._original = self._size = utf16_length(original)
        self._written = 0  # units of the applied part
        self._operations: list[Operation] = []
        self._ends = [0]  # original units that the first n operations walk over
        self._marks: list[_Mark] = []
        self._conflict: int | None = None  # the first operation that meets a mark
        self._stop: int | None = None  # operations from here on are void, for a conflict with what was to come

    @property
    def end(self) -> int:
        """Where the range ends in the current document."""
        return self.start + self._size

    @property
    def text(self) -> str:
        """The range in the current document."""
        self._catch_up()
        return self._text

    @property
    def known(self) -> int:
        """How many operations there are."""
        return len(self._operations)

    @property
    def standing(self) -> int:
        """How many operations stand, applied ones included."""
        limits = (limit for limit in (self._conflict, self._stop) if limit is not None)
        return max(min(limits, default=self.known), self.applied)

    @property
    def conflict(self) -> bool:
        """Whether a person's change and an operation exclude each other, so that the edit is over."""
        return self._conflict is not None or self._stop is not None

    def first(self, operations: int) -> list[Operation]:
        """The first so many operations."""
        return self._operations[:operations]

    def operations(self, operations: Sequence[Operation]) -> None:
        """Take the next operations. The side that makes them asks `standing` before it sends them.

        Raises:
            ValueError: they reach past the range; those before the one that does were taken.

        """
        for operation in operations:
            end = self._ends[-1] + (0 if isinstance(operation, str) else abs(operation))
            if end > self._original:
                raise ValueError(f"an operation reaches unit {end} of a range of {self._original}")
            self._operations.append(operation)
            self._ends.append(end)
            if self._marks and self._conflict is None and not _keeps(operation) and self._is_marked():
                self._conflict = self.known - 1

    def void(self, operations: int) -> None:
        """Forget the operations after the first so many: others follow there.

        Raises:
            ValueError: there are fewer, or more are applied.

        """
        if not self.applied <= operations <= self.known:
            raise ValueError(f"{operations} of {self.known} operations can't remain where {self.applied} are applied")
        del self._operations[operations:], self._ends[operations + 1 :]
        self._conflict = None
        for mark in self._marks:
            self._meet(mark)

    def finish(self, operations: int | None = None) -> None:
        """No more operations come: what they don't reach is the person's alone.

        Args:
            operations: how many stand, of an edit that ended with ``conflict``.

        """
        self._decides = False
        if operations is not None:
            self._stop = operations if self._stop is None else min(self._stop, operations)

    def changed(self, edits: Sequence[TextEdit], applied: Applied | None = None) -> bool:
        """Take a change of the document: edits in order, each counted in the result of the one before.

        Returns whether it applied our operations and nothing else: it says so (``applied`` names this request and a
        number of operations from those applied up to those that stand), and the range then reads as they say. What
        such a change looks like is free. Anything else is a person's.
        """
        if applied is not None and applied.request == self.request and self._take(edits, applied.operations):
            return True
        near = edits_near(edits, self.start, self.end)
        if near is None:
            self._stop = self.applied
            if self._decides:
                return False
            near = Near(0, edits)
        for edit in near.edits:
            length = utf16_length(edit.text)
            self._insert(edit.start, edit.text, length)
            self._delete(edit.start + length, edit.end + length)
        self.start += near.moved
        if len(self._unseen) > MAX_UNSEEN:
            self._catch_up()
        return False

    def edits(self, operations: int | None = None) -> list[TextEdit]:
        """The edits of the current document that apply the operations up to so many; of all that stand by default.

        They apply in order, each to the result of the one before. Deletions and insertions that touch are one edit.

        Raises:
            ValueError: that many don't stand, or more are applied.

        """
        count = self.standing if operations is None else operations
        if not self.applied <= count <= self.standing:
            raise ValueError(f"{count} operations can't be applied: {self.applied} are, and {self.standing} stand")
        return self._walk(count)[0]

    def _catch_up(self) -> None:
        if self._unseen:
            self._text = apply_edits(self._text, self._unseen)
            self._unseen.clear()

    # Our operations --------------------------------------------------------------------------------------------

    def _take(self, edits: Sequence[TextEdit], count: int) -> bool:
        if not self.applied <= count <= self.standing:
            return False
        ours, written, size = self._walk(count)
        inside = [TextEdit(edit.start - self.start, edit.end - self.start, edit.text) for edit in ours]
        if list(edits) != ours and not self._same_effect(edits, inside):
            return False
        self._unseen += inside
        self._size, self._written, self.applied = size, written, count
        at = self._ends[count]
        # A mark that ends here may meet the next operation, so it stays.
        self._marks = [_Mark(max(m.at, at), m.end, m.inserted) for m in self._marks if m.end >= at]
        return True

    def _same_effect(self, theirs: Sequence[TextEdit], ours: Sequence[TextEdit]) -> bool:
        try:
            sequence = EditSequence.of(theirs)
            if theirs and not self.start <= sequence.start <= sequence.end <= self.end:
                return False
            result = sequence.apply(self.text, self._size, self.start)
        except Refused:
            return False
        return result == apply_edits(self.text, ours, self._size)

    def _walk(self, count: int) -> tuple[list[TextEdit], int, int]:
        """The edits that apply operations up to ``count``; then the units of the applied part and of the range."""
        edits: list[TextEdit] = []
        at = self.start + self._written
        passed = grown = deleted = 0
        inserted = ""
        for index in range(self.applied, count):
            operation, end = self._operations[index], self._ends[index + 1]
            if isinstance(operation, str):
                inserted += operation
            elif operation < 0:
                deleted -= operation
            if deleted or inserted:
                if index + 1 < count and not _keeps(self._operations[index + 1]):
                    continue
                edits.append(TextEdit(at, at + deleted, inserted))
                length = utf16_length(inserted)
                at += length
                grown += length - deleted
                deleted, inserted = 0, ""
            else:
                start = self._ends[index]
                at += end - start
                # A mark that ends beyond is passed in part: its text comes after us.
                while passed < len(self._marks) and self._marks[passed].at < end:
                    mark = self._marks[passed]
                    at -= min(mark.end, end) - max(mark.at, start)
                    if mark.end >= end:
                        break
                    at += mark.inserted
                    passed += 1
        return edits, at - self.start, self._size + grown

    # A person's changes ----------------------------------------------------------------------------------------

    def _insert(self, at: int, text: str, length: int) -> None:
        at -= self.start
        if at <= 0:
            self.start += length
        elif at < self._size and text:
            self._unseen.append(TextEdit(at, at, text))
            self._size += length
            if at < self._written:
                self._written += length
            else:
                self._insert_unapplied(at - self._written, length)

    def _delete(self, start: int, end: int) -> None:
        start, end = start - self.start, end - self.start
        before = max(min(end, 0) - start, 0)
        start, end = max(start, 0), min(end, self._size)
        if start < end:
            self._unseen.append(TextEdit(start, end, ""))
            self._size -= end - start
            if end > self._written:
                self._delete_unapplied(max(start - self._written, 0), end - self._written)
            self._written -= max(min(end, self._written) - start, 0)
        self.start -= before

    def _insert_unapplied(self, offset: int, length: int) -> None:
        index, at, within = self._place(offset)
        if within is None:
            self._marks.insert(index, _Mark(at, at, 0))
        self._marks[index].inserted += length
        self._marked(index)

    def _delete_unapplied(self, start: int, end: int) -> None:
        """What is deleted, and the marks that it touches, become one mark."""
        first, left, before = self._place(start)
        last, right, within = self._place(end)
        inserted = before or 0
        if within is not None:
            right = self._marks[last].end
            inserted += self._marks[last].inserted - within
            last += 1
        self._marks[first:last] = [_Mark(left, right, inserted)]
        self._marked(first)

    def _place(self, offset: int) -> tuple[int, int, int | None]:
        """Where an offset into the part that is not applied lies.

        Returns the number of marks before it, its unit of the original, and, if it lies in or beside the text of a
        mark (the next one), how far into that.
        """
        position, at = 0, self._ends[self.applied]
        for index, mark in enumerate(self._marks):
            text = position + mark.at - at
            if offset < text:
                return index, at + offset - position, None
            if offset <= text + mark.inserted:
                return index, mark.at, offset - text
            position, at = text + mark.inserted, mark.end
        return len(self._marks), at + offset - position, None

    def _marked(self, index: int) -> None:
        """A mark was made or has grown."""
        marks = self._marks
        if len(marks) > MAX_MARKS:
            units = marks[-1].end - marks[0].at
            inserted = units + sum(mark.inserted - (mark.end - mark.at) for mark in marks)
            marks[:] = [_Mark(marks[0].at, marks[-1].end, inserted)]
            index = 0
        self._meet(marks[index])

    def _meet(self, mark: _Mark) -> None:
        """Look whether a mark meets an operation, or what is still to come."""
        index = bisect_left(self._ends, mark.at, self.applied + 1) - 1
        stop = self.known if self._conflict is None else self._conflict
        while index < stop and self._ends[index] <= mark.end:
            if not _keeps(self._operations[index]):
                self._conflict = index
                break
            index += 1
        reached = self._ends[-1]
        if self._decides and self._stop is None and reached < self._original and mark.end > reached:
            self._stop = self.known

    def _is_marked(self) -> bool:
        """Whether the last operation meets a mark."""
        start, end = self._ends[-2:]
        index = bisect_left(self._marks, start, key=lambda mark: mark.end)
        return index < len(self._marks) and self._marks[index].at <= end


def _keeps(operation: Operation) -> bool:
    return not isinstance(operation, str) and operation >= 0
