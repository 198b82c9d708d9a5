"""What an OpenAI-compatible server is asked."""

from __future__ import annotations

from typing import Any, Final

from ..terms import API_KEY, MODEL, PROMPT

PATH: Final = "/v1/chat/completions"
HEADERS: Final = {"Authorization": f"Bearer {API_KEY}"}


def chat_request(tokens: int) -> dict[str, Any]:
    """The body that asks for so many tokens, streamed, and what was used."""
    return {
        "model": MODEL,
        "messages": [{"role": "user", "content": PROMPT}],
        "max_tokens": tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
