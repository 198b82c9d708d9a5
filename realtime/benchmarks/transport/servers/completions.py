"""What the servers without OpenAI's API are asked, and the events they answer with."""

from __future__ import annotations

import msgspec


class Prompt(msgspec.Struct):
    """The body of a request."""

    prompt: str
    max_tokens: int


class Piece(msgspec.Struct, omit_defaults=True):
    """One event; the last one has a reason and what it took."""

    text: str
    finish_reason: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
