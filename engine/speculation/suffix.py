"""A drafter for text that repeats itself: what followed the newest tokens the last time they were seen."""

from __future__ import annotations

from collections.abc import Sequence

from .drafter import NO_DRAFT, Draft, Drafter
from .suffix_index import LONGEST_MATCH, SuffixIndex


class SuffixDrafter(Drafter):
    """Drafts from the longest match of the newest tokens in the prompt and the output, or else in earlier texts.

    The prompt is indexed for the first draft behind the first token, which it therefore doesn't delay.
    """

    source = "suffix"

    def __init__(self, prompt: Sequence[int], most_tokens: int, earlier: SuffixIndex | None = None) -> None:
        """``most_tokens`` are those that prompt and output may have together."""
        self._unindexed = list(prompt)
        self._recent = self._unindexed[-LONGEST_MATCH:]
        self._most_tokens = most_tokens
        self._own: SuffixIndex | None = None
        self._earlier = earlier
        self._begun = False

    def observe(self, emitted: list[int]) -> None:
        """Take the tokens that the last pass brought."""
        self._unindexed += emitted
        self._recent = (self._recent + emitted)[-LONGEST_MATCH:]
        self._begun = self._begun or bool(emitted)

    def propose(self, budget: int) -> Draft:
        """What followed the longest match; of equally long ones the sequence's own goes first."""
        if not self._begun:
            return NO_DRAFT
        if self._own is None:
            self._own = SuffixIndex(self._most_tokens)
        self._own.extend(self._unindexed)
        self._unindexed = []
        found, (place, length) = self._own, self._own.match(self._recent)
        if self._earlier is not None and length < LONGEST_MATCH:
            elsewhere, longer = self._earlier.match(self._recent)
            if longer > length:
                found, place, length = self._earlier, elsewhere, longer
        return Draft(found.following(place, budget), self.source, length) if length else NO_DRAFT
