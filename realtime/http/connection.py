"""One socket of the HTTP listener: uvicorn's, with bounds on what a stranger can hold."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from ..access.accounts import Account
from ..access.gate import Gate
from ..access.refusals import Reason
from ..limits import Limits
from ..sockets.kernel_buffers import bound_kernel_buffers
from ..telemetry.metrics import Metrics
from .lingering import LINGER_BYTES
from .problems import HttpCode, Problem
from .responses import ABORT, DEAD, TOO_MANY

_MAX_HEAD: Final = 64 << 10
"""Bytes of a request's line and headers."""
_MAX_PIPELINED: Final = 64
"""Requests of one connection that are answered or wait behind those that are."""
_DEAD_SECONDS: Final = 5.0
"""How long a reader may take nothing of what waits for it before a server that goes away waits for it no more."""


class DoorConnection(HttpToolsProtocol):
    """Cuts connections that send no request, too long a head, too much at once, or that take nothing.

    `limits`, `gate`, `metrics` and `most` are set on a subclass, since uvicorn makes the instances.
    """

    limits: Limits
    gate: Gate
    metrics: Metrics
    most: int
    """Sockets open at once; further ones are cut."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._in_head = True
        self._received = 0
        self._head_timer: asyncio.TimerHandle | None = None
        self._unanswered: list[RequestResponseCycle] = []
        self._address = ""
        self._account: Account | None = None
        self._too_many = False  # of its address; its request is told so
        self._unsent_before, self._taken_at = -1, 0.0

    @property
    def unsent(self) -> int:
        """Bytes written that the kernel has not taken, as it does when the peer reads."""
        return self.transport.get_write_buffer_size()

    def is_dead(self) -> bool:
        """Whether its reader has something to read, and has taken nothing for a while in which this was asked."""
        now, unsent = self.loop.time(), self.unsent
        if not unsent or unsent != self._unsent_before:
            self._unsent_before, self._taken_at = unsent, now
        return now - self._taken_at > _DEAD_SECONDS

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn does
        super().connection_made(transport)
        self._address = str((transport.get_extra_info("peername") or ("",))[0])
        self._account = self.gate.accounts.arrived(self._address)
        if len(self.connections) > self.most:
            self._turn_away(Reason.FULL)
            return
        self._too_many = self._account is not None and self._account.has_too_many_connections
        high = self.limits.write_high_water
        transport.set_write_buffer_limits(high, high // 4)
        bound_kernel_buffers(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_head_timer()
        if self._account is not None:
            self._account.connections -= 1
        # uvicorn tells only the newest request that its client is gone, which may be one that waits behind another.
        for cycle in self._unanswered:
            if not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()
        self.pipeline.clear()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._received += len(data)
        body = 2 * self.limits.max_frame_bytes + LINGER_BYTES
        waiting = sum(len(cycle.body) for cycle, _ in self.pipeline)
        too_much = self._received > (_MAX_HEAD if self._in_head else _MAX_HEAD + body)
        if too_much and self._in_head:
            self._turn_away(Reason.OVERSIZED_REQUEST)
        elif too_much or waiting > 2 * self.limits.max_frame_bytes:
            self.transport.abort()
        elif self.pipeline:
            self.flow.resume_reading()  # uvicorn would read no further, nor see that the client goes

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True
        self._received = 0
        if self._head_timer is None:
            self._await_head()
        self.scope["state"][ABORT] = self.transport.abort
        self.scope["state"][DEAD] = self.is_dead
        self.scope["state"][TOO_MANY] = None
        if self._too_many and self._account is not None:
            self.scope["state"][TOO_MANY] = self._account.quota.connections

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._cancel_head_timer()
        super().on_headers_complete()
        self._unanswered = [cycle for cycle in self._unanswered if not cycle.response_complete]
        self._unanswered.append(self.cycle)
        if len(self._unanswered) > _MAX_PIPELINED:
            self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        """What the parser can't read is answered in the envelope, too, if nothing before it waits for its answer."""
        for cycle in self._unanswered:
            own = cycle.more_body and not cycle.response_started  # it is this one's body that can't be read
            if not cycle.response_complete and not own:
                self.transport.abort()
                return
        self.metrics.http_refused(HttpCode.MALFORMED_REQUEST)
        problem = Problem(HttpCode.MALFORMED_REQUEST, "this is no HTTP/1.1 request; the connection is closed")
        headers = {**problem.headers, "content-length": str(len(problem.body())), "connection": "close"}
        lines = [STATUS_LINE[problem.status], *(f"{name}: {value}\r\n".encode() for name, value in headers.items())]
        self.transport.write(b"".join([*lines, b"\r\n", problem.body()]))
        self.transport.close()

    def timeout_keep_alive_handler(self) -> None:
        self.transport.abort()  # `close` would wait for a reader that takes nothing

    def _await_head(self) -> None:
        self._head_timer = self.loop.call_later(self.limits.hello_timeout, self._turn_away, Reason.SLOW_HANDSHAKE)

    def _turn_away(self, reason: Reason) -> None:
        """Cut it."""
        self.gate.refusals.note("http", reason, self._address)
        self.transport.abort()

    def _cancel_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
