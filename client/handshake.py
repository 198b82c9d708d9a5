"""From a URL to a session: TCP, WebSocket upgrade, hello and welcome, each failure explained."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Generator
from types import TracebackType
from typing import Final
from urllib.parse import urlsplit

import websockets.asyncio.client as websockets_client
from warmline.realtime import (
    MSGPACK,
    SUBPROTOCOLS,
    Codec,
    Error,
    Hello,
    ServerMessage,
    Welcome,
    client_codec,
)
from warmline.realtime import ProtocolError as BadFrame
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.typing import Subprotocol

from .errors import ConnectionFailed, Unauthorized, WarmlineError, request_error
from .session import Session, closed_error

MAX_FRAME: Final = 16 << 20
CLOSE_TIMEOUT: Final = 1.0


class connect:
    """Connect to a Warmline server: ``async with connect(url) as session``, or ``session = await connect(url)``.

    Args:
        url: ``ws://HOST:PORT`` or ``wss://...``.
        token: the API key, if the server wants one.
        subprotocol: ``warmline.v1.msgpack`` (smaller) or ``warmline.v1.json`` (readable).
        client: what to call this program in the server's log.
        open_timeout: seconds until the session must stand.
        ping_interval: seconds between keep-alive pings; an unanswered one ends the session after as long again.

    Raises:
        ValueError: the URL or the subprotocol is none.
        ConnectionFailed: there is no Warmline server, or it doesn't take new sessions.
        Unauthorized: the token is missing or wrong.

    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        subprotocol: str = MSGPACK,
        client: str = "warmline-python",
        open_timeout: float = 10.0,
        ping_interval: float | None = 20.0,
    ) -> None:
        if subprotocol not in SUBPROTOCOLS:
            raise ValueError(f"subprotocol {subprotocol!r} is none of {', '.join(SUBPROTOCOLS)}")
        if token is not None and not (token.isascii() and token.isprintable()):
            raise ValueError("a token consists of printable ASCII characters")
        parts = urlsplit(url)
        if parts.scheme not in ("ws", "wss") or not parts.hostname:
            raise ValueError(f"{url!r} is no WebSocket URL; it looks like ws://127.0.0.1:8765")
        self._url = url
        self._host = parts.hostname
        self._token = token
        self._subprotocol = subprotocol
        self._client = client
        self._open_timeout = open_timeout
        self._ping_interval = ping_interval
        self._session: Session | None = None

    def __await__(self) -> Generator[object, None, Session]:
        return self._open().__await__()

    async def __aenter__(self) -> Session:
        self._session = await self._open()
        return self._session

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._session is not None
        await self._session.close()

    async def _open(self) -> Session:
        try:
            async with asyncio.timeout(self._open_timeout):
                connection = await self._upgrade()
                try:
                    return await self._greet(connection)
                except BaseException:
                    connection.transport.abort()
                    raise
        except TimeoutError:
            raise ConnectionFailed(f"{self._url} did not answer within {self._open_timeout:g} seconds") from None

    async def _upgrade(self) -> ClientConnection:
        try:
            return await websockets_client.connect(
                self._url,
                subprotocols=[Subprotocol(self._subprotocol)],
                additional_headers={"Authorization": f"Bearer {self._token}"} if self._token else None,
                compression=None,
                proxy=None if _is_loopback(self._host) else True,
                open_timeout=None,
                ping_interval=self._ping_interval,
                ping_timeout=self._ping_interval,
                close_timeout=CLOSE_TIMEOUT,
                max_size=MAX_FRAME,
            )
        except InvalidStatus as error:
            raise self._refused(error.response.status_code, error.response.body) from None
        except (InvalidHandshake, EOFError) as error:
            raise ConnectionFailed(f"what answers at {self._url} is no Warmline server: {error}") from None
        except TimeoutError:
            raise
        except OSError as error:
            reason = "nothing listens there" if "Connect call failed" in str(error) else str(error)
            raise ConnectionFailed(
                f"can't connect to {self._url}: {reason}. "
                "Start the service with `warmline serve`, or name another URL"
            ) from None

    async def _greet(self, connection: ClientConnection) -> Session:
        if connection.subprotocol != self._subprotocol:
            raise ConnectionFailed(f"what answers at {self._url} does not speak {self._subprotocol}")
        codec: Codec[ServerMessage] = client_codec(self._subprotocol)
        hello = codec.encode(Hello(client=self._client))
        try:
            await connection.send(hello.decode() if codec.text else hello)
            message = codec.decode(await connection.recv())
        except ConnectionClosed as closed:
            error = closed_error(closed)
            raise error if isinstance(error, Unauthorized) else ConnectionFailed(f"{self._url}: {error}") from None
        except BadFrame as error:
            raise ConnectionFailed(f"what answers at {self._url} is no Warmline server: {error}") from None
        match message:
            case Welcome():
                return Session(connection, codec, message, self._url)
            case Error():
                refused = request_error(message)
                raise refused if isinstance(refused, Unauthorized) else ConnectionFailed(f"{self._url}: {refused}")
            case _:
                raise ConnectionFailed(f"what answers at {self._url} is no Warmline server: it said no welcome")

    def _refused(self, status: int, body: bytes | bytearray | None) -> WarmlineError:
        said = bytes(body or b"").decode(errors="replace").strip()
        reason = f": {said[:200]}" if said else ""
        if status == 401:
            wrong = "the token is wrong" if self._token else "pass token= (on the command line: --api-key)"
            return Unauthorized(f"{self._url} wants an API key; {wrong}")
        if status == 503:
            return ConnectionFailed(f"{self._url} takes no new sessions at the moment{reason}")
        return ConnectionFailed(f"{self._url} refused the connection with HTTP {status}{reason}")


def _is_loopback(host: str) -> bool:
    """Whether a host is this machine, where a proxy has no place."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
