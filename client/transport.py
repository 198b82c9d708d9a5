"""What a session needs of a WebSocket, whichever library it comes from; and the one on `websockets`."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from ssl import SSLContext
from typing import Any, Final

import websockets.asyncio.client as websockets_client
from warmline.realtime import FrameBounds, masked_frame, read_unmasked
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import (
    ConnectionClosed,
    InvalidProxy,
    InvalidStatus,
    ProxyError,
    WebSocketException,
)
from websockets.frames import (  # type: ignore[attr-defined]  # `apply_mask`, native where it can be
    DATA_OPCODES,
    Frame,
    Opcode,
    apply_mask,
)
from websockets.protocol import Event, State
from websockets.typing import Subprotocol

from .errors import connection_error

MAX_FRAME: Final = 16 << 20
CLOSE_TIMEOUT: Final = 1.0
"""Seconds that the closing handshake may take before the connection is cut."""

LIBRARY_LOG: Final = logging.getLogger("warmline.client.websocket")
"""Where the libraries below log. For debugging they say all that is sent, so the API key and people's text, too: a
program that debugs itself has not asked for that, and gets it only by this logger's own level.
"""
LIBRARY_LOG.setLevel(logging.INFO)

OnFrame = Callable[[str | bytes], None]
OnEnd = Callable[[int, str], None]


class Refused(Exception):
    """The server answered the upgrade with another HTTP status, and maybe with ``Retry-After``."""

    def __init__(self, status: int, body: bytes, retry_after: str | None = None) -> None:
        super().__init__(status)
        self.status = status
        self.body = body
        self.retry_after = retry_after


class Redirected(Exception):
    """The server answered the upgrade with the name of another place, which is not gone to."""

    def __init__(self, status: int, location: str) -> None:
        super().__init__(status, location)
        self.status = status
        self.location = location


class NoWebSocket(Exception):
    """What answered does not speak WebSocket."""


class NoProxy(Exception):
    """The proxy that the environment names is none, or does not connect."""


class Inbox:
    """What arrives on a connection, held until somebody reads.

    Attributes:
        take: is to be called with each message.
    """

    def __init__(self) -> None:
        self._held: deque[str | bytes] = deque()
        self._arrived = asyncio.Event()
        self._end: tuple[int, str] | None = None
        self._on_end: OnEnd | None = None
        self.take: OnFrame = self._hold

    async def first(self) -> str | bytes:
        """The first message; it is not delivered again.

        Raises:
            ConnectionLost, Unauthorized: the connection ended without one.

        """
        await self._arrived.wait()
        if not self._held:
            assert self._end is not None
            raise connection_error(*self._end)
        return self._held.popleft()

    def read(self, on_frame: OnFrame, on_end: OnEnd) -> None:
        """From now on call ``on_frame`` with each message, and ``on_end`` once. What is held is delivered first."""
        while self._held:
            on_frame(self._held.popleft())
        self.take, self._on_end = on_frame, on_end
        if self._end is not None:
            on_end(*self._end)

    def end(self, code: int, reason: str) -> None:
        """No more messages come. ``code`` is the other side's close code; 1006: none came."""
        if self._end is None:
            self._end = code, reason
            self._arrived.set()
            if self._on_end is not None:
                self._on_end(code, reason)

    def _hold(self, frame: str | bytes) -> None:
        self._held.append(frame)
        self._arrived.set()


class Transport(ABC):
    """An open WebSocket.

    Attributes:
        subprotocol: what was agreed on.
        inbox: what arrives.
    """

    subprotocol: str | None
    inbox: Inbox

    @abstractmethod
    def send(self, frame: bytes) -> None:
        """Write a message at once. Nothing happens if the connection is gone; the inbox says so."""

    @property
    @abstractmethod
    def unsent(self) -> int:
        """Bytes that wait for the network."""

    @abstractmethod
    async def close(self, code: int = 1000) -> None:
        """Perform the closing handshake; returns when all is over. Idempotent."""

    @abstractmethod
    def abort(self) -> None:
        """Cut the connection."""


class _Connection(ClientConnection):
    """Hands a whole binary message over from within the socket's callback, without the queue and a task's turn.

    Whatever else comes goes the library's way, and so does everything after a message in fragments, to stay in order.
    Most reads bring whole short frames. Where it is known that the library's parser stands between two frames, such a
    read isn't parsed by it, which would take most of a token's time here.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.inbox = Inbox()
        self._bounds = FrameBounds()
        self._queued = False
        self._direct = False  # the next read begins a frame, which needn't go the library's way

    def data_received(self, data: bytes) -> None:
        if self._direct and (messages := read_unmasked(data)) is not None:
            for message in messages:
                self.inbox.take(message)
            return
        self._bounds.skip(data)
        super().data_received(data)
        self._direct = self._bounds.between and not self._queued and self.protocol.state is State.OPEN

    def process_event(self, event: Event) -> None:
        if isinstance(event, Frame) and event.opcode in DATA_OPCODES:
            if event.fin and event.opcode is Opcode.BINARY and not self._queued:
                self.inbox.take(bytes(event.data))
                return
            self._queued = True
        super().process_event(event)

    def write(self, message: bytes, text: bool) -> None:
        """Write a message now, without awaiting; nothing once the connection closes.

        No extension was agreed on and no message is sent in fragments, so the library has no say in it.
        """
        if self.protocol.state is State.OPEN:
            self.transport.write(masked_frame(message, text, apply_mask))


class WebsocketsTransport(Transport):
    """On `websockets`."""

    def __init__(self, connection: _Connection, text: bool) -> None:
        self.subprotocol = connection.subprotocol
        self._connection = connection
        self._text = text
        self.inbox = connection.inbox
        self._reader = asyncio.create_task(self._read(), name="warmline reader")

    @classmethod
    async def connect(
        cls,
        url: str,
        subprotocol: str,
        headers: dict[str, str],
        *,
        text: bool,
        proxy: bool,
        ping_interval: float | None,
        ssl: SSLContext | None = None,
    ) -> WebsocketsTransport:
        """Connect, through the proxy that the environment names if ``proxy``.

        Redirects to other WebSocket URLs are followed, without the headers where those are another server's, and
        never from TLS to none.

        Raises:
            Refused, Redirected, NoWebSocket, NoProxy, OSError: there is no connection.

        """
        trust: dict[str, Any] = {} if ssl is None else {"ssl": ssl}  # None would mean no TLS
        try:
            connection = await websockets_client.connect(
                url,
                subprotocols=[Subprotocol(subprotocol)],
                additional_headers=headers,
                compression=None,
                proxy=True if proxy else None,
                open_timeout=None,
                ping_interval=ping_interval,
                ping_timeout=ping_interval,
                close_timeout=CLOSE_TIMEOUT,
                max_size=MAX_FRAME,
                logger=LIBRARY_LOG,
                create_connection=_Connection,
                **trust,
            )
        except InvalidStatus as error:
            response = error.response
            after = response.headers.get("Retry-After")
            raise Refused(response.status_code, bytes(response.body or b""), after) from None
        except InvalidProxy as error:  # whose own message has its password
            raise NoProxy(error.msg) from None
        except (ProxyError, ImportError) as error:  # SOCKS needs a library more
            raise NoProxy(str(error)) from None
        except OSError:  # a certificate that is not trusted is a ValueError, too
            raise
        except (WebSocketException, EOFError, ValueError, LookupError) as error:
            # Raised while a redirect was looked at, of which there may be none, several, or what is no URL.
            redirect = error.__cause__ or error.__context__
            if isinstance(redirect, InvalidStatus):
                (location, *_) = redirect.response.headers.get_all("Location")
                raise Redirected(redirect.response.status_code, location) from None
            raise NoWebSocket(str(error)) from None
        assert isinstance(connection, _Connection)
        return cls(connection, text)

    def send(self, frame: bytes) -> None:
        self._connection.write(frame, self._text)

    @property
    def unsent(self) -> int:
        return self._connection.transport.get_write_buffer_size()

    async def close(self, code: int = 1000) -> None:
        await self._connection.close(code)
        await asyncio.wait([self._reader])

    def abort(self) -> None:
        self._connection.transport.abort()

    async def _read(self) -> None:
        code, reason = 1006, "the session's reader was stopped"
        receive = self._connection.recv
        try:
            while True:
                frame = await receive()
                self.inbox.take(frame)
        except ConnectionClosed as closed:
            code, reason = _close_of(closed)
        finally:
            self.inbox.end(code, reason)


def _close_of(closed: ConnectionClosed) -> tuple[int, str]:
    if closed.rcvd is not None:
        return closed.rcvd.code, closed.rcvd.reason
    cause = closed.__cause__
    return 1006, str(cause) if cause is not None else ""
