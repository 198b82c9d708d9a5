"""A drafter for edits: a pointer into the original text that finds its place again after every change."""

from __future__ import annotations

from array import array
from collections import deque
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .drafter import Draft, Drafter

_ANCHOR: Final = 16
"""Emitted tokens that are compared with a place in the original."""
_CERTAIN: Final = 12
"""Tokens in step after which the cursor's place is taken for true."""
_BEGINNING: Final = 4
"""What the beginning counts for: as so many tokens in step."""
_NEAREST: Final = 64
"""Places that are looked at in each direction, so that one token all over the original stays cheap."""
_BACK_IN_STEP: Final = 3
"""Tokens in step after which a change is over, so that it is known what was replaced by what."""
_REPLACED: Final = 8
"""Tokens up to which a replacement is expected again."""
_REMEMBERED: Final = 16
"""Replacements that are expected at a time."""
_LEARNT: Final = 32
"""Replacements that are learnt in all: each takes a look at the text ahead."""
_AHEAD: Final = 8192
"""Tokens from the cursor on in which a replacement is expected again. Beyond them it is learnt anew."""
_GROWTH: Final = 2
"""How many times as long as the original the expected text may be. One that contains what it replaces could grow
with each time that it is learnt anew."""


class EditCursor(Drafter):
    """Drafts the original from where the output stands in it.

    When an emitted token is not the expected one, the cursor goes behind the place whose tokens agree best with the
    last emitted ones; among equals, the nearest to where it was last certain. That is right after a deletion, a
    moved block, and once the end of an insertion or a substitution is reached. A token that is nowhere in the
    original is taken for a substitution of one token, until the next one tells better.

    What was replaced once is expected to be replaced in the rest of the text, too, as when something is renamed:
    until it is not.
    """

    source = "edit"

    def __init__(self, original: list[int]) -> None:
        self._original = array("i", original)  # as expected: what lies ahead has replacements in it
        self._cursor = 0
        self._in_step = _BEGINNING
        self._certain = 0  # the cursor when it was last certain
        self._tail: deque[int] = deque(maxlen=_ANCHOR)  # newest first
        self._left: int | None = None  # where step was lost; None once it is found again
        self._since: list[int] = []  # emitted since then
        self._replaced: list[tuple[list[int], list[int]]] = []  # what by what, in the text ahead
        self._learnt = 0
        self._longest = _GROWTH * len(original) + _REPLACED

    def observe(self, emitted: list[int]) -> None:
        """Move along the original with the emitted tokens."""
        for token in emitted:
            self._tail.appendleft(token)
            expected = self._expects(token) or self._kept(token)
            if not expected and self._left is None:
                self._left, self._since = self._cursor, []
            if self._left is not None:
                self._since.append(token)
            if expected:
                self._cursor += 1
                self._in_step += 1
            else:
                self._resync(token)
            if self._left is not None and self._in_step >= _BACK_IN_STEP:
                self._learn(self._left)
                self._left = None
            if self._in_step >= _CERTAIN:
                self._certain = self._cursor

    def propose(self, budget: int) -> Draft:
        """The original from the cursor on; its evidence are the tokens in step."""
        tokens = self._original[self._cursor : self._cursor + budget].tolist()
        return Draft(tokens, self.source, self._in_step)

    def _expects(self, token: int) -> bool:
        return self._cursor < len(self._original) and self._original[self._cursor] == token

    def _kept(self, token: int) -> bool:
        """Whether the token shows that something was not replaced this time; then it is no longer expected to be."""
        for old, new in self._replaced:
            if token == old[0] and self._original[self._cursor : self._cursor + len(new)].tolist() == new:
                self._replaced.remove((old, new))
                return self._replace_ahead(new, old)
        return False

    def _resync(self, token: int) -> None:
        self._in_step = 0
        self._cursor = min(self._cursor + 1, len(self._original))
        places = _places([token], self._original)
        middle = int(places.searchsorted(self._certain))
        nearest = 0
        for place in places[max(0, middle - _NEAREST) : middle + _NEAREST].tolist():
            agreeing = self._agreement(place)
            distance = abs(place - self._certain)
            if (agreeing, -distance) > (self._in_step, -nearest):
                self._in_step, nearest, self._cursor = agreeing, distance, place + 1

    def _agreement(self, place: int) -> int:
        """How many of the last emitted tokens stand before and at a place of the original."""
        agreeing = 0
        for emitted in self._tail:
            if agreeing > place or self._original[place - agreeing] != emitted:
                break
            agreeing += 1
        return agreeing

    def _learn(self, left: int) -> None:
        """Step was lost at ``left`` and is found again: see what was replaced, and replace it ahead."""
        end, new = max(self._cursor - self._in_step, 0), self._since[: -self._in_step]
        old = self._original[left : min(end, left + _REPLACED + 1)].tolist()
        short = 0 < len(old) <= _REPLACED and 0 < len(new) <= _REPLACED
        if short and old != new and self._learnt < _LEARNT:
            self._learnt += 1
            if self._replace_ahead(old, new):
                kept = [pair for pair in self._replaced if pair[1] != old]
                self._replaced = [(old, new), *kept][:_REMEMBERED]

    def _replace_ahead(self, old: list[int], new: list[int]) -> bool:
        """Returns whether anything was replaced: it stands ahead, and doesn't make the text too long."""
        cursor, original = self._cursor, self._original
        text, replacement, end = original[:cursor], array("i", new), cursor
        for place in _places(old, original[cursor : cursor + _AHEAD]).tolist():
            if cursor + place >= end:
                text += original[end : cursor + place]
                text += replacement
                end = cursor + place + len(old)
        replaces = end > cursor and len(text) + len(original) - end <= self._longest
        if replaces:
            self._original = text + original[end:]
        return replaces


def _places(tokens: list[int], text: array[int]) -> NDArray[np.intp]:
    """Where some tokens stand in a text, ascending; also where they overlap.

    That takes a microsecond for some thousand tokens of the text, so that no index has to follow its changes.
    """
    count = len(text) - len(tokens) + 1
    if count <= 0:
        return np.empty(0, np.intp)
    within = np.frombuffer(text, np.intc)
    found = within[:count] == tokens[0]
    for offset, token in enumerate(tokens[1:], 1):
        found &= within[offset : offset + count] == token
    return np.flatnonzero(found)
