"""What an engine counts since its start."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

from .messages import FREE_SECONDS, GAP_SECONDS


@dataclass(slots=True)
class Counters:
    """The counters of `EngineStats`; see there."""

    forward_passes: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    draft_tokens: int = 0
    accepted_tokens: int = 0
    finished: int = 0
    cancelled: int = 0
    warm_computed_tokens: int = 0
    warm_used_tokens: int = 0
    warm_dropped: int = 0
    freed: list[int] = field(default_factory=lambda: [0] * (len(FREE_SECONDS) + 1))
    free_seconds: float = 0.0
    gaps: list[int] = field(default_factory=lambda: [0] * (len(GAP_SECONDS) + 1))
    gap_seconds: float = 0.0

    def count_freed(self, seconds: float) -> None:
        """Count a request whose blocks were free so many seconds after its cancel was sent."""
        self.freed[bisect_left(FREE_SECONDS, seconds)] += 1
        self.free_seconds += seconds

    def count_gap(self, seconds: float) -> None:
        """Count the time between two passes that brought a sequence tokens."""
        self.gaps[bisect_left(GAP_SECONDS, seconds)] += 1
        self.gap_seconds += seconds
