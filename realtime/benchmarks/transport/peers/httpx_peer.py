"""FastAPI read by httpx, line by line, as its documentation shows it."""

from __future__ import annotations

import json

import httpx

from ..terms import Reply, clock
from .openai_api import HEADERS, PATH, chat_request


class HttpxPeer:
    """One client, whose connection is kept."""

    name = "FastAPI, httpx"
    child = server = "fastapi"

    def __init__(self) -> None:
        self._client: httpx.AsyncClient | None = None

    async def open(self, port: int) -> None:
        self._client = httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=HEADERS, trust_env=False)

    async def ask(self, tokens: int) -> Reply:
        assert self._client is not None
        reply = Reply(clock())
        async with self._client.stream("POST", PATH, json=chat_request(tokens)) as response:
            response.raise_for_status()
            async for line in response.aiter_lines():
                if not line or line == "data: [DONE]":
                    continue
                chunk = json.loads(line.removeprefix("data: "))
                for choice in chunk["choices"]:
                    if text := choice["delta"].get("content"):
                        reply.took(text)
        reply.ended = clock()
        return reply

    async def close(self) -> None:
        assert self._client is not None
        await self._client.aclose()
