"""The usual way: FastAPI, a pydantic model for each chunk, server-sent events through `StreamingResponse`."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Annotated, Literal

from fastapi import Depends, FastAPI, HTTPException
from fastapi.responses import StreamingResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel
from warmline.engine import EngineHandle, Tokenizer

from ..terms import API_KEY
from .source import generate
from .uvicorn_server import serve_app

bearer = HTTPBearer()


class Message(BaseModel):
    """One message of a chat."""

    role: str
    content: str


class StreamOptions(BaseModel):
    """What the stream is to hold beside text."""

    include_usage: bool = False


class ChatRequest(BaseModel):
    """The body of a request."""

    model: str
    messages: list[Message]
    max_tokens: int
    temperature: float = 0.0
    stream: bool = False
    stream_options: StreamOptions | None = None


class Delta(BaseModel):
    """What is new in a chunk."""

    role: Literal["assistant"] | None = None
    content: str | None = None


class Choice(BaseModel):
    """The one answer."""

    index: int = 0
    delta: Delta
    finish_reason: str | None = None


class Usage(BaseModel):
    """What it took."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Chunk(BaseModel):
    """One event."""

    id: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: int
    model: str
    choices: list[Choice]
    usage: Usage | None = None


def serve(engine: EngineHandle, tokenizer: Tokenizer) -> AbstractAsyncContextManager[int]:
    """Serve it on a free port, which the context manager gives."""
    app = FastAPI()

    def check_key(credentials: Annotated[HTTPAuthorizationCredentials, Depends(bearer)]) -> None:
        if credentials.credentials != API_KEY:
            raise HTTPException(401, "wrong API key")

    @app.post("/v1/chat/completions", dependencies=[Depends(check_key)])
    async def chat(body: ChatRequest) -> StreamingResponse:
        return StreamingResponse(events(body), media_type="text/event-stream")

    async def events(body: ChatRequest) -> AsyncIterator[str]:
        queue = generate(engine, tokenizer, body.messages[-1].content, body.max_tokens)
        name, created, finished = f"chatcmpl-{engine.next_id()}", int(time.time()), None
        while finished is None:
            event = await queue.get()
            finished = event.finished
            reason = None if finished is None else finished.reason
            choice = Choice(delta=Delta(content=event.text), finish_reason=reason)
            yield encode(Chunk(id=name, created=created, model=body.model, choices=[choice]))
        if body.stream_options is not None and body.stream_options.include_usage:
            prompt, output = finished.prompt_tokens, finished.output_tokens
            usage = Usage(prompt_tokens=prompt, completion_tokens=output, total_tokens=prompt + output)
            yield encode(Chunk(id=name, created=created, model=body.model, choices=[], usage=usage))
        yield "data: [DONE]\n\n"

    return serve_app(app)


def encode(chunk: Chunk) -> str:
    """A chunk as an event; ``object`` is always said."""
    return f"data: {chunk.model_dump_json(exclude_none=True)}\n\n"
