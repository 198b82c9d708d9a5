"""A scripted server that speaks the wire, so that the SDK is tested without the real one."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from ssl import SSLContext
from typing import Any, TypeVar

import pytest
from warmline.client import handshake
from warmline.realtime.protocol import (
    MSGPACK,
    SUBPROTOCOLS,
    Accepted,
    Codec,
    Hello,
    Ping,
    Pong,
    ServerMessage,
    Welcome,
    server_codec,
)
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

_Message = TypeVar("_Message")


class Peer:
    """The server's end of one connection. Pings are answered while it waits for messages.

    Attributes:
        messages: everything that came in, pings left out.
    """

    def __init__(self, connection: ServerConnection) -> None:
        self.connection = connection
        self.codec: Codec = server_codec(connection.subprotocol or MSGPACK)
        self.messages: list[object] = []

    async def send(self, *messages: ServerMessage) -> None:
        for message in messages:
            frame = self.codec.encode(message)
            await self.connection.send(frame.decode() if self.codec.text else frame)

    async def next(self, kind: type[_Message], *, before_pong: ServerMessage | None = None) -> _Message:
        """The next message of a kind; ``before_pong`` is sent before the first ping on the way is answered."""
        while True:
            message = self.codec.decode(await self.connection.recv())
            if isinstance(message, Ping):
                if before_pong is not None:
                    await self.send(before_pong)
                    before_pong = None
                now = time.monotonic_ns() // 1000
                await self.send(Pong(message.sent, now, now))
                continue
            self.messages.append(message)
            if isinstance(message, kind):
                return message

    async def greet(self, limit: int = 1 << 20) -> None:
        """Answer ``hello``."""
        await self.next(Hello)
        await self.send(Welcome("session", "scripted", "model", 8192, limit, 8))

    async def accept(self, kind: type[_Message], stream: int = 1) -> _Message:
        """Take the next request of a kind onto a stream."""
        request = await self.next(kind)
        await self.send(Accepted(request.request, stream))  # type: ignore[attr-defined]
        return request

    async def idle(self) -> None:
        """Answer pings until the client goes."""
        with contextlib.suppress(ConnectionClosed):
            await self.next(type(None))


Script = Callable[[Peer], Awaitable[None]]
Scripted = Callable[..., contextlib.AbstractAsyncContextManager[str]]


@asynccontextmanager
async def _scripted(script: Script, ssl: SSLContext | None = None) -> AsyncIterator[str]:
    failures: list[BaseException] = []

    async def handle(connection: ServerConnection) -> None:
        try:
            await script(Peer(connection))
        except ConnectionClosed:
            pass
        except Exception as error:
            failures.append(error)
            raise

    options: dict[str, Any] = {"subprotocols": SUBPROTOCOLS, "compression": None, "ssl": ssl}
    async with serve(handle, "127.0.0.1", 0, **options) as server:
        port = server.sockets[0].getsockname()[1]
        async with asyncio.timeout(30):
            yield f"{'ws' if ssl is None else 'wss'}://127.0.0.1:{port}"
    assert not failures, failures


@pytest.fixture(params=["websockets", "picows"])
def transport(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What `connect` takes where a test names none: each transport in turn."""
    if request.param == "picows" and importlib.util.find_spec("picows") is None:
        pytest.skip("picows is not installed (the extra warmline[fast])")
    monkeypatch.setattr(handshake, "_AUTO", request.param)
    monkeypatch.setattr(handshake, "_RECONNECT", False)  # what ends a connection ends the session, unless a test says
    return request.param


@pytest.fixture
def scripted(transport: str) -> Scripted:
    """``async with scripted(script) as url``: a server that does what the script says on each connection.

    Whatever a test does against it is done over both transports.
    """
    return _scripted


@pytest.fixture
def serve_script() -> Scripted:
    """The same server, over whatever `connect` takes by itself."""
    return _scripted
