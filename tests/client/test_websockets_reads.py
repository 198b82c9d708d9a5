"""Whatever pieces the network cuts frames into, the transport on websockets gives the same messages in order."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator

import pytest
from warmline.client.transport import WebsocketsTransport, _Connection
from websockets.asyncio.client import ClientConnection
from websockets.asyncio.server import ServerConnection, serve
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

SIZES = (0, 1, 2, 40, 125, 126, 127, 300, 65_535, 65_536, 70_000)


@contextlib.asynccontextmanager
async def sending(
    chunks: list[bytes], with_response: bytes = b"", pause: float = 0
) -> AsyncIterator[WebsocketsTransport]:
    """A transport whose peer accepts it, sends these bytes, each by itself, and waits."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        protocol = ServerProtocol(subprotocols=[Subprotocol("x")])
        protocol.receive_data(await reader.readuntil(b"\r\n\r\n"))
        (request,) = protocol.events_received()
        assert isinstance(request, Request)
        protocol.send_response(protocol.accept(request))
        writer.write(b"".join(protocol.data_to_send()) + with_response)
        await asyncio.sleep(0.01)
        for chunk in chunks:
            writer.write(chunk)
            await writer.drain()
            await asyncio.sleep(pause)
        with contextlib.suppress(ConnectionError):
            await reader.read()
        writer.transport.abort()
        over.set()

    over = asyncio.Event()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        transport = await WebsocketsTransport.connect(url, "x", {}, text=False, proxy=False, ping_interval=None)
        try:
            yield transport
        finally:
            transport.abort()
            await transport.close()
            await over.wait()


async def received(transport: WebsocketsTransport, count: int) -> list[str | bytes]:
    """So many messages."""
    messages: list[str | bytes] = []
    enough = asyncio.Event()

    def take(message: str | bytes) -> None:
        messages.append(message)
        if len(messages) == count:
            enough.set()

    transport.inbox.read(take, lambda code, reason: enough.set())
    async with asyncio.timeout(10):
        await enough.wait()
    return messages


def binary(payload: bytes) -> bytes:
    return Frame(Opcode.BINARY, payload).serialize(mask=False)


def cut(data: bytes, choice: random.Random) -> list[bytes]:
    """Pieces of one byte up to some frames."""
    pieces = []
    while data:
        size = choice.choice([1, 2, 3, 42, 127, 500, 70_000])
        pieces.append(data[:size])
        data = data[size:]
    return pieces


@pytest.mark.parametrize("seed", range(12))
async def test_frames_cut_anywhere(seed):
    """Short and long ones, alone, together and in parts, with pings and a pong between them."""
    choice = random.Random(seed)
    messages = [choice.randbytes(choice.choice(SIZES)) for _ in range(60)]
    chunks: list[bytes] = []
    together = b""
    for message in messages:
        data = binary(message)
        if choice.random() < 0.2:
            data += Frame(choice.choice([Opcode.PING, Opcode.PONG]), b"?").serialize(mask=False)
        if choice.random() < 0.5:  # a read of its own, as most are
            chunks += [*cut(together, choice), data]
            together = b""
        else:
            together += data
    chunks += cut(together, choice)
    async with sending(chunks) as transport:
        assert await received(transport, len(messages)) == messages


@pytest.mark.parametrize("taken", range(6))
async def test_frames_that_come_with_the_response(taken):
    """The beginning of the first frame may be in the read that brings the upgrade's answer."""
    data = binary(b"one") + binary(b"two")
    async with sending([data[taken:5], data[5:]], with_response=data[:taken]) as transport:
        assert await received(transport, 2) == [b"one", b"two"]


async def test_messages_in_fragments_stay_in_order():
    """With whole ones before and after them."""
    parts = (
        Frame(Opcode.BINARY, b"b", fin=False).serialize(mask=False),
        Frame(Opcode.PING, b"").serialize(mask=False),
        Frame(Opcode.CONT, b"c").serialize(mask=False),
    )
    async with sending([binary(b"a"), *parts, binary(b"d"), binary(b"e")]) as transport:
        assert await received(transport, 4) == [b"a", b"bc", b"d", b"e"]


async def test_a_short_read_within_a_long_frame_is_not_a_frame():
    """Though it looks like one."""
    inner = binary(b"looks like one")
    payload = b"x" * 400 + inner + b"x" * 400
    whole = binary(payload)
    at = whole.index(inner)
    chunks = [whole[:at], inner, whole[at + len(inner) :], binary(b"after")]
    async with sending(chunks) as transport:
        assert await received(transport, 2) == [payload, b"after"]


async def test_what_comes_behind_a_close_is_not_delivered(monkeypatch):
    """A read of its own, which would be whole messages if the connection were open."""
    late = binary(b"late")
    arrived = asyncio.Event()
    data_received = _Connection.data_received

    def note(connection: _Connection, data: bytes) -> None:
        data_received(connection, data)
        if data == late:
            arrived.set()

    monkeypatch.setattr(_Connection, "data_received", note)
    close = Frame(Opcode.CLOSE, (1000).to_bytes(2)).serialize(mask=False)
    messages: list[str | bytes] = []
    async with sending([binary(b"x"), close, late], pause=0.02) as transport:
        transport.inbox.read(messages.append, lambda code, reason: None)
        async with asyncio.timeout(10):
            await arrived.wait()
    assert messages == [b"x"]


async def test_the_library_does_not_parse_whole_frames(monkeypatch):
    """One or several in a read. It is given the upgrade's answer, what is cut, and what is no short message."""
    parsed = []
    data_received = ClientConnection.data_received

    def note(connection: ClientConnection, data: bytes) -> None:
        parsed.append(data)
        data_received(connection, data)

    monkeypatch.setattr(ClientConnection, "data_received", note)
    ping = Frame(Opcode.PING, b"?").serialize(mask=False)
    chunks = [
        binary(b"x"),
        binary(b"a") + binary(b"y" * 200),
        ping,
        binary(b"cut")[:3],
        binary(b"cut")[3:],
        binary(b"z"),
    ]
    async with sending(chunks, pause=0.02) as transport:
        assert await received(transport, 5) == [b"x", b"a", b"y" * 200, b"cut", b"z"]
    assert parsed[0].startswith(b"HTTP/1.1 101 ")
    assert parsed[1:] == chunks[2:5]


@pytest.mark.parametrize("text", [True, False], ids=["text", "binary"])
async def test_a_server_reads_what_is_sent(text):
    """Messages of every size, in their order, until the connection is closed."""
    sent = [bytes(65 + number % 26 for number in range(size)) for size in (*SIZES, *SIZES)]
    got: asyncio.Queue[str | bytes] = asyncio.Queue()

    async def note(connection: ServerConnection) -> None:
        async for message in connection:
            got.put_nowait(message)

    async with serve(note, "127.0.0.1", 0, subprotocols=[Subprotocol("x")]) as server:
        url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        transport = await WebsocketsTransport.connect(url, "x", {}, text=text, proxy=False, ping_interval=None)
        for message in sent:
            transport.send(message)
        async with asyncio.timeout(10):
            assert [await got.get() for _ in sent] == [message.decode() if text else message for message in sent]
        await transport.close()
        transport.send(b"nobody reads this")
        assert transport.unsent == 0
