"""Servers that cut, garble, refuse or don't answer: everything ends with a clear error, nothing hangs."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys

import pytest
from warmline.client import (
    ConnectionFailed,
    ConnectionLost,
    ServerMisbehaved,
    Unauthorized,
    connect,
)
from warmline.realtime.protocol import Complete, Delta, Error, Hello, Pong
from websockets.asyncio.server import serve


def leftovers() -> set[asyncio.Task]:
    return asyncio.all_tasks() - {asyncio.current_task()}


async def test_a_connection_cut_in_mid_stream_raises_in_every_waiter(scripted) -> None:
    """What came before the cut is still delivered; then each waiter raises, and no task is left."""

    async def script(peer) -> None:
        await peer.greet()
        await peer.accept(Complete, stream=0)
        await peer.accept(Complete, stream=1)
        await peer.send(Delta(0, "before"))
        peer.connection.transport.abort()

    async with scripted(script) as url:
        before = leftovers()
        async with connect(url) as session:
            document = await session.open("a", "")
            first, second = session.complete(document, 0), session.complete(document, 0)
            waiters = [first.result(), first.result(), second.result(), anext(second), session.ping()]
            ends = await asyncio.gather(*waiters, return_exceptions=True)
            assert [type(end) for end in ends] == [ConnectionLost] * 5
            assert await anext(first) == "before"
            with pytest.raises(ConnectionLost, match="the connection broke"):
                await anext(first)
            with pytest.raises(StopAsyncIteration):
                await anext(first)
            with pytest.raises(ConnectionLost):
                await document.change(0, 0, "x")
            with pytest.raises(ConnectionLost):
                await session.open("b", "")
            first.cancel()
        assert leftovers() <= before


@pytest.mark.parametrize(
    ("code", "error", "retryable"),
    [
        (1001, ConnectionLost, True),
        (1012, ConnectionLost, True),
        (1013, ConnectionLost, True),
        (4403, ConnectionLost, False),
        (4408, ConnectionLost, True),
        (4409, ConnectionLost, False),
    ],
)
async def test_close_codes_say_whether_to_connect_again(scripted, code: int, error: type, retryable: bool) -> None:
    """The code, the server's reason and whether it is worth another try are in the error."""

    async def script(peer) -> None:
        await peer.greet()
        await peer.next(Complete)
        await peer.connection.close(code, "because")

    async with scripted(script) as url, connect(url) as session:
        completion = session.complete(await session.open("a", ""), 0)
        with pytest.raises(error, match="because") as caught:
            await completion.result()
        assert (caught.value.code, caught.value.retryable) == (code, retryable)


async def test_a_key_that_was_revoked_is_unauthorized(scripted) -> None:
    """Close code 4401 in mid-session."""

    async def script(peer) -> None:
        await peer.greet()
        await peer.connection.close(4401, "revoked")

    async with scripted(script) as url, connect(url) as session:
        with pytest.raises(Unauthorized, match="revoked"):
            while True:
                await session.ping()


@pytest.mark.parametrize(
    "frame",
    [b"\xc1garbage", b"\x92\x63\x00", b"\x92\x03\x01", "text on the binary subprotocol", b"\x93\x03\x05\xa1x", b""],
    ids=repr,
)
async def test_a_frame_that_is_no_message_ends_the_session(scripted, frame: str | bytes) -> None:
    """Garbage, unknown tags, missing fields, wrong frame types, unknown streams: the client gives up."""

    async def script(peer) -> None:
        await peer.greet()
        await peer.next(Complete)
        await peer.connection.send(frame)
        await peer.connection.wait_closed()
        assert peer.connection.close_code == 1002

    async with scripted(script) as url, connect(url) as session:
        completion = session.complete(await session.open("a", ""), 0)
        with pytest.raises(ServerMisbehaved):
            await completion.result()


async def test_nobody_listens() -> None:
    """The error names the URL and says how to start the service."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"ws://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(ConnectionFailed, match=rf"{url}: nothing listens there.*warmline serve"):
            await connect(url)


async def test_a_server_that_accepts_and_says_nothing(scripted) -> None:
    """open_timeout covers TCP, upgrade and welcome together."""

    async def silent(peer) -> None:
        await peer.connection.wait_closed()

    async with scripted(silent) as url:
        with pytest.raises(ConnectionFailed, match=r"did not answer within 0\.2 seconds"):
            await connect(url, open_timeout=0.2)

    ended = asyncio.Event()

    async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            await reader.read()
        writer.close()
        ended.set()

    async with await asyncio.start_server(mute, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ConnectionFailed, match="did not answer"):
            await connect(f"ws://127.0.0.1:{port}", open_timeout=0.2)
        await ended.wait()


async def test_something_else_answers() -> None:
    """Neither a plain TCP server nor another WebSocket server is taken for ours."""

    async def banner(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.2\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(banner, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ConnectionFailed, match="no Warmline server"):
            await connect(f"ws://127.0.0.1:{port}")

    async with serve(lambda connection: connection.wait_closed(), "127.0.0.1", 0) as other:
        port = other.sockets[0].getsockname()[1]
        with pytest.raises(ConnectionFailed, match=r"does not speak warmline\.v1\.msgpack"):
            await connect(f"ws://127.0.0.1:{port}")


@pytest.mark.parametrize(
    ("status", "error", "message"),
    [
        (401, Unauthorized, "wants an API key; pass token="),
        (403, ConnectionFailed, "HTTP 403: not from there"),
        (503, ConnectionFailed, "takes no new sessions at the moment: not from there"),
        (429, ConnectionFailed, "takes no new sessions at the moment: not from there"),
    ],
)
async def test_a_refused_upgrade(status: int, error: type, message: str) -> None:
    """HTTP errors of the upgrade are told apart."""
    refuse = serve(
        lambda connection: connection.wait_closed(),
        "127.0.0.1",
        0,
        process_request=lambda connection, request: connection.respond(status, "not from there"),
    )
    async with refuse as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(error, match=message):
            await connect(f"ws://127.0.0.1:{port}")


async def test_the_token_travels_in_the_authorization_header(scripted) -> None:
    """Not in the URL, where logs would keep it."""
    seen = []

    async def script(peer) -> None:
        seen.append(peer.connection.request.headers.get("Authorization"))
        await peer.greet()
        await peer.idle()

    async with scripted(script) as url, connect(url, token="secret"):
        pass
    assert seen == ["Bearer secret"]


async def test_an_error_instead_of_welcome(scripted) -> None:
    """A wrong token that is only noticed at hello is unauthorized; anything else is a failed connection."""

    async def unauthorized(peer) -> None:
        await peer.next(Hello)
        await peer.send(Error(None, "unauthorized", "no such key"))

    async def internal(peer) -> None:
        await peer.next(Hello)
        await peer.send(Error(None, "internal_error", "a fault"))

    async def closes(peer) -> None:
        await peer.next(Hello)
        await peer.connection.close(1012)

    async def confused(peer) -> None:
        await peer.next(Hello)
        await peer.send(Pong(1, 2, 3))

    async def garbage(peer) -> None:
        await peer.connection.send(b"\xc1")
        await peer.idle()

    for script, error, message in [
        (unauthorized, Unauthorized, "no such key"),
        (internal, ConnectionFailed, "a fault"),
        (closes, ConnectionFailed, "restarting"),
        (confused, ConnectionFailed, "said no welcome"),
        (garbage, ConnectionFailed, "no Warmline server"),
    ]:
        async with scripted(script) as url:
            with pytest.raises(error, match=message):
                await connect(url)


@pytest.mark.parametrize("url", ["127.0.0.1:8765", "http://127.0.0.1:8765", "ws://", ""])
def test_a_url_that_is_none(url: str) -> None:
    """The error shows what one looks like."""
    with pytest.raises(ValueError, match=r"looks like ws://127\.0\.0\.1:8765"):
        connect(url)


@pytest.mark.parametrize("token", ["two\r\nlines", "schlüssel"])
def test_a_token_that_fits_no_header(token: str) -> None:
    """It is refused before anything is sent, without showing it."""
    with pytest.raises(ValueError, match="a token consists of printable ASCII characters"):
        connect("ws://127.0.0.1:1", token=token)


def test_an_unknown_subprotocol() -> None:
    """The error names those there are."""
    with pytest.raises(ValueError, match=r"warmline\.v1\.json"):
        connect("ws://127.0.0.1:1", subprotocol="warmline.v9")


async def test_a_server_that_stops_answering_is_noticed(scripted) -> None:
    """Keep-alive pings end the session when the other side is silent."""

    noticed = asyncio.Event()

    async def script(peer) -> None:
        await peer.greet()
        await peer.next(Complete)
        peer.connection.transport.pause_reading()
        await noticed.wait()
        peer.connection.transport.abort()

    async with scripted(script) as url, connect(url, ping_interval=0.1) as session:
        completion = session.complete(await session.open("a", ""), 0)
        with pytest.raises(ConnectionLost):
            await completion.result()
        noticed.set()


def test_the_sdk_is_light() -> None:
    """Importing it loads neither the engine nor the command line, nor what they need."""
    heavy = ["torch", "numpy", "typer", "rich", "tokenizers", "uvloop", "prometheus_client", "warmline.engine"]
    code = f"import sys, warmline.client; print([name for name in {heavy} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
