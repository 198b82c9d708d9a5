"""Server-sent events as fast as we could make them in Python: on the socket itself, without a framework.

What an engine's event brings is written from within its callback: no task, no queue, no generator. The head goes out
with the first text and the end of the body with the last.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, cast

import msgspec
from warmline.engine import (
    EngineHandle,
    Finished,
    GenerationRequest,
    SamplingParams,
    SequenceEvent,
    Tokenizer,
    pack_tokens,
)

from ..terms import API_KEY
from .completions import Piece, Prompt
from .http_requests import BadRequest, Request, take_request

_AUTHORIZATION: Final = f"Bearer {API_KEY}".encode()
_LINE: Final = b"POST /complete HTTP/1.1"
_HEAD: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)
_LAST_CHUNK: Final = b"0\r\n\r\n"
_MAX_HELD: Final = 1 << 20
"""Characters that are held for a slow reader before it is given up."""

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(Prompt).decode


class TunedConnection(asyncio.Protocol):
    """One client's connection, which is kept; its requests are answered one after the other."""

    def __init__(self, engine: EngineHandle, tokenizer: Tokenizer) -> None:
        self._engine = engine
        self._tokenizer = tokenizer
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._sequence: int | None = None  # that is being answered with
        self._ahead = _HEAD  # is to be written before the next event
        self._paused = False
        self._held: list[str] = []
        self._held_size = 0
        self._finished: Finished | None = None  # while it is held

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._drop()

    def data_received(self, data: bytes) -> None:
        self._received += data
        if self._sequence is None:
            self._answer_next()

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        if self._held or self._finished is not None:
            text, self._held, self._held_size = "".join(self._held), [], 0
            self._write(text, self._finished)

    def _answer_next(self) -> None:
        """Begin with what was asked next, if anything was."""
        try:
            while self._sequence is None and (request := take_request(self._received)) is not None:
                self._answer(request)
        except BadRequest as error:
            self._refuse(error.status)
            assert self._transport is not None
            self._transport.close()  # where the next one would begin is not known
            self._received.clear()

    def _answer(self, request: Request) -> None:
        if request.line != _LINE:
            self._refuse("404 Not Found")
        elif request.headers.get(b"authorization") != _AUTHORIZATION:
            self._refuse("401 Unauthorized")
        else:
            try:
                asked = _decode(request.body)
            except msgspec.MsgspecError:
                self._refuse("422 Unprocessable Content")
            else:
                self._begin(asked)

    def _begin(self, asked: Prompt) -> None:
        prompt, sampling = pack_tokens(self._tokenizer.encode(asked.prompt)), SamplingParams(asked.max_tokens)
        self._sequence = sequence = self._engine.next_id()
        self._ahead = _HEAD
        self._engine.submit(GenerationRequest(sequence, prompt, sampling), self._on_event)

    def _refuse(self, status: str) -> None:
        assert self._transport is not None
        self._transport.write(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode())

    def _on_event(self, event: SequenceEvent) -> None:
        if event.id != self._sequence:
            return
        if not self._paused:
            self._write(event.text, event.finished)
            return
        self._held.append(event.text)
        self._held_size += len(event.text)
        self._finished = event.finished
        if self._held_size > _MAX_HELD and self._transport is not None:
            self._transport.abort()
            self._drop()

    def _write(self, text: str, finished: Finished | None) -> None:
        assert self._transport is not None
        ahead, self._ahead = self._ahead, b""
        if finished is None:
            data = _encode(Piece(text))
            self._transport.write(b"%b%x\r\ndata: %b\n\n\r\n" % (ahead, len(data) + 8, data))
            return
        data = _encode(Piece(text, finished.reason, finished.prompt_tokens, finished.output_tokens))
        self._transport.write(b"%b%x\r\ndata: %b\n\n\r\n%b" % (ahead, len(data) + 8, data, _LAST_CHUNK))
        self._sequence = self._finished = None
        if self._received:
            self._answer_next()

    def _drop(self) -> None:
        """Nobody reads what the engine still makes."""
        sequence, self._sequence = self._sequence, None
        self._held.clear()
        if sequence is not None:
            self._engine.cancel(sequence)


@asynccontextmanager
async def serve(engine: EngineHandle, tokenizer: Tokenizer) -> AsyncIterator[int]:
    """Serve it on a free port, which the context manager gives."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: TunedConnection(engine, tokenizer), "127.0.0.1", 0)
    async with server:
        port: int = server.sockets[0].getsockname()[1]
        yield port
