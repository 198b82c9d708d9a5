"""A drafter for text that repeats itself: what followed the newest tokens the last time they were seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .drafter import NO_DRAFT, Draft, Drafter
from .suffix_index import LONGEST_MATCH, SuffixIndex

_CHUNK: Final = 2048
"""Tokens that are indexed in a step, in 0.3 ms."""


class SuffixDrafter(Drafter):
    """Drafts from the longest match of the newest tokens in the prompt and the output, or else in earlier texts.

    The prompt is indexed for the drafts behind the first token, which it therefore doesn't delay: a part for each
    step. So are earlier texts that are to be remembered.
    """

    source = "suffix"

    def __init__(self, tokens: Sequence[int], most_tokens: int, earlier: SuffixIndex | None = None) -> None:
        """``tokens`` are the sequence's (see `Drafter`); prompt and output may have ``most_tokens`` together."""
        self._tokens = tokens
        self._indexed = 0
        self._most_tokens = most_tokens
        self._own: SuffixIndex | None = None
        self._earlier = earlier
        self._moved = False  # whether tokens came since the last draft

    def observe(self, emitted: list[int]) -> None:
        """Tokens came."""
        self._moved = self._moved or bool(emitted)

    def propose(self, budget: int) -> Draft:
        """What followed the longest match; of equally long ones the sequence's own goes first."""
        if self._moved:
            self._moved = False
            self._index()
        if self._own is None:
            return NO_DRAFT
        recent = self._tokens[-LONGEST_MATCH:]
        found, (place, length) = self._own, self._own.match(recent)
        if self._earlier is not None and length < LONGEST_MATCH:
            elsewhere, longer = self._earlier.match(recent)
            if longer > length:
                found, place, length = self._earlier, elsewhere, longer
        return Draft(found.following(place, budget), self.source, length) if length else NO_DRAFT

    def _index(self) -> None:
        """Take the next tokens of the text, and of earlier ones, into their indices."""
        if self._own is None:
            self._own = SuffixIndex(self._most_tokens)
        self._own.extend(self._tokens[self._indexed : self._indexed + _CHUNK])
        self._indexed = min(self._indexed + _CHUNK, len(self._tokens))
        if self._earlier is not None:
            self._earlier.work()
