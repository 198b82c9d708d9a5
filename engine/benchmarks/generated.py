"""What one request brought, whoever answered it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Generated:
    """New tokens, without the end token, and what they took once the prompt was computed."""

    tokens: list[int]
    seconds: float
    proposed: int = 0
    """Draft tokens."""
    accepted: int = 0
    """Of those, the ones that stood."""

    def agrees_for(self, other: Generated) -> int:
        """How many tokens both begin with alike."""
        pairs = zip(self.tokens, other.tokens, strict=False)
        shorter = min(len(self.tokens), len(other.tokens))
        return next((number for number, (mine, theirs) in enumerate(pairs) if mine != theirs), shorter)
