"""What `warmline bench edits --llama-server` has both engines write: edits of much text by small changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from warmline.engine import Copying, PlanCopies, Tokenizer

from ..evaluation.planned import plan_if_it_fits
from ..evaluation.records import EditRecord
from ..prompting.prompts import PromptBuilder

_SHORTEST: Final = 100
"""Tokens of a range that make its edit one of much text."""
_LONGEST: Final = 600
_MOST: Final = 12
_MORE: Final = 32
"""Tokens that an answer may have beyond those of its range."""


def copies(records: Sequence[EditRecord]) -> PlanCopies:
    """The edits of ``records`` whose ranges are long, `_MOST` of them, as the service asks an engine for them."""

    def plan(tokenizer: Tokenizer, max_tokens: int) -> list[Copying]:
        prompts = PromptBuilder(tokenizer, max_tokens)
        planned = (_planned(prompts, tokenizer, max_tokens, record) for record in records)
        return [copying for copying in planned if copying is not None][:_MOST]

    return plan


def _planned(prompts: PromptBuilder, tokenizer: Tokenizer, room: int, record: EditRecord) -> Copying | None:
    tokens = len(tokenizer.encode(record.before))
    if not _SHORTEST <= tokens <= _LONGEST:
        return None
    most = tokens + _MORE
    plan = plan_if_it_fits(prompts, record, most)
    return None if plan is None else Copying(plan.prompt, plan.draft or [], min(most, room - len(plan.prompt)))
