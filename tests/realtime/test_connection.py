"""A socket from hello to its end, with clients that behave, misbehave, vanish and don't read."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import random
import socket
import struct

import pytest
from warmline.realtime import connection as connection_module
from warmline.realtime.connection import Connection, GatewaySocket
from warmline.realtime.errors import Refused
from warmline.realtime.framing import frame as framed
from warmline.realtime.limits import Limits
from warmline.realtime.protocol import (
    JSON,
    MSGPACK,
    SUBPROTOCOLS,
    Accepted,
    Cancel,
    Change,
    Close,
    Complete,
    Delta,
    Done,
    Edit,
    Error,
    ErrorCode,
    Hello,
    Nack,
    Open,
    Ping,
    Pong,
    ServerMessage,
    TextEdit,
)
from warmline.realtime.session import Session
from websockets.frames import Frame, Opcode

both = pytest.mark.parametrize("subprotocol", SUBPROTOCOLS)
URI = "file:///a"
DEADLINE = 10.0


@both
async def test_hello_is_welcomed(serve, dial, subprotocol):
    """The welcome says who serves, with which model and limits."""
    wire = await dial(await serve(), subprotocol, hello=False)
    welcome = await wire.hello()
    assert welcome.server.startswith("warmline/")
    assert (welcome.model, welcome.context_length) == ("scripted", 8192)
    assert (welcome.max_document_bytes, welcome.max_requests) == (4 << 20, 64)
    assert len(welcome.session) == 16


@both
async def test_a_completion_streams(serve, dial, subprotocol):
    """Accepted, deltas, done; then the next request on the same socket."""
    wire = await dial(await serve(), subprotocol)
    await wire.open("x = 1\n")
    for request in (1, 2):
        await wire.send(Complete(request, URI, 1, 6))
        texts, done = await wire.ended()
        assert ("".join(texts), done.request, done.reason) == ("hello world", request, "stop")


@both
async def test_an_edit_streams_operations(serve, dial, engine, subprotocol, apply_operations):
    """In UTF-16 units over the range, after a change of the document."""
    engine.scripts.append(["a = '🎉'\n", "b = 3"])
    wire = await dial(await serve(), subprotocol)
    await wire.open("a = '🎉'\nb = 2\n")
    await wire.send(Change(URI, 1, 2, [TextEdit(0, 0, "# 🎈\n")]), Edit(1, URI, 2, 5, 20, "three"))
    operations, done = await wire.ended()
    assert done.reason == "stop"
    assert apply_operations("a = '🎉'\nb = 2\n", operations) == "a = '🎉'\nb = 3\n"


@both
async def test_bad_messages_are_answered_and_the_connection_goes_on(serve, dial, subprotocol):
    """Each with its code, with the request's id where it can be read."""
    wire = await dial(await serve(), subprotocol)
    codec = wire.codec
    for frame, code, request in (
        (b"\xc1" if not codec.text else b"{", ErrorCode.MALFORMED_MESSAGE, None),
        (codec.encode({"a": 1}), ErrorCode.MALFORMED_MESSAGE, None),
        (codec.encode([99]), ErrorCode.UNKNOWN_MESSAGE, None),
        (codec.encode([6, 4, URI]), ErrorCode.INVALID_MESSAGE, 4),
        (codec.encode(Hello()), ErrorCode.HELLO_REQUIRED, None),
        (codec.encode(Complete(5, URI, 1, 0)), ErrorCode.UNKNOWN_DOCUMENT, 5),
    ):
        await wire.raw(frame)
        error = await wire.receive()
        assert isinstance(error, Error)
        assert (error.code, error.request) == (code, request)
    await wire.send(Change(URI, 1, 2, []))
    assert isinstance(await wire.receive(), Nack)
    await wire.send(Ping(1))
    assert isinstance(await wire.receive(), Pong)


async def test_a_bad_message_does_not_end_the_request_that_it_names(serve, dial, engine):
    """The error comes without the id while that request runs."""
    engine.paused = True
    wire = await dial(await serve())
    await wire.open("x")
    await wire.send(Complete(4, URI, 1, 0))
    assert isinstance(await wire.receive(), Accepted)
    await wire.raw(wire.codec.encode([6, 4, URI]))
    assert (await wire.receive()).request is None
    engine.paused = False
    assert (await wire.ended())[1].request == 4


async def test_a_client_that_speaks_nonsense_is_closed(serve, dial):
    """After sixteen bad messages in a row; one good message starts the count anew."""
    wire = await dial(await serve())
    for _ in range(2):
        for _ in range(15):
            await wire.raw(b"\xc1")
            assert isinstance(await wire.receive(), Error)
        await wire.send(Ping(1))
        assert isinstance(await wire.receive(), Pong)
    for _ in range(16):
        await wire.raw(b"\xc1")
    assert await wire.closed() == (1008, "16 bad messages in a row")


@pytest.mark.parametrize("hello", [True, False], ids=["after hello", "before hello"])
@pytest.mark.parametrize(("subprotocol", "frame"), [(MSGPACK, "[13,1]"), (JSON, b"\x92\x0d\x01")])
async def test_a_frame_of_the_wrong_type_closes(serve, dial, subprotocol, frame, hello):
    """With an error first, then 1003."""
    wire = await dial(await serve(), subprotocol, hello=hello)
    await wire.connection.send(frame)
    error = await wire.receive()
    assert (error.code, error.request) == (ErrorCode.WRONG_FRAME_TYPE, None)
    assert (await wire.closed())[0] == 1003


async def test_without_hello_the_socket_is_closed(serve, dial):
    """After the time limit, whatever else was sent."""
    wire = await dial(await serve(limits=Limits(hello_timeout=0.2)), hello=False)
    await wire.send(Ping(1))
    error = await wire.receive()
    assert error.code == ErrorCode.HELLO_REQUIRED
    assert await wire.closed() == (4408, "no hello in time")


async def test_hello_may_come_late(serve, dial):
    """A message before hello is refused, and hello still works."""
    wire = await dial(await serve(), hello=False)
    await wire.send(Open(URI, 1, "", "x"))
    assert (await wire.receive()).code == ErrorCode.HELLO_REQUIRED
    await wire.hello()
    await wire.send(Complete(1, URI, 1, 0))
    assert (await wire.receive()).code == ErrorCode.UNKNOWN_DOCUMENT


async def test_a_frame_that_is_too_big_closes_only_its_socket(serve, dial):
    """100 MB are refused with 1009 when they are announced, and another client doesn't notice."""
    server = await serve()
    other, wire = await dial(server), await dial(server)
    mask = bytes(4)
    wire.connection.transport.write(struct.pack(">BBQ", 0x82, 0x80 | 127, 100_000_000) + mask + bytes(1000))
    assert (await wire.closed())[0] == 1009
    await other.send(Ping(1))
    assert isinstance(await other.receive(), Pong)


async def test_a_document_of_the_largest_size_is_taken(serve, dial):
    """The frame limit leaves room for it, even where JSON spells its characters out."""
    wire = await dial(await serve(limits=Limits(max_document_bytes=100_000)), JSON)
    text = '"\\\n' * 33_000
    await wire.open(text)
    await wire.send(Complete(1, URI, 1, len(text)))
    assert (await wire.ended())[1].reason == "stop"


async def test_a_client_that_vanishes_frees_its_sequences_at_once(serve, dial, engine, until, caplog):
    """Another client's stream goes on undisturbed, and nothing is logged as a failure."""
    engine.default = itertools.repeat("x")
    server = await serve()
    victim, other = await dial(server), await dial(server)
    await victim.open("x")
    await victim.send(*(Complete(request, URI, 1, 0, parallel=True) for request in range(3)))
    await victim.until(Delta)
    engine.scripts.append(["y"] * 300)
    await other.open("x")
    await other.send(Complete(1, URI, 1, 0))
    await other.until(Delta)
    with caplog.at_level(logging.DEBUG):
        victim.connection.transport.abort()
        await until(lambda: len(engine.cancelled) == 3)
    texts, done = await other.ended()
    assert "y" + "".join(texts) == "y" * 300
    assert done.reason == "stop"
    assert engine.running == 0
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_cancel_ends_a_stream(serve, dial, engine):
    """One terminal frame, and the sequence is freed."""
    engine.default = itertools.repeat("x")
    wire = await dial(await serve())
    await wire.open("x")
    await wire.send(Complete(1, URI, 1, 0))
    await wire.until(Delta)
    await wire.send(Cancel(1))
    assert (await wire.until(Done)).reason == "cancel"
    assert engine.running == 0


async def test_an_engine_that_dies_ends_requests_not_connections(serve, dial, engine):
    """The request gets its error, and the socket still answers."""
    engine.default = itertools.repeat("x")
    wire = await dial(await serve())
    await wire.open("x")
    await wire.send(Complete(1, URI, 1, 0))
    await wire.until(Delta)
    engine.fail("the engine process ended")
    error = await wire.until(Error)
    assert (error.request, error.code, error.retryable) == (1, ErrorCode.ENGINE_UNAVAILABLE, True)
    await wire.send(Ping(1))
    assert isinstance(await wire.receive(), Pong)


async def test_a_delta_costs_at_most_seven_bytes(serve, dial, engine):
    """Counted in frames as they come, with the WebSocket header."""
    pieces = ["a", "é", "x" * 31, "y" * 32, "z" * 100]
    engine.scripts.append(pieces)
    wire = await dial(await serve())
    await wire.open("x")
    await wire.send(Complete(1, URI, 1, 0))
    assert isinstance(await wire.receive(), Accepted)
    for piece in pieces:
        assert 2 + len(await wire.frame()) - len(piece.encode()) <= 7


async def test_accepted_leaves_with_the_first_text(serve, dial, engine, monkeypatch):
    """In one write where that comes soon; by itself where it doesn't."""
    writes = []
    write = GatewaySocket.write

    def note(ws: GatewaySocket, frames: bytes) -> None:
        writes.append(frames)
        write(ws, frames)

    wire = await dial(await serve())
    await wire.open("x")
    monkeypatch.setattr(GatewaySocket, "write", note)
    monkeypatch.setattr(connection_module, "_KEEP_SECONDS", DEADLINE)
    await wire.send(Complete(1, URI, 1, 0))
    assert [type(await wire.receive()) for _ in range(4)] == [Accepted, Delta, Delta, Done]
    encode = wire.codec.encode
    assert writes[0] == framed(encode(Accepted(1, 0)), False) + framed(encode(Delta(0, "hello")), False)
    assert len(writes) == 3
    writes.clear()
    monkeypatch.setattr(connection_module, "_KEEP_SECONDS", 0.002)
    engine.paused = True
    await wire.send(Complete(2, URI, 1, 0))
    assert isinstance(await wire.receive(), Accepted)
    assert writes == [framed(encode(Accepted(2, 0)), False)]
    engine.paused = False
    assert (await wire.ended())[1].request == 2


async def test_small_frames_are_not_delayed(serve, dial):
    """Nagle's algorithm is off."""
    server = await serve()
    await dial(server)
    (connection,) = server._server.connections
    sock = connection.transport.get_extra_info("socket")
    assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1


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


async def test_nothing_is_handled_after_a_fault(serve, dial, until, monkeypatch):
    """What came in the same read stays unread; the connection ends with 1011, and once."""
    server = await serve()
    wire = await dial(server)
    await wire.send(Ping(9))
    await wire.until(Pong)
    handled = []

    def handle(_: Session, message: object, *times: int) -> None:
        handled.append(message)
        raise RuntimeError("a fault")

    monkeypatch.setattr(Session, "handle", handle)
    frames = b"".join(
        struct.pack(">BB", 0x82, 0x80 | len(data)) + bytes(4) + data
        for data in (wire.codec.encode(Ping(number)) for number in range(3))
    )
    wire.connection.transport.write(frames)
    code, _ = await wire.closed()
    assert code == 1011
    assert handled == [Ping(0)]
    await until(lambda: not server._connections)


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


async def test_long_document_ids_are_cut_in_error_texts(serve, dial):
    """The frame names the document; the text shows its two ends."""
    wire = await dial(await serve())
    document = "file:///" + "\U0001f388" * 4000 + "/a.py"
    await wire.send(Close(document), Complete(1, document, 1, 0))
    for kind in (Nack, Error):
        answer = await wire.receive()
        assert isinstance(answer, kind)
        assert answer.code == ErrorCode.UNKNOWN_DOCUMENT
        assert len(answer.message) < 120
        assert "'file:///" in answer.message
        assert "/a.py'" in answer.message


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
            connection.drain()
        else:
            session.close()
    await until(lambda: session.running == 0 and engine.running == 0)
    connection._ws.congested = False
    await server.close()
    assert b"warmline_requests_running 0.0" in server._service.metrics.render()


async def test_what_comes_in_one_read_is_handled_in_one_turn(serve, dial, engine, monkeypatch):
    """A key's change and the request behind it, without a task between them and without the library's parser."""
    handled, parsed = [], []
    handle, process_event = Session.handle, GatewaySocket.process_event

    def note(session: Session, message: object, received: int, parsed: int) -> None:
        handled.append((type(message), received))
        handle(session, message, received, parsed)

    def note_event(ws: GatewaySocket, event: object) -> None:
        parsed.append(event)
        process_event(ws, event)

    wire = await dial(await serve())
    await wire.open("x = 1\n")
    await wire.send(Ping(1))
    await wire.receive()
    monkeypatch.setattr(Session, "handle", note)
    monkeypatch.setattr(GatewaySocket, "process_event", note_event)
    encode = wire.codec.encode
    messages = Change(URI, 1, 2, [TextEdit(6, 6, "y")]), Complete(1, URI, 2, 7)
    data = b"".join(Frame(Opcode.BINARY, encode(message)).serialize(mask=True) for message in messages)
    wire.connection.transport.write(data)
    assert (await wire.ended())[1].reason == "stop"
    assert [kind for kind, _ in handled] == [Change, Complete]
    assert len({received for _, received in handled}) == 1
    assert parsed == []


async def test_a_read_takes_no_longer_than_a_turn(serve, dial, monkeypatch):
    """What is left of it waits in the queue, as others wait for theirs."""
    monkeypatch.setattr("warmline.realtime.connection._TURN_NS", 0)
    queued = []
    process_event = GatewaySocket.process_event

    def note_event(ws: GatewaySocket, event: object) -> None:
        queued.append(event)
        process_event(ws, event)

    wire = await dial(await serve())
    monkeypatch.setattr(GatewaySocket, "process_event", note_event)
    encode = wire.codec.encode
    wire.connection.transport.write(
        b"".join(Frame(Opcode.BINARY, encode(Ping(number))).serialize(mask=True) for number in range(5))
    )
    assert [(await wire.receive()).sent for _ in range(5)] == list(range(5))
    assert len(queued) == 4


async def test_messages_that_take_long_let_others_through(serve, dial, monkeypatch):
    """Between any two of them the event loop turns, though they arrive together."""
    monkeypatch.setattr("warmline.realtime.connection._TURN_NS", 0)
    happened = []

    def handle(session: Session, message: object, received: int, parsed: int) -> None:
        happened.append("message")
        asyncio.get_running_loop().call_soon(happened.append, "others")
        session.refuse(None, Refused(ErrorCode.INTERNAL_ERROR, ""))

    wire = await dial(await serve())
    monkeypatch.setattr(Session, "handle", handle)
    await asyncio.gather(*(wire.send(Ping(number)) for number in range(20)))
    for _ in range(20):
        assert isinstance(await wire.receive(), Error)
    assert happened == ["message", "others"] * 20


async def test_a_flood_of_messages_lets_others_through(serve, dial):
    """Thousands of buffered pings of one client don't starve another."""
    server = await serve()
    flood, other = await dial(server), await dial(server)
    await asyncio.gather(*(flood.send(Ping(number)) for number in range(3000)))
    await other.send(Ping(1))
    assert isinstance(await other.receive(), Pong)
    for number in range(3000):
        assert (await flood.receive()).sent == number


def _frames(payloads: list[bytes], choice: random.Random) -> bytes:
    """Masked frames of binary messages, some of them in fragments with a WebSocket ping between these."""
    data = b""
    for payload in payloads:
        if choice.random() < 0.3:
            at = choice.randint(0, len(payload))
            data += Frame(Opcode.BINARY, payload[:at], fin=False).serialize(mask=True)
            data += Frame(Opcode.PING, b"x").serialize(mask=True)
            data += Frame(Opcode.CONT, payload[at:]).serialize(mask=True)
        else:
            data += Frame(Opcode.BINARY, payload).serialize(mask=True)
    return data


@pytest.mark.parametrize("seed", range(8))
async def test_messages_are_handled_in_order_however_the_network_cuts_them(serve, dial, seed):
    """Taken at once or from the queue, whole, in fragments, many in a read or a byte at a time."""
    choice = random.Random(seed)
    client = await dial(await serve())
    numbers = list(range(1, 120))
    data = _frames([client.codec.encode(Ping(number)) for number in numbers], choice)
    while data:
        size = choice.choice((1, 3, 17, 200, 2000))
        client.connection.transport.write(data[:size])
        data = data[size:]
        if choice.random() < 0.5:
            await asyncio.sleep(0)
    assert [(await client.until(Pong)).sent for _ in numbers] == numbers


async def test_what_looks_like_a_message_within_another_is_none(serve, dial, until, monkeypatch):
    """The network cut a message right there, and the next one came with its rest."""
    reads = []
    data_received = GatewaySocket.data_received

    def note(ws: GatewaySocket, data: bytes) -> None:
        reads.append(data)
        data_received(ws, data)

    client = await dial(await serve())
    monkeypatch.setattr(GatewaySocket, "data_received", note)
    encode = client.codec.encode
    inner, behind = (Frame(Opcode.BINARY, encode(Ping(number))).serialize(mask=True) for number in (1, 2))
    payload = b"\xc1" + inner  # which is no message
    begin = framed(payload, text=False)[: -len(payload)]
    outer = bytes((begin[0], begin[1] | 0x80)) + bytes(4) + payload  # masked with zeros
    chunks = [outer[: -len(inner)], inner + behind]
    for chunk in chunks:
        client.connection.transport.write(chunk)
        await until(lambda chunk=chunk: chunk in reads)
    assert reads == chunks
    assert (await client.receive()).code == ErrorCode.MALFORMED_MESSAGE
    assert (await client.receive()).sent == 2


async def test_a_client_that_masks_nothing_is_closed(serve, dial, monkeypatch):
    """As RFC 6455 demands (section 5.1), with 1002; its frame is not read, though a message could be seen in it."""
    handled = []
    client = await dial(await serve())
    monkeypatch.setattr(Session, "handle", lambda session, message, *times: handled.append(message))
    message = client.codec.encode(Ping(1))
    client.connection.transport.write(bytes((0x82, len(message))) + bytes(4) + message)  # as masked with zeros
    assert (await client.closed())[0] == 1002
    assert handled == []


async def test_a_bad_message_between_good_ones_is_answered_in_its_turn(serve, dial):
    """What can't be decoded is refused after what came before it, and the session goes on."""
    client = await dial(await serve())
    for number in (1, 2):
        await client.send(Ping(number))
        await client.raw(b"\xc1")
    await client.send(Ping(3))
    answers = [await client.receive() for _ in range(5)]
    assert [getattr(answer, "sent", "error") for answer in answers] == [1, "error", 2, "error", 3]
