"""How likely a model finds given tokens: what an evaluation asks, beside what the model would write itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch

from .backends.base import Backend
from .backends.rows import max_positions
from .batch import BLOCK_SIZE, Batch, SequenceSlice
from .errors import EngineError
from .kv_cache import KVCache

CHUNK: Final = 256
"""Rows in a pass: the logits of so many rows are held at a time."""


def log_probabilities(
    backend: Backend,
    cache: KVCache,
    prompt: Sequence[int],
    answer: Sequence[int],
    salt: str = "",
    chunk: int = CHUNK,
) -> list[float]:
    """The natural logarithm of each answer token's probability after the prompt and the answer before it.

    What the cache holds of the prompt under this salt is used; nothing is added to it.

    Raises:
        EngineError: there is no room for so many tokens.
        ValueError: the prompt is empty.

    """
    if not prompt:
        raise ValueError("the prompt has no tokens")
    tokens = [*prompt, *answer[:-1]]
    most = max_positions(backend.config, backend.num_blocks)
    table = cache.open(salt)
    try:
        computed = cache.match(table, prompt)
        if len(tokens) > most or not cache.reserve(table, len(tokens)):
            room = min(most, (cache.available + len(table.blocks)) * BLOCK_SIZE)
            raise EngineError(f"{len(tokens)} tokens are to be scored, and there is room for {room}")
        found: list[float] = []
        while len(found) < len(answer):
            end = min(computed + chunk, len(tokens))
            first = max(len(prompt) - 1, computed)  # the last token of the prompt foresees the answer's first
            batch = Batch(
                tokens[computed:end],
                [SequenceSlice(0, end - computed, computed, table.blocks)],
                list(range(first - computed, end - computed)),
            )
            logits = backend.forward(batch)
            wanted = torch.tensor(answer[len(found) : len(found) + len(logits)], dtype=torch.long)
            chosen = logits.double().log_softmax(-1)[torch.arange(len(wanted)), wanted]
            found += chosen.tolist()
            computed = end
        return found
    finally:
        cache.release(table)
