"""How much of each draft a pass verifies: as much as pays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heapreplace
from itertools import islice, pairwise, repeat

from .cost import PassCost
from .drafter import Draft


def share_rows(drafts: Sequence[Draft], contexts: Sequence[int], rows: int, most: int, cost: PassCost) -> list[int]:
    """How many tokens of each draft to verify in a pass of ``rows`` other rows; at most ``most`` in all.

    There is a draft, maybe an empty one, for each sequence that the pass brings a token; a row of it attends to so
    many keys as ``contexts`` says. A token that stands saves a part of a later pass, and its row would have been
    computed sooner or later. One that is rejected makes this pass longer for nothing, and for all the sequences that
    wait for it. The tokens that save most for what they are expected to waste go first, as far as that pays.

    Of an outlook no more is asked for than is looked at: a token beyond each draft's share.
    """
    best = [0] * len(drafts)
    lengths = list(best)
    outlooks = [zip(draft.outlook, draft.tokens, strict=False) for draft in drafts]

    def offer(index: int) -> tuple[float, int, float, float] | None:
        """The next token of a draft: its worth for what it wastes, whose it is, what it saves and wastes."""
        following = next(outlooks[index], None)
        if following is None:
            return None
        (survival, saved), _ = following
        wasted = 1 - survival
        return -saved / max(wasted, 1e-9), index, saved, wasted

    offers = [first for first in map(offer, range(len(drafts))) if first is not None]
    if not offers:
        return best
    heapify(offers)
    a_pass = cost.seconds(len(drafts), sum(contexts))
    gain, most_gained = 0.0, 0.0
    for a_row in islice(_further_rows(cost, rows), most):
        _, index, saved, wasted = offers[0]
        gain += saved * a_pass - len(drafts) * wasted * (a_row + cost.per_key * contexts[index])
        lengths[index] += 1
        if gain > most_gained:
            best, most_gained = list(lengths), gain
        following = offer(index)
        if following is not None:
            heapreplace(offers, following)
        else:
            heappop(offers)
            if not offers:
                break
    return best


def _further_rows(cost: PassCost, rows: int) -> Iterator[float]:
    """What each row after so many adds to a pass, keys aside; without end, as the last piece of the curve."""
    a_row = 0.0
    for (first, shorter), (last, longer) in pairwise(cost.curve):
        a_row = (longer - shorter) / (last - first)
        yield from repeat(a_row, max(last - rows, 0))
        rows = max(rows, last)
    yield from repeat(a_row)
