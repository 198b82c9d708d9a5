"""The gateway's side of a WebSocket: messages taken as they arrive, a turn at a time, and frames written at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, Protocol

from websockets.asyncio.server import ServerConnection
from websockets.frames import (  # type: ignore[attr-defined]  # `apply_mask`, native where it can be
    DATA_OPCODES,
    Frame,
    apply_mask,
)
from websockets.http11 import Response
from websockets.protocol import Event, State

from ..access.accounts import Account
from ..access.keys import ApiKey
from ..telemetry.tracing import clock
from .framing import KEY_BYTES, FrameBounds, find_message
from .kernel_buffers import bound_kernel_buffers

TURN_NS: Final = 1_000_000
"""How long one client's messages are handled before others get their turn."""
_OPEN: Final = State.OPEN
"""Looked up once: as an attribute of its enumeration it costs a fifth of a frame's way through here."""
_OVERSIZED: Final = frozenset({"RequestLineTooLong", "HeaderLineTooLong", "TooManyHeaders"})
"""By name, since not all versions of the library have them."""
_FRAMES_AT_ONCE: Final = 16
"""What the library's parser is given between two looks at the clock; a ping costs it 8 us."""


class Watch(Protocol):
    """What is told of sockets that come and go."""

    def refuse_body(self, connection: ServerConnection) -> Response:
        """The answer to a request that the library's parser doesn't take since it has a body."""

    def arrived(self, socket: GatewaySocket) -> Account | None:
        """One came; in whose account it counts, if in any."""

    def left(self, socket: GatewaySocket) -> None:
        """It is gone."""

    def no_request(self, socket: GatewaySocket) -> None:
        """It was cut since its request did not come in time."""

    def oversized_request(self, socket: GatewaySocket) -> None:
        """Its request was refused for the length of its line or its headers."""


class GatewaySocket(ServerConnection):
    """A WebSocket that takes what arrives in turns, and tells when its write buffer fills and drains.

    A read may bring thousands of frames, and the library's parser makes all of what it is given into frames before
    anybody else runs. So it is given a few at a time. What a turn leaves is held for the next turn of the event loop,
    in order, and nothing more is read until then; nor while the library's queue is full.

    Attributes:
        received: the clock (ns) when the newest data was read.
        written: bytes of frames that were given to the transport.
        congested: the write buffer is above its high-water mark.
        on_congested: called when it has risen above the mark, and when data arrives while it is above.
        on_drained: called when it has fallen below the low-water mark.
        on_closing: called once, when the connection begins to close: nothing can be sent any more.
        on_message: may take messages from within the socket's callback, while none is queued; returns whether it
            did. The queue and a task's turn would take as long as much of the request's way through here.
        address: where it comes from.
        account: what its address has; None if that is not counted.
        key: that of the upgrade's credential; None if it had none.
    """

    def __init__(self, watch: Watch, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._watch = watch
        self.address = ""
        self.account: Account | None = None
        self._oversized = False
        self.received = 0
        self.written = 0
        self.congested = False
        self.on_congested: Callable[[], None] | None = None
        self.on_drained: Callable[[], None] | None = None
        self.on_closing: Callable[[], None] | None = None
        self.on_message: Callable[[bytes], bool] | None = None
        self.key: ApiKey | None = None
        self._bounds = FrameBounds()
        self._queued = 0
        self._queue_is_full = False
        self._partial = False
        self._held = b""  # a read, of which what begins at `_held_from` waits for a turn
        self._held_from = 0
        self._next_turn: asyncio.Handle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.recv_messages.pause = self._queue_filled
        self.recv_messages.resume = self._queue_drained
        bound_kernel_buffers(transport)
        self.address = str((transport.get_extra_info("peername") or ("",))[0])
        self.account = self._watch.arrived(self)

    # Reading ---------------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        self.received = began = clock()
        if self._held:  # a transport may still bring what it had read when it was paused
            self._held = self._held[self._held_from :] + data
            self._held_from = 0
            return
        direct = self._bounds.between and self._queued == 0 and not self._partial
        at = self._take_messages(data, 0, began) if direct else 0
        if at < len(data):
            if at and clock() - began >= TURN_NS:
                self._hold(data, at)
            else:
                self._take(data, at, began)
        if self.congested and self.on_congested is not None:
            self.on_congested()

    def eof_received(self) -> None:
        self._drop_held()
        super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._drop_held()
        self._watch.left(self)
        if self.request is None and exc is None and self.protocol.handshake_exc is None:
            self._watch.no_request(self)  # it was not the peer who ended it
        super().connection_lost(exc)

    def _take(self, data: bytes, at: int, began: int) -> None:
        """Handle what a read brought from there on, for a turn that began at this reading of the clock."""
        size = len(data)
        while at < size and not self._queue_is_full:
            start = at
            if self._bounds.between and self._queued == 0 and not self._partial:
                at = self._take_messages(data, start, began)
            if at == start:
                at = self._bounds.skip(data, start, _FRAMES_AT_ONCE)
                super().data_received(data[start:at])
            if clock() - began >= TURN_NS:
                break
        if at < size:
            self._hold(data, at)
        elif self._held:
            self._held = b""
            self._resume_reading()

    def _take_messages(self, data: bytes, at: int, began: int) -> int:
        """Hand over the messages that follow there, until the turn is over; returns where they end."""
        while self.on_message is not None and self.protocol.state is _OPEN:
            found = find_message(data, at, masked=True)
            if found is None:
                break
            begin, end = found
            if not self.on_message(apply_mask(data[begin:end], data[begin - KEY_BYTES : begin])):
                break
            at = end
            if at == len(data) or clock() - began >= TURN_NS:
                break
        return at

    def process_event(self, event: Event) -> None:
        """Called by the library for each frame that its parser made; messages go through the queue then."""
        if isinstance(event, Frame) and event.opcode in DATA_OPCODES:
            self._partial = not event.fin
            self._queued += event.fin
        super().process_event(event)

    def took_from_queue(self) -> None:
        """A queued message was handled."""
        self._queued -= 1

    def _hold(self, data: bytes, at: int) -> None:
        """Keep what begins there for the next turn; while the queue is full, for the one after it has drained."""
        self._held, self._held_from = data, at
        self._pause_reading()
        if not self._queue_is_full and self._next_turn is None:
            self._next_turn = self.loop.call_soon(self._take_held)

    def _take_held(self) -> None:
        self._next_turn = None
        self._take(self._held, self._held_from, clock())
        if self.congested and self.on_congested is not None:
            self.on_congested()

    def _drop_held(self) -> None:
        self._held = b""
        if self._next_turn is not None:
            self._next_turn.cancel()
            self._next_turn = None

    def _queue_filled(self) -> None:
        self._queue_is_full = True
        self._pause_reading()

    def _queue_drained(self) -> None:
        self._queue_is_full = False
        if not self._held:
            self._resume_reading()
        elif self._next_turn is None:
            self._next_turn = self.loop.call_soon(self._take_held)

    def _pause_reading(self) -> None:
        if not self.transport.is_closing():
            self.transport.pause_reading()

    def _resume_reading(self) -> None:
        if not self._queue_is_full and not self.transport.is_closing():
            self.transport.resume_reading()

    # Writing ---------------------------------------------------------------------------------------------------

    def pause_writing(self) -> None:
        super().pause_writing()
        self.congested = True
        if self.on_congested is not None:
            self.on_congested()

    def resume_writing(self) -> None:
        super().resume_writing()
        self.congested = False
        if self.on_drained is not None:
            self.on_drained()

    def send_data(self) -> None:
        """Called by the library for what its protocol has to write, such as a close frame."""
        cause = getattr(self.protocol.handshake_exc, "__cause__", None)
        if self.request is None and _is_http(cause) and self.protocol.writes:
            # The library ends the connection without a word, and lets it read until the other side has closed it.
            self.protocol.writes.insert(0, self._watch.refuse_body(self).serialize())
        elif not self._oversized and type(self.protocol.handshake_exc).__name__ in _OVERSIZED:
            self._oversized = True
            self._watch.oversized_request(self)
        super().send_data()
        if self.on_closing is not None and self.protocol.state in (State.CLOSING, State.CLOSED):
            closing, self.on_closing = self.on_closing, None
            closing()

    def write(self, frames: bytes) -> None:
        """Write whole frames now; nothing once the connection closes.

        The library's own ways to send take several times as long, and this is done for every token. Nothing is lost
        by leaving them out: no extension is negotiated and no message is fragmented here.
        """
        if self.protocol.state is _OPEN:
            self.written += len(frames)
            self.transport.write(frames)

    @property
    def taken(self) -> int:
        """Bytes of frames that the kernel has taken, as it does when the peer reads; less the pongs that wait."""
        return self.written - self.transport.get_write_buffer_size()

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Perform the closing handshake; cut the connection when the close timeout is over.

        The library's timeout begins when the close frame is written, which a peer that doesn't read prevents.
        """
        assert self.close_timeout is not None
        cut = self.loop.call_later(self.close_timeout, self.transport.abort)
        try:
            await super().close(code, reason)
        finally:
            cut.cancel()


def _is_http(problem: BaseException | None) -> bool:
    """Whether the library's parser read an HTTP request and refused it for its body, which no handshake has."""
    return isinstance(problem, NotImplementedError) or str(problem) == "unsupported request body"
