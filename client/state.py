"""The client's side of a session without I/O: which frame belongs to whom, and what has to be sent in answer."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections import deque
from collections.abc import Callable, Container
from typing import Final

from warmline.realtime import (
    Accepted,
    Cancel,
    Chat,
    ClientMessage,
    Complete,
    Continued,
    Delta,
    Done,
    Edit,
    EndChat,
    Error,
    ErrorCode,
    HeldRequest,
    Interrupt,
    Nack,
    Notice,
    Ops,
    Ping,
    PlaceTracker,
    Pong,
    RangeTracker,
    ScoredDelta,
    ServerMessage,
    Steer,
    Steered,
    TokenLogprob,
    utf16_length,
)

from . import clock
from .clock import ClockFilter
from .earlier import Earlier
from .errors import ConnectionLost, ServerMisbehaved, SessionLost, WarmlineError, request_error
from .mirror import DocumentMirror
from .operations import RangeWalk
from .timing import HopTiming, measure_hops

logger = logging.getLogger("warmline.client")

_REFUSALS: Final = (ErrorCode.DOCUMENT_TOO_LARGE, ErrorCode.TOO_MANY_DOCUMENTS)


class Probe:
    """A ping under way. When its pong is here, the server has read all that was sent before it.

    Attributes:
        mirror: the document that was handed over just before, if any.
        steered: the request that was steered just before, if any.
        delay: the round trip in microseconds, once ``ended`` is set without an error.
        unless_steered: what it ends with if the request has not been steered by then; None if an error would come.
    """

    def __init__(self, sent: int, mirror: DocumentMirror | None, steered: int | None) -> None:
        self.sent = sent
        self.mirror = mirror
        self.version = mirror.version if mirror else 0
        self.steered = steered
        self.ended = asyncio.Event()
        self.error: WarmlineError | None = None
        self.unless_steered: WarmlineError | None = None
        self.steered_before = 0
        self.delay = 0


class Signal:
    """Wakes whoever waits for something to come. It is waited on for each token, and lighter than `asyncio.Event`.

    It remembers nothing, so one looks first whether something is there.
    """

    def __init__(self) -> None:
        self._waiting: list[asyncio.Future[None]] = []

    def wait(self, loop: asyncio.AbstractEventLoop) -> asyncio.Future[None]:
        """What to await."""
        waiting = loop.create_future()
        self._waiting = [other for other in self._waiting if not other.done()]  # some were given up
        self._waiting.append(waiting)
        return waiting

    def set(self) -> None:
        """Something came: wake all."""
        woken, self._waiting = self._waiting, []
        for waiting in woken:
            if not waiting.done():
                waiting.set_result(None)


class RequestState:
    """What came in for one request so far: filled by the session's reader, emptied by whoever iterates.

    Attributes:
        called, sent, first: microseconds on the client's clock; ``first`` when the first text or operation came.
        ready: wakes when there may be something to take.
        ended: set with ``done`` and ``timing``, or with ``error``.
        abandoned: nobody can ever take anything, so nothing is kept.
        conversation: of which it is a turn, if it is one.
    """

    def __init__(self, request: int, called: int) -> None:
        self.request = request
        self.called = called
        self.sent = called
        self.first: int | None = None
        self.ready = Signal()
        self.ended = asyncio.Event()
        self.cancelled = False
        self.interrupted = False
        self.abandoned = False
        self.done: Done | None = None
        self.timing: HopTiming | None = None
        self.error: WarmlineError | None = None
        self.is_accepted = False
        self.characters = 0
        self.came = 0  # operations, void ones included
        self.steered_count = 0
        self.scored = 0  # tokens with log probabilities
        self.conversation: str | None = None

    def held(self) -> HeldRequest:
        """How much of it has come."""
        return HeldRequest(self.request, self.characters, self.came, self.steered_count, self.scored)

    def arrived(self, at: int) -> None:
        """Something to take came in."""
        if self.first is None:
            self.first = at
        self.ready.set()

    def end(self) -> None:
        """Nothing more will come."""
        self.ended.set()
        self.ready.set()


class TextState(RequestState):
    """A completion or a chat reply: pieces of text, and how many of them were taken.

    Attributes:
        logprobs: of the tokens so far, if they were asked for.
        continued: whose text it goes on with, if it does.
        place: of a completion, where its text belongs.
        earlier: of a completion that was not accepted yet, those that it may go on with; None if it is parallel.
    """

    def __init__(self, request: int, called: int, place: PlaceTracker | None = None) -> None:
        super().__init__(request, called)
        self.pieces: list[str] = []
        self.logprobs: list[TokenLogprob] = []
        self.taken = 0
        self.continued: Continued | None = None
        self.place = place
        self.earlier: Earlier | None = None

    def accepted(self, continued: Continued | None) -> None:
        """It is taken, and goes on with another one if ``continued`` says so."""
        self.continued = continued
        earlier, self.earlier = self.earlier, None
        if continued is None or self.place is None:
            return
        if earlier is None or not earlier.hand_over(continued.request, self.place):
            raise ServerMisbehaved(f"the server continued request {continued.request}, whose place is not here")

    def end(self) -> None:
        """Nothing more will come."""
        self.earlier = None
        super().end()


class EditState(RequestState):
    """An edit: the walk over its range, where the range is now, and how many operations were taken.

    Attributes:
        steers: for each steer under way, how many operations are to stay (None: all).
        void: operations that were taken and are void, which whoever iterates has to be told.
    """

    def __init__(self, request: int, called: int, walk: RangeWalk, tracker: RangeTracker) -> None:
        super().__init__(request, called)
        self.walk = walk
        self.tracker = tracker
        self.taken = 0
        self.void = 0
        self.steers: deque[int | None] = deque()

    @property
    def keep(self) -> int:
        """How many operations may be taken and applied now: no steer under way gives them up."""
        return min((count for count in self.steers if count is not None), default=len(self.walk.operations))

    def step(self, frame: Ops) -> None:
        """Take a frame's operations."""
        try:
            for operation in frame.operations:
                self.walk.step(operation)
            self.tracker.operations(frame.operations)
        except ValueError as error:
            raise ServerMisbehaved(f"the server sent operations that don't fit the range: {error}") from None

    def steered(self, operations: int) -> None:
        """Go on after the first so many operations."""
        try:
            self.tracker.void(operations)
        except ValueError as error:
            raise ServerMisbehaved(f"the server gave up operations it can't: {error}") from None
        self._void(operations)

    def finish(self, operations: int | None) -> None:
        """No operations come any more; of an edit in conflict, so many stand."""
        self.tracker.finish(operations)
        if operations is not None:
            self._void(self.tracker.standing)

    def end(self) -> None:
        """Nothing more will come: what was to be given up stays."""
        self.steers.clear()
        super().end()

    def _void(self, operations: int) -> None:
        self.walk.again(self.tracker.first(operations))
        if self.taken > operations:
            self.void += self.taken - operations
            self.taken = operations


class SessionState:
    """Dispatches the server's messages and keeps documents in step.

    ``send`` is called with each message to send. It returns the clock's reading just before the message was written
    (later ones would count a pause of this process as time that the network took back), or raises if the session has
    ended.

    Attributes:
        documents: the mirrors of open documents, by URI.
        clock: the estimate of the server's clock.
        streams: the accepted requests that run, by the number of their stream.
        probes: the pings that were not answered yet, the oldest first.
        forgotten: conversations whose turns the server lost, which the program has not been told yet.
    """

    def __init__(self, send: Callable[[ClientMessage], int], now: Callable[[], int] = clock.now) -> None:
        self.documents: dict[str, DocumentMirror] = {}
        self.clock = ClockFilter()
        self.now = now
        self._send = send
        self._requests: dict[int, RequestState] = {}
        self.streams: dict[int, RequestState] = {}
        self._ids = itertools.count(1)
        self.probes: deque[Probe] = deque()
        self.forgotten: set[str] = set()
        self._conversations: dict[str, int] = {}  # the first request of each
        self._last_ping = 0

    @property
    def requests(self) -> list[RequestState]:
        """Those that have not ended."""
        return list(self._requests.values())

    def __contains__(self, request: int) -> bool:
        return request in self._requests

    @property
    def running(self) -> int:
        """How many requests have not ended."""
        return len(self._requests)

    def earlier(self, mirror: DocumentMirror, cursor: int) -> Earlier:
        """The running completions of a document, for a new one at the cursor."""
        running = [request for request in self._requests.values() if isinstance(request, TextState)]
        return Earlier(
            [
                (request.request, request.place, request.earlier)
                for request in running
                if request.place is not None and request.place in mirror.trackers
            ],
            cursor,
        )

    def probe(self, mirror: DocumentMirror | None = None, steered: int | None = None) -> Probe:
        """Send a ping."""
        self._last_ping = max(self._last_ping + 1, self.now())
        probe = Probe(self._last_ping, mirror, steered)
        self._send(Ping(probe.sent))
        self.probes.append(probe)
        return probe

    def hand_over(self, mirror: DocumentMirror) -> Probe:
        """Send a whole document. Unless the probe ends with an error, the server took it."""
        self._send(mirror.open())
        return self.probe(mirror)

    def next_request(self) -> int:
        """A request id never used in this session."""
        return next(self._ids)

    def start(self, request: RequestState, message: Complete | Edit | Chat) -> None:
        """Send a request."""
        if isinstance(message, Chat) and message.conversation in self.forgotten:
            self.forgotten.discard(message.conversation)
            raise SessionLost(
                "the server has lost what was said in this conversation; what is said now begins it anew"
            )
        request.sent = self._send(message)
        self._requests[request.request] = request
        if isinstance(message, Chat):
            request.conversation = message.conversation
            self._conversations.setdefault(message.conversation, message.request)

    def end_chat(self, conversation: str) -> None:
        """Let the server forget a conversation."""
        self._send(EndChat(conversation))
        self._conversations.pop(conversation, None)
        self.forgotten.discard(conversation)

    def cancel(self, request: RequestState) -> None:
        """Ask the server to end a request, once and only if it runs."""
        if not request.cancelled and request.request in self._requests:
            request.cancelled = True
            request.ready.set()
            with contextlib.suppress(ConnectionLost):  # then the reader ends the request
                self._send(Cancel(request.request))

    def interrupt(self, request: RequestState) -> None:
        """Ask the server to stop a request, once and only if it runs."""
        if not request.interrupted and request.request in self._requests:
            request.interrupted = True
            with contextlib.suppress(ConnectionLost):
                self._send(Interrupt(request.request))

    def steer(self, request: EditState, instruction: str, operations: int | None) -> Probe:
        """Ask the server to go on under a further instruction. The probe ends with its answer, or an error."""
        self.probe()  # what the server says of anything before has come when this is answered
        self._send(Steer(request.request, instruction, operations))
        request.steers.append(operations)
        probe = self.probe(steered=request.request)
        probe.steered_before = request.steered_count
        return probe

    def fail_request(self, request: RequestState, error: WarmlineError) -> None:
        """End one request with an error, whatever the server says of it."""
        self._forget(request)
        request.error = error
        request.end()

    def forget_conversations(self, unsent: Container[int]) -> None:
        """What was said is lost, but where nothing of it was sent yet: the first request is among these."""
        lost = [name for name, first in self._conversations.items() if first not in unsent]
        for conversation in lost:
            del self._conversations[conversation]
        self.forgotten.update(lost)

    def told(self, request: RequestState) -> None:
        """A request ended with the loss of what it belongs to, so the program knows of its conversation."""
        if request.conversation is not None:
            self.forgotten.discard(request.conversation)

    def forget_server(self) -> None:
        """Another server, or another session, is what answers from now on."""
        self.streams.clear()
        self.clock = ClockFilter()

    def fail(self, error: WarmlineError) -> None:
        """End everything that waits, with an error: the connection is gone."""
        requests, probes = list(self._requests.values()), list(self.probes)
        self._requests.clear()
        self.streams.clear()
        self.probes.clear()
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
                request = self.streams.get(message.stream)
                if not isinstance(request, TextState):
                    raise ServerMisbehaved(f"the server sent text on stream {message.stream}, which has none")
                text = message.text
                request.characters += len(text) if text.isascii() else utf16_length(text)
                if isinstance(message, ScoredDelta):
                    request.scored += len(message.logprobs)
                if not request.abandoned:
                    request.pieces.append(text)
                    if isinstance(message, ScoredDelta):
                        request.logprobs += message.logprobs
                request.arrived(at)
            case Ops():
                request = self.streams.get(message.stream)
                if not isinstance(request, EditState):
                    raise ServerMisbehaved(f"the server sent operations on stream {message.stream}, which is no edit")
                request.came += len(message.operations)
                if not request.abandoned:
                    request.step(message)
                request.arrived(at)
            case Accepted():
                self._accepted(message)
            case Steered():
                self._steered(message)
            case Done():
                self._done(message, at)
            case Pong():
                self._pong(message, at)
            case Error():
                self._error(message)
            case Nack():
                self._nack(message)
            case Notice():
                if message.kind == "draining":
                    logger.info("the server at the other end restarts soon")
            case _:
                raise ServerMisbehaved(f"the server sent an unexpected {type(message).__name__.lower()}")

    def _accepted(self, message: Accepted) -> None:
        request = self._requests.get(message.request)
        if request is None or message.stream in self.streams or request in self.streams.values():
            raise ServerMisbehaved(
                f"the server accepted request {message.request} on stream {message.stream} out of turn"
            )
        self.streams[message.stream] = request
        if request.is_accepted:  # on the connection before
            return
        request.is_accepted = True
        if isinstance(request, TextState):
            request.accepted(message.continued)
        elif message.continued is not None:
            raise ServerMisbehaved(f"the server continued request {message.request}, which is an edit")

    def _steered(self, message: Steered) -> None:
        request = self._requests.get(message.request)
        if not isinstance(request, EditState):
            raise ServerMisbehaved(f"the server steered request {message.request}, which is no edit that runs")
        request.steered_count += 1
        if not request.abandoned:
            request.steered(message.operations)

    def _forget(self, request: RequestState) -> None:
        del self._requests[request.request]
        for stream, running in self.streams.items():
            if running is request:
                del self.streams[stream]
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
        if isinstance(request, EditState):
            request.finish(message.operations)
        request.timing = measure_hops(timing, offset, request.called, request.sent, at, self.now())
        request.end()

    def _pong(self, message: Pong, at: int) -> None:
        if not self.probes or self.probes[0].sent != message.sent:
            raise ServerMisbehaved("the server answered a ping that was not sent")
        probe = self.probes.popleft()
        probe.delay = self.clock.add(message.sent, message.received, message.replied, at).delay
        if probe.mirror is not None:
            probe.mirror.refused = probe.error
        steered = None if probe.steered is None else self._requests.get(probe.steered)
        if probe.unless_steered is not None and probe.error is None:
            known = steered is not None and steered.steered_count > probe.steered_before
            probe.error = None if known else probe.unless_steered
        if isinstance(steered, EditState):
            steered.steers.popleft()
            steered.ready.set()
        probe.ended.set()

    def _error(self, message: Error) -> None:
        request = None if message.request is None else self._requests.get(message.request)
        if request is not None:
            self._forget(request)
            request.error = request_error(message)
            request.end()
        elif self.probes and (self.probes[0].mirror is not None or self.probes[0].steered is not None):
            self.probes[0].error = request_error(message)  # nothing else was sent since the last pong
        else:
            logger.warning("the server reports: %s (%s)", message.message, message.code)

    def _nack(self, message: Nack) -> None:
        mirror = self.documents.get(message.document)
        if mirror is None:
            return  # closed meanwhile
        pending = next((probe for probe in reversed(self.probes) if probe.mirror is mirror), None)
        if pending is not None and message.code in _REFUSALS:
            pending.error = request_error(message)
        elif pending is None or (message.held is not None and message.held >= pending.version):
            logger.warning("document %s is handed over anew: %s (%s)", mirror.uri, message.message, message.code)
            if message.held is not None:
                mirror.supersede(message.held)
            self.hand_over(mirror)
