"""The code that an edit's prompt shows: the range and lines around it, in fences."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ..documents.document_text import DocumentText
from ..documents.tokens import Span, WordTokenizer
from .fences import fence, lf, named
from .windows import MAX_CHARS_PER_TOKEN, lines_after, lines_before

_CONTEXT_LINES: Final = ((20, 10), (8, 4))
"""Lines before and after the range, from the most to the least; none if these don't fit."""


class EditFrame:
    """The code that an edit's prompt shows, and the fence around it.

    Attributes:
        region: the range's text, with the model's line ends.
        opening: the line that opens a fence.
        final_newline: the newline before the closing fence belongs to the answer that repeats the range.
        view: the tokens of all the text concerned.
    """

    def __init__(
        self, document: DocumentText, tokenizer: WordTokenizer, start: int, end: int, enclosed: Iterable[str]
    ) -> None:
        text = self._text = document.text
        self._range = start, end
        self._around = [
            (lines_before(text, start, before), lines_after(text, end, after)) for before, after in _CONTEXT_LINES
        ]
        (first, _), (_, last) = self._around[0]
        self.view = document.tokens.view(tokenizer, text, (first, last))
        self.pending = self.view.pending(first, last)
        self.region = lf(text[start:end])
        language = named(document.language)
        self.fence = fence(language, text[first:last], *enclosed)
        self.opening = f"{self.fence}{language}\n"
        self.final_newline = self.region.endswith("\n") or (start == end and _begins_line(text, start))

    def code(self, seam: str) -> list[int]:
        """The tokens of the part that shows the range, up to and with ``seam``."""
        return self.view.encode(*self._block("Code to rewrite", self._range), seam)

    def surroundings(self, room: int) -> list[int]:
        """The tokens of as many lines around the range as have room; none if the fewest have not."""
        for around in dict.fromkeys(self._around):
            titles = zip(("Code before", "Code after"), around, strict=True)
            blocks = [self._block(title, span) for title, span in titles if self._text[slice(*span)].strip()]
            if sum(end - start for start, end in around) <= MAX_CHARS_PER_TOKEN * room:
                tokens = self.view.encode(*(part for block in blocks for part in block))
                if len(tokens) <= room:
                    return tokens
        return []

    def _block(self, title: str, span: Span) -> tuple[str, Span, str]:
        start, end = span
        end_line = "\n" if start < end and self._text[end - 1] != "\n" else ""
        return f"{title}:\n{self.opening}", span, f"{end_line}{self.fence}\n\n"


def closing_of(answer: str, final_newline: bool, fence: str) -> str:
    """What the model says after the text that is its answer."""
    return fence if not answer or (final_newline and answer.endswith("\n")) else f"\n{fence}"


def _begins_line(text: str, index: int) -> bool:
    """Whether something stands at this index that begins a line, so that what goes before it needs a newline."""
    return index < len(text) and text[index] not in "\r\n" and (index == 0 or text[index - 1] == "\n")
