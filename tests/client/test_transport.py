"""Both transports below the SDK: what the sessions of the other tests don't show."""

from __future__ import annotations

import asyncio
import gc
import socket

import pytest
from warmline.client import ConnectionFailed, ConnectionLost, InvalidArgument, connect, handshake
from warmline.client.session import PENDING_BYTES
from warmline.client.transport import MAX_FRAME
from warmline.realtime.protocol import JSON, Accepted, Change, Complete, Delta, Done, Hello, Welcome


def kind_of(session) -> str:
    return type(session._link._transport).__name__


async def greeted(peer) -> None:
    await peer.greet()
    await peer.idle()


KINDS = {"auto": "WebsocketsTransport", "websockets": "WebsocketsTransport", "picows": "PicowsTransport"}


async def test_picows_is_taken_only_where_a_program_names_it(serve_script) -> None:
    """Though it is installed."""
    pytest.importorskip("picows")
    async with serve_script(greeted) as url:
        async with connect(url) as session:
            assert kind_of(session) == KINDS["auto"]
        for name, kind in KINDS.items():
            async with connect(url, transport=name) as session:  # type: ignore[arg-type]
                assert kind_of(session) == kind


async def test_the_other_tests_are_done_over_both(scripted, transport: str) -> None:
    """Whatever `connect` takes elsewhere."""
    async with scripted(greeted) as url, connect(url) as session:
        assert kind_of(session) == KINDS[transport]


def test_a_transport_that_there_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names those there are, or says how to install it."""
    with pytest.raises(ValueError, match="'udp' is none of auto, websockets, picows"):
        connect("ws://127.0.0.1:1", transport="udp")  # type: ignore[arg-type]
    monkeypatch.setattr(handshake, "_has_picows", lambda: False)
    with pytest.raises(ValueError, match="pip install picows"):
        connect("ws://127.0.0.1:1", transport="picows")


@pytest.mark.parametrize(
    ("url", "environment", "fast"),
    [
        ("ws://example.org", {"http_proxy": "http://proxy:3128"}, False),
        ("wss://example.org", {"https_proxy": "http://proxy:3128"}, False),
        ("ws://example.org", {"http_proxy": "http://proxy:3128", "no_proxy": "example.org"}, True),
        ("ws://example.org", {"no_proxy": "example.org"}, True),
        ("ws://127.0.0.1", {"http_proxy": "http://proxy:3128"}, True),
        ("ws://localhost", {"http_proxy": "http://proxy:3128"}, True),
        ("wss://example.org", {}, True),
    ],
)
def test_proxies_are_for_websockets(monkeypatch: pytest.MonkeyPatch, url: str, environment, fast: bool) -> None:
    """Where the environment names one for the host; this machine never has one."""
    monkeypatch.setattr(handshake, "_has_picows", lambda: True)
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "ws_proxy", "wss_proxy", "socks_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert connect(url, transport="picows")._fast is fast
    assert connect(url)._fast is False


@pytest.mark.parametrize("subprotocol", [handshake.MSGPACK, JSON])
async def test_a_message_in_fragments_is_one_message(scripted, subprotocol: str) -> None:
    """A proxy may divide them, between any two bytes."""

    async def script(peer) -> None:
        await peer.greet()
        request = await peer.next(Complete)
        for message in (Accepted(request.request, 1), Delta(1, "é😀"), Done(request.request, "stop")):
            frame = peer.codec.encode(message)
            pieces = [frame[:1], frame[1:2], frame[2:]]
            if peer.codec.text:
                text = frame.decode()
                pieces = [text[:1], text[1:2], text[2:]]
            await peer.connection.send(pieces)
        await peer.idle()

    async with scripted(script) as url, connect(url, subprotocol=subprotocol) as session:
        assert (await session.complete(await session.open("a", ""), 0).result()).text == "é😀"


async def test_what_follows_the_welcome_at_once_is_not_lost(scripted) -> None:
    """The server may send before the session has its first reader, and even close."""

    async def script(peer) -> None:
        await peer.next(Hello)
        welcome = peer.codec.encode(Welcome("session", "scripted", "model", 8192, 1, 8))
        await peer.connection.send(welcome)
        await peer.connection.close(1012, "restarting")

    async with scripted(script) as url:
        try:
            async with connect(url) as session:
                with pytest.raises(ConnectionLost, match="restarting"):
                    while True:
                        await session.ping()
                assert session.closed
        except (ConnectionFailed, ConnectionLost) as error:
            assert "restarting" in str(error)


async def test_a_message_above_the_limit_ends_the_session(scripted) -> None:
    """Whole or in fragments: memory stays bounded. Nothing is left that asyncio would log as never retrieved."""
    logged: list[dict] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: logged.append(context))
    for pieces in (1, 4):

        async def script(peer, pieces: int = pieces) -> None:
            await peer.greet()
            await peer.next(Complete)
            part = b"x" * (MAX_FRAME // pieces + 1)
            await peer.connection.send(part if pieces == 1 else [part] * pieces)
            await peer.idle()

        async with scripted(script) as url, connect(url) as session:
            completion = session.complete(await session.open("a", ""), 0)
            with pytest.raises(ConnectionLost):
                await completion.result()
        del session, completion
        gc.collect()
        assert not logged


async def test_closing_does_not_wait_for_a_server_that_is_gone(scripted) -> None:
    """The closing handshake has a time limit; then the connection is cut."""
    left = asyncio.Event()

    async def script(peer) -> None:
        await peer.greet()
        peer.connection.transport.pause_reading()
        await left.wait()
        peer.connection.transport.abort()

    async with scripted(script) as url:
        session = await connect(url)
        await session.close()
        await session.close()
        assert session.closed
        left.set()


async def test_an_attempt_that_is_given_up_leaves_no_connection(transport: str) -> None:
    """Cancelled in the middle of the upgrade: the server sees the end."""
    gone = asyncio.Event()
    taken = asyncio.Event()

    async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        taken.set()
        while await reader.read(1024):
            pass
        gone.set()
        writer.close()

    async with await asyncio.start_server(mute, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]

        async def attempt() -> None:
            await connect(f"ws://127.0.0.1:{port}", open_timeout=1)

        trying = asyncio.create_task(attempt())
        await taken.wait()
        trying.cancel()
        with pytest.raises(asyncio.CancelledError):
            await trying
        async with asyncio.timeout(10):
            await gone.wait()


async def test_unsent_bytes_are_known(scripted) -> None:
    """So that a program which sends faster than the network takes is held back."""
    left = asyncio.Event()

    async def script(peer) -> None:
        await peer.greet()
        sock = peer.connection.transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        peer.connection.transport.pause_reading()
        await left.wait()
        peer.connection.transport.abort()

    async with scripted(script) as url, connect(url) as session:
        for _ in range(40):
            session._link._transport.send(b"x" * (1 << 20))
        assert session._link._transport.unsent > 1 << 20
        left.set()


async def test_a_program_that_changes_faster_than_the_network_takes_is_held_back(scripted) -> None:
    """A change returns when there is room for more, so what waits stays bounded."""
    resume = asyncio.Event()

    async def script(peer) -> None:
        await peer.greet(limit=1 << 22)
        await peer.next(Change)
        peer.connection.transport.pause_reading()
        await resume.wait()
        peer.connection.transport.resume_reading()
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("a", "")
        changes = 0

        async def change() -> None:
            nonlocal changes
            for _ in range(200):
                await document.change(0, len(document.text), "x" * (1 << 18))
                changes += 1

        changing = asyncio.create_task(change())
        while session._link._transport.unsent <= PENDING_BYTES:
            await asyncio.sleep(0)
        await asyncio.sleep(0.05)
        assert changes < 200 and session._link._transport.unsent < 4 * PENDING_BYTES
        resume.set()
        await changing


@pytest.mark.parametrize(
    ("status", "location", "said", "again"),
    [
        (301, "https://there.example/v1", "redirects to https://there.example/v1: use wss://there.example/v1", False),
        (302, "http://there.example/", "redirects to http://there.example/: use ws://there.example/", True),
        (302, "ftp://there.example/", "redirects to ftp://there.example/: name the WebSocket's own URL", True),
        (308, "ws://there.example:70000/", "redirects to ws://there.example:70000/", False),
        (302, "http://[", r"redirects to http://\[", True),
    ],
)
async def test_a_redirect_to_what_is_no_websocket_is_said_with_what_to_name(
    transport: str, status: int, location: str, said: str, again: bool
) -> None:
    """It is not gone to, whatever stands there."""

    async def redirect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 {status} Elsewhere\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
        writer.write(head.encode())
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(redirect, "127.0.0.1", 0) as server:
        with pytest.raises(ConnectionFailed, match=said) as failed:
            await connect(f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        assert failed.value.retryable is again


def test_a_redirect_away_from_tls_is_not_advised() -> None:
    """The key would go there in clear."""
    failed = connect("wss://here.example", token="key")._redirected(301, "http://there.example/")
    assert "which has no TLS" in str(failed) and "use ws" not in str(failed)


@pytest.mark.parametrize("proxy", ["gopher://user:hunter2@proxy:1", "http://user:hunter2@127.0.0.1:{port}"])
async def test_a_proxy_that_is_none_is_said_without_its_password(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    """A scheme that there is not, or a proxy that refuses."""

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 407 Authenticate\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "ws_proxy", "wss_proxy", "socks_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        for name in ("http_proxy", "https_proxy"):
            monkeypatch.setenv(name, proxy.format(port=server.sockets[0].getsockname()[1]))
        with pytest.raises(ConnectionFailed, match="through the proxy that the environment names") as failed:
            await connect("ws://there.example")
    assert "hunter2" not in str(failed.value)


@pytest.mark.parametrize("url", ["ws://a..b", f"ws://{'a' * 64}.example", "ws://user@host", "ws://host/#part"])
def test_a_url_that_no_library_would_dial_is_none(url: str) -> None:
    """It is said at once, and to both."""
    with pytest.raises(InvalidArgument, match="no WebSocket URL"):
        connect(url)


async def test_no_log_has_the_key_or_a_text(scripted, caplog: pytest.LogCaptureFixture) -> None:
    """Also where a program lets everything log for debugging, as it does with its own."""

    async def script(peer) -> None:
        await peer.greet()
        request = await peer.next(Complete)
        await peer.send(Accepted(request.request, 1), Delta(1, "answered-words"), Done(request.request, "stop"))
        await peer.idle()

    caplog.set_level(1)
    for name in ("websockets.client", "picows.client"):
        caplog.set_level(1, name)
    async with scripted(script) as url, connect(url, token="sekrit-key", subprotocol=JSON) as session:
        document = await session.open("a", "typed-words")
        await session.complete(document, 0).result()
    said = {True: "", False: ""}  # what the scripted server's library says, and what is said on this side
    for record in caplog.records:
        said[record.name == "websockets.server"] += record.getMessage()
    for secret in ("sekrit-key", "typed-words", "answered-words"):
        assert secret in said[True], "nothing was logged that could have it"
        assert secret not in said[False]
