"""The seam between the engine and whatever foresees a sequence's next tokens."""

from __future__ import annotations

from abc import ABC, abstractmethod


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
    def propose(self, limit: int) -> list[int]:
        """At most ``limit`` tokens that will probably come next; none if there is no guess. Changes nothing."""
