"""What a benchmark says where too little was measured to say more."""

from __future__ import annotations

from typing import Final

TOO_SHORT: Final = "too short to judge"
MIN_ROUNDS: Final = 3
"""With fewer there is no median that one disturbance could not decide."""


def judged(ratio: str, rounds: int) -> str:
    """A ratio as a table has it, if it comes of enough rounds."""
    return ratio if rounds >= MIN_ROUNDS else TOO_SHORT
