"""FastAPI read by the openai SDK."""

from __future__ import annotations

import openai

from ..terms import API_KEY, Reply, clock
from .openai_api import chat_request


class OpenAIPeer:
    """One client, whose connection is kept."""

    name = "FastAPI, openai"
    child = server = "fastapi"

    def __init__(self) -> None:
        self._client: openai.AsyncOpenAI | None = None

    async def open(self, port: int) -> None:
        self._client = openai.AsyncOpenAI(
            base_url=f"http://127.0.0.1:{port}/v1",
            api_key=API_KEY,
            max_retries=0,
            http_client=openai.DefaultAsyncHttpxClient(trust_env=False),
        )

    async def ask(self, tokens: int) -> Reply:
        assert self._client is not None
        reply = Reply(clock())
        async for chunk in await self._client.chat.completions.create(**chat_request(tokens)):
            for choice in chunk.choices:
                if choice.delta.content:
                    reply.took(choice.delta.content)
        reply.ended = clock()
        return reply

    async def close(self) -> None:
        assert self._client is not None
        await self._client.close()
