"""Measure what a pass costs, in a fraction of a second, before the first request."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from ..batch import BLOCK_SIZE, Batch, SequenceSlice
from .cost import PassCost

if TYPE_CHECKING:
    from ..backends.base import Backend

_ROWS: Final = (1, 8, 32, 64)
_CONTEXT: Final = 2048
"""Keys before the rows of the pass that shows what attention costs; fewer where there is no room."""
_SECONDS: Final = 0.4
"""After so long nothing more is begun, but every size is timed once."""
_REPEATS: Final = 4


def measure_cost(backend: Backend, most_tokens: int, clock: Callable[[], float] = time.perf_counter) -> PassCost:
    """The cost of passes of a backend whose cache holds ``most_tokens`` of a sequence at least; all of it is idle.

    The fastest of some passes counts, as others use the machine, too. A pass of more rows is never taken to be
    cheaper than one of fewer. What is in the cache doesn't matter, and gets overwritten.
    """
    sizes = [rows for rows in _ROWS if rows <= most_tokens]
    if len(sizes) < 2:
        sizes = [1, 2]
    deep_rows = sizes[-1]
    context = max(min(_CONTEXT, most_tokens - deep_rows), 0)
    places = [*((rows, 0) for rows in sizes), (deep_rows, context)]
    fastest = dict.fromkeys(places, float("inf"))
    began = clock()
    for _ in range(_REPEATS):
        for rows, position in places:
            if clock() - began > _SECONDS and fastest[rows, position] < float("inf"):
                continue
            start = clock()
            _pass(backend, rows, position)
            fastest[rows, position] = min(fastest[rows, position], clock() - start)
    curve, seconds = [], 1e-9
    for rows in sizes:
        seconds = max(seconds, fastest[rows, 0])
        curve.append((rows, seconds))
    deeper = fastest[deep_rows, context] - seconds
    return PassCost(tuple(curve), max(deeper, 0.0) / (deep_rows * context) if context else 0.0)


def _pass(backend: Backend, rows: int, position: int) -> None:
    table = list(range(-(-(position + rows) // BLOCK_SIZE)))
    logits = backend.forward(Batch([0] * rows, [SequenceSlice(0, rows, position, table)], list(range(rows))))
    for row in logits.numpy():
        row.argmax()
