"""An edit with a known answer, laid out as the service lays out a request for it."""

from __future__ import annotations

from ..documents.document_text import DocumentText
from ..editing.steering import joined
from ..errors import Refused
from ..prompting.prompts import PromptBuilder, PromptPlan
from .records import EditRecord


def plan_edit(prompts: PromptBuilder, record: EditRecord, max_tokens: int, replay: str | None = None) -> PromptPlan:
    """What an engine is given for it.

    Raises:
        Refused: PROMPT_TOO_LONG.

    """
    document = DocumentText(record.text, record.language)
    return prompts.edit(document, *record.span, joined(record.instructions), max_tokens, (), replay).plan()


def plan_if_it_fits(
    prompts: PromptBuilder, record: EditRecord, max_tokens: int, *, replayed: bool = False
) -> PromptPlan | None:
    """The same; None if the edit has no room, or is to be ``replayed`` and has nothing to say."""
    try:
        plan = plan_edit(prompts, record, max_tokens, record.after if replayed else None)
    except Refused:
        return None
    return plan if plan.replay or not replayed else None
