"""The seam between the engine and whatever foresees a sequence's next tokens."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Draft:
    """Tokens that a drafter foresees.

    Attributes:
        source: whose they are.
        evidence: how many of the newest tokens agreed with the place that the draft was taken from.
        survival: the estimated probability that the draft stands up to and with each token.
        saved: the passes that verifying each token is estimated to save.
    """

    tokens: list[int]
    source: str = ""
    evidence: int = 0
    survival: Sequence[float] = ()
    saved: Sequence[float] = ()

    def cut(self, length: int) -> Draft:
        """Its first ``length`` tokens."""
        if length >= len(self.tokens):
            return self
        return Draft(self.tokens[:length], self.source, self.evidence, self.survival[:length], self.saved[:length])


NO_DRAFT: Final = Draft([])


class Drafter(ABC):
    """Foresees the output of one sequence. It learns what was emitted, and nothing else of the target.

    Attributes:
        source: the name under which its drafts are counted.
    """

    source: str

    @abstractmethod
    def observe(self, emitted: list[int]) -> None:
        """Take the tokens that the last pass brought, in order."""

    @abstractmethod
    def propose(self, budget: int) -> Draft:
        """At most ``budget`` tokens that will probably come next; none if there is no guess. Changes no later one."""

    def close(self) -> None:  # noqa: B027  (most hold nothing)
        """Give back what it holds; the sequence has ended."""


class CostlyDrafter(Drafter):
    """A drafter whose drafts take so much time that it is asked only where they pay."""

    @property
    @abstractmethod
    def effort(self) -> float:
        """What drafting a token takes, in passes of the model."""

    @property
    @abstractmethod
    def evidence(self) -> int:
        """That of the draft it would propose."""
