"""The seam between the engine and whatever foresees a sequence's next tokens."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True, slots=True)
class Draft:
    """Tokens that a drafter foresees.

    Attributes:
        source: whose they are.
        evidence: how many of the newest tokens agreed with the place that the draft was taken from.
        outlook: for each token, or more: the estimated probability that it stands, with all before it, and the
            passes that verifying it is estimated to save. Found while it is iterated over, and as far; only as long
            as nothing more was observed.
    """

    tokens: list[int]
    source: str = ""
    evidence: int = 0
    outlook: Iterable[tuple[float, float]] = ()

    def cut(self, length: int) -> Draft:
        """Its first ``length`` tokens."""
        return self if length >= len(self.tokens) else replace(self, tokens=self.tokens[:length])


NO_DRAFT: Final = Draft([])


class Drafter(ABC):
    """Foresees the output of one sequence. It learns what was emitted, and nothing else of the target.

    One that is given the sequence's tokens has its own list, to be read: prompt and output, to which what was emitted
    has been added by the time it is observed.

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

    def prepare(self, budget: int) -> None:  # noqa: B027  (only what computes needs to)
        """At most ``budget`` tokens will be proposed next: say what of it has to be computed, with others' drafts."""

    def close(self) -> None:  # noqa: B027  (most hold nothing)
        """Give back what it holds; the sequence has ended."""


class CostlyDrafter(Drafter):
    """A drafter whose tokens are computed, for several sequences at once, where they were wanted before.

    It proposes what was computed since the last tokens were observed.
    """

    @property
    @abstractmethod
    def effort(self) -> float:
        """What computing a token for all sequences takes, in passes of the model."""

    @property
    @abstractmethod
    def evidence(self) -> int:
        """That of the draft it would propose."""

    @abstractmethod
    def want(self, saved: Sequence[float]) -> None:
        """Ask for so many tokens; ``saved`` are the passes that each is estimated to save."""
