"""A drafter for edits: a pointer into the original text that finds its place again after every change."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from typing import Final

from .drafter import Drafter

_ANCHOR: Final = 8
"""Emitted tokens that are compared with a place in the original."""
_CERTAIN: Final = 4
"""Tokens in step after which the cursor's place is taken for true."""
_NEAREST: Final = 64
"""Places that are looked at in each direction, so that a long original stays cheap."""


class EditCursor(Drafter):
    """Drafts the original from where the output stands in it.

    When an emitted token is not the expected one, the cursor goes behind the place whose tokens agree best with the
    last emitted ones; among equals, the nearest to where it was last certain. That is right after a deletion, a
    moved block, and once the end of an insertion or a substitution is reached. A token that is nowhere in the
    original is taken for a substitution of one token, until the next one tells better.
    """

    source = "edit"

    def __init__(self, original: list[int]) -> None:
        self._original = original
        self._places: dict[int, list[int]] = {}
        for place, token in enumerate(original):
            self._places.setdefault(token, []).append(place)
        self._cursor = 0
        self._in_step = _CERTAIN
        self._certain = 0  # the cursor when it was last certain
        self._tail: deque[int] = deque(maxlen=_ANCHOR)  # newest first

    def observe(self, emitted: list[int]) -> None:
        """Move along the original with the emitted tokens."""
        for token in emitted:
            self._tail.appendleft(token)
            if self._cursor < len(self._original) and self._original[self._cursor] == token:
                self._cursor += 1
                self._in_step += 1
            else:
                self._resync(token)
            if self._in_step >= _CERTAIN:
                self._certain = self._cursor

    def propose(self, limit: int) -> list[int]:
        """The original from the cursor on."""
        return self._original[self._cursor : self._cursor + limit]

    def _resync(self, token: int) -> None:
        self._in_step = 0
        self._cursor = min(self._cursor + 1, len(self._original))
        places = self._places.get(token, [])
        middle = bisect_left(places, self._certain)
        nearest = 0
        for place in places[max(0, middle - _NEAREST) : middle + _NEAREST]:
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
