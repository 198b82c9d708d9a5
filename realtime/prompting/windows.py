"""Which part of a text a prompt shows: lines around a range, and the last lines before a cursor that fit.

A prompt that begins elsewhere than the one before it is computed anew. So where a window begins has to stay while a
person types at its end, and when it can't, it has to move far. A rule that needs no memory does that, and gives the
same prompt in whatever session: the window may begin with any line in about half of its room, and the text chooses
one by its content (as in content-defined chunking, LBFS, SOSP 2001). As typing moves that half on, the line stays
until it is left behind or a better one comes in; were it left to chance, twice in the length of that half. Changes
above it don't move it, as they would a line chosen by its number.
"""

from __future__ import annotations

import re
from typing import Final
from zlib import crc32

from ..documents.tokens import Span, TokenView

MAX_CHARS_PER_TOKEN: Final = 8
"""A token of code has 3 or 4 characters. Text that would need more than this many for each is taken not to fit and
isn't tokenised, so that a request costs time in the size of the model's context and not of its document."""

_SURROUNDING_CHARS: Final = 6000
_SAMPLE_CHARS: Final = 4096
"""How much of a text is tokenised to learn how much fits, at least. It ends at a multiple of half of that, so that
typing doesn't change it with each key."""
_SAMPLE_SHARE: Final = 2
"""For large windows it has so many characters for each token that there is room for."""
_DENSITIES: Final = 4
"""How many samples of a document are remembered."""
_READY_CHARS: Final = 1024
"""A sample of which no more than this is to be tokenised is taken at once."""
_CHOICE_CHARS: Final = 8192
"""What there is to choose a beginning from, at most: choosing takes time, and large windows would be half empty."""
_CHOOSING_CHARS: Final = 64
"""How much of the text from a line on chooses whether it is one, at first: more than a short line, as many are equal.
Where it is the same for several, as in rows of data, more of it does."""
_TIED_CHARS: Final = 8 * _CHOICE_CHARS
"""How much text is looked at again to choose among them, at most and for each time that it is made longer."""
_TIED_GROWTH: Final = 4

_BEGINNINGS: Final = tuple(re.compile(rf"\n(?={indent}[^\s)\]}}])") for indent in ("", "(?: {1,4}|\t)")) + (
    re.compile(r"\n"),
)
"""Where a window had better begin: with a line that isn't indented and doesn't close a bracket, or with one that is
indented once, or else with any. Fewer lines to choose from also move it less often."""


class Window:
    """The tokens of the text up to ``end``, or of its last lines that are sure to fit in a room.

    How many characters make a token is measured, first on some before the end, so that a long window is tokenised
    once or twice, and more often only where it is much shorter then. Where it begins depends on nothing but the text,
    the room and the end, and stays the same while a person types.
    """

    def __init__(self, view: TokenView, text: str, end: int, most: int) -> None:
        """Look at a text up to an index, in a view made for what is in `reach`; no room will be above ``most``."""
        self._view = view
        self._text = text
        self._end = end
        chars = _sample_chars(most)
        last = end if end < chars // 2 else end - end % (chars // 2)
        self._sample = max(last - chars, 0), last
        self._density = view.densities.get(text[slice(*self._sample)])
        if self._density is None and view.pending(*self._sample) <= _READY_CHARS:
            self._density = self._measured()

    def pending(self, room: int) -> int:
        """About how many characters `tokens` will have to tokenise, at most."""
        short = self._end <= _SAMPLE_CHARS
        if self._density is None:
            start, end = self._sample
            return min(self._end, MAX_CHARS_PER_TOKEN * room) + (0 if short else end - start)
        return self._view.pending(0 if short else self._start(room, self._density), self._end)

    def tokens(self, room: int, ahead: int = 0) -> list[int]:
        """At most ``room`` tokens, beginning where they would with so many characters more typed at the end."""
        encode, end = self._view.encode, self._end
        if end + ahead <= _SAMPLE_CHARS and len(tokens := encode((0, end))) <= room:
            return tokens
        density = self._measured() if self._density is None else self._density
        chars, typed = room * density // 4, 4 * ahead // density
        retried = False
        while True:
            start = window_start(self._text, end + ahead, chars)
            tokens = encode((start, end))
            size = len(tokens) + typed
            if size <= room or chars <= room // 4:  # a character takes at most four tokens, one for each byte
                return tokens
            shown = end + ahead - start
            chars = max(min(shown // 2 if retried else shown - 1, shown * room // size), room // 4)
            retried = True

    def moves(self, room: int, ahead: int) -> bool:
        """Whether it will probably begin elsewhere with so many characters more typed at the end.

        Where that is not known without tokenising much, it is not looked for.
        """
        if self._density is None or self._end + ahead <= _SAMPLE_CHARS:
            return False
        chars = room * self._density // 4
        return window_start(self._text, self._end, chars) != window_start(self._text, self._end + ahead, chars)

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
        return window_start(self._text, self._end, room * density // 4)


def reach(room: int) -> int:
    """How many characters before its end a window of so many tokens looks at, at most."""
    return max(MAX_CHARS_PER_TOKEN * room, 3 * _sample_chars(room) // 2)


def _sample_chars(room: int) -> int:
    return max(_SAMPLE_CHARS, _SAMPLE_SHARE * room)


def window_start(text: str, end: int, chars: int) -> int:
    """Where a window of at most ``chars`` characters up to ``end`` begins: it has more than half of them.

    Of the lines with the least indentation there, the text itself chooses one. Where no line begins, one is cut.
    """
    if end <= chars:
        return 0
    earliest = end - chars
    latest = earliest + min(chars // 2, _CHOICE_CHARS)
    for beginning in _BEGINNINGS:
        starts = [found.end() for found in beginning.finditer(text, earliest - 1, latest + 1)]
        if starts and starts[-1] > latest:
            starts.pop()
        if starts:
            return _chosen(text, starts, end - latest)
    step = 1 << max(latest - earliest, 1).bit_length() - 1
    return min(-(-earliest // step) * step, end)


def _chosen(text: str, starts: list[int], most: int) -> int:
    """One of ``starts``, by no more than ``most`` characters from each on: what is being typed has no say.

    Of those that are equal in all that may be compared it takes the first, as of too many to compare further: these
    follow each other in less than what was compared, so that the text repeats itself.
    """
    chars = min(_CHOOSING_CHARS, most)
    while True:
        hashes = [crc32(text[start : start + chars].encode("utf-8", "replace")) for start in starts]
        best = max(hashes)
        tied = hashes.count(best)
        longer = min(_TIED_GROWTH * chars, most)
        if tied == 1 or longer == chars or tied * longer > _TIED_CHARS:
            return starts[hashes.index(best)]
        starts = [start for start, hashed in zip(starts, hashes, strict=True) if hashed == best]
        chars = longer


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
