"""The text around a cursor in the order in which it changes least: what is near the cursor comes last.

With the text after the cursor first, whatever an editor puts right behind it (a closing bracket), and each move of
the cursor, would change a prompt from its beginning. So only the text from some line further down comes first. It
begins with a line that its content chooses (as in content-defined chunking, LBFS, SOSP 2001), so that it stays where
it is while lines come and go above it. Then come the lines before the cursor's, then what is left of the text after
the cursor, and last the cursor's line up to the cursor, to which typing adds.
"""

from __future__ import annotations

from typing import Final, NamedTuple
from zlib import crc32

from ..documents.tokens import Span
from .windows import lines_after

_NEAR_LINES: Final = 12
_FAR_LINES: Final = 24
_CHOSEN: Final = 4
"""One line in so many begins the far part."""
_LINE_CHARS: Final = 400
"""What is shown of the cursor's line on each side, at most."""


class NearLast(NamedTuple):
    """Parts of a text by string indices. In the text they follow each other: before, line, near, far."""

    far: Span
    near: Span
    line: Span
    """The part of the cursor's line before it; what stands before that is for a window."""


def split(text: str, index: int) -> NearLast:
    """The parts of a text around a cursor."""
    line = max(text.rfind("\n", 0, index) + 1, index - _LINE_CHARS)
    at = _line_end(text, index)
    if at - index > _LINE_CHARS:
        end = index + _LINE_CHARS
        return NearLast((end, end), (index, end), (line, index))
    for _ in range(_NEAR_LINES):
        end = _line_end(text, at)
        content = text[at:end].strip()
        if end - at > _LINE_CHARS or (content and crc32(content.encode("utf-8", "replace")) % _CHOSEN == 0):
            break
        at = end
    return NearLast(lines_after(text, at, _FAR_LINES), (index, at), (line, index))


def _line_end(text: str, start: int) -> int:
    """Where the next line begins; the text's end if there is none."""
    return text.find("\n", start) + 1 or len(text)
