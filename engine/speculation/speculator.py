"""All drafters of one sequence together: the one that is expected to be right for longest drafts."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from typing import Final

from .acceptance import USUAL_CHANCES, Acceptance, Outlook
from .drafter import NO_DRAFT, CostlyDrafter, Draft, Drafter

LONGEST_DRAFT: Final = 64
"""Tokens that a draft may have."""
_PROBED: Final = 64
"""Passes between two for which a drafter that doesn't pay is asked all the same."""

logger = logging.getLogger(__name__)


class Speculator(Drafter):
    """Asks every drafter, and knows how right each was in this sequence.

    Drafts that weren't chosen are compared with what came, too: the order of the drafters follows what each would
    have been right about. Those whose drafts are computed are asked for as many tokens as pay, if the others have
    less to say. A drafter that fails is left out from then on.
    """

    source = "best"  # of its own; a draft has that of whoever made it

    def __init__(self, drafters: Sequence[Drafter]) -> None:
        """``drafters`` have different sources."""
        self._drafters = [(drafter, Acceptance(USUAL_CHANCES[drafter.source])) for drafter in drafters]
        self._drafts: list[tuple[Draft, Acceptance]] = []
        self._prepared = False
        self._unasked = 0

    def propose(self, budget: int) -> Draft:
        """The best draft of at most ``budget`` tokens, with what to expect of it; none if nobody has a guess."""
        budget = min(budget, LONGEST_DRAFT)
        self._drafts = self._asked(budget, costly=True) if budget > 0 else []
        draft, acceptance, _ = _best(self._drafts)
        if acceptance is None:
            return NO_DRAFT
        return Draft(draft.tokens, draft.source, draft.evidence, Outlook(acceptance, draft.evidence))

    def prepare(self, budget: int) -> None:
        """Let the drafters whose drafts are computed want what pays; once for each pass that brings tokens."""
        budget = min(budget, LONGEST_DRAFT)
        costly = [(one, acceptance) for one, acceptance in self._drafters if isinstance(one, CostlyDrafter)]
        if self._prepared or budget <= 0 or not costly:
            return
        self._prepared = True
        *_, most = _best(self._asked(budget, costly=False))
        for drafter, acceptance in costly:
            try:
                drafter.want(self._wanted(drafter, acceptance, budget, most))
            except Exception:
                self._drop(drafter)

    def observe(self, emitted: list[int]) -> None:
        """Take the tokens that the last pass brought, in order."""
        for draft, acceptance in self._drafts:
            acceptance.observe(draft.evidence, draft.tokens, emitted)
        self._drafts, self._prepared = [], False
        for drafter, _ in list(self._drafters):
            try:
                drafter.observe(emitted)
            except Exception:
                self._drop(drafter)

    def close(self) -> None:
        """Close all drafters, whatever one of them makes of it. Idempotent."""
        drafters, self._drafters = self._drafters, []
        for drafter, _ in drafters:
            _close(drafter)

    def _asked(self, budget: int, costly: bool) -> list[tuple[Draft, Acceptance]]:
        """What the drafters propose, those that compute only if ``costly``."""
        drafts = []
        for drafter, acceptance in list(self._drafters):
            if costly or not isinstance(drafter, CostlyDrafter):
                try:
                    draft = drafter.propose(budget)
                except Exception:
                    self._drop(drafter)
                    continue
                if draft.tokens:
                    drafts.append((draft, acceptance))
        return drafts

    def _wanted(self, drafter: CostlyDrafter, acceptance: Acceptance, budget: int, most: float) -> list[float]:
        """What each token saves that a drafter is asked for; another's draft has ``most`` expected to stand."""
        wanted: list[float] = []
        effort, evidence = drafter.effort, drafter.evidence
        for _, saved in acceptance.expectations(evidence):
            if saved <= effort or len(wanted) == budget:
                break
            wanted.append(saved)
        if min(acceptance.run(evidence), len(wanted)) > most:
            return wanted
        self._unasked = (self._unasked + 1) % _PROBED
        return [] if self._unasked else [math.inf]

    def _drop(self, drafter: Drafter) -> None:
        """Go on without a drafter: a fault of one may cost time, never the others' drafts."""
        logger.exception("the %s drafter failed; its sequence goes on without it", drafter.source)
        self._drafters = [pair for pair in self._drafters if pair[0] is not drafter]
        _close(drafter)


def _best(drafts: Sequence[tuple[Draft, Acceptance]]) -> tuple[Draft, Acceptance | None, float]:
    """The draft of which most tokens are expected to stand, its source's acceptance, and how many those are."""
    best: tuple[Draft, Acceptance | None, float] = NO_DRAFT, None, 0.0
    for draft, acceptance in drafts:
        expected = min(acceptance.run(draft.evidence), len(draft.tokens))
        if expected > best[2]:
            best = draft, acceptance, expected
    return best


def _close(drafter: Drafter) -> None:
    try:
        drafter.close()
    except Exception:
        logger.exception("the %s drafter could not be closed", drafter.source)
