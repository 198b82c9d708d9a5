"""A server with its HTTP API over the scripted engine, OpenAI's own client, and a bare one."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import openai
import pytest
from warmline.realtime.server import GatewayServer

DEADLINE = 10.0


@dataclass
class Answer:
    """What a bare client got."""

    status: int
    headers: dict[str, str]
    body: bytes
    whole: bytes = field(repr=False, default=b"")

    @property
    def error(self) -> dict[str, Any]:
        """The error of the envelope."""
        return json.loads(self.body)["error"]

    @property
    def events(self) -> list[str]:
        """The data of server-sent events, each of one line."""
        *events, end = unchunked(self.body).decode().split("\n\n")
        assert end == ""
        assert all(event.startswith("data: ") and "\n" not in event for event in events)
        return [event.removeprefix("data: ") for event in events]


def unchunked(body: bytes) -> bytes:
    """A body without its chunked transfer coding."""
    content = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        content += body[: int(size, 16)]
        body = body[int(size, 16) + 2 :]
    return content


class Bare:
    """A client that writes bytes and reads when it is told to."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, path: str, body: Any = None, *headers: str, method: str = "POST", host: str = "localhost") -> None:
        """Send a request whose body is a JSON value, or bytes."""
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", f"Content-Length: {len(content)}", *headers, "", ""]
        self.writer.write("\r\n".join(lines).encode() + content)

    async def answer(self) -> Answer:
        """The next answer, whole."""
        async with asyncio.timeout(DEADLINE):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
            status, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
            headers = dict(line.lower().split(": ", 1) for line in lines)
            if "content-length" in headers:
                body = await self.reader.readexactly(int(headers["content-length"]))
            elif "transfer-encoding" in headers:
                body = await self.reader.readuntil(b"0\r\n\r\n")
            else:
                body = b""
        return Answer(int(status.split()[1]), headers, body)

    async def closed(self) -> bytes:
        """Wait until the server has closed the connection; what came before."""
        async with asyncio.timeout(DEADLINE):
            with contextlib.suppress(ConnectionError):
                return await self.reader.read()
        return b""

    async def close(self) -> None:
        self.writer.close()
        with contextlib.suppress(ConnectionError):
            await self.writer.wait_closed()


def port(server: GatewayServer) -> int:
    """Where its HTTP API listens."""
    assert server.http_url is not None
    return int(server.http_url.removesuffix("/v1").rpartition(":")[2])


@pytest.fixture
def serve_http(serve) -> Callable[..., Any]:
    """Start a server with its HTTP API, configured by keywords."""

    async def start(**config: Any) -> GatewayServer:
        return await serve(http_port=0, **config)

    return start


@pytest.fixture
async def openai_client() -> AsyncIterator[Callable[..., openai.AsyncOpenAI]]:
    """OpenAI's client of a server."""
    async with contextlib.AsyncExitStack() as stack:

        def connect(server: GatewayServer, key: str = "none", **options: Any) -> openai.AsyncOpenAI:
            client = openai.AsyncOpenAI(api_key=key, base_url=server.http_url, max_retries=0, **options)
            stack.push_async_callback(client.close)
            return client

        yield connect


@pytest.fixture
async def bare() -> AsyncIterator[Callable[..., Any]]:
    """A bare client of a server."""
    async with contextlib.AsyncExitStack() as stack:

        async def connect(server: GatewayServer, **options: Any) -> Bare:
            client = Bare(*await asyncio.open_connection("127.0.0.1", port(server), **options))
            stack.push_async_callback(client.close)
            return client

        yield connect
