"""A blocking client of the wire for gevent: one socket, any number of requests at a time."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import Final

import websocket
from warmline.client import ClockFilter, HopTiming, measure_hops
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
    Ping,
    Pong,
    ServerMessage,
    Welcome,
    client_codec,
)

TIMEOUT_SECONDS: Final = 60.0


class WireError(Exception):
    """The server refused or failed something, or the connection is gone."""


def now() -> int:
    """Microseconds on a monotonic clock."""
    return time.perf_counter_ns() // 1000


@dataclass(slots=True)
class Exchange:
    """When the frames of a request came, in microseconds, and how much text they held.

    ``first`` is None if there was neither text nor an operation; ``cancelled`` unless it was cancelled; ``replaced``
    unless a newer completion followed while it ran.
    """

    request: Complete | Edit
    sent: int
    first: int | None = None
    cancelled: int | None = None
    replaced: int | None = None
    ended: int = 0
    characters: int = 0
    reason: str = ""
    hops: HopTiming | None = None


class Wire:
    """A connection that has said hello."""

    def __init__(self, url: str, token: str | None, subprotocol: str) -> None:
        self._codec: Codec[ServerMessage] = client_codec(subprotocol)
        self._clock = ClockFilter()
        self._running: dict[int, Exchange] = {}
        self._streams: dict[int, Exchange] = {}
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
            self._read_clock()
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

    @property
    def running(self) -> int:
        """How many requests have not ended."""
        return len(self._running)

    def start(self, request: Complete | Edit) -> Exchange:
        """Send a request; `step` takes its frames."""
        exchange = Exchange(request, sent=now())
        self.send(request)
        if isinstance(request, Complete):
            for older in self._running.values():
                if isinstance(older.request, Complete) and older.replaced is None:
                    older.replaced = exchange.sent
        self._running[request.request] = exchange
        return exchange

    def step(self, seconds: float = TIMEOUT_SECONDS) -> Exchange | None:
        """Take the next message, if one comes in time; returns the exchange that it ends.

        Raises:
            WireError: the server refused or failed something.

        """
        self._socket.settimeout(seconds)
        try:
            message = self.receive()
        except WireError as error:
            if isinstance(error.__cause__, websocket.WebSocketTimeoutException) and seconds < TIMEOUT_SECONDS:
                return None
            raise
        at = now()
        match message:
            case Accepted(request=number, stream=stream):
                self._streams[stream] = self._running[number]
            case Delta() | Ops():
                exchange = self._streams[message.stream]
                if exchange.first is None:
                    exchange.first = at
                exchange.characters += _characters(message)
            case Done():
                return self._ended(message, at)
            case Error() | Nack():
                raise WireError(f"{message.message} ({message.code})")
            case _:
                raise WireError(f"the server sent an unexpected {type(message).__name__}")
        return None

    def run(self, request: Complete | Edit, *, cancel: bool = False) -> Exchange:
        """Run a request to its end; with ``cancel``, cancel it at its first output.

        Raises:
            WireError: the server refused or failed it.

        """
        exchange = self.start(request)
        while not exchange.reason:
            self.step()
            if cancel and exchange.cancelled is None and exchange.first is not None and not exchange.reason:
                exchange.cancelled = now()
                self.send(Cancel(request.request))
        return exchange

    def _ended(self, message: Done, at: int) -> Exchange:
        exchange = self._running.pop(message.request)
        self._streams = {stream: running for stream, running in self._streams.items() if running is not exchange}
        exchange.ended = at
        exchange.reason = message.reason
        timing = message.timing
        if timing.received:
            self._clock.add(exchange.sent, timing.received, timing.sent, at)
            offset = self._clock.offset(at) or 0.0
            exchange.hops = measure_hops(timing, offset, exchange.sent, exchange.sent, at, at)
        return exchange

    def _read_clock(self) -> None:
        sent = now()
        self.send(Ping(sent))
        pong = self.receive()
        if not isinstance(pong, Pong):
            raise WireError(f"the server answered a ping with {pong}")
        self._clock.add(sent, pong.received, pong.replied, now())

    def close(self) -> None:
        """Close the socket; never raises."""
        with contextlib.suppress(OSError, websocket.WebSocketException):
            self._socket.close(timeout=1)


def _characters(message: Delta | Ops) -> int:
    if isinstance(message, Delta):
        return len(message.text)
    return sum(len(operation) for operation in message.operations if isinstance(operation, str))
