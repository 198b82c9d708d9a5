"""The tokens of a document, kept through its changes: always those of tokenising its whole text afresh.

A tokenizer that is known well enough (``word_ends``) lets a text be cut after a word so that its tokens are those of
the two parts. The text is cut in pieces at such places, each tokenised when it is needed for the first time. A change
replaces the pieces it touches; the tokens of all others stay. So a request in a large file tokenises what was changed
since the last one, and what stands between the cursor and the nearest cuts.

Where nothing has been asked for yet, the text isn't cut either: opening a large file costs nothing.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Final, Protocol

PIECE_CHARS: Final = 128
"""What a piece has at least, if its text has the words. It takes less than a tenth of a millisecond to tokenise."""
_LONGEST: Final = 3 * PIECE_CHARS // 2
"""What is not worth another cut."""

_PROMPTS: Final = 4
"""How many prompts of a text are remembered."""

Span = tuple[int, int]
"""String indices [start, end)."""


class WordTokenizer(Protocol):
    """What is needed of a tokenizer. It is used by several threads at once.

    Attributes:
        word_ends: the characters before which text can be cut after an ASCII letter or digit, so that its tokens are
            those of the two parts; empty if there are none.
    """

    word_ends: str

    def encode(self, text: str) -> list[int]:
        """Tokens of plain text."""


class DocumentTokens:
    """How far the text of a document is cut and tokenised.

    It doesn't hold the text. Everything here runs on the event loop and costs little; what tokenises is the
    `TokenView` that it gives, in whatever thread.

    Attributes:
        prompts: the newest prompts made of the text as it is, so that one that was computed ahead is not made again.
    """

    __slots__ = ("_densities", "_pieces", "_starts", "_tokenizer", "prompts")

    def __init__(self, length: int) -> None:
        """Begin with a text of so many characters."""
        self._pieces = [_Piece(length)]
        self._starts: list[int] | None = None
        self._tokenizer: WordTokenizer | None = None
        self._densities: dict[str, int] = {}
        self.prompts = PromptMemory()

    def replaced(self, start: int, end: int, length: int) -> None:
        """The string indices [start, end) became ``length`` other characters."""
        starts = self._piece_starts()
        # A cut at one of the edges is lost: what stands beside it is another character now.
        first = max(bisect_left(starts, start) - 1, 0)
        last = bisect_right(starts, end)
        size = sum(piece.length for piece in self._pieces[first:last]) - (end - start) + length
        while size < PIECE_CHARS // 2 and last - first < len(self._pieces):  # or small ones would pile up
            if last < len(self._pieces):
                size += self._pieces[last].length
                last += 1
            else:
                first -= 1
                size += self._pieces[first].length
        self._pieces[first:last] = [_Piece(size)]
        self._starts = None
        self.prompts = PromptMemory()

    def view(self, tokenizer: WordTokenizer, text: str, *spans: Span) -> TokenView:
        """The tokens of some parts of the text, which must be the document's newest."""
        if self._tokenizer is not tokenizer:
            self._pieces, self._starts, self._tokenizer, self._densities = [_Piece(len(text))], None, tokenizer, {}
        if not tokenizer.word_ends or not spans:
            return TokenView(tokenizer, text, [], [], self._densities)
        for start, end in spans:
            self._cut(text, start, end)
        starts = self._piece_starts()
        first = max(bisect_right(starts, min(start for start, _ in spans)) - 1, 0)
        last = bisect_left(starts, max(end for _, end in spans))
        return TokenView(tokenizer, text, starts[first:last], self._pieces[first:last], self._densities)

    def _piece_starts(self) -> list[int]:
        if self._starts is None:
            self._starts = list(accumulate((piece.length for piece in self._pieces), initial=0))
            self._starts.pop()
        return self._starts

    def _cut(self, text: str, start: int, end: int) -> None:
        """Make pieces with a text of all that lies in [start, end)."""
        starts = self._piece_starts()
        first = max(bisect_right(starts, start) - 1, 0)
        last = max(bisect_left(starts, end), first + 1)
        if all(piece.is_cut for piece in self._pieces[first:last]):
            return
        pieces: list[_Piece] = []
        for piece, at in zip(self._pieces[first:last], starts[first:last], strict=True):
            if piece.is_cut:
                pieces.append(piece)
            else:
                pieces += self._parts(text, at, at + piece.length, start, end)
        self._pieces[first:last] = pieces
        self._starts = None

    def _parts(self, text: str, begin: int, finish: int, start: int, end: int) -> Iterator[_Piece]:
        """Cut [begin, finish) where it lies in [start, end); what is far from there stays whole."""
        assert self._tokenizer is not None
        find = _cut_finder(self._tokenizer.word_ends).search
        near = start - 2 * PIECE_CHARS
        if near > begin + PIECE_CHARS:
            found = find(text, near, min(finish, end))
            if found is None:
                yield _Piece(finish - begin)
                return
            yield _Piece(found.end() - begin)
            begin = found.end()
        while finish - begin > _LONGEST and begin < end:
            found = find(text, begin + PIECE_CHARS - 1, min(finish, end + PIECE_CHARS))
            if found is None:
                break
            yield _Piece(found.end() - begin, text[begin : found.end()])
            begin = found.end()
        rest = finish - begin
        yield _Piece(rest, text[begin:finish] if begin < end and rest <= _LONGEST else None)


class PromptMemory:
    """The tokens of some prompts of one text, by what made them. Threads may use it at once."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[Hashable, list[int]] = {}

    def get(self, key: Hashable) -> list[int] | None:
        """A prompt's tokens, which are not to be changed; None if they aren't remembered."""
        return self._known.get(key)

    def put(self, key: Hashable, tokens: list[int]) -> None:
        """Remember a prompt, and forget older ones."""
        self._known = {**dict(list(self._known.items())[1 - _PROMPTS :]), key: tokens}


class TokenView:
    """The tokens of parts of one text. A later change of the document doesn't reach it.

    Attributes:
        densities: how many characters make four tokens in some parts of the document, by their texts.
    """

    __slots__ = ("_pieces", "_starts", "_text", "_tokenizer", "densities")

    def __init__(
        self,
        tokenizer: WordTokenizer,
        text: str,
        starts: Sequence[int],
        pieces: Sequence[_Piece],
        densities: dict[str, int],
    ) -> None:
        self._tokenizer = tokenizer
        self._text = text
        self._starts = starts
        self._pieces = pieces
        self.densities = densities

    def encode(self, *parts: str | Span) -> list[int]:
        """The tokens of one text that is made of strings and spans of the document, models' line ends in both.

        Equal to ``encode`` of that text. A span that the view wasn't made for is tokenised.
        """
        encode = self._tokenizer.encode
        tokens: list[int] = []
        loose: list[str] = []  # text since the last whole piece
        for part in parts:
            if isinstance(part, str):
                loose.append(part)
                continue
            start, end = part
            first, last = self._whole_pieces(start, end, not any(loose))
            if first == last:
                loose.append(self._lines(start, end))
                continue
            if text := "".join((*loose, self._lines(start, self._starts[first]))):
                tokens += encode(text)
            for piece, at in zip(self._pieces[first:last], self._starts[first:last], strict=True):
                known = piece.tokens(encode)
                tokens.extend(encode(self._lines(at, at + piece.length)) if known is None else known)
            loose = [self._lines(self._starts[last], end)]
        if text := "".join(loose):
            tokens += encode(text)
        return tokens

    def pending(self, start: int, end: int) -> int:
        """How many characters `encode` of a span would have to tokenise."""
        first, last = self._whole_pieces(start, end, True)
        return end - start - sum(piece.length for piece in self._pieces[first:last] if piece.is_tokenised)

    def _lines(self, start: int, end: int) -> str:
        return self._text[start:end].replace("\r\n", "\n")

    def _whole_pieces(self, start: int, end: int, from_edge: bool) -> Span:
        """The pieces that lie in [start, end) with room behind, and before unless ``from_edge``, as indices."""
        first = (bisect_left if from_edge else bisect_right)(self._starts, start)
        last = bisect_left(self._starts, end) - 1  # the piece in which the span ends is left out
        return first, max(first, last)


class _Piece:
    """A part of the text between two cuts: only its length, its text, or its tokens."""

    __slots__ = ("_text", "_tokens", "length")

    def __init__(self, length: int, text: str | None = None) -> None:
        self.length = length
        self._text = text
        self._tokens: array[int] | None = None

    @property
    def is_cut(self) -> bool:
        """Whether it is small enough to have tokens."""
        return self._text is not None or self._tokens is not None

    @property
    def is_tokenised(self) -> bool:
        """Whether its tokens are known."""
        return self._tokens is not None

    def tokens(self, encode: Callable[[str], list[int]]) -> array[int] | None:
        """Its tokens, made now if they aren't known; None if it isn't cut. Two threads may make them at once."""
        if self._tokens is None:
            text = self._text
            if text is None:
                return self._tokens  # another thread may just have made them
            self._tokens = array("i", encode(text.replace("\r\n", "\n")))
            self._text = None
        return self._tokens


@lru_cache
def _cut_finder(word_ends: str) -> re.Pattern[str]:
    """Finds a character after which text can be cut."""
    return re.compile(f"[0-9A-Za-z](?=[{re.escape(word_ends)}])")
