"""Lines removed and added, from edit operations while they come in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from warmline.client import Delete, EditOperation, Insert, Keep

from ..documents.hunks import CONTEXT, split_lines

Sign = Literal[" ", "-", "+", "."]


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line without its line end. ``sign``: kept " ", removed "-", added "+", not reached yet ".".

    ``number`` counts the original's lines; an added line has none.
    """

    sign: Sign
    number: int | None
    text: str


class LineDiff:
    """Turns operations over a range of whole lines into lines of a diff. Lines end at \\n and \\r\\n only."""

    def __init__(self, original: str, first_line: int = 1) -> None:
        self._original = original
        self._reached = 0
        self._number = first_line
        self._settled: list[DiffLine] = []
        self._old = ""  # the part of both texts, from a line's start, that is not settled yet
        self._new = ""

    def feed(self, operation: EditOperation) -> None:
        """Take the next operation."""
        match operation:
            case Insert(text=text):
                self._new += text
            case Delete(text=text):
                self._old += text
                self._reached += len(text)
            case Keep(text=text):
                self._reached += len(text)
                for line in split_lines(text):
                    if _at_line_start(self._old) and _at_line_start(self._new):
                        self._settle()
                    self._old += line
                    self._new += line
                if _at_line_start(text):
                    self._settle()

    def finish(self) -> None:
        """No operations will come any more: what they did not reach is kept."""
        self.feed(Keep(0, self._original[self._reached :]))
        self._settle()

    def lines(self) -> list[DiffLine]:
        """The diff so far, with the lines that the operations have not reached at its end."""
        end = self._original.find("\n", self._reached) + 1 or len(self._original)
        begun = self._original[self._reached : end] if self._old or self._new else ""
        pending = _compare(self._old + begun, self._new + begun, self._number)
        number = self._number + len(split_lines(self._old + begun))
        rest = self._original[self._reached + len(begun) :]
        return [*self._settled, *pending, *_signed(".", rest, number)]

    def _settle(self) -> None:
        self._settled += _compare(self._old, self._new, self._number)
        self._number += len(split_lines(self._old))
        self._old = self._new = ""


def _at_line_start(text: str) -> bool:
    return not text or text.endswith("\n")


def _signed(sign: Sign, text: str, number: int | None) -> list[DiffLine]:
    return [
        DiffLine(sign, None if number is None else number + index, line.removesuffix("\n").removesuffix("\r"))
        for index, line in enumerate(split_lines(text))
    ]


def _compare(old: str, new: str, number: int) -> list[DiffLine]:
    """Lines that two texts begin or end with alike are kept; the others are removed and added."""
    old_lines, new_lines = split_lines(old), split_lines(new)
    shortest = min(len(old_lines), len(new_lines))
    head = next((i for i in range(shortest) if old_lines[i] != new_lines[i]), shortest)
    tail = next((i for i in range(shortest - head) if old_lines[-1 - i] != new_lines[-1 - i]), shortest - head)
    removed_end, added_end = len(old_lines) - tail, len(new_lines) - tail
    return [
        *_signed(" ", "".join(old_lines[:head]), number),
        *_signed("-", "".join(old_lines[head:removed_end]), number + head),
        *_signed("+", "".join(new_lines[head:added_end]), None),
        *_signed(" ", "".join(old_lines[removed_end:]), number + removed_end),
    ]


def near_changes(lines: list[DiffLine]) -> list[DiffLine | None]:
    """The changed lines with a few around them; None stands for kept lines left out."""
    near = [False] * len(lines)
    for index, line in enumerate(lines):
        if line.sign in "+-":
            first, last = max(index - CONTEXT, 0), index + CONTEXT + 1
            near[first:last] = [True] * len(near[first:last])
    shown: list[DiffLine | None] = []
    for line, wanted in zip(lines, near, strict=True):
        if wanted:
            shown.append(line)
        elif not shown or shown[-1] is not None:
            shown.append(None)
    return shown
