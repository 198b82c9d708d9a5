"""All drafters of one sequence together: the one that is expected to be right for longest drafts."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Final

from .acceptance import USUAL_CHANCES, Acceptance
from .drafter import NO_DRAFT, CostlyDrafter, Draft, Drafter

LONGEST_DRAFT: Final = 64
"""Tokens that a draft may have."""
_FOUND_PER_PASS: Final = 1 / 4
"""Of the tokens that are expected to stand, the part that a pass brings: drafts end before, or are wrong before."""
_PROBED: Final = 64
"""Proposals between two for which a drafter that doesn't pay is asked all the same."""


class Speculator(Drafter):
    """Asks every drafter, and knows how right each was in this sequence.

    Drafts that weren't chosen are compared with what came, too: the order of the drafters follows what each would
    have been right about. Those whose drafts take time come last, and are asked for as many tokens as pay, if the
    others have less to say.
    """

    source = "best"  # of its own; a draft has that of whoever made it

    def __init__(self, drafters: Sequence[Drafter]) -> None:
        """``drafters`` have different sources."""
        self._drafters = [(drafter, Acceptance(USUAL_CHANCES[drafter.source])) for drafter in drafters]
        self._drafters.sort(key=lambda item: isinstance(item[0], CostlyDrafter))
        self._drafts: list[tuple[Draft, Acceptance]] = []
        self._unasked = 0

    def propose(self, budget: int) -> Draft:
        """The best draft of at most ``budget`` tokens, with what to expect of it; none if nobody has a guess."""
        budget = min(budget, LONGEST_DRAFT)
        self._drafts = []
        best, most, acceptance = NO_DRAFT, 0.0, None
        for drafter, its_acceptance in self._drafters if budget > 0 else ():
            wanted = self._wanted(drafter, its_acceptance, budget, most)
            draft = drafter.propose(wanted) if wanted else NO_DRAFT
            if not draft.tokens:
                continue
            self._drafts.append((draft, its_acceptance))
            expected = min(its_acceptance.run(draft.evidence), len(draft.tokens))
            if expected > most:
                best, most, acceptance = draft, expected, its_acceptance
        return best if acceptance is None else _with_outlook(best, acceptance)

    def _wanted(self, drafter: Drafter, acceptance: Acceptance, budget: int, most: float) -> int:
        """For how many tokens to ask a drafter, where another's draft has ``most`` that are expected to stand."""
        if not isinstance(drafter, CostlyDrafter):
            return budget
        wanted, standing, effort, evidence = 0, 1.0, drafter.effort, drafter.evidence
        while wanted < budget:
            standing *= acceptance.chance(evidence + wanted)
            if _saved(standing, acceptance, evidence + wanted) <= effort:
                break
            wanted += 1
        if min(acceptance.run(evidence), wanted) > most:
            return wanted
        self._unasked = (self._unasked + 1) % _PROBED
        return 0 if self._unasked else 1

    def close(self) -> None:
        """Close all drafters, whatever one of them makes of it."""
        with contextlib.ExitStack() as closing:
            for drafter, _ in self._drafters:
                closing.callback(drafter.close)

    def observe(self, emitted: list[int]) -> None:
        """Take the tokens that the last pass brought, in order."""
        for draft, acceptance in self._drafts:
            acceptance.observe(draft.evidence, draft.tokens, emitted)
        self._drafts = []
        for drafter, _ in self._drafters:
            drafter.observe(emitted)


def _with_outlook(draft: Draft, acceptance: Acceptance) -> Draft:
    """A draft with the survival of its tokens and the passes they save."""
    survival, saved, standing = [], [], 1.0
    for evidence in range(draft.evidence, draft.evidence + len(draft.tokens)):
        standing *= acceptance.chance(evidence)
        survival.append(standing)
        saved.append(_saved(standing, acceptance, evidence))
    return Draft(draft.tokens, draft.source, draft.evidence, survival, saved)


def _saved(standing: float, acceptance: Acceptance, evidence: int) -> float:
    """The passes that a token saves which stands with this probability.

    It saves what it would have cost later. Where tokens can be foreseen from there on that is little, as one pass
    brings many of them.
    """
    return standing / (1 + _FOUND_PER_PASS * acceptance.run(evidence))
