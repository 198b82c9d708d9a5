"""Measure what a pass costs, before the first request: in two seconds, or each size once where that takes longer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from ..batch import BLOCK_SIZE, Batch, SequenceSlice
from ..models.config import ModelConfig
from .cost import PassCost

if TYPE_CHECKING:
    from ..backends.base import Backend

_ROWS: Final = (1, 8, 32, 64)
_CONTEXT: Final = 2048
"""Keys before the rows of the pass that shows what attention costs; fewer where there is no room."""
_SECONDS: Final = 2.0
"""Every size is timed once; no pass is repeated that would, by the fastest one like it, end later than this."""
_LEAST: Final = 3
_AGREEMENT: Final = 1.1
"""A size is timed so often, and until its second fastest pass took at most so many times as long as its fastest."""


def measure_cost(backend: Backend, most_tokens: int, clock: Callable[[], float] = time.perf_counter) -> PassCost:
    """The cost of passes of a backend whose cache holds ``most_tokens`` of a sequence at least; all of it is idle.

    The fastest of some passes counts, as others use the machine, too. A pass of more rows is never taken to be
    cheaper than one of fewer. What is in the cache doesn't matter, and gets overwritten.
    """
    sizes = [rows for rows in _ROWS if rows <= most_tokens]
    if len(sizes) < 2:
        sizes = [1, 2]
    deep_rows = sizes[1]  # few: attention is most of such a pass, and it is no longer than one of many rows
    context = max(min(_CONTEXT, most_tokens - deep_rows), 0)
    times: dict[tuple[int, int], list[float]] = {(rows, 0): [] for rows in sizes}
    times[deep_rows, context] = []
    began = clock()
    while due := [place for place, taken in times.items() if not _agree(taken)]:
        passes = 0
        for rows, position in due:  # all in turn: what disturbs one for a while disturbs the others, too
            taken = times[rows, position]
            start = clock()
            if taken and start - began + min(taken) > _SECONDS:
                continue
            _pass(backend, rows, position)
            taken.append(clock() - start)
            passes += 1
        if not passes:
            break
    curve, seconds = [], 1e-9
    for rows in sizes:
        seconds = max(seconds, min(times[rows, 0]))
        curve.append((rows, seconds))
    deeper = min(times[deep_rows, context]) - min(times[deep_rows, 0])
    return PassCost(tuple(curve), max(deeper, 0.0) / (deep_rows * context) if context else 0.0)


def scored_part(config: ModelConfig) -> float:
    """The part of a row's work that is only done where its logits are wanted, by the weights that it meets."""
    head = config.vocab_size * config.hidden_size
    attention = 2 * (config.num_heads + config.num_kv_heads) * config.head_dim * config.hidden_size
    layer = attention + 3 * config.ffn_size * config.hidden_size
    return head / (head + config.num_layers * layer)


def _agree(taken: list[float]) -> bool:
    fastest = sorted(taken)[:2]
    return len(taken) >= _LEAST and fastest[1] <= _AGREEMENT * fastest[0]


def _pass(backend: Backend, rows: int, position: int) -> None:
    table = list(range(-(-(position + rows) // BLOCK_SIZE)))
    backend.forward(Batch([0] * rows, [SequenceSlice(0, rows, position, table)], list(range(rows))))
