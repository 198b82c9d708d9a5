"""An index over text that grows: where did the newest tokens stand before, and what followed them there?"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Final

LONGEST_MATCH: Final = 32
"""Tokens up to which two places are compared."""
_GRAM: Final = 3
"""Tokens by which places are looked up first."""
_CHAIN: Final = 24
"""Places that are compared at a look-up, the newest first."""
_PIECE: Final = 32
"""Tokens that `SuffixIndex.remember` takes or leaves at a time."""


class SuffixIndex:
    """The last ``capacity`` tokens of a text (rounded up to a power of two), by what stands before them.

    As deflate finds repetitions: a table has the newest place of each trigram, and each place points to the one
    before with the same. Pairs and single tokens have their newest place alone. A token takes 36 bytes.
    """

    def __init__(self, capacity: int) -> None:
        size = 1 << max(capacity - 1, 15).bit_length()
        self._mask = size - 1
        self._tokens = array("i", bytes(4 * size))
        nowhere = array("q", [-1])
        self._before, self._trigrams, self._pairs, self._singles = (nowhere * size for _ in range(4))
        self._length = 0

    def extend(self, tokens: Sequence[int]) -> None:
        """Append tokens."""
        ring, mask, place = self._tokens, self._mask, self._length
        before, trigrams, pairs, singles = self._before, self._trigrams, self._pairs, self._singles
        first = ring[place - 2 & mask] if place > 1 else 0
        second = ring[place - 1 & mask] if place > 0 else 0
        for token in tokens:
            # Noted is the place behind: nothing follows the last token yet, so pairs and singles wait for the next.
            pairs[_hash(first, second, 0) & mask] = place
            singles[_hash(0, second, 0) & mask] = place
            ring[place & mask] = token
            key = _hash(first, second, token) & mask
            before[place & mask] = trigrams[key]
            trigrams[key] = place
            first, second = second, token
            place += 1
        self._length = place

    def remember(self, tokens: Sequence[int]) -> None:
        """Append the tokens in pieces of 32, except for pieces that the index holds already.

        What is left at the end is dropped: of a text that is being typed it would be another with every key.
        """
        start = 0  # of what is to be appended
        for piece in range(0, len(tokens) - _PIECE + 1, _PIECE):
            if self._holds(tokens, piece):
                self.extend(tokens[start:piece])
                start = piece + _PIECE
        self.extend(tokens[start : len(tokens) // _PIECE * _PIECE])

    def match(self, recent: Sequence[int]) -> tuple[int, int]:
        """The place behind the longest match of the newest tokens, and the length of the match.

        ``recent`` ends with the newest token. Of equally long matches the newest is taken. The length is at most
        `LONGEST_MATCH`, and 0 if there is none.
        """
        best, longest = 0, 0
        if len(recent) >= _GRAM:
            place = self._trigrams[_hash(*recent[-_GRAM:]) & self._mask]
            for _ in range(_CHAIN):
                if place < self._oldest:
                    break
                length = self._agreement(place, recent)
                if length > longest and place + 1 < self._length:
                    best, longest = place + 1, length
                    if length >= min(len(recent), LONGEST_MATCH):
                        break
                place = self._before[place & self._mask]
        if longest >= _GRAM:
            return best, longest
        for table, order in ((self._pairs, 2), (self._singles, 1)):
            if len(recent) >= order:
                place = table[_hash(recent[-2] if order == 2 else 0, recent[-1], 0) & self._mask]
                if place - 1 >= self._oldest and (length := self._agreement(place - 1, recent)) > longest:
                    best, longest = place, length
        return best, longest

    def following(self, place: int, limit: int) -> list[int]:
        """At most ``limit`` tokens from a place on."""
        ring, mask = self._tokens, self._mask
        return [ring[index & mask] for index in range(place, min(place + limit, self._length))]

    @property
    def _oldest(self) -> int:
        return max(self._length - self._mask - 1, 0)

    def _agreement(self, place: int, recent: Sequence[int]) -> int:
        """How many of the newest tokens stand before and at a place."""
        ring, mask, length = self._tokens, self._mask, 0
        most = min(len(recent), LONGEST_MATCH, place - self._oldest + 1)
        while length < most and ring[place - length & mask] == recent[-1 - length]:
            length += 1
        return length

    def _holds(self, tokens: Sequence[int], start: int) -> bool:
        """Whether the index has a piece of the tokens."""
        ring, mask = self._tokens, self._mask
        place = self._trigrams[_hash(*tokens[start : start + _GRAM]) & mask]
        for _ in range(_CHAIN):
            first = place - _GRAM + 1
            if first < self._oldest:
                return False
            if first + _PIECE <= self._length and all(
                ring[first + offset & mask] == tokens[start + offset] for offset in range(_PIECE)
            ):
                return True
            place = self._before[place & mask]
        return False


def _hash(first: int, second: int, third: int) -> int:
    mixed = first * 0x9E3779B1 ^ second * 0x85EBCA77 ^ third * 0xC2B2AE3D
    return mixed ^ mixed >> 15
