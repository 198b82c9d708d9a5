"""What is written of a reply: one body, or an event for each step of the engine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

import structlog
from starlette.types import Receive, Scope, Send
from warmline.engine import Finished

from ..errors import FAULT
from ..protocol import ErrorCode
from ..service import Service
from ..telemetry.tracing import clock
from .answers import Answer
from .problems import Problem
from .reply import ClientGone, Reply

logger = structlog.get_logger("warmline.http")

ABORT: Final = "warmline.abort"
"""Where a request's state has what cuts its connection."""
DEAD: Final = "warmline.dead"
"""Where it has what tells whether nobody takes what its connection writes."""
TOO_MANY: Final = "warmline.too_many"
"""Where it has how many connections its address may have, if it has more; else None."""


class _Response:
    """Writes a reply. The sequence is freed at once when the client goes."""

    content_type: str

    def __init__(self, reply: Reply, answer: Answer, service: Service, on_end: Callable[[], object]) -> None:
        """``on_end`` is called once all was written, or can't be."""
        self._reply = reply
        self._answer = answer
        self._service = service
        self._on_end = on_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as an ASGI application.

        Raises:
            Problem: before anything is written.

        """
        watcher = asyncio.ensure_future(self._watch(receive))
        self._stall = _StallGuard(self._service, scope["state"][ABORT], self._reply.names)
        try:
            await self._write(send)
        except ClientGone:
            pass
        finally:
            watcher.cancel()
            self._stall.close()
            self._reply.close()
            self._on_end()

    async def _watch(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._reply.give_up(ClientGone())

    async def _write(self, send: Send) -> None:
        raise NotImplementedError

    async def _start(self, send: Send, *headers: tuple[bytes, bytes]) -> None:
        own = [(b"content-type", self.content_type.encode()), (b"x-request-id", self._answer.id.encode())]
        self._stall.begin()
        await send({"type": "http.response.start", "status": 200, "headers": [*own, *headers]})
        self._stall.end()

    async def _body(self, send: Send, body: bytes, *, more: bool) -> None:
        trace = self._reply.trace
        trace.encoded = clock()
        self._stall.begin()
        await send({"type": "http.response.body", "body": body, "more_body": more})
        self._stall.end()
        trace.sent = clock()
        if not trace.first_sent:
            trace.first_sent = trace.sent


class WholeResponse(_Response):
    """Everything in one body, when it is complete."""

    content_type = "application/json"

    async def _write(self, send: Send) -> None:
        texts: list[str] = []
        finished: Finished | None = None
        while finished is None:
            text, logprobs, finished = await self._reply.take()
            texts.append(text)
            self._answer.score(logprobs)
        body = self._answer.whole("".join(texts), finished)
        await self._start(send, (b"content-length", str(len(body)).encode()))
        await self._body(send, body, more=False)


class StreamResponse(_Response):
    """Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).

    What came while an event waited for the socket becomes one event. The status waits for the first text, so that a
    request that fails before has its own. A failure after that is an event with the error's envelope, and no
    ``[DONE]`` follows.
    """

    content_type = "text/event-stream; charset=utf-8"

    async def _write(self, send: Send) -> None:
        text, logprobs, finished = await self._reply.take()
        try:
            await self._start(send, (b"cache-control", b"no-store"), (b"x-accel-buffering", b"no"))
            while True:
                self._answer.score(logprobs)
                event = self._answer.event(text) if text or logprobs else b""
                if finished is not None:
                    event += self._answer.last(finished)
                await self._body(send, event, more=finished is None)
                if finished is not None:
                    return
                text, logprobs, finished = await self._reply.take()
        except ClientGone:
            raise
        except Problem as problem:
            await self._fail(send, problem)
        except Exception:
            logger.exception("request failed", **self._reply.names)
            await self._fail(send, Problem(ErrorCode.INTERNAL_ERROR, FAULT))

    async def _fail(self, send: Send, problem: Problem) -> None:
        self._service.metrics.http_refused(problem.code)
        await self._body(send, b"data: %b\n\n" % problem.body(), more=False)


class _StallGuard:
    """Cuts the connection when one write has waited for the reader too long. One timer for all writes."""

    def __init__(self, service: Service, abort: Callable[[], None], names: Mapping[str, object]) -> None:
        self._names = names
        self._loop = asyncio.get_running_loop()
        self._timeout = service.limits.stall_timeout
        self._slow_readers = service.metrics.slow_readers
        self._abort = abort
        self._since: float | None = None
        self._timer = self._loop.call_later(self._timeout, self._check)

    def begin(self) -> None:
        self._since = self._loop.time()

    def end(self) -> None:
        self._since = None

    def close(self) -> None:
        self._timer.cancel()

    def _check(self) -> None:
        now = self._loop.time()
        left = self._timeout - (now - (self._since or now))
        if left <= 0:
            logger.warning("client reads too slowly", **self._names)
            self._slow_readers.inc()
            self._abort()
        else:
            self._timer = self._loop.call_later(left, self._check)
