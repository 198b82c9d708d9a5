"""What drafts for a request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..admission import TOKEN_BYTES
from ..messages import GenerationRequest, unpack_tokens
from .draft_model import DraftModel, ModelDrafter
from .drafter import Drafter
from .edit_cursor import EditCursor
from .speculator import Speculator
from .suffix import SuffixDrafter
from .suffix_index import SuffixIndex

_DRAFT: Final = 4096
"""Tokens of a request's draft that are looked at in any case."""
_TIMES: Final = 2
"""How many times as many tokens as prompt and output may have are looked at of a longer one."""

CreateDrafter = Callable[[GenerationRequest, list[int], int], Drafter]
"""From a request, its sequence's tokens (the prompt as yet; see `Drafter`), and how many tokens prompt and output may
have together, to what drafts for it."""


def create_drafter(
    request: GenerationRequest,
    tokens: list[int],
    most_tokens: int,
    earlier: SuffixIndex | None = None,
    model: DraftModel | None = None,
) -> Drafter:
    """All that can draft for a request; ``earlier`` are texts that it may be told of. Close it when that ends."""
    drafters: list[Drafter] = []
    if request.draft:
        most = max(_DRAFT, _TIMES * most_tokens)
        drafters.append(EditCursor(unpack_tokens(request.draft[: TOKEN_BYTES * most])))
    drafters.append(SuffixDrafter(tokens, most_tokens, earlier))
    if model is not None and tokens:
        drafters.append(ModelDrafter(model, tokens, request.salt))
    return Speculator(drafters)
