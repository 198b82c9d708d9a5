"""A session that may lose its socket and go on with another one."""

from __future__ import annotations

import asyncio
import secrets
import sys
from collections.abc import Iterable, Mapping
from typing import Final, Protocol

from ..access.accounts import Usage
from ..errors import Refused
from ..protocol import (
    Ack,
    Chat,
    ClientMessage,
    Complete,
    Done,
    Edit,
    Error,
    ErrorCode,
    HeldRequest,
    HeldVersion,
    Ping,
    ServerMessage,
)
from ..service import Service
from ..session import Session
from ..telemetry.tracing import clock
from .results import Results

_SECRET_BYTES: Final = 16


class Client(Protocol):
    """The socket that a session is attached to."""

    def send(self, message: ServerMessage) -> int:
        """Write a message; returns the clock's reading (ns) between encoding and writing it."""

    def taken_over(self) -> None:
        """Another socket has the session now: this one sends nothing more and closes."""


class ResumableSession(Session):
    """A `Session` whose results are kept until its client has them.

    While no client is attached its requests run on, and nobody is told.

    Attributes:
        name: what the client names to resume it, with ``secret``.
        key: the API key it belongs to.
        usage: what it uses, counted for that.
        names: what log lines say of it.
        messages: how many messages of its client were handled, but for hello, ping and ack.
        client: the socket it is attached to, if any.
    """

    def __init__(self, service: Service, usage: Usage, name: str, names: Mapping[str, object]) -> None:
        self.name = name
        self.key = usage.key
        self.salt = usage.key.salt
        self.usage = usage
        self.names = names
        self.secret = secrets.token_urlsafe(_SECRET_BYTES)
        self.messages = 0
        self.client: Client | None = None
        self._restored = False  # the client has heard welcome
        self._results = Results(service.limits)
        self._keep_seconds = service.limits.keep_seconds
        self._again: set[int] = set()  # requests that a client which resumed may ask for again
        self._loop = asyncio.get_running_loop()
        self._expiry: asyncio.TimerHandle | None = None
        super().__init__(service, self.salt, self._deliver, names, usage)

    # Clients come and go ---------------------------------------------------------------------------------------

    def moved(self, usage: Usage) -> None:
        """Count what it has and what it asks for where its client is now."""
        self.usage.move_to(usage)

    def attach(self, client: Client) -> None:
        """Belong to a client, whoever had it before. Nothing is sent to it until `restore`: welcome comes first."""
        before, self.client = self.client, client
        if before is not None:
            before.taken_over()
        self._results.suspend()
        self._restored = False
        self._again.clear()
        self.resume()  # the one before may have read slowly

    def detach(self, client: Client) -> bool:
        """The client is gone. Returns whether the session was its."""
        if self.client is not client:
            return False
        self.client = None
        self.resume()
        return True

    def held_version(self, document: str) -> tuple[HeldVersion, str] | None:
        """A document's version, and its text; None if it is not open."""
        held = self._documents.get(document)
        return None if held is None else (HeldVersion(document, held.version), held.text)

    @property
    def document_bytes(self) -> int:
        """What the texts of its documents take in memory."""
        return sum(sys.getsizeof(document.text) for document in self._documents.values())

    def known(self, requests: Iterable[HeldRequest]) -> list[HeldRequest]:
        """Those requests of which something can be said, in the order in which `restore` takes them."""
        return self._results.in_order(requests)

    def restore(self, known: Iterable[HeldRequest]) -> None:
        """Send what the client lacks of each request.

        Where that is not to be had any more, the request ends with RESULT_LOST. What it doesn't name it may ask for
        again, with the same message.
        """
        self._restored = True
        self._again = set(self._results.requests)
        for held in known:
            self._again.discard(held.request)
            self._restore(held)

    def _restore(self, held: HeldRequest) -> None:
        assert self.client is not None
        try:
            messages = self._results.rest(held)
        except ValueError:
            self._requests.stop(held.request, "cancel")
            why = "what was sent of this request while the connection broke is not kept any more; ask again"
            messages = [Error(held.request, ErrorCode.RESULT_LOST, why, retryable=True)]
        for message in messages:
            self.client.send(message)

    # Messages --------------------------------------------------------------------------------------------------

    def handle(self, message: ClientMessage, received: int, parsed: int) -> None:
        if isinstance(message, Ack):
            self._results.acknowledge(message.requests)
            return
        if not isinstance(message, Ping):
            self.messages += 1
            if isinstance(message, Complete | Edit | Chat):
                if self._asked_again(message):
                    return
                self._results.asked(message)
        super().handle(message, received, parsed)

    def refuse_frame(self, request: int | None, refusal: Refused) -> None:
        self.messages += 1
        super().refuse_frame(request, refusal)

    def close(self) -> None:
        self.client = None
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
        super().close()

    def _asked_again(self, message: Complete | Edit | Chat) -> bool:
        """Whether a client that resumed asks for what it was asking for before; then it gets that from the start."""
        if message.request not in self._again or message.request not in self._results:
            return False
        if not self._results.same(message):
            return False
        self._again.discard(message.request)
        self._restore(HeldRequest(message.request))
        return True

    def _deliver(self, message: ServerMessage) -> int:
        sends = self._results.record(message, self._loop.time())
        if self._expiry is None and not self._closed and isinstance(message, Done | Error):
            self._expiry = self._loop.call_later(self._keep_seconds, self._expire)
        return self.client.send(message) if sends and self._restored and self.client is not None else clock()

    def _expire(self) -> None:
        now = self._loop.time()
        oldest = self._results.expire(now - self._keep_seconds)
        self._expiry = None
        if oldest is not None:
            self._expiry = self._loop.call_at(oldest + self._keep_seconds, self._expire)
