"""Clients that read slowly, in part or not at all cost a bounded amount of memory, and nobody else notices."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
import struct
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from warmline.realtime.limits import Limits
from warmline.realtime.protocol import (
    Cancel,
    Complete,
    Delta,
    Done,
    Edit,
    Open,
    Ping,
    Pong,
    ServerMessage,
)
from warmline.realtime.session import Session
from warmline.realtime.sockets.connection import Connection
from warmline.realtime.sockets.gateway_socket import GatewaySocket

URI = "file:///a"


def narrow_socket(port: int) -> socket.socket:
    """A connected socket that takes in little that isn't read."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.connect(("127.0.0.1", port))
    return sock


async def test_what_a_slow_reader_missed_comes_merged(serve, dial, engine, until):
    """Nothing is lost or reordered, and what was held comes as one."""
    pieces = [f"{number:05}-" + "x" * 60 for number in range(10_000)]
    engine.scripts.append(pieces)
    server = await serve(limits=Limits(write_high_water=8192))
    wire = await dial(server, sock=narrow_socket(server.port), max_queue=1, max_size=None)
    await wire.open("x")
    await wire.send(Complete(1, URI, 1, 0))
    await until(lambda: bool(engine.held))
    texts, done = await wire.ended()
    assert "".join(texts) == "".join(pieces)
    assert done.reason == "stop"
    assert max(map(len, texts)) > 100 * len(pieces[0])
    await wire.send(Ping(1))
    assert isinstance(await wire.receive(), Pong)


class Counted:
    """An endless text that knows how much of it was produced, in characters."""

    def __init__(self) -> None:
        self.produced = 0

    def __iter__(self):
        while True:
            self.produced += 100
            yield "x" * 100


def watch(monkeypatch) -> list[int]:
    """What each connection holds beside the kernel, noted whenever a message is sent."""
    sizes = [0]
    send = Connection.send

    def noted(connection: Connection, message: ServerMessage) -> int:
        sent = send(connection, message)
        sizes.append(connection._outbox.size + connection._ws.transport.get_write_buffer_size())
        return sent

    monkeypatch.setattr(Connection, "send", noted)
    return sizes


@pytest.mark.parametrize("requests", [1, 32])
async def test_a_reader_that_stops_pauses_its_requests(serve, dial, engine, until, monkeypatch, requests):
    """They go on when it reads again, however many they are; another client's request doesn't notice."""
    limits = Limits(write_high_water=8192, pause_unsent_bytes=32_768)
    sizes = watch(monkeypatch)
    server = await serve(limits=limits)
    other, wire = await dial(server), await dial(server, sock=narrow_socket(server.port))
    text = engine.default = Counted()
    await wire.open("x")
    await wire.send(*(Complete(request, URI, 1, 0, parallel=True) for request in range(requests)))
    await until(lambda: engine.running == requests)
    wire.connection.transport.pause_reading()
    await until(lambda: len(engine.held) == requests)
    produced = text.produced
    engine.scripts.append(["y"] * 1000)
    await other.open("y")
    await other.send(Complete(1, URI, 1, 0))
    texts, done = await other.ended()
    assert ("".join(texts), done.reason) == ("y" * 1000, "stop")
    assert text.produced - produced <= 100 * requests  # what each was about to say
    await wire.send(Complete(requests, URI, 1, 0, parallel=True))  # one that starts while the others are paused
    await until(lambda: len(engine.held) == requests + 1)
    assert max(sizes) < 8192 + 32_768 + 300 * (requests + 1) + 2000
    wire.connection.transport.resume_reading()
    for request in range(requests + 1):
        await wire.send(Cancel(request))
    reasons = [(await wire.until(Done)).reason for _ in range(requests + 1)]
    assert reasons == ["cancel"] * (requests + 1)
    await until(lambda: not engine.running)


async def test_a_paused_request_goes_on_when_its_reader_does(serve, dial, engine, until):
    """Again and again, for as long as it catches up in time."""
    text = engine.default = Counted()
    server = await serve(limits=Limits(write_high_water=8192, pause_unsent_bytes=32_768))
    wire = await dial(server, sock=narrow_socket(server.port), max_queue=1)
    await wire.open("x")
    await wire.send(Complete(1, URI, 1, 0))
    read = 0
    for _ in range(3):
        wire.connection.transport.pause_reading()
        await until(lambda: bool(engine.held))
        produced = text.produced
        wire.connection.transport.resume_reading()
        while text.produced == produced:
            read += len((await wire.until(Delta)).text)
    await wire.send(Cancel(1))
    while not isinstance(message := await wire.receive(), Done):
        read += len(message.text)
    assert message.reason == "cancel"
    assert text.produced - 1000 <= read <= text.produced  # a few pieces came after the cancel


async def trickle(wire, sock: socket.socket, size: int) -> None:
    """Let a client whose transport is paused read so many bytes twenty times a second."""
    while True:
        with contextlib.suppress(BlockingIOError):
            wire.connection.data_received(sock.recv(size))
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("speed", [0, 1000], ids=["nothing", "1 kB/s"])
async def test_a_reader_that_does_not_catch_up_is_closed(serve, dial, engine, until, monkeypatch, speed):
    """It may come again (1013); until then it costs a bounded amount of memory, and its requests wait."""
    limits = Limits(write_high_water=8192, pause_unsent_bytes=32_768, stall_timeout=1.5)
    sizes = watch(monkeypatch)
    server = await serve(limits=limits)
    sock = narrow_socket(server.port)
    other, wire = await dial(server), await dial(server, sock=sock)
    text = engine.default = Counted()
    await wire.open("x")
    await wire.send(*(Complete(request, URI, 1, 0, parallel=True) for request in range(8)))
    await until(lambda: engine.running == 8)
    wire.connection.transport.pause_reading()
    reading = asyncio.create_task(trickle(wire, sock, speed // 20)) if speed else None
    await until(lambda: len(engine.held) == 8)
    produced = text.produced
    engine.scripts.append(["y"] * 100)
    await other.open("y")
    await other.send(Complete(1, URI, 1, 0))
    assert "".join((await other.ended())[0]) == "y" * 100
    await until(lambda: not engine.running)
    assert len(engine.cancelled) == 8
    assert text.produced - produced <= 800
    assert max(sizes) < 8192 + 32_768 + 300 * 8 + 2000
    assert b"warmline_slow_readers_total 1.0" in server._service.metrics.render()
    if reading is not None:
        reading.cancel()
        await asyncio.wait([reading])
    wire.connection.transport.resume_reading()
    assert await wire.closed() == (1013, "the client reads too slowly")
    await other.send(Ping(1))
    assert isinstance(await other.receive(), Pong)


async def test_a_reader_is_closed_when_pausing_does_not_help(serve, dial, engine, until, monkeypatch):
    """Its requests are cancelled when the bound is reached; it may come again (1013)."""
    monkeypatch.setattr(engine, "pause", lambda *_: None)
    engine.default = itertools.repeat("x" * 1000)
    server = await serve(limits=Limits(write_high_water=8192, max_unsent_bytes=100_000))
    other = await dial(server)
    wire = await dial(server, sock=narrow_socket(server.port), max_queue=1)
    await wire.open("x")
    await wire.send(Complete(1, URI, 1, 0), Complete(2, URI, 1, 0, parallel=True))
    await until(lambda: len(engine.cancelled) == 2)
    with pytest.raises(Exception, match="1013"):
        await wire.until(Done)
    assert await wire.closed() == (1013, "the client reads too slowly")
    await other.send(Ping(1))
    assert isinstance(await other.receive(), Pong)
    assert b"warmline_slow_readers_total 1.0" in server._service.metrics.render()


async def test_the_kernel_holds_little_for_a_reader_that_stops(serve, dial):
    """What is unsent is bounded on every accepted socket, and what isn't acknowledged."""
    server = await serve()
    await dial(server)
    (connection,) = server._server.connections
    sock = connection.transport.get_extra_info("socket")
    assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT) == 16 << 10
    assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) <= 2 * (128 << 10)


async def test_a_reader_that_reads_no_more_is_cut_off(serve, dial, engine, until, monkeypatch):
    """It takes no close frame: the socket is cut, and what the client still sends is neither handled nor read."""
    monkeypatch.setattr(engine, "pause", lambda *_: None)
    engine.default = itertools.repeat("x" * 1000)
    server = await serve(limits=Limits(write_high_water=8192, max_unsent_bytes=100_000))
    wire = await dial(server, sock=narrow_socket(server.port))
    wire.connection.transport.pause_reading()
    await wire.open("x")
    await wire.send(Complete(1, URI, 1, 0))
    await until(lambda: len(engine.cancelled) == 1)
    received = handled = 0
    data_received = GatewaySocket.data_received

    def count(ws: GatewaySocket, data: bytes) -> None:
        nonlocal received
        received += len(data)
        data_received(ws, data)

    def handle(*_: object) -> None:
        nonlocal handled
        handled += 1

    monkeypatch.setattr(GatewaySocket, "data_received", count)
    monkeypatch.setattr(Session, "handle", handle)
    message = wire.codec.encode(Open(URI, 2, "", "x" * 65536))
    wire.connection.transport.write((struct.pack(">BBQ", 0x82, 0x80 | 127, len(message)) + bytes(4) + message) * 400)
    await until(lambda: not server._connections)
    assert received < 8 << 20
    assert handled == 0
    wire.connection.transport.abort()


async def test_a_server_closes_though_a_client_reads_nothing(serve, dial, engine, until):
    """A full socket is cut when the close timeout is over."""
    engine.default = ["x" * 1000] * 300
    server = await serve(limits=Limits(write_high_water=8192))
    wire = await dial(server, sock=narrow_socket(server.port))
    wire.connection.transport.pause_reading()
    await wire.open("x")
    await wire.send(Complete(1, URI, 1, 0))
    await until(lambda: bool(engine.held))
    (connection,) = server._connections
    assert connection._ws.congested
    async with asyncio.timeout(10):
        await server.close()
    assert not server._connections
    wire.connection.transport.abort()


async def test_a_reader_that_stalls_is_closed(serve, dial, engine, until):
    """Though what it left unread is little."""
    engine.scripts.append(["x" * 1000] * 300)
    server = await serve(limits=Limits(write_high_water=8192, stall_timeout=0.2))
    wire = await dial(server, sock=narrow_socket(server.port))
    wire.connection.transport.pause_reading()
    await wire.open("x")
    await wire.send(Complete(1, URI, 1, 0))
    await until(lambda: bool(engine.requests) and not server._connections)
    assert b"warmline_slow_readers_total 1.0" in server._service.metrics.render()
    wire.connection.transport.abort()


async def test_a_reader_that_is_slow_but_reads_is_not_closed(serve, dial, engine, until):
    """However long its socket stays full: each time one looks, it has taken enough."""
    engine.scripts.append(["x" * 1000] * 60)
    server = await serve(limits=Limits(write_high_water=2048, stall_timeout=1.0))
    sock = narrow_socket(server.port)
    wire = await dial(server, sock=sock)
    await wire.open("x")
    await wire.send(Complete(1, URI, 1, 0))
    wire.connection.transport.pause_reading()
    reading = asyncio.create_task(trickle(wire, sock, 1000))
    assert len("".join((await wire.ended())[0])) == 60_000
    reading.cancel()
    await asyncio.wait([reading])
    assert b"warmline_slow_readers_total 0.0" in server._service.metrics.render()
    wire.connection.transport.resume_reading()


@pytest.mark.parametrize(
    ("speed", "lump", "stays"),
    [
        pytest.param(1000, 1, True, id="1 kB/s, steadily"),
        pytest.param(1000, 40_448, True, id="1 kB/s, seen in lumps of 40 kB"),
        pytest.param(1000, 112_241, False, id="1 kB/s, seen in lumps of 112 kB"),
        pytest.param(2500, 150_000, True, id="2.5 kB/s, seen in lumps of 150 kB"),
        pytest.param(440, 1, True, id="440 B/s"),
        pytest.param(430, 1, False, id="430 B/s"),
    ],
)
def test_how_slowly_one_may_read_by_default(monkeypatch, speed, lump, stays):
    """32 KiB of a backlog in 75 seconds, as the server sees it: in lumps, where the reader's kernel makes them."""
    now = 0.0
    timers = []
    given_up = []

    def call_later(delay: float, check: Callable[[int], None], taken: int) -> None:
        timers.append((now + delay, check, taken))

    connection = object.__new__(Connection)
    connection._limits = Limits()
    connection._ws = SimpleNamespace(taken=0)
    connection._give_up = lambda: given_up.append(now)
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: SimpleNamespace(call_later=call_later))
    connection._watch()
    while timers and now < 3600:
        now, check, taken = timers.pop()
        connection._ws.taken = int(speed * now) // lump * lump
        check(taken)
    assert given_up == ([] if stays else [75.0])


async def test_a_reader_that_catches_up_has_not_stalled(serve, dial, engine, until):
    """The time is counted from when its socket filled to when it drained."""
    engine.scripts.append(["x" * 1000] * 300)
    server = await serve(limits=Limits(write_high_water=8192))
    wire = await dial(server, sock=narrow_socket(server.port))
    wire.connection.transport.pause_reading()
    await wire.open("x")
    await wire.send(Complete(1, URI, 1, 0))
    await until(lambda: bool(engine.held))
    (connection,) = server._connections
    assert connection._stall is not None
    wire.connection.transport.resume_reading()
    assert len("".join((await wire.ended())[0])) == 300_000
    assert connection._stall is None


async def test_pings_whose_answers_are_not_read_end_the_connection(serve, dial, until):
    """The WebSocket's own: their answers count as unsent, too."""
    server = await serve(limits=Limits(write_high_water=8192, max_unsent_bytes=100_000))
    wire = await dial(server, sock=narrow_socket(server.port))
    wire.connection.transport.pause_reading()
    wire.connection.transport.write((struct.pack(">BB", 0x89, 0x80 | 125) + bytes(4 + 125)) * 20_000)
    await until(lambda: not server._connections)
    assert b"warmline_slow_readers_total 1.0" in server._service.metrics.render()
    wire.connection.transport.abort()


@pytest.mark.parametrize("ended_by", ["cancel", "close", "drain", "engine"])
async def test_a_request_whose_own_frame_is_too_much_ends_once(serve, dial, engine, until, ended_by):
    """A slow reader's bound may be reached by any frame of a request: it is released, cancelled, and ends once."""
    server = await serve(limits=Limits(max_unsent_bytes=1))
    wire = await dial(server)
    await wire.open("x = 1\n" * 4000)
    await wire.send(Ping(1))
    assert isinstance(await wire.receive(), Pong)
    (connection,) = server._connections
    if ended_by == "engine":
        await wire.send(Complete(1, URI, 1, 1))
        await until(lambda: engine.running == 0 and bool(engine.requests))
    session = connection._session
    connection._ws.congested = True
    if ended_by == "engine":
        session.handle(Complete(2, URI, 1, 1), 0, 0)
    else:
        session.handle(Edit(2, URI, 1, 0, 24000, "x"), 0, 0)  # much text: it is being planned
        assert session.running == 1
        if ended_by == "cancel":
            session.handle(Cancel(2), 0, 0)
        elif ended_by == "drain":
            connection.drain(0)
            connection.stop_requests()
        else:
            session.close()
    await until(lambda: session.running == 0 and engine.running == 0)
    connection._ws.congested = False
    await server.close()
    assert b"warmline_requests_running 0.0" in server._service.metrics.render()
