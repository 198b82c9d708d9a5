"""A light framework instead of a heavy one: server-sent events through Starlette, and msgspec's JSON."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Final

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from warmline.engine import EngineHandle, Tokenizer

from ..terms import API_KEY
from .completions import Piece, Prompt
from .source import generate
from .uvicorn_server import serve_app

_AUTHORIZATION: Final = f"Bearer {API_KEY}"


def serve(engine: EngineHandle, tokenizer: Tokenizer) -> AbstractAsyncContextManager[int]:
    """Serve it on a free port, which the context manager gives."""
    decode, encode = msgspec.json.Decoder(Prompt).decode, msgspec.json.Encoder().encode

    async def complete(request: Request) -> Response:
        if request.headers.get("authorization") != _AUTHORIZATION:
            return Response(status_code=401)
        return StreamingResponse(events(decode(await request.body())), media_type="text/event-stream")

    async def events(body: Prompt) -> AsyncIterator[bytes]:
        queue = generate(engine, tokenizer, body.prompt, body.max_tokens)
        while True:
            event = await queue.get()
            finished = event.finished
            if finished is not None:
                piece = Piece(event.text, finished.reason, finished.prompt_tokens, finished.output_tokens)
                yield b"data: %b\n\n" % encode(piece)
                return
            yield b"data: %b\n\n" % encode(Piece(event.text))

    return serve_app(Starlette(routes=[Route("/complete", complete, methods=["POST"])]))
