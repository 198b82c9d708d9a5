"""What scenarios were about, counted, so that a property that held is seen to have been put to the test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec


class Difference(msgspec.Struct, frozen=True):
    """A request that did not come out as it does alone."""

    world: str
    scenario: int
    request: int
    expected: str
    got: str


class Tally(msgspec.Struct):
    """Counts over scenarios.

    Attributes:
        requests: those that ran beside others; ``cancelled`` of them were cancelled while they did.
        tokens: of their outputs; ``drafted`` of them are draft tokens that stood.
        replayed: tokens of requests whose output was given; ``replayed_drafted`` of them were drafted.
        proposed, accepted: draft tokens by source.
        cache_hits: requests that found some of their prompt in the cache; ``warm_hits``: computed ahead for them.
        chunked: requests whose prompt came in several passes.
        preemptions: how often one gave up its blocks and was computed again.
        aborted: passes that were given up between layers.
        threads, kernels: scenarios by thread count (in one that changes it, by each) and kind of kernels.
    """

    scenarios: int = 0
    alone: int = 0
    requests: int = 0
    tokens: int = 0
    drafted: int = 0
    replayed: int = 0
    replayed_drafted: int = 0
    proposed: dict[str, int] = {}
    accepted: dict[str, int] = {}
    passes: int = 0
    aborted: int = 0
    cache_hits: int = 0
    warm_hits: int = 0
    chunked: int = 0
    preemptions: int = 0
    cancelled: int = 0
    pauses: int = 0
    threads: dict[int, int] = {}
    kernels: dict[str, int] = {}
    differences: list[Difference] = []

    @property
    def drafted_share(self) -> float:
        """The part of the tokens that were drafted."""
        return self.drafted / max(self.tokens, 1)

    @property
    def replayed_share(self) -> float:
        """The part of the replayed tokens that were drafted."""
        return self.replayed_drafted / max(self.replayed, 1)

    def add(self, other: Tally) -> None:
        """Count what another one counted."""
        for field in self.__struct_fields__:
            mine, its = getattr(self, field), getattr(other, field)
            if isinstance(mine, dict):
                its = dict(Counter(mine) + Counter(its))
            elif isinstance(mine, list):
                its = [*mine, *its]
            else:
                its = mine + its
            setattr(self, field, its)

    def missing(self, sources: Iterable[str]) -> list[str]:
        """What never occurred of all that has to, drafts of these sources that stood and failed among it."""
        needed = ("cache_hits", "warm_hits", "chunked", "preemptions", "cancelled", "pauses", "aborted", "replayed")
        found = [name for name in needed if not getattr(self, name)]
        for source in sources:
            stood = self.accepted.get(source, 0)
            if not stood:
                found.append(f"{source} drafts that stood")
            if self.proposed.get(source, 0) == stood:
                found.append(f"{source} drafts that failed")
        return found
