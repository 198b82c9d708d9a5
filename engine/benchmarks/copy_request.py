"""A request whose answer is mostly copied, as the engine is asked for it. Importable without torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..loading.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Copying:
    """A request, in tokens, whose answer repeats most of ``draft``, which is part of the prompt, too."""

    prompt: list[int]
    draft: list[int]
    max_tokens: int


PlanCopies = Callable[[Tokenizer, int], list[Copying]]
"""From the model's tokenizer, and what a sequence may have, to the requests that fit."""
