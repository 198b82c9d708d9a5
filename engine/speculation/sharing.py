"""How much of each draft a pass verifies: as much as pays."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

from .cost import PassCost
from .drafter import Draft


def share_rows(drafts: Sequence[Draft], contexts: Sequence[int], rows: int, most: int, cost: PassCost) -> list[int]:
    """How many tokens of each draft to verify in a pass of ``rows`` other rows; at most ``most`` in all.

    There is a draft, maybe an empty one, for each sequence that the pass brings a token; a row of it attends to so
    many keys as ``contexts`` says. A token that stands saves a part of a later pass, and its row would have been
    computed sooner or later. One that is rejected makes this pass longer for nothing, and for all the sequences that
    wait for it. The tokens that save most for what they are expected to waste go first, as far as that pays.
    """
    lengths = [0] * len(drafts)
    a_pass = cost.seconds(len(drafts), sum(contexts))
    offers: list[tuple[float, int]] = []

    def offer(index: int) -> None:
        draft, place = drafts[index], lengths[index]
        if place < len(draft.survival):
            wasted = max(1 - draft.survival[place], 1e-9)
            heappush(offers, (-draft.saved[place] / wasted, index))

    for index in range(len(drafts)):
        offer(index)
    best, gain, most_gained = list(lengths), 0.0, 0.0
    seconds = cost.seconds(rows)
    for added in range(1, most + 1):
        if not offers:
            break
        _, index = heappop(offers)
        draft, place = drafts[index], lengths[index]
        longer = cost.seconds(rows + added)
        row = longer - seconds + cost.per_key * contexts[index]
        gain += draft.saved[place] * a_pass - len(drafts) * (1 - draft.survival[place]) * row
        seconds = longer
        lengths[index] += 1
        offer(index)
        if gain > most_gained:
            best, most_gained = list(lengths), gain
    return best
