"""Our SDK over a WebSocket, with either of its transports."""

from __future__ import annotations

from typing import Literal

from warmline.client import Document, Session, connect

from ....protocol import Complete, Done
from ..delays import Put, before, behind
from ..terms import API_KEY, PROMPT, Reply, clock


class WarmlinePeer:
    """One session with the prompt as its open document."""

    child = server = "warmline"

    def __init__(self, transport: Literal["websockets", "picows"]) -> None:
        self.name = f"warmline, {transport}"
        self._transport = transport
        self._session: Session | None = None
        self._document: Document | None = None

    async def open(self, port: int) -> None:
        self._session = await connect(f"ws://127.0.0.1:{port}", token=API_KEY, transport=self._transport)
        self._document = await self._session.open("file:///hash.py", PROMPT, language="python")

    async def ask(self, tokens: int) -> Reply:
        assert self._session is not None
        assert self._document is not None
        reply = Reply(clock())
        completion = self._session.complete(self._document, len(PROMPT), max_tokens=tokens)
        async for text in completion:
            reply.took(text)
        await completion.result()
        reply.ended = clock()
        return reply

    async def hops(self) -> dict[str, int]:
        """The hops of a request for one token, in microseconds."""
        assert self._session is not None
        assert self._document is not None
        result = await self._session.complete(self._document, len(PROMPT), max_tokens=1).result()
        return result.timing.hops

    def delays(self) -> dict[str, Put]:
        """What holds up the client's own hops: its request's encoding, and the decoding of its end."""
        assert self._session is not None
        link = self._session._link
        return {
            "client.queue": before(link, "_encode", lambda message: isinstance(message, Complete)),
            "client.decode": behind(link, "_decode", lambda message: isinstance(message, Done)),
        }

    async def close(self) -> None:
        assert self._session is not None
        await self._session.close()
