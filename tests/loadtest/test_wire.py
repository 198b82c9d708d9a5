"""The blocking client of the load test, against a server that says what a script has."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from warmline.loadtest.wire import Wire, WireError
from warmline.realtime import (
    MSGPACK,
    SUBPROTOCOLS,
    Accepted,
    Cancel,
    Complete,
    Delta,
    Done,
    Edit,
    Error,
    Hello,
    Ops,
    Ping,
    Pong,
    ServerMessage,
    Timing,
    Welcome,
    server_codec,
)
from websockets.asyncio.server import ServerConnection, serve

Answers = Callable[[object], list[ServerMessage]]


@asynccontextmanager
async def answering(answers: Answers) -> AsyncIterator[str]:
    """A server that answers hello and pings, and everything else as it is told."""
    codec = server_codec(MSGPACK)

    async def handle(connection: ServerConnection) -> None:
        async for frame in connection:
            match codec.decode(frame):
                case Hello():
                    replies: list[ServerMessage] = [Welcome("s", "scripted", "model", 1, 1, 1)]
                case Ping(sent=sent):
                    replies = [Pong(sent, 1_000, 1_000)]
                case message:
                    replies = answers(message)
            for reply in replies:
                await connection.send(codec.encode(reply))

    async with serve(handle, "127.0.0.1", 0, subprotocols=SUBPROTOCOLS, compression=None) as server:  # type: ignore[arg-type]
        yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_an_exchange_knows_when_its_frames_came_and_where_its_time_went() -> None:
    """The hops sum to the time between the request and its end."""

    def answers(message: object) -> list[ServerMessage]:
        assert isinstance(message, Edit)
        timing = Timing(received=5_000, sent=5_001, engine_step=1)
        return [Accepted(1, 0), Ops(0, [3, "new", -1]), Ops(0, ["er"]), Done(1, "stop", timing=timing)]

    def run(url: str) -> None:
        wire = Wire(url, None, MSGPACK)
        exchange = wire.run(Edit(1, "a", 0, 0, 4, "do"))
        assert (exchange.reason, exchange.characters, wire.running) == ("stop", 5, 0)
        assert exchange.first is not None and exchange.sent <= exchange.first <= exchange.ended
        assert exchange.hops is not None
        assert exchange.hops.end_to_end == exchange.ended - exchange.sent
        wire.close()

    async with answering(answers) as url:
        await asyncio.to_thread(run, url)


async def test_a_newer_completion_marks_the_one_it_replaces() -> None:
    """Both run at once on one connection, and waiting for a message has an end."""

    def answers(message: object) -> list[ServerMessage]:
        assert isinstance(message, Complete)
        if message.request == 1:
            return [Accepted(1, 0), Delta(0, "old")]
        return [Done(1, "superseded"), Accepted(2, 0), Delta(0, "new!"), Done(2, "stop")]

    def run(url: str) -> None:
        wire = Wire(url, None, MSGPACK)
        first = wire.start(Complete(1, "a", 0, 0))
        while first.first is None:
            assert wire.step() is None
        assert wire.step(0.01) is None
        second = wire.start(Complete(2, "a", 0, 0))
        ended = [exchange for exchange in (wire.step() for _ in range(4)) if exchange is not None]
        assert ended == [first, second]
        assert (first.reason, first.replaced, second.replaced) == ("superseded", second.sent, None)
        assert (first.characters, second.characters, first.hops) == (3, 4, None)
        wire.close()

    async with answering(answers) as url:
        await asyncio.to_thread(run, url)


async def test_a_request_may_be_cancelled_at_its_first_output() -> None:
    """When that was written is known."""

    def answers(message: object) -> list[ServerMessage]:
        return [Done(1, "cancel")] if isinstance(message, Cancel) else [Accepted(1, 0), Delta(0, "text")]

    def run(url: str) -> None:
        wire = Wire(url, None, MSGPACK)
        exchange = wire.run(Complete(1, "a", 0, 0), cancel=True)
        assert exchange.cancelled is not None and exchange.cancelled <= exchange.ended
        wire.close()

    async with answering(answers) as url:
        await asyncio.to_thread(run, url)


async def test_what_the_server_refuses_is_an_error() -> None:
    """With its code."""

    def run(url: str) -> None:
        wire = Wire(url, None, MSGPACK)
        with pytest.raises(WireError, match=r"too long \(prompt_too_long\)"):
            wire.run(Complete(1, "a", 0, 0))
        wire.close()

    async with answering(lambda message: [Error(1, "prompt_too_long", "too long")]) as url:
        await asyncio.to_thread(run, url)
