"""What `warmline bench edits --llama-server` has both engines write: edits of much text by small changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from warmline.engine import Copying, PlanCopies, Tokenizer

from ..documents.document import Document
from ..errors import Refused
from ..evaluation.records import EditRecord
from ..limits import Limits
from ..prompting.prompts import PromptBuilder
from ..protocol import Open

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
    document = Document(
        Open("benchmark", 1, record.language, record.prefix + record.before + record.suffix), Limits()
    )
    span = len(record.prefix), len(record.prefix) + len(record.before)
    most = tokens + _MORE
    try:
        plan = prompts.edit(document, *span, record.instructions[0], most, (), None).plan()
    except Refused:
        return None
    return Copying(plan.prompt, plan.draft or [], min(most, room - len(plan.prompt)))
