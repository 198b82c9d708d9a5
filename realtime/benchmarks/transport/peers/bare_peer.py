"""A bare socket read by a callback: what the processes' wake-ups alone cost."""

from __future__ import annotations

import asyncio

from warmline.engine import recorded_tokens

from ..terms import Reply, clock


class BarePeer(asyncio.Protocol):
    """Knows the recording, and so where the text ends."""

    name = "bare TCP (the floor)"
    child = server = "bare"

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._reply = Reply(0)
        self._missing = 0
        self._ended: asyncio.Future[None] | None = None

    async def open(self, port: int) -> None:
        self._transport, _ = await asyncio.get_running_loop().create_connection(lambda: self, "127.0.0.1", port)

    async def ask(self, tokens: int) -> Reply:
        assert self._transport is not None
        self._missing = len("".join(recorded_tokens(tokens)))
        self._ended = asyncio.get_running_loop().create_future()
        self._reply = Reply(clock())
        self._transport.write(tokens.to_bytes(4, "little"))
        await self._ended
        self._reply.ended = clock()
        return self._reply

    def data_received(self, data: bytes) -> None:
        text = data.decode()
        self._reply.took(text)
        self._missing -= len(text)
        if self._missing == 0 and self._ended is not None:
            self._ended.set_result(None)

    async def close(self) -> None:
        assert self._transport is not None
        self._transport.close()
