"""Whatever comes in one read is handled in order, a turn at a time."""

from __future__ import annotations

import asyncio
import random

import pytest
from warmline.realtime.documents.large_open import LARGE_FRAME
from warmline.realtime.errors import Refused
from warmline.realtime.protocol import (
    JSON,
    MSGPACK,
    SUBPROTOCOLS,
    Change,
    Complete,
    Error,
    ErrorCode,
    Hello,
    Open,
    Ping,
    Pong,
    TextEdit,
    client_codec,
    server_codec,
)
from warmline.realtime.session import Session
from warmline.realtime.sockets import connection
from warmline.realtime.sockets.framing import frame as framed
from warmline.realtime.sockets.gateway_socket import GatewaySocket
from websockets.asyncio.server import ServerConnection
from websockets.frames import Frame, Opcode
from websockets.protocol import State

both = pytest.mark.parametrize("subprotocol", SUBPROTOCOLS)
URI = "file:///a"
DEADLINE = 10.0


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


@pytest.fixture
def one_at_a_time(monkeypatch):
    """A turn is over as soon as something was done in it."""
    monkeypatch.setattr("warmline.realtime.sockets.gateway_socket.TURN_NS", 0)
    monkeypatch.setattr("warmline.realtime.sockets.connection.TURN_NS", 0)


@both
async def test_messages_of_one_read_let_others_through(serve, dial, monkeypatch, subprotocol, one_at_a_time):
    """Between any two of them the event loop turns, whether they are taken at once or from the queue."""
    happened = []

    def handle(session: Session, message: object, *times: int) -> None:
        happened.append("message")
        asyncio.get_running_loop().call_soon(happened.append, "others")
        session.refuse(None, Refused(ErrorCode.INTERNAL_ERROR, ""))

    wire = await dial(await serve(), subprotocol)
    monkeypatch.setattr(Session, "handle", handle)
    opcode = Opcode.TEXT if wire.codec.text else Opcode.BINARY
    wire.connection.transport.write(Frame(opcode, wire.codec.encode(Ping(1))).serialize(mask=True) * 20)
    for _ in range(20):
        assert isinstance(await wire.receive(), Error)
    assert happened == ["message", "others"] * 20


async def test_the_librarys_parser_gets_few_frames_a_turn(serve, dial, until, monkeypatch, one_at_a_time):
    """And nothing is read from the network before the last of them had its turn."""
    pieces = []
    reading = []
    data_received = ServerConnection.data_received

    def note(ws: ServerConnection, data: bytes) -> None:
        pieces.append(data)
        data_received(ws, data)
        asyncio.get_running_loop().call_soon(lambda: reading.append((len(pieces), ws.transport.is_reading())))

    server = await serve()
    wire = await dial(server)
    monkeypatch.setattr(ServerConnection, "data_received", note)
    ping = Frame(Opcode.PING, b"").serialize(mask=True)
    wire.connection.transport.write(ping * 100)
    await until(lambda: sum(map(len, pieces)) == 100 * len(ping) and len(reading) == len(pieces))
    assert max(map(len, pieces)) <= 16 * len(ping)
    assert [turns for turns, _ in reading] == list(range(1, len(pieces) + 1))
    assert [is_reading for _, is_reading in reading] == [False] * (len(pieces) - 1) + [True]


async def test_a_full_queue_holds_the_rest_of_a_read(serve, dial, monkeypatch):
    """However much one read brings, the library's queue has few messages; all are handled in order."""
    lengths = []
    process_event = GatewaySocket.process_event

    def note(ws: GatewaySocket, event: object) -> None:
        process_event(ws, event)
        lengths.append(len(ws.recv_messages.frames))

    wire = await dial(await serve(), JSON)
    monkeypatch.setattr(GatewaySocket, "process_event", note)
    encode = wire.codec.encode
    wire.connection.transport.write(
        b"".join(Frame(Opcode.TEXT, encode(Ping(number))).serialize(mask=True) for number in range(2000))
    )
    assert [(await wire.receive()).sent for _ in range(2000)] == list(range(2000))
    assert 16 < max(lengths) <= 33


async def test_what_a_client_left_behind_is_dropped_with_it(serve, dial, until, monkeypatch, one_at_a_time):
    """One that vanishes while its messages wait for their turn ends as any other."""
    handled, faults = [], []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(context))
    server = await serve()
    wire = await dial(server)

    def handle(session: Session, message: object, *times: int) -> None:
        handled.append(message)
        for ws in server._server.connections:
            ws.transport.abort()

    monkeypatch.setattr(Session, "handle", handle)
    wire.connection.transport.write(Frame(Opcode.BINARY, wire.codec.encode(Ping(1))).serialize(mask=True) * 100)
    await until(lambda: not server._connections)
    await asyncio.sleep(0.01)
    assert len(handled) == 1
    assert faults == []


async def test_frames_may_come_with_the_upgrade(serve):
    """Cut wherever the network likes, and messages behind them are taken at once all the same."""
    server = await serve()
    request = _upgrade(MSGPACK)
    encode = client_codec(MSGPACK).encode
    hello, ping = (Frame(Opcode.BINARY, encode(message)).serialize(mask=True) for message in (Hello(), Ping(7)))
    for cut in (len(request) - 3, len(request), len(request) + 1, len(request) + len(hello)):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        data = request + hello
        writer.write(data[:cut])
        await asyncio.sleep(0.02)
        writer.write(data[cut:])
        async with asyncio.timeout(DEADLINE):
            await reader.readuntil(b"warmline/")  # the header of the answer
            await reader.readuntil(b"scripted")  # the welcome
            writer.write(ping)
            await reader.readuntil(framed(server_codec(MSGPACK).encode(Pong(7, 0, 0)), False)[2:4])
        (ws,) = server._server.connections
        assert ws._bounds.between
        writer.transport.abort()
        while server._server.connections:
            await asyncio.sleep(0.002)


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


async def test_what_comes_behind_a_message_in_hand_waits_for_it(serve, dial, until, monkeypatch):
    """A large text is read in turns, and a change and a request that come meanwhile are about it."""
    reading, go_on, reads = asyncio.Event(), asyncio.Event(), []
    read_open, data_received = connection.read_open, GatewaySocket.data_received

    async def read_later(data: bytes):
        reading.set()
        await go_on.wait()
        return await read_open(data)

    def note(ws: GatewaySocket, data: bytes) -> None:
        data_received(ws, data)
        reads.append(data)

    client = await dial(await serve())
    monkeypatch.setattr(connection, "read_open", read_later)
    text = "é = 1\n" * (LARGE_FRAME // 6)
    await client.open(text)
    await until(reading.is_set)
    monkeypatch.setattr(GatewaySocket, "data_received", note)
    for message in (Change(URI, 1, 2, [TextEdit(0, 0, "x")]), Complete(1, URI, 2, 1)):
        before = len(reads)
        await client.send(message)
        await until(lambda before=before: len(reads) > before)
    go_on.set()
    assert (await client.ended())[1].reason == "stop"


async def test_reads_that_come_while_one_is_held_follow_it(serve, dial, one_at_a_time):
    """A transport may bring what it had read before it was paused, more than once."""
    server = await serve()
    client = await dial(server)
    (ws,) = server._server.connections
    encode = client.codec.encode
    data = b"".join(Frame(Opcode.BINARY, encode(Ping(number))).serialize(mask=True) for number in range(30))
    for at in range(0, len(data), 50):
        ws.data_received(data[at : at + 50])
        assert ws._held
    assert [(await client.receive()).sent for _ in range(30)] == list(range(30))


async def test_a_protocol_failure_ends_the_session_at_once(serve, engine, until):
    """Though a flood comes behind it, and its client reads and closes nothing."""
    engine.paused = True
    server = await serve()
    _, writer = await asyncio.open_connection("127.0.0.1", server.port)
    encode = client_codec(JSON).encode
    messages = Hello(), Open(URI, 1, "python", "x = 1\n"), Complete(1, URI, 1, 0)
    writer.write(_upgrade(JSON))
    writer.write(b"".join(Frame(Opcode.TEXT, encode(message)).serialize(mask=True) for message in messages))
    await until(lambda: engine.running == 1)
    (ws,) = server._server.connections
    ws.close_timeout = 3600.0
    ping = Frame(Opcode.TEXT, encode(Ping(1))).serialize(mask=True)
    writer.write(Frame(Opcode.TEXT, b"\xc1").serialize(mask=True) + ping * 3000)
    try:
        await until(lambda: engine.running == 0)
        assert ws.protocol.state is State.CLOSING
    finally:
        ws.transport.abort()
        writer.transport.abort()


def _upgrade(subprotocol: str) -> bytes:
    """A bare client's handshake."""
    return (
        "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
        f"Sec-WebSocket-Protocol: {subprotocol}\r\n\r\n"
    ).encode()
