"""How far a benchmark is, on stderr, so that nobody waits before a terminal that says nothing."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Final

TOLD_SECONDS: Final = 5.0
"""How often it is said, at most, within a part."""


class Progress:
    """Says what is done now: each new part at once, and how far that is every few seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._told = -math.inf

    def part(self, text: str) -> None:
        """Another part begins."""
        self._told = self._clock()
        print(text, file=sys.stderr, flush=True)

    def at(self, text: str) -> None:
        """The part has come so far; said unless something was said a moment ago."""
        if self._clock() - self._told >= TOLD_SECONDS:
            self.part(text)
