"""The SDK and the gateway over a network with faults, on real sockets."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest
from warmline.client import ConnectionEvent, Reconnect, Session, SessionLost, connect
from warmline.realtime.limits import Limits
from warmline.realtime.server import GatewayServer, ServerConfig

from tools.fault_proxy import FaultProxy

SAID = [f"word{number} " for number in range(60)]
SCRIPT = "".join(SAID)
TEXT = "x = 1\n"
SOON = Reconnect(first=0.01, longest=0.05)


@pytest.fixture
async def proxy(serve, engine) -> AsyncIterator[FaultProxy]:
    """A network before a server whose engine says a long text."""
    engine.default = SAID
    server = await serve()
    async with FaultProxy(server.port) as proxy:
        yield proxy


async def ask(session: Session, uri: str) -> str:
    """Open a document, ask, and take what comes piece by piece."""
    document = await session.open(uri, TEXT, "python")
    await document.change(0, 0, "# ")
    stream = session.complete(document, len(document.text))
    pieces = [piece async for piece in stream]
    result = await stream.result()
    assert result.reason == "stop"
    assert "".join(pieces) == result.text
    return result.text


@pytest.mark.parametrize("seed", range(8))
async def test_resets_at_any_byte(proxy: FaultProxy, seed: int) -> None:
    """In the handshake, in the middle of a frame, in either direction: again and again, and no byte is missed."""
    dice = random.Random(seed)

    async def break_it() -> None:
        while True:
            proxy.reset_after(dice.choice(["up", "down"]), dice.randrange(1, 800))
            await asyncio.sleep(dice.uniform(0.01, 0.06))

    proxy.delay = 0.001
    async with asyncio.timeout(60), connect(proxy.url, reconnect=SOON) as session:
        breaking = asyncio.create_task(break_it())
        texts = [await ask(session, f"file:///{number}") for number in range(15)]
        breaking.cancel()
        assert texts == [SCRIPT] * 15
        assert proxy.connections > 1


@pytest.mark.parametrize("direction", ["up", "down"])
async def test_a_half_closed_connection(proxy: FaultProxy, direction: str) -> None:
    """One end thinks that the other is done: neither is, and the session goes on."""
    async with asyncio.timeout(30), connect(proxy.url, reconnect=SOON, ping_interval=0.4) as session:
        document = await session.open("file:///a", TEXT)
        stream = session.complete(document, 0)
        await anext(stream)
        proxy.half_close(direction)
        assert (await stream.result()).text == SCRIPT
        assert await ask(session, "file:///b") == SCRIPT
        assert session.connected


@pytest.mark.parametrize("transport", ["websockets", "picows"])
async def test_a_black_hole_is_noticed(proxy: FaultProxy, engine: Any, transport: Any) -> None:
    """No error comes, and no answer to a ping: it is given up, and dialled again until one gets through."""
    if transport == "picows":
        pytest.importorskip("picows")
    heard: list[ConnectionEvent] = []
    options: dict[str, Any] = {"reconnect": SOON, "ping_interval": 0.3, "open_timeout": 0.5, "transport": transport}
    async with asyncio.timeout(30), connect(proxy.url, on_connection=heard.append, **options) as session:
        document = await session.open("file:///a", TEXT)
        engine.paused = True
        stream = session.complete(document, 0)
        await session.ping()
        proxy.black_hole()
        engine.paused = False
        while not any(event.state == "retrying" for event in heard):
            await asyncio.sleep(0.01)
        assert not session.connected
        proxy.heal()
        assert (await stream.result()).text == SCRIPT
        assert (heard[0].state, heard[-1].state) == ("lost", "resumed")


async def test_a_slow_and_shaky_network(proxy: FaultProxy) -> None:
    """Delay, jitter and little bandwidth lose nothing, and end nothing."""
    proxy.delay, proxy.jitter, proxy.bandwidth = 0.02, 0.03, 20_000
    heard: list[ConnectionEvent] = []
    async with asyncio.timeout(60), connect(proxy.url, on_connection=heard.append) as session:
        assert await session.ping() > 40_000
        assert await ask(session, "file:///a") == SCRIPT
    assert [event.state for event in heard] == ["ended"]


async def test_what_is_done_without_a_connection_is_done_later(proxy: FaultProxy) -> None:
    """Documents, changes and requests of that time, in order."""
    async with asyncio.timeout(30), connect(proxy.url, reconnect=SOON) as session:
        document = await session.open("file:///a", TEXT)
        proxy.refuses = True
        proxy.reset()
        while session.connected:
            await asyncio.sleep(0.001)
        for _ in range(50):
            await document.change(0, 0, "y")
        opening = asyncio.create_task(session.open("file:///b", "other"))
        completion = session.complete(document, 3)
        reply = session.chat("talk", "hello", documents=[document])
        await document.change(0, 0, "z")
        await asyncio.sleep(0.1)
        assert not opening.done() and not completion.ended
        proxy.refuses = False
        assert (await completion.result()).text == SCRIPT
        assert (await reply.result()).text == SCRIPT
        other = await opening
        await document.change(0, 1, "")
        assert (await session.complete(document, len(document.text)).result()).reason == "stop"
        assert (await session.complete(other, 0).result()).reason == "stop"


async def test_a_server_that_restarts(engine, tokenizer) -> None:
    """Nothing can be resumed: what ran ends with what came of it, the session goes on with its documents."""
    engine.default = SAID
    first = GatewayServer(engine, tokenizer, ServerConfig(port=0))
    await first.start()
    port = first.port
    heard: list[ConnectionEvent] = []
    async with asyncio.timeout(30), connect(first.url, reconnect=SOON, on_connection=heard.append) as session:
        document = await session.open("file:///a", TEXT)
        await document.change(0, 0, "# ")
        await session.chat("talk", "hello").result()
        engine.paused = True
        stream = session.complete(document, 0)
        await session.ping()
        engine.emit(engine.requests[-1].id, "so far")
        assert await anext(stream) == "so far"
        # As if the machine had gone: no drain, no close frame.
        for connection in first._connections:
            connection._ws.transport.abort()
        first._server.close(close_connections=False)
        for session_ in list(first._parking._sessions.values()):
            session_.close()
        while session.connected:
            await asyncio.sleep(0.001)
        later = session.complete(document, 2)
        unwanted = session.complete(document, 1, parallel=True)
        unwanted.cancel()
        second = GatewayServer(engine, tokenizer, ServerConfig(port=port))
        await second.start()
        with pytest.raises(SessionLost):
            await stream.result()
        assert stream.text == "so far"
        engine.paused = False
        assert (await later.result()).text == SCRIPT
        assert (await unwanted.result()).reason == "cancel"
        with pytest.raises(SessionLost, match="said in this conversation"):
            session.chat("talk", "and?")
        assert (await session.chat("talk", "from the start").result()).text == SCRIPT
        await document.change(0, 2, "")
        assert (await session.complete(document, 0).result()).text == SCRIPT
        assert [event.state for event in heard if event.state != "retrying"] == ["lost", "renewed"]
        await first.close()
    await second.close()


async def test_requests_end_when_the_server_has_given_up_the_session(serve, engine, until) -> None:
    """Once it says so: until there is a connection they wait, since it might have the session yet."""
    engine.default = SAID
    server = await serve(limits=Limits(resume_seconds=0.1))
    proxy = FaultProxy(server.port)
    async with proxy, asyncio.timeout(30), connect(proxy.url, reconnect=SOON) as session:
        document = await session.open("file:///a", TEXT)
        engine.paused = True
        stream = session.complete(document, 0)
        await session.ping()
        proxy.refuses = True
        proxy.reset()
        await until(lambda: not session.connected and len(server._parking) == 0)
        assert not stream.ended
        proxy.refuses = engine.paused = False
        with pytest.raises(SessionLost) as lost:
            await stream.result()
        assert lost.value.retryable
        assert not session.closed
        assert (await session.complete(document, 0).result()).text == SCRIPT
