"""The floor: token texts written to a bare socket, without framing, keys or receipts. No wire can cost less here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

from warmline.engine import EngineHandle, GenerationRequest, SamplingParams, SequenceEvent, Tokenizer, pack_tokens


class _Connection(asyncio.Protocol):
    """Takes the number of tokens, in four bytes."""

    def __init__(self, engine: EngineHandle, tokenizer: Tokenizer) -> None:
        self._engine = engine
        self._tokenizer = tokenizer
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        prompt = pack_tokens(self._tokenizer.encode("x"))
        sampling = SamplingParams(max_tokens=int.from_bytes(data, "little"))
        self._engine.submit(GenerationRequest(self._engine.next_id(), prompt, sampling), self._on_event)

    def _on_event(self, event: SequenceEvent) -> None:
        assert self._transport is not None
        self._transport.write(event.text.encode())


@asynccontextmanager
async def serve(engine: EngineHandle, tokenizer: Tokenizer) -> AsyncIterator[int]:
    """Serve it on a free port, which the context manager gives."""
    server = await asyncio.get_running_loop().create_server(lambda: _Connection(engine, tokenizer), "127.0.0.1", 0)
    async with server:
        port: int = server.sockets[0].getsockname()[1]
        yield port
