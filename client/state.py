"""The client's side of a session without I/O: which frame belongs to whom, and what has to be sent in answer."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections import deque
from collections.abc import Callable
from typing import Final

from warmline.realtime import (
    Accepted,
    Cancel,
    ClientMessage,
    Complete,
    Delta,
    Done,
    Edit,
    Error,
    ErrorCode,
    Nack,
    Ops,
    Ping,
    Pong,
    ServerMessage,
)

from . import clock
from .clock import ClockFilter
from .errors import ConnectionLost, ServerMisbehaved, WarmlineError, request_error
from .mirror import DocumentMirror
from .operations import EditOperation, RangeWalk
from .timing import HopTiming, measure_hops

logger = logging.getLogger("warmline.client")

_REFUSALS: Final = (ErrorCode.DOCUMENT_TOO_LARGE, ErrorCode.TOO_MANY_DOCUMENTS)


class Probe:
    """A ping under way. When its pong is here, the server has read all that was sent before it.

    Attributes:
        mirror: the document that was handed over just before, if any.
        delay: the round trip in microseconds, once ``ended`` is set without an error.
    """

    def __init__(self, sent: int, mirror: DocumentMirror | None) -> None:
        self.sent = sent
        self.mirror = mirror
        self.version = mirror.version if mirror else 0
        self.ended = asyncio.Event()
        self.error: WarmlineError | None = None
        self.delay = 0


class RequestState:
    """What came in for one request so far: filled by the session's reader, emptied by whoever iterates.

    Attributes:
        called, sent, first: microseconds on the client's clock; ``first`` when the first text or operation came.
        ready: set when there may be something to take.
        ended: set with ``done`` and ``timing``, or with ``error``.
        abandoned: nobody can ever take anything, so nothing is kept.
    """

    def __init__(self, request: int, called: int) -> None:
        self.request = request
        self.called = called
        self.sent = called
        self.first: int | None = None
        self.ready = asyncio.Event()
        self.ended = asyncio.Event()
        self.cancelled = False
        self.abandoned = False
        self.done: Done | None = None
        self.timing: HopTiming | None = None
        self.error: WarmlineError | None = None

    def arrived(self, at: int) -> None:
        """Something to take came in."""
        if self.first is None:
            self.first = at
        self.ready.set()

    def end(self) -> None:
        """Nothing more will come."""
        self.ended.set()
        self.ready.set()


class CompletionState(RequestState):
    """A completion: pieces of text, and how many of them were taken."""

    def __init__(self, request: int, called: int) -> None:
        super().__init__(request, called)
        self.pieces: list[str] = []
        self.taken = 0


class EditState(RequestState):
    """An edit: the walk over its range, and how many operations were taken."""

    def __init__(self, request: int, called: int, walk: RangeWalk) -> None:
        super().__init__(request, called)
        self.walk = walk
        self.taken = 0

    def step(self, frame: Ops) -> list[EditOperation]:
        """Take a frame's operations."""
        try:
            return [self.walk.step(operation) for operation in frame.operations]
        except ValueError as error:
            raise ServerMisbehaved(f"the server sent operations that don't fit the range: {error}") from None


class SessionState:
    """Dispatches the server's messages and keeps documents in step.

    ``send`` is called with each message to send. It returns the clock's reading just before the message was written
    (later ones would count a pause of this process as time that the network took back), or raises if the session has
    ended.

    Attributes:
        documents: the mirrors of open documents, by URI.
        clock: the estimate of the server's clock.
    """

    def __init__(self, send: Callable[[ClientMessage], int], now: Callable[[], int] = clock.now) -> None:
        self.documents: dict[str, DocumentMirror] = {}
        self.clock = ClockFilter()
        self.now = now
        self._send = send
        self._requests: dict[int, RequestState] = {}
        self._streams: dict[int, RequestState] = {}
        self._ids = itertools.count(1)
        self._probes: deque[Probe] = deque()
        self._last_ping = 0

    @property
    def running(self) -> int:
        """How many requests have not ended."""
        return len(self._requests)

    def probe(self, mirror: DocumentMirror | None = None) -> Probe:
        """Send a ping."""
        self._last_ping = max(self._last_ping + 1, self.now())
        probe = Probe(self._last_ping, mirror)
        self._send(Ping(probe.sent))
        self._probes.append(probe)
        return probe

    def hand_over(self, mirror: DocumentMirror) -> Probe:
        """Send a whole document. Unless the probe ends with an error, the server took it."""
        self._send(mirror.open())
        return self.probe(mirror)

    def next_request(self) -> int:
        """A request id never used in this session."""
        return next(self._ids)

    def start(self, request: RequestState, message: Complete | Edit) -> None:
        """Send a request."""
        request.sent = self._send(message)
        self._requests[request.request] = request

    def cancel(self, request: RequestState) -> None:
        """Ask the server to end a request, once and only if it runs."""
        if not request.cancelled and request.request in self._requests:
            request.cancelled = True
            request.ready.set()
            with contextlib.suppress(ConnectionLost):  # then the reader ends the request
                self._send(Cancel(request.request))

    def fail(self, error: WarmlineError) -> None:
        """End everything that waits, with an error: the connection is gone."""
        requests, probes = list(self._requests.values()), list(self._probes)
        self._requests.clear()
        self._streams.clear()
        self._probes.clear()
        for request in requests:
            request.error = error
            request.end()
        for probe in probes:
            probe.error = error
            probe.ended.set()

    def receive(self, message: ServerMessage, at: int) -> None:
        """Take one message that was read from the socket at ``at`` (microseconds on the client's clock).

        Raises:
            ServerMisbehaved: the message makes no sense here.

        """
        match message:
            case Delta():
                request = self._streams.get(message.stream)
                if not isinstance(request, CompletionState):
                    raise ServerMisbehaved(f"the server sent text on stream {message.stream}, which is no completion")
                if not request.abandoned:
                    request.pieces.append(message.text)
                request.arrived(at)
            case Ops():
                request = self._streams.get(message.stream)
                if not isinstance(request, EditState):
                    raise ServerMisbehaved(f"the server sent operations on stream {message.stream}, which is no edit")
                if not request.abandoned:
                    request.step(message)
                request.arrived(at)
            case Accepted():
                self._accepted(message)
            case Done():
                self._done(message, at)
            case Pong():
                self._pong(message, at)
            case Error():
                self._error(message)
            case Nack():
                self._nack(message)
            case _:
                raise ServerMisbehaved(f"the server sent an unexpected {type(message).__name__.lower()}")

    def _accepted(self, message: Accepted) -> None:
        request = self._requests.get(message.request)
        if request is None or message.stream in self._streams:
            raise ServerMisbehaved(
                f"the server accepted request {message.request} on stream {message.stream} out of turn"
            )
        self._streams[message.stream] = request

    def _forget(self, request: RequestState) -> None:
        del self._requests[request.request]
        for stream, running in self._streams.items():
            if running is request:
                del self._streams[stream]
                break

    def _done(self, message: Done, at: int) -> None:
        request = self._requests.get(message.request)
        if request is None:
            raise ServerMisbehaved(f"the server ended request {message.request}, which isn't running")
        self._forget(request)
        timing = message.timing
        if timing.received:
            self.clock.add(request.sent, timing.received, timing.sent, at)
        offset = self.clock.offset(at) or 0.0
        request.done = message
        request.timing = measure_hops(timing, offset, request.called, request.sent, at, self.now())
        request.end()

    def _pong(self, message: Pong, at: int) -> None:
        if not self._probes or self._probes[0].sent != message.sent:
            raise ServerMisbehaved("the server answered a ping that was not sent")
        probe = self._probes.popleft()
        probe.delay = self.clock.add(message.sent, message.received, message.replied, at).delay
        if probe.mirror is not None:
            probe.mirror.refused = probe.error
        probe.ended.set()

    def _error(self, message: Error) -> None:
        request = None if message.request is None else self._requests.get(message.request)
        if request is not None:
            self._forget(request)
            request.error = request_error(message)
            request.end()
        elif self._probes and self._probes[0].mirror is not None:
            self._probes[0].error = request_error(message)  # nothing but the document was sent since the last pong
        else:
            logger.warning("the server reports: %s (%s)", message.message, message.code)

    def _nack(self, message: Nack) -> None:
        mirror = self.documents.get(message.document)
        if mirror is None:
            return  # closed meanwhile
        pending = next((probe for probe in reversed(self._probes) if probe.mirror is mirror), None)
        if pending is not None and message.code in _REFUSALS:
            pending.error = request_error(message)
        elif pending is None or (message.held is not None and message.held >= pending.version):
            logger.warning("document %s is handed over anew: %s (%s)", mirror.uri, message.message, message.code)
            if message.held is not None:
                mirror.supersede(message.held)
            self.hand_over(mirror)
