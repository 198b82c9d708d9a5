"""An index over text that grows: where did the newest tokens stand before, and what followed them there?"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

LONGEST_MATCH: Final = 32
"""Tokens up to which two places are compared."""
_GRAM: Final = 3
"""Tokens by which places are looked up first."""
_CHAIN: Final = 24
"""Places that are compared at a look-up, the newest first."""
_PIECE: Final = 32
"""Tokens of a text to be remembered that are taken or left together."""
_CHUNK: Final = 512
"""Tokens of a text to be remembered that are looked at together."""
_FEW: Final = 32
"""Tokens from which on arrays append them faster than a loop, which takes 1 us for each; arrays take 20 us, and
0.05 us for each."""

_Tokens = TypeVar("_Tokens", int, NDArray[np.int64])


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
        self._waiting: deque[tuple[int, Iterator[bool]]] = deque()  # texts to be remembered and their tokens
        self._due = 0  # the tokens of them all

    def extend(self, tokens: Sequence[int]) -> None:
        """Append tokens."""
        if len(tokens) < _FEW:
            self._extend_one_by_one(tokens)
            return
        for start in range(0, len(tokens), self._mask + 1):  # at most what there is room for
            self._extend_together(tokens[start : start + self._mask + 1])

    def remember(self, tokens: Sequence[int]) -> None:
        """Append the tokens in pieces of 32, except for pieces that the index held before.

        What is left at the end is dropped: of a text that is being typed it would be another with every key.
        That is done bit by bit, by `work`, and the tokens must stay the same until then. Of the texts that wait for
        it the oldest are forgotten as long as there are more tokens than the index holds.
        """
        whole = len(tokens) // _PIECE * _PIECE
        if not whole:
            return
        self._waiting.append((whole, self._remembering(tokens, whole)))
        self._due += whole
        while self._due > self._mask + 1 and len(self._waiting) > 1:
            self._due -= self._waiting.popleft()[0]

    def work(self) -> bool:
        """Remember the next 512 tokens that wait for it; returns whether there were any."""
        while self._waiting:
            tokens, remembering = self._waiting[0]
            if next(remembering, None) is not None:
                return True
            self._waiting.popleft()
            self._due -= tokens
        return False

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
        return self._read(place, min(limit, self._length - place)).tolist()

    def _extend_one_by_one(self, tokens: Sequence[int]) -> None:
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

    def _extend_together(self, tokens: Sequence[int]) -> None:
        """The same for no more tokens than there is room for."""
        ring, mask, start = self._tokens, self._mask, self._length
        beginning = [ring[start - 2 & mask] if start > 1 else 0, ring[start - 1 & mask] if start > 0 else 0]
        text = np.array([*beginning, *tokens], dtype=np.int64)
        first, second, token = text[:-2], text[1:-1], text[2:]
        nothing = np.zeros_like(token)
        places = np.arange(start, start + len(tokens))
        # Of equal indices numpy takes the last value, as the loop does.
        np.frombuffer(self._pairs, np.int64)[_hash(first, second, nothing) & mask] = places
        np.frombuffer(self._singles, np.int64)[_hash(nothing, second, nothing) & mask] = places
        np.frombuffer(ring, np.int32)[places & mask] = token
        # Each place points to the one before with the same trigram: the newest there was, or one of these tokens'.
        trigrams, keys = np.frombuffer(self._trigrams, np.int64), _hash(first, second, token) & mask
        before, order = trigrams[keys], np.argsort(keys, kind="stable")
        again = keys[order[1:]] == keys[order[:-1]]
        before[order[1:][again]] = places[order[:-1][again]]
        np.frombuffer(self._before, np.int64)[places & mask] = before
        trigrams[keys] = places
        self._length += len(tokens)

    def _remembering(self, tokens: Sequence[int], whole: int) -> Iterator[bool]:
        """Remember the first ``whole`` tokens of a text, with a stop behind each chunk."""
        begun = self._length
        for start in range(0, whole, _CHUNK):
            end = min(start + _CHUNK, whole)
            new = start  # from where on nothing is held
            for piece in range(start, end, _PIECE):
                if self._holds(tokens, piece, begun):
                    self.extend(tokens[new:piece])
                    new = piece + _PIECE
            self.extend(tokens[new:end])
            yield True

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

    def _holds(self, tokens: Sequence[int], start: int, end: int) -> bool:
        """Whether the index has a piece of the tokens, before a place ``end``."""
        wanted = array("i", tokens[start : start + _PIECE])
        place = self._trigrams[_hash(*wanted[:_GRAM]) & self._mask]
        for _ in range(_CHAIN):
            first = place - _GRAM + 1
            if first < self._oldest:
                return False
            if first + _PIECE <= end and self._read(first, _PIECE) == wanted:
                return True
            place = self._before[place & self._mask]
        return False

    def _read(self, place: int, count: int) -> array[int]:
        """So many tokens from a place on."""
        start = place & self._mask
        tokens = self._tokens[start : start + count]
        return tokens if len(tokens) == count else tokens + self._tokens[: count - len(tokens)]


def _hash(first: _Tokens, second: _Tokens, third: _Tokens) -> _Tokens:
    mixed = first * 0x9E3779B1 ^ second * 0x85EBCA77 ^ third * 0xC2B2AE3D
    return mixed ^ mixed >> 15
