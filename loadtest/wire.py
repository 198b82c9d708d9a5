"""A blocking client of the wire for gevent: one socket, one request at a time."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import Final

import websocket
from warmline.realtime import (
    Accepted,
    Cancel,
    ClientMessage,
    Codec,
    Complete,
    Delta,
    Done,
    Edit,
    Error,
    Hello,
    Nack,
    Ops,
    ServerMessage,
    Welcome,
    client_codec,
)

TIMEOUT_SECONDS: Final = 60.0


class WireError(Exception):
    """The server refused or failed something, or the connection is gone."""


def now() -> float:
    """Microseconds on a monotonic clock."""
    return time.perf_counter_ns() / 1000


@dataclass(slots=True)
class Exchange:
    """When the frames of a request came, in microseconds, and how much text they held.

    ``first`` is None if there was neither text nor an operation; ``cancelled`` unless it was cancelled.
    """

    sent: float
    first: float | None = None
    cancelled: float | None = None
    ended: float = 0.0
    characters: int = 0
    reason: str = ""


class Wire:
    """A connection that has said hello."""

    def __init__(self, url: str, token: str | None, subprotocol: str) -> None:
        self._codec: Codec[ServerMessage] = client_codec(subprotocol)
        try:
            self._socket = websocket.create_connection(
                url,
                timeout=TIMEOUT_SECONDS,
                subprotocols=[subprotocol],
                header=[f"Authorization: Bearer {token}"] if token else [],
                suppress_origin=True,
                skip_utf8_validation=True,
            )
        except (OSError, websocket.WebSocketException) as error:
            raise WireError(f"can't connect to {url}: {error}") from error
        try:
            self.send(Hello(client="warmline-loadtest"))
            welcome = self.receive()
            if not isinstance(welcome, Welcome):
                raise WireError(f"{url} answered hello with {welcome}")
        except BaseException:
            self.close()
            raise

    def send(self, message: ClientMessage) -> None:
        """Write one message."""
        opcode = websocket.ABNF.OPCODE_TEXT if self._codec.text else websocket.ABNF.OPCODE_BINARY
        try:
            self._socket.send(self._codec.encode(message), opcode)
        except (OSError, websocket.WebSocketException) as error:
            raise WireError(f"the connection broke while sending: {error}") from error

    def receive(self) -> ServerMessage:
        """Read one message."""
        try:
            frame = self._socket.recv()
        except (OSError, websocket.WebSocketException) as error:
            raise WireError(f"the connection broke: {error}") from error
        if not frame:
            raise WireError("the server closed the connection")
        return self._codec.decode(frame)

    def run(self, request: Complete | Edit, *, cancel: bool = False) -> Exchange:
        """Run a request to its end; with ``cancel``, cancel it at its first output.

        Raises:
            WireError: the server refused or failed it.

        """
        exchange = Exchange(sent=now())
        self.send(request)
        while not exchange.reason:
            message = self.receive()
            match message:
                case Delta() | Ops():
                    if exchange.first is None:
                        exchange.first = now()
                        if cancel:
                            exchange.cancelled = exchange.first
                            self.send(Cancel(request.request))
                    exchange.characters += _characters(message)
                case Done():
                    exchange.ended = now()
                    exchange.reason = message.reason
                case Error() | Nack():
                    raise WireError(f"{message.message} ({message.code})")
                case Accepted():
                    pass
                case _:
                    raise WireError(f"the server sent an unexpected {type(message).__name__}")
        return exchange

    def close(self) -> None:
        """Close the socket; never raises."""
        with contextlib.suppress(OSError, websocket.WebSocketException):
            self._socket.close(timeout=1)


def _characters(message: Delta | Ops) -> int:
    if isinstance(message, Delta):
        return len(message.text)
    return sum(len(operation) for operation in message.operations if isinstance(operation, str))
