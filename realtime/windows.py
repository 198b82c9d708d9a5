"""Which part of a text a prompt shows: lines around a range, and the last lines before a cursor that fit."""

from __future__ import annotations

from typing import Final

from .tokens import Span, TokenView

MAX_CHARS_PER_TOKEN: Final = 8
"""A token of code has 3 or 4 characters. Text that would need more than this many for each is taken not to fit and
isn't tokenised, so that a request costs time in the size of the model's context and not of its document."""

_SURROUNDING_CHARS: Final = 6000
_SAMPLE_CHARS: Final = 4000
"""How much of a text is tokenised to learn how much fits."""
_SAMPLE_STEP: Final = 2048
"""A sample ends at a multiple of this many characters, so that typing doesn't change it with each key."""
_DENSITIES: Final = 4
"""How many samples of a document are remembered."""
_READY_CHARS: Final = 1024
"""A sample of which no more than this is to be tokenised is taken at once."""


class Window:
    """The tokens of the text up to ``end``, or of its last lines that are sure to fit in a room.

    How many characters make a token is measured, first on some before the end, so that a long window is tokenised
    once or twice, and more often only where it is much shorter then. Where it begins depends on nothing but the text,
    the room and the end, and stays the same while a person types.
    """

    def __init__(self, view: TokenView, text: str, end: int) -> None:
        self._view = view
        self._text = text
        self._end = end
        last = end if end < _SAMPLE_STEP else end - end % _SAMPLE_STEP
        self._sample = max(last - _SAMPLE_CHARS, 0), last
        self._density = view.densities.get(text[slice(*self._sample)])
        if self._density is None and view.pending(*self._sample) <= _READY_CHARS:
            self._density = self._measured()

    def pending(self, room: int) -> int:
        """About how many characters `tokens` will have to tokenise, at most."""
        short = self._end <= _SAMPLE_CHARS
        if self._density is None:
            return min(self._end, MAX_CHARS_PER_TOKEN * room) + (0 if short else _SAMPLE_CHARS)
        return self._view.pending(0 if short else self._start(room, self._density), self._end)

    def tokens(self, room: int) -> list[int]:
        """At most ``room`` tokens."""
        encode, end = self._view.encode, self._end
        if end <= _SAMPLE_CHARS and len(tokens := encode((0, end))) <= room:
            return tokens
        density = self._measured() if self._density is None else self._density
        retried = False
        while True:
            start = self._start(room, density)
            tokens = encode((start, end))
            if len(tokens) <= room or density <= 1:  # a character takes at most four tokens, one for each byte
                return tokens
            most = density // 2 if retried else density - 1
            density = max(min(most, 4 * (end - start) // len(tokens)), 1)
            retried = True

    def _measured(self) -> int:
        """The characters of the sample that make four tokens, to stay with integers."""
        start, end = self._sample
        tokens = len(self._view.encode(self._sample))
        density = min(4 * (end - start) // max(tokens, 1), 4 * MAX_CHARS_PER_TOKEN)
        if len(self._view.densities) >= _DENSITIES:
            self._view.densities.clear()
        self._view.densities[self._text[start:end]] = density
        return density

    def _start(self, room: int, density: int) -> int:
        return window_start(self._text, self._end, room * density // 4, max(room // 4, 1))


def window_start(text: str, end: int, chars: int, step: int) -> int:
    """Where a window of at most ``chars`` characters up to ``end`` begins.

    It begins at the first line after a multiple of ``step``, so that it stays where it is while a person types and
    its tokens stay a prefix of what is cached. Where no line begins within a step, the line is cut.
    """
    if end <= chars:
        return 0
    start = min(-(-(end - chars) // step) * step, end)
    line = text.find("\n", start - 1, min(start + step, end))
    return start if line < 0 else line + 1


def lines_before(text: str, end: int, lines: int) -> Span:
    """So many whole lines before ``end``, and the part of one that it stands in; fewer if they are very long."""
    start = end
    earliest = max(end - _SURROUNDING_CHARS, 0)
    for _ in range(lines):
        line = text.rfind("\n", earliest, max(start - 1, 0)) + 1
        if start == 0 or (line == 0 and earliest > 0):
            break
        start = line
    return start, end


def lines_after(text: str, start: int, lines: int) -> Span:
    """So many lines from ``start`` on, the rest of its own being the first; fewer if they are very long."""
    end = start
    latest = min(start + _SURROUNDING_CHARS, len(text))
    for _ in range(lines):
        line = text.find("\n", end, latest) + 1
        if line == 0:
            return start, len(text) if latest == len(text) else end
        end = line
    return start, end
