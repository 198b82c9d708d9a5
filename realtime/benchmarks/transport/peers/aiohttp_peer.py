"""Servers with OpenAI's API and without it, read by aiohttp."""

from __future__ import annotations

import json
from typing import Final

import aiohttp
import msgspec

from ..servers.completions import Piece, Prompt
from ..terms import PROMPT, Reply, clock
from .openai_api import HEADERS, PATH, chat_request

_DATA: Final = b"data: "
_END_OF_EVENT: Final = b"\n\n"


class _Peer:
    """One client session, whose connection is kept."""

    def __init__(self) -> None:
        self._client: aiohttp.ClientSession | None = None

    async def open(self, port: int) -> None:
        self._client = aiohttp.ClientSession(f"http://127.0.0.1:{port}", headers=HEADERS)

    async def close(self) -> None:
        assert self._client is not None
        await self._client.close()


class AiohttpPeer(_Peer):
    """A server with OpenAI's API, line by line."""

    def __init__(self, name: str, child: str, server: str) -> None:
        super().__init__()
        self.name, self.child, self.server = name, child, server

    async def ask(self, tokens: int) -> Reply:
        assert self._client is not None
        reply = Reply(clock())
        async with self._client.post(PATH, json=chat_request(tokens)) as response:
            response.raise_for_status()
            async for line in response.content:
                if line == b"\n" or line == b"data: [DONE]\n":
                    continue
                chunk = json.loads(line.removeprefix(_DATA))
                for choice in chunk["choices"]:
                    if text := choice["delta"].get("content"):
                        reply.took(text)
        reply.ended = clock()
        return reply


class MsgspecPeer(_Peer):
    """A server without OpenAI's API, its JSON encoded and decoded by msgspec here, too.

    What a read brought is cut into events here: line by line would be two turns of aiohttp's stream for each.
    """

    def __init__(self, name: str, server: str) -> None:
        super().__init__()
        self.name = name
        self.child = self.server = server
        self._encode = msgspec.json.Encoder().encode
        self._decode = msgspec.json.Decoder(Piece).decode

    async def ask(self, tokens: int) -> Reply:
        assert self._client is not None
        reply = Reply(clock())
        body = self._encode(Prompt(PROMPT, tokens))
        async with self._client.post("/complete", data=body) as response:
            response.raise_for_status()
            rest = b""
            async for data in response.content.iter_any():
                *events, rest = (rest + data).split(_END_OF_EVENT)
                for event in events:
                    piece = self._decode(event[len(_DATA) :])
                    if piece.text:
                        reply.took(piece.text)
        reply.ended = clock()
        return reply
