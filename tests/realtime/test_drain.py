"""A server goes away: its clients are told, what runs ends, sockets close, and nobody holds it up."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from warmline.realtime import drain as drain_module
from warmline.realtime import server as server_module
from warmline.realtime.drain import close_in_waves
from warmline.realtime.http import connection as http_connection_module
from warmline.realtime.protocol import Accepted, Complete, Delta, Done, Error, ErrorCode, Notice, Ping, Pong
from warmline.realtime.server import GatewayServer, ServerConfig, serve_until_signal
from warmline.realtime.sockets import connection as connection_module
from websockets.exceptions import InvalidStatus

URI = "file:///a"
DEADLINE = 15.0


@pytest.fixture
async def service(engine, tokenizer) -> AsyncIterator[Callable[..., Any]]:
    """Run the service as `warmline serve` does; returns its server and the task that ends with it."""
    tasks: list[asyncio.Task[None]] = []

    async def start(**config: Any) -> tuple[GatewayServer, asyncio.Task[None]]:
        ready: asyncio.Future[GatewayServer] = asyncio.get_running_loop().create_future()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        config = {"port": port, **config}
        task = asyncio.create_task(serve_until_signal(engine, tokenizer, ServerConfig(**config), ready.set_result))
        tasks.append(task)
        return await ready, task

    yield start
    for task in tasks:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def over(task: asyncio.Task[None]) -> None:
    async with asyncio.timeout(DEADLINE):
        await task


async def starts(wire, request: int = 1) -> None:
    """A request whose text is held back runs."""
    await wire.open("x")
    await wire.send(Complete(request, URI, 1, 0))
    await wire.until(Accepted)


def http_port(server: GatewayServer) -> int:
    assert server.http_url is not None
    return int(server.http_url.removesuffix("/v1").rpartition(":")[2])


def http_request(body: bytes) -> bytes:
    return b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


async def test_sigterm_lets_running_requests_end(service, dial, engine, until, http):
    """All are told, nobody is taken any more, and what runs goes on to its own end; then 1012, and it is over."""
    engine.paused = True
    server, task = await service()
    wire, idle = await dial(server), await dial(server)
    await starts(wire)
    os.kill(os.getpid(), signal.SIGTERM)
    for client in (wire, idle):
        notice = await client.until(Notice)
        assert notice.kind == "draining"
        assert 20_000 < notice.milliseconds <= 30_000
    assert await http(server, "/readyz") == (503, "the server restarts; come again later\n")
    assert await http(server, "/healthz") == (200, "ok\n")
    await idle.open("x")
    await idle.send(Complete(5, URI, 1, 0))
    refusal = await idle.until(Error)
    assert (refusal.request, refusal.code, refusal.retryable) == (5, ErrorCode.ENGINE_UNAVAILABLE, True)
    assert 20_000 < refusal.retry_after_ms <= 30_000
    with pytest.raises(InvalidStatus) as handshake:
        await dial(server)
    assert handshake.value.response.status_code == 503
    assert 20 < int(handshake.value.response.headers["Retry-After"]) <= 30
    await idle.send(Ping(1))
    assert isinstance(await idle.receive(), Pong)
    assert not task.done()
    engine.paused = False
    texts, done = await wire.ended()
    assert ("".join(texts), done.reason) == ("hello world", "stop")
    for client in (wire, idle):
        assert await client.closed() == (1012, "the server restarts")
    await over(task)
    assert engine.closed
    assert engine.cancelled == []


async def test_an_idle_service_ends_at_once_after_sigterm(service, dial):
    """Nothing runs, so nothing is waited for."""
    server, task = await service(drain_seconds=600)
    wire = await dial(server)
    os.kill(os.getpid(), signal.SIGTERM)
    assert (await wire.closed())[0] == 1012
    await over(task)


async def test_requests_that_take_longer_are_cancelled(service, dial, engine):
    """After the time that they have, each with its terminal frame."""
    engine.paused = True
    server, task = await service(drain_seconds=0.3)
    wire = await dial(server)
    await starts(wire)
    os.kill(os.getpid(), signal.SIGTERM)
    assert (await wire.until(Done)).reason == "cancel"
    assert (await wire.closed())[0] == 1012
    await over(task)


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
async def test_a_second_signal_ends_all_at_once(service, dial, engine, second):
    """Whatever runs, and however long it might."""
    engine.paused = True
    server, task = await service(drain_seconds=600)
    wire = await dial(server)
    await starts(wire)
    os.kill(os.getpid(), signal.SIGTERM)
    await wire.until(Notice)
    assert not task.done()
    os.kill(os.getpid(), second)
    assert (await wire.until(Done)).reason == "cancel"
    assert (await wire.closed())[0] == 1012
    await over(task)


async def test_who_says_hello_while_it_drains_is_told(service, dial, engine):
    """It was let in before, and may read what it is sent away with."""
    engine.paused = True
    server, task = await service(drain_seconds=600)
    wire, late = await dial(server), await dial(server, hello=False)
    await starts(wire)
    os.kill(os.getpid(), signal.SIGTERM)
    await wire.until(Notice)
    await late.hello()
    assert (await late.receive()).kind == "draining"
    engine.paused = False
    await over(task)


async def test_dead_peers_do_not_hold_it(service, dial, engine, until, monkeypatch):
    """One that reads nothing of an endless answer is not waited for, nor for its closing handshake."""
    monkeypatch.setattr(connection_module, "_DEAD_SECONDS", 0.2)
    engine.default = itertools.repeat("x" * 1000)
    server, task = await service(drain_seconds=600)
    wire = await dial(server)
    await starts(wire)
    wire.connection.transport.pause_reading()
    (connection,) = server._connections
    await until(lambda: connection._paused)
    os.kill(os.getpid(), signal.SIGTERM)
    await over(task)
    assert len(engine.cancelled) == 1
    wire.connection.transport.abort()


class Peer:
    """A client that runs a request, and is known to be dead when that was asked a few times."""

    def __init__(self) -> None:
        self.asked = 0
        self.drained = False

    def drain(self, seconds: float) -> None:
        pass

    def stop_requests(self) -> None:
        self.drained = True

    @property
    def dead(self) -> bool:
        self.asked += 1
        return self.asked >= 3


async def test_all_dead_peers_are_known_as_soon_as_one_is():
    """Each is asked whenever any is, or the silence of a hundred would be waited for a hundred times."""
    peers = [Peer() for _ in range(100)]
    async with asyncio.timeout(DEADLINE):
        await drain_module.drain(lambda: peers, 600.0, asyncio.Event())
    assert {peer.asked for peer in peers} == {3}


async def test_several_dead_peers_hold_it_no_longer_than_one(service, dial, engine, until, monkeypatch):
    """Of either listener: what they are sent is endless, and none of them takes anything of it."""
    for module in (connection_module, http_connection_module):
        monkeypatch.setattr(module, "_DEAD_SECONDS", 0.2)
    engine.default = itertools.repeat("x" * 1000)
    server, task = await service(drain_seconds=600, http_port=0)
    wires = [await dial(server) for _ in range(3)]
    for wire in wires:
        await starts(wire)
        wire.connection.transport.pause_reading()
    streams = [await asyncio.open_connection("127.0.0.1", http_port(server), limit=1) for _ in range(3)]
    for _, writer in streams:
        writer.write(http_request(b'{"prompt": "x", "stream": true, "max_tokens": 8000}'))
    await until(lambda: len(engine.held) == 6)
    os.kill(os.getpid(), signal.SIGTERM)
    await over(task)
    assert len(engine.cancelled) == 6
    assert b'code="internal_error"' not in server._metrics.render()
    for transport in (*(wire.connection.transport for wire in wires), *(writer.transport for _, writer in streams)):
        transport.abort()


async def test_a_dead_reader_does_not_end_a_live_one_s_request(service, engine, until, monkeypatch):
    """Both are HTTP's: the server waits for the one that takes what it is sent."""
    monkeypatch.setattr(http_connection_module, "_DEAD_SECONDS", 0.05)
    server, task = await service(drain_seconds=600, http_port=0)
    engine.scripts.append(itertools.repeat("x" * 1000))
    _, dead = await asyncio.open_connection("127.0.0.1", http_port(server), limit=1)
    dead.write(http_request(b'{"prompt": "x", "stream": true, "max_tokens": 8000}'))
    await until(lambda: len(engine.held) == 1)
    engine.paused = True
    reader, live = await asyncio.open_connection("127.0.0.1", http_port(server))
    live.write(http_request(b'{"prompt": "x", "stream": true}'))
    await until(lambda: engine.running == 2)
    os.kill(os.getpid(), signal.SIGTERM)
    await until(lambda: server._draining_until is not None)
    await asyncio.sleep(0.3)
    assert engine.cancelled == []
    engine.paused = False
    async with asyncio.timeout(DEADLINE):
        assert b"[DONE]" in await reader.readuntil(b"0\r\n\r\n")
    await over(task)
    assert len(engine.cancelled) == 1
    dead.transport.abort()
    live.close()


async def test_an_answer_whose_request_has_ended_is_written_to_its_end(service, engine, until):
    """To a reader of HTTP that is slow, as to one of a WebSocket."""
    engine.scripts.append(["x" * 10_000] * 300)
    server, task = await service(drain_seconds=600, http_port=0)
    reader, writer = await asyncio.open_connection("127.0.0.1", http_port(server), limit=1)
    writer.write(http_request(b'{"prompt": "x"}'))
    await until(lambda: bool(engine.requests) and engine.running == 0)
    os.kill(os.getpid(), signal.SIGTERM)
    await until(lambda: server._draining_until is not None)
    await asyncio.sleep(2.5)  # longer than the last words of what is cut
    assert not task.done()
    size = 0
    async with asyncio.timeout(DEADLINE):
        while size < 3_000_000:
            data = await reader.read(1 << 16)
            assert data
            size += data.count(b"x")
    await over(task)
    writer.close()


async def test_sockets_that_ask_nothing_do_not_hold_it(service, monkeypatch):
    """Not for as long as a handshake may take, and they don't count as slow."""
    monkeypatch.setattr(server_module, "_OPEN_TIMEOUT", 600.0)
    server, task = await service()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"GET / HTTP/1.1\r\nHost: loc")
    await asyncio.sleep(0.05)
    os.kill(os.getpid(), signal.SIGTERM)
    await over(task)
    with contextlib.suppress(ConnectionError):
        assert await reader.read() == b""
    writer.close()
    assert b"slow_handshake" not in server._metrics.render()


async def test_between_waves_it_still_says_how_it_is(service, dial, http, until, monkeypatch):
    """So that whoever balances load sees it go, until the last socket is closed."""
    monkeypatch.setattr(drain_module, "_WAVE", 1)
    monkeypatch.setattr(drain_module.random, "uniform", lambda low, high: 600.0)
    server, task = await service()
    wires = [await dial(server) for _ in range(3)]
    os.kill(os.getpid(), signal.SIGTERM)
    await until(lambda: len(server._connections) == 2)
    assert (await http(server, "/readyz"))[0] == 503
    assert (await http(server, "/healthz"))[0] == 200
    os.kill(os.getpid(), signal.SIGTERM)
    await over(task)
    assert [(await wire.closed())[0] for wire in wires] == [1012, 1012, 1012]


async def test_a_slow_reader_is_waited_for_while_it_reads(service, dial, engine, until, monkeypatch):
    """It takes long enough for a dead one, but takes something."""
    monkeypatch.setattr(connection_module, "_DEAD_SECONDS", 0.2)
    engine.scripts.append(["x" * 1000] * 500)
    server, task = await service(drain_seconds=600)
    wire = await dial(server)
    await starts(wire)
    wire.connection.transport.pause_reading()
    (connection,) = server._connections
    await until(lambda: connection._ws.congested)
    os.kill(os.getpid(), signal.SIGTERM)
    await until(lambda: server._draining_until is not None)
    wire.connection.transport.resume_reading()
    size, message = 0, None
    while not isinstance(message, Done):
        message = await wire.receive()
        size += len(message.text) if isinstance(message, Delta) else 0
    assert message.reason == "stop"
    assert size == 500_000
    await over(task)


async def test_http_requests_end_too(service, engine, until):
    """A stream goes on to its end; a new request is told when to come again."""
    engine.paused = True
    server, task = await service(http_port=0)
    reader, writer = await asyncio.open_connection("127.0.0.1", http_port(server))
    writer.write(http_request(b'{"prompt": "x"}'))
    await until(lambda: engine.running == 1)
    os.kill(os.getpid(), signal.SIGTERM)
    await until(lambda: server._draining_until is not None)
    late_reader, late_writer = await asyncio.open_connection("127.0.0.1", http_port(server))
    late_writer.write(http_request(b'{"prompt": "x"}'))
    async with asyncio.timeout(DEADLINE):
        refused = (await late_reader.readuntil(b"\r\n\r\n")).decode().lower()
    assert " 503 " in refused
    (after,) = (line for line in refused.split("\r\n") if line.startswith("retry-after: "))
    assert 20 < int(after.partition(": ")[2]) <= 30
    engine.paused = False
    async with asyncio.timeout(DEADLINE):
        assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
    await over(task)
    for stream in (writer, late_writer):
        stream.close()


class Socket:
    """A socket that says when it was closed."""

    def __init__(self) -> None:
        self.closed: list[tuple[float, int]] = []

    async def close(self, code: int, reason: str) -> None:
        self.closed.append((time.monotonic(), code))
        await asyncio.sleep(0)


async def test_sockets_close_in_waves(monkeypatch):
    """A hundred at once, in random order, a random while apart; each once."""
    pauses: list[float] = []
    monkeypatch.setattr(drain_module.random, "uniform", lambda low, high: pauses.append(high) or 0.01)
    sockets = [Socket() for _ in range(250)]
    await close_in_waves(sockets, asyncio.Event())
    assert all([code for _, code in one.closed] == [1012] for one in sockets)
    assert len(pauses) == 2
    order = sorted(range(250), key=lambda number: sockets[number].closed[0][0])
    assert order[:100] != list(range(100))
    many = [Socket() for _ in range(10_000)]
    pauses.clear()
    await close_in_waves(many, asyncio.Event())
    assert len(pauses) == 49


async def test_waves_do_not_wait_in_a_hurry(monkeypatch):
    """A second signal closes what is left at once."""
    monkeypatch.setattr(drain_module.random, "uniform", lambda low, high: 600.0)
    hurry = asyncio.Event()
    sockets = [Socket() for _ in range(500)]
    closing = asyncio.create_task(close_in_waves(sockets, hurry))
    while not any(one.closed for one in sockets):
        await asyncio.sleep(0)
    assert not closing.done()
    hurry.set()
    await over(closing)
    assert all(len(one.closed) == 1 for one in sockets)
