"""The connection of a session, which may be several, one after the other."""

from __future__ import annotations

import asyncio
import functools
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Final

from warmline.realtime import (
    Accepted,
    Ack,
    Cancel,
    Change,
    ClientMessage,
    Close,
    Codec,
    Delta,
    Done,
    Error,
    Interrupt,
    Ops,
    Ping,
    Pong,
    ProtocolError,
    Resume,
    ServerMessage,
    Welcome,
)

from .errors import (
    ConnectionFailed,
    ConnectionLost,
    InvalidArgument,
    ServerMisbehaved,
    SessionClosed,
    WarmlineError,
    connection_error,
)
from .outgoing import Outgoing
from .reconnecting import ConnectionEvent, ConnectionState, OnConnection, Reconnect
from .resuming import begin_anew, give_up_sent, go_on, resume_of
from .state import SessionState
from .transport import Transport
from .watch import Watch

logger = logging.getLogger("warmline.client")

Dial = Callable[[Resume | None], Awaitable[tuple[Transport, Welcome]]]
"""Makes a connection and says hello, to go on with a session if one is given."""

MAX_WAITING: Final = 1024
MAX_WAITING_BYTES: Final = 8 << 20
"""Messages, and their bytes, that wait for a connection before no more requests are taken."""
_UNASKED: Final = 128
_UNASKED_BYTES: Final = 128 << 10
"""What may be sent before a ping asks whether it was handled, so that it need not be remembered."""
_UNACKNOWLEDGED: Final = 32
"""Results that came and that the server is told of at once; fewer wait for the next ping."""
_STOOD: Final = 5.0
"""Seconds after which a connection counts as good: when it breaks, waits begin with the first again."""
_URGENT: Final = (Cancel, Interrupt, Change, Close, Ping)
"""What is never refused while it waits: it is bounded by what it is about, or by who sends it."""


class Link:
    """Sends and receives for a session, and gets another connection when it has lost its own.

    However long that takes, it asks for the session that it had, and the server's answer says whether what ran goes
    on or is over. Their clocks differ: a server may have noticed a loss minutes after the client, or not yet.

    Attributes:
        ended: why the session is over; None while it isn't.
    """

    def __init__(self, codec: Codec[ServerMessage], dial: Dial | None, plan: Reconnect | None) -> None:
        """Without ``plan``, the session ends with its first connection."""
        self.ended: WarmlineError | None = None
        self._over = asyncio.Event()
        self._codec = codec
        self._encode, self._decode = codec.encode, codec.decode
        self._dial = dial
        self._plan = plan
        self._loop = asyncio.get_running_loop()
        self._transport: Transport | None = None
        self._outgoing = None if plan is None else Outgoing()
        self._unacknowledged: list[int] = []
        self._session = ""
        self._secret: str | None = None
        self._max_frame_bytes = 0
        self._heard = self._stood_since = self._loop.time()
        self._waits = iter(()) if plan is None else plan.waits()
        self._watch: Watch | None = None
        self._looking: asyncio.TimerHandle | None = None
        self._dialling: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()

    def start(
        self,
        state: SessionState,
        transport: Transport,
        welcome: Welcome,
        ping_interval: float | None,
        on_connection: OnConnection | None,
        on_welcome: Callable[[Welcome], None],
    ) -> None:
        """Begin with a first connection, on which the server has said welcome."""
        self._state, self._on_connection, self._on_welcome = state, on_connection, on_welcome
        self._welcomed(welcome)
        self._attach(transport)
        if self._plan is not None and ping_interval is not None and self.ended is None:
            self._watch = Watch(ping_interval, self._loop.time(), time.time())
            self._look_later()

    @property
    def online(self) -> bool:
        """Whether there is a connection."""
        return self._transport is not None

    @property
    def behind(self) -> int:
        """Bytes that the network has not taken, or that the server has not been heard to have handled."""
        unsent = 0 if self._transport is None else self._transport.unsent
        return unsent if self._outgoing is None else max(unsent, self._outgoing.size)

    def send(self, message: ClientMessage) -> int:
        """Send a message, or keep it for the next connection. Returns the clock's reading just before it was written.

        Raises:
            ConnectionLost: the session has ended, or so much waits for a connection that no request is taken.
            InvalidArgument: the message is larger than the server takes.

        """
        if self.ended is not None:
            raise self.ended.with_traceback(None)
        frame = self._encode(message)
        size = len(frame)
        if size > self._max_frame_bytes:
            raise InvalidArgument(f"a message of {size} bytes; the server takes {self._max_frame_bytes}")
        outgoing, transport = self._outgoing, self._transport
        if outgoing is not None:
            if transport is None and (len(outgoing) >= MAX_WAITING or outgoing.size >= MAX_WAITING_BYTES):
                self._refuse_to_wait(message)
            is_ping = type(message) is Ping
            if is_ping and transport is not None:
                self._acknowledge(transport)
            elif not is_ping and (outgoing.unasked[0] >= _UNASKED or outgoing.unasked[1] >= _UNASKED_BYTES):
                self._state.probe()
            outgoing.add(message, size, transport is not None)
        written = self._state.now()
        if transport is not None:
            transport.send(frame)
        return written

    async def wait_ended(self) -> WarmlineError:
        """Wait until the session is over; returns why."""
        await self._over.wait()
        assert self.ended is not None
        return self.ended

    async def close(self) -> None:
        """End the session for good. Idempotent."""
        self._end(SessionClosed())
        dialling = self._dialling
        if dialling is not None and dialling is not asyncio.current_task():
            await asyncio.wait([dialling])
        while self._closing:
            await asyncio.wait(self._closing)
        if self._transport is not None:
            await self._transport.close()

    # Receiving -------------------------------------------------------------------------------------------------

    def _attach(self, transport: Transport) -> None:
        self._transport = transport
        self._heard = self._stood_since = self._loop.time()
        transport.inbox.read(functools.partial(self._receive, transport), functools.partial(self._lost, transport))

    def _receive(self, transport: Transport, frame: str | bytes) -> None:
        """Take one message, straight from the connection."""
        if self.ended is not None or transport is not self._transport:
            return
        try:
            arrived = self._state.now()  # before it is decoded, which is the client's time and not the network's
            message = self._decode(frame)
            if self._outgoing is not None:
                self._heard = self._loop.time()
                kind = type(message)
                if kind is not Delta and kind is not Ops:
                    self._note(message, self._outgoing)
            self._state.receive(message, arrived)
        except (ProtocolError, ServerMisbehaved) as error:
            self._end(ServerMisbehaved(str(error)))
            self._close_in_background(transport, 1002)

    def _note(self, message: ServerMessage, outgoing: Outgoing) -> None:
        """See what of ours the server has handled, and what of its results we have."""
        if isinstance(message, Pong):
            outgoing.ponged()
        elif isinstance(message, Accepted | Done | Error) and message.request is not None:
            outgoing.answered(message.request)
            if not isinstance(message, Accepted) and self._secret is not None:
                self._unacknowledged.append(message.request)
                if len(self._unacknowledged) >= _UNACKNOWLEDGED and self._transport is not None:
                    self._acknowledge(self._transport)

    def _acknowledge(self, transport: Transport) -> None:
        if self._unacknowledged:
            transport.send(self._encode(Ack(self._unacknowledged)))
            self._unacknowledged = []

    # Losing it, and getting another ----------------------------------------------------------------------------

    def _lost(self, transport: Transport, code: int, reason: str) -> None:
        if self.ended is not None or transport is not self._transport:
            return
        self._close_in_background(transport)
        self._transport = None
        error = connection_error(code, reason)
        if self._dial is None or self._plan is None or not _may_return(error):
            self._end(error)
            return
        if self._loop.time() - self._stood_since >= _STOOD:
            self._waits = self._plan.waits()
        if self._secret is None and self._outgoing is not None:
            give_up_sent(self._state, self._outgoing)
        self._tell("lost", error)
        if self.ended is None:  # the program may have closed it when it was told
            self._dialling = self._loop.create_task(
                self._redial(error, self._dial, self._plan), name="warmline dialling"
            )

    async def _redial(self, error: WarmlineError, dial: Dial, plan: Reconnect) -> None:
        began = self._loop.time()
        attempt = 0
        least = 0.0
        for jitter in self._waits:
            wait = least + jitter  # those who were told the same come apart again
            if plan.give_up_after is not None and least > plan.give_up_after:
                why = f"the server takes no connection for {least:g} seconds, and give_up_after is less: {error}"
                self._end(ConnectionLost(why))
                return
            if plan.give_up_after is not None and self._loop.time() - began + wait > plan.give_up_after:
                why = f"there was no connection for {plan.give_up_after:g} seconds: {error}"
                self._end(ConnectionLost(why))
                return
            await asyncio.sleep(wait)
            attempt += 1
            resume = None if self._secret is None else resume_of(self._session, self._secret, self._state)
            try:
                transport, welcome = await dial(resume)
            except WarmlineError as failed:
                if not _may_return(failed):
                    self._end(failed)
                    return
                error = failed
                least = getattr(failed, "retry_after", None) or 0.0
                self._tell("retrying", failed, attempt)
                continue
            except Exception as failed:
                logger.exception("dialling failed")
                self._end(ConnectionLost(f"dialling failed: {failed}", retryable=False))
                return
            self._go_on(transport, welcome, attempt)
            return

    def _go_on(self, transport: Transport, welcome: Welcome, attempt: int) -> None:
        """Say again what has to be said, and read what comes."""
        assert self._outgoing is not None
        self._dialling = None
        self._welcomed(welcome)
        resumed = welcome.resumed
        if resumed is not None:
            messages, handled = go_on(self._state, self._outgoing, resumed), resumed.messages
        else:
            messages, handled = begin_anew(self._state, self._outgoing), 0
            self._unacknowledged = []
        frames = [self._encode(message) for message in messages]
        entries = zip(messages, map(len, frames), [True] * len(frames), strict=True)
        self._outgoing.restart(handled, entries)
        self._acknowledge(transport)
        for frame in frames:
            transport.send(frame)
        self._attach(transport)
        if self.ended is None and self._transport is transport:
            self._tell("renewed" if resumed is None else "resumed", None, attempt)

    def _welcomed(self, welcome: Welcome) -> None:
        self._session, self._secret = welcome.session, welcome.secret
        self._max_frame_bytes = 2 * welcome.max_document_bytes + 64 * 1024
        self._on_welcome(welcome)

    def _refuse_to_wait(self, message: ClientMessage) -> None:
        if not isinstance(message, _URGENT):
            raise ConnectionLost("there is no connection, and too much waits for one already; try again later")

    # Watching it -----------------------------------------------------------------------------------------------

    def _look_later(self) -> None:
        assert self._watch is not None
        self._looking = self._loop.call_later(self._watch.every, self._look)

    def _look(self) -> None:
        assert self._watch is not None
        verdict = self._watch.look(self._loop.time(), time.time(), self._heard)
        transport = self._transport
        if transport is not None and verdict == "ask":
            self._state.probe()
        elif transport is not None and verdict == "dead":
            transport.abort()
            self._lost(transport, 1006, "the server does not answer")
        if self.ended is None:
            self._look_later()

    # Ending ----------------------------------------------------------------------------------------------------

    def _end(self, error: WarmlineError) -> None:
        if self.ended is not None:
            return
        self.ended = error
        self._over.set()
        if self._looking is not None:
            self._looking.cancel()
        if self._dialling is not None and asyncio.current_task() is not self._dialling:
            self._dialling.cancel()
        self._state.fail(error)
        self._tell("ended", error)

    def _close_in_background(self, transport: Transport, code: int = 1000) -> None:
        closing = self._loop.create_task(transport.close(code), name="warmline closing")
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    def _tell(self, state: ConnectionState, error: WarmlineError | None = None, attempt: int = 0) -> None:
        if self._on_connection is not None:
            try:
                self._on_connection(ConnectionEvent(state, error, attempt))
            except Exception:
                logger.exception("on_connection failed")


def _may_return(error: WarmlineError) -> bool:
    """Whether another connection may go better."""
    return isinstance(error, ConnectionLost | ConnectionFailed) and error.retryable
