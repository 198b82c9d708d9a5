"""A socket from hello to its end: what is answered, and what ends it."""

from __future__ import annotations

import asyncio
import itertools
import logging
import socket
import struct

import pytest
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
    TextEdit,
)
from warmline.realtime.session import Session
from warmline.realtime.sockets import connection as connection_module
from warmline.realtime.sockets.connection import Connection
from warmline.realtime.sockets.framing import frame as framed
from warmline.realtime.sockets.gateway_socket import GatewaySocket

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


async def test_accepted_does_not_wait_for_a_silent_engine(serve, dial, engine, until, monkeypatch):
    """It leaves by itself long before a person would notice: timers of one loop fire in their order."""
    happened = []
    write, keep = GatewaySocket.write, Connection._keep

    def note(ws: GatewaySocket, frames: bytes) -> None:
        happened.append("accepted")
        write(ws, frames)

    def kept(connection: Connection, accepted: bytes) -> None:
        keep(connection, accepted)
        asyncio.get_running_loop().call_later(0.1, happened.append, "a tenth of a second")

    engine.paused = True
    wire = await dial(await serve())
    await wire.open("x")
    monkeypatch.setattr(GatewaySocket, "write", note)
    monkeypatch.setattr(Connection, "_keep", kept)
    await wire.send(Complete(1, URI, 1, 0))
    assert isinstance(await wire.receive(), Accepted)
    await until(lambda: len(happened) == 2)
    assert happened == ["accepted", "a tenth of a second"]
    engine.paused = False
    assert (await wire.ended())[1].request == 1


async def test_small_frames_are_not_delayed(serve, dial):
    """Nagle's algorithm is off."""
    server = await serve()
    await dial(server)
    (connection,) = server._server.connections
    sock = connection.transport.get_extra_info("socket")
    assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1


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
