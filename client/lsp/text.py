"""A document's text as LSP sees it: lines, and columns in the units that editor and server agreed on."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import Final, Literal

from warmline.realtime import replace_lone_surrogates, utf16_length

Encoding = Literal["utf-8", "utf-16", "utf-32"]
"""What a column counts: bytes, UTF-16 code units or characters."""

_LINE_END: Final = re.compile(r"\r\n|\r|\n")
"""What ends a line for LSP. (`str.splitlines` knows others: a form feed, for one, which sources have.)"""

_COLUMNS: Final[dict[Encoding, Callable[[str], int]]] = {
    "utf-8": lambda text: len(text.encode()),
    "utf-16": utf16_length,
    "utf-32": len,
}


class LineText:
    """A text that knows its lines. Indices are those of Python strings; lines and columns count from 0.

    What can't be sent, a lone surrogate, becomes U+FFFD, which has as many units in each encoding. A key costs time
    in the size of the text, and little of it: copying, and adding up the lengths of lines.

    Attributes:
        text: all of it.
        encoding: what a column counts.
    """

    def __init__(self, text: str, encoding: Encoding) -> None:
        self.text = replace_lone_surrogates(text)
        self.encoding = encoding
        self._lengths = _line_lengths(self.text)  # with their ends; the last line has none

    def index(self, line: int, column: int) -> int:
        """The index of a position. One behind a line's end is there, one behind the last line at the end of all; one
        within a character is before it.
        """
        if line >= len(self._lengths):
            return len(self.text)
        start = sum(self._lengths[:line])
        content = self.text[start : start + self._lengths[line]].rstrip("\r\n")
        if self.encoding == "utf-32" or content.isascii():
            return start + min(max(column, 0), len(content))
        # A character that is cut is left out by the decoder.
        name, size = ("utf-8", 1) if self.encoding == "utf-8" else ("utf-16-le", 2)
        units = content.encode(name)[: size * max(column, 0)]
        return start + len(units.decode(name, "ignore"))

    def position(self, index: int) -> tuple[int, int]:
        """Line and column of an index, which must be within the text."""
        line, start = self._line_at(index)
        return line, _COLUMNS[self.encoding](self.text[start:index])

    def line(self, index: int) -> tuple[int, int]:
        """Where the line of an index begins and where it ends, its line end left out."""
        line, start = self._line_at(index)
        return start, start + len(self.text[start : start + self._lengths[line]].rstrip("\r\n"))

    def whole_lines(self, start: int, end: int) -> tuple[int, int]:
        """The lines that [start, end) touches, with their ends. That of an end before its first character is not."""
        first = self._line_at(start)[1]
        line, begin = self._line_at(end)
        return first, end if begin == end > start else begin + self._lengths[line]

    def paragraph(self, index: int, most: int) -> tuple[int, int]:
        """The lines around an index up to blank ones, with their ends: at most so many to each side."""
        starts = list(accumulate(self._lengths, initial=0))
        line = self._line_at(index)[0]

        def blank(number: int) -> bool:
            return not self.text[starts[number] : starts[number + 1]].strip()

        first = last = line
        if not blank(line):
            while first > 0 and line - first < most and not blank(first - 1):
                first -= 1
            while last + 1 < len(self._lengths) and last - line < most and not blank(last + 1):
                last += 1
        return starts[first], starts[last + 1]

    def replace(self, start: int, end: int, text: str) -> str:
        """Replace [start, end); returns what was put in, which is ``text`` without lone surrogates."""
        text = replace_lone_surrogates(text)
        first, begin = self._line_at(start)
        last, last_begin = self._line_at(end)
        if begin == start and first > 0 and self.text[start - 1] == "\r":  # what comes may begin with its LF
            first -= 1
            begin -= self._lengths[first]
        rest = self.text[end : last_begin + self._lengths[last]]
        lengths = _line_lengths(self.text[begin:start] + text + rest)
        if last + 1 < len(self._lengths):
            lengths.pop()  # behind the line end that the rest has
        self._lengths[first : last + 1] = lengths
        self.text = self.text[:start] + text + self.text[end:]
        return text

    def _line_at(self, index: int) -> tuple[int, int]:
        """The line of an index, and where that begins."""
        starts = list(accumulate(self._lengths[:-1], initial=0))
        line = bisect_right(starts, index) - 1
        return line, starts[line]


def _line_lengths(text: str) -> list[int]:
    ends = (end.end() for end in _LINE_END.finditer(text))
    return [end - start for start, end in pairwise((0, *ends, len(text)))]
