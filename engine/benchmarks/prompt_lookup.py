"""Prompt lookup decoding with its usual fixed settings, to compare with."""

from __future__ import annotations

from collections.abc import Sequence

from ..speculation.drafter import NO_DRAFT, Draft, Drafter


class PromptLookup(Drafter):
    """Drafts a fixed number of tokens behind the first match of the longest n-gram, in prompt and output.

    As its reference has it (github.com/apoorvumang/prompt-lookup-decoding): n-grams of ``longest`` tokens down to
    one, the earliest match of the longest, always the whole draft.
    """

    source = "lookup"

    def __init__(self, tokens: Sequence[int], longest: int, draft_tokens: int) -> None:
        self._tokens = tokens  # the sequence's own
        self._longest = longest
        self._draft_tokens = draft_tokens
        self._first: dict[tuple[int, ...], int] = {}  # n-gram → the first place behind it
        self._indexed = 0

    def observe(self, emitted: list[int]) -> None:
        """Nothing to do: the sequence's tokens have them."""

    def propose(self, budget: int) -> Draft:
        """The draft, which the cost of a pass doesn't shorten: each token is said to save a whole pass."""
        tokens = self._tokens
        for end in range(self._indexed + 1, len(tokens)):  # what ends with the last token has no successor
            for size in range(1, min(self._longest, end) + 1):
                self._first.setdefault(tuple(tokens[end - size : end]), end)
        self._indexed = max(self._indexed, len(tokens) - 1)
        for size in range(min(self._longest, len(tokens)), 0, -1):
            place = self._first.get(tuple(tokens[len(tokens) - size :]))
            if place is not None:
                draft = list(tokens[place : place + min(budget, self._draft_tokens)])
                return Draft(draft, self.source, size, [(1.0, 1.0)] * len(draft))
        return NO_DRAFT
