"""A drafter that knows the output, and errs as often as it is told to."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from warmline.engine.speculation.drafter import NO_DRAFT, Draft, Drafter


class Oracle(Drafter):
    """Drafts what will come, with wrong tokens in it: what verification has to tell from right ones.

    A wrong token is often the neighbour of the right one, which has the same logit in a world of twins. It goes on
    beyond the end of the output, where nothing it says can stand.
    """

    source = "oracle"

    def __init__(self, output: Sequence[int], vocabulary: int, errors: float, longest: int, seed: int) -> None:
        """``errors`` is the part of its tokens that are wrong, ``longest`` the tokens of a draft at most."""
        self._output = output
        self._vocabulary = vocabulary
        self._errors = errors
        self._longest = longest
        self._seed = seed
        self._emitted = 0

    def observe(self, emitted: list[int]) -> None:
        """Count what came."""
        self._emitted += len(emitted)

    def propose(self, budget: int) -> Draft:
        """What comes next, as it says."""
        random = Random(f"{self._seed} {self._emitted}")
        length = min(budget, random.choice([0, 1, random.randint(1, self._longest), self._longest, self._longest]))
        if not length:
            return NO_DRAFT
        tokens = list(self._output[self._emitted : self._emitted + length])
        tokens += [random.randrange(self._vocabulary) for _ in range(length - len(tokens))]
        for index, token in enumerate(tokens):
            if random.random() < self._errors:
                tokens[index] = random.choice([token ^ 1, random.randrange(self._vocabulary)]) % self._vocabulary
        return Draft(tokens, self.source, 64, [(0.999, 1.0)] * length)
