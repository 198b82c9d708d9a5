"""What bounds a pass: rows, and how much longer than others are used to."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

from .batch import BLOCK_SIZE


@dataclass(frozen=True, slots=True)
class StepBudget:
    """Bounds on one pass, in tokens unless said otherwise."""

    sequences: int = 64
    """Sequences that run at a time."""
    decode: int = 128
    """Rows of sequences that bring a token, all drafts included."""
    prefill: int = 512
    """Rows of prompts while nobody decodes."""
    prefill_beside_decode: int = 128
    """Rows of prompts while somebody decodes."""
    prefill_stretch: float = 2.0
    """How many times as long a pass with prompts may take, drafts included. Beside decoding sequences, as one with
    a row of each of these: at 2 half of the time is theirs, so that those who decode keep about half their speed,
    however long a prompt is. Where nobody decodes, as one of ``prefill`` rows without context. A row of a prompt is
    computed in any case: who decodes is slower than that only where this one attends to more than all others take."""
    warm: int = 64
    """Rows of a warm request, in full blocks. Up to so many are lost when a request comes, and a layer of the pass
    is what it waits for; but passes of fewer rows compute fewer tokens a second. Behind a long context there are
    fewer, so that the pass takes at most ``prefill_stretch`` times as long as one of so many rows without."""
    warm_beside_decode: int = 8
    """Rows of a warm request in a pass over decoding sequences alone."""
    warm_stretch: float = 1.05
    """How many times as long these make it; one row is computed in any case. On the CPU a pass over a few rows mostly
    waits for the weights, so that a few more cost next to nothing."""
    warm_requests: int = 64
    """Warm requests that are kept."""

    def __post_init__(self) -> None:
        if self.warm < BLOCK_SIZE or self.warm % BLOCK_SIZE or self.warm_requests < 1:
            raise ValueError(f"warm rows must be a multiple of {BLOCK_SIZE}, and a warm request must be kept")
        if self.warm_beside_decode < 0:
            raise ValueError("there can't be fewer than no warm rows beside decoding sequences")
        if not 1 <= self.sequences <= self.decode:
            raise ValueError("every running sequence needs at least a row of the decode budget")
        if min(self.prefill, self.prefill_beside_decode) < 1:
            raise ValueError("prompts need a row of each pass")
        if min(self.prefill_stretch, self.warm_stretch) < 1:
            raise ValueError("a pass can't become shorter by having more in it")

    @property
    def draft_stretch(self) -> float:
        """How many times as long drafts may make a pass in which there are prompts: these have the other half."""
        return (1 + self.prefill_stretch) / 2


def attended(position: int, rows: int) -> int:
    """The keys that so many rows from a position on attend to, all rows' together."""
    return rows * position + rows * (rows + 1) // 2


def rows_within(seconds: float, least: int, most: int, pass_seconds: Callable[[int], float]) -> int:
    """The most rows, of ``least`` to ``most``, with which a pass takes so long; ``least`` if it never does.

    ``pass_seconds`` gives the time of a pass with so many of them, and doesn't fall; ``most`` wins over ``least``.
    """
    fitting = bisect_right(range(1, most + 1), seconds, key=pass_seconds)
    return min(max(fitting, least), most)
