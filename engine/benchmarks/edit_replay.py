"""An edit with a known answer, as the engine is asked for it. Importable without torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..loading.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class EditReplay:
    """An edit in tokens; ``group`` names the table of the report that it counts for."""

    group: str
    prompt: list[int]
    draft: list[int]
    answer: list[int]


PlanEdits = Callable[[Tokenizer, int], list[EditReplay]]
"""From the model's tokenizer, and what a sequence may have, to the edits that fit."""
