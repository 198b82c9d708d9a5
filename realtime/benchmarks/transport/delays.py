"""Delays: waiting for an exact time, and putting that before or behind a step of the code that is measured."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from .terms import clock

Put = Callable[[int], None]
"""Holds up one hop for so many nanoseconds from now on; 0 ends that, and everything is as it was."""

_COARSE: Final = 300_000
"""Nanoseconds by which a sleeping thread may wake late."""


def hold_up(nanoseconds: int) -> None:
    """Block the thread for exactly so long (nothing below zero): sleep, and watch the clock at the end."""
    until = clock() + nanoseconds
    if nanoseconds > _COARSE:
        time.sleep((nanoseconds - _COARSE) / 1e9)
    while clock() < until:
        pass


def before(holder: Any, step: str, concerned: Callable[..., bool] = lambda *_: True) -> Put:
    """Delays calls of a function, an attribute of ``holder``, that are ``concerned`` by their arguments."""

    def late(original: Callable[..., Any], nanoseconds: int) -> Callable[..., Any]:
        def delayed(*arguments: Any, **options: Any) -> Any:
            if concerned(*arguments):
                hold_up(nanoseconds)
            return original(*arguments, **options)

        return delayed

    return replaced(holder, step, late)


def behind(holder: Any, step: str, concerned: Callable[[Any], bool]) -> Put:
    """Delays the results of a function, an attribute of ``holder``, that are ``concerned``."""

    def late(original: Callable[..., Any], nanoseconds: int) -> Callable[..., Any]:
        def delayed(*arguments: Any, **options: Any) -> Any:
            result = original(*arguments, **options)
            if concerned(result):
                hold_up(nanoseconds)
            return result

        return delayed

    return replaced(holder, step, late)


def replaced(holder: Any, step: str, late: Callable[[Callable[..., Any], int], Callable[..., Any]]) -> Put:
    """Puts what ``late`` makes of a function and a delay in its place. A step has one delay at a time."""
    original = getattr(holder, step)

    def put(nanoseconds: int) -> None:
        setattr(holder, step, late(original, nanoseconds) if nanoseconds else original)

    return put
