"""Waiting for an exact time."""

from __future__ import annotations

import time
from typing import Final

from .terms import clock

_COARSE: Final = 300_000
"""Nanoseconds by which a sleeping thread may wake late."""


def hold_up(nanoseconds: int) -> None:
    """Block the thread for exactly so long (nothing below zero): sleep, and watch the clock at the end."""
    until = clock() + nanoseconds
    if nanoseconds > _COARSE:
        time.sleep((nanoseconds - _COARSE) / 1e9)
    while clock() < until:
        pass
