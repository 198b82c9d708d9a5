"""The sessions of a server that may be resumed: those with a socket, and for a while those that lost theirs."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import structlog

from ..access.accounts import Usage
from ..access.keys import ApiKey
from ..protocol import Resume
from ..telemetry.metrics import Metrics
from .session import Client, ResumableSession

MAX_PARKED_BYTES: Final = 256 << 20
"""What the documents of all sessions that wait may take."""

logger = structlog.get_logger("warmline.parking")


@dataclass(slots=True, eq=False)
class _Owner:
    """The sessions of one API key that wait, the one that has waited longest first, and what each takes."""

    sizes: dict[str, int] = field(default_factory=dict)
    bytes: int = 0


class Parking:
    """Keeps sessions by their names.

    One that lost its socket is closed after so many ``seconds``. If more than ``most`` of them wait, or their
    documents take more than ``most_bytes``, the one that has waited longest is closed before: of the API key that has
    most of them, or most bytes, so that nobody crowds out others. Where a key's connections are limited, its sessions
    that wait count with them, so nobody has more sessions by losing sockets.
    """

    def __init__(self, seconds: float, most: int, metrics: Metrics, most_bytes: int = MAX_PARKED_BYTES) -> None:
        self.seconds = seconds
        self._most = most
        self._most_bytes = most_bytes
        self._metrics = metrics
        self._sessions: dict[str, ResumableSession] = {}
        self._waiting: dict[str, asyncio.TimerHandle] = {}
        self._owners: dict[str, _Owner] = {}  # of those, by the salts of their keys
        self._bytes = 0
        self._loop = asyncio.get_running_loop()

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def waiting(self) -> int:
        """How many sessions have no socket."""
        return len(self._waiting)

    def add(self, session: ResumableSession) -> None:
        """Keep a new session, until `end`."""
        self._sessions[session.name] = session

    def find(self, resume: Resume, salt: str) -> ResumableSession | None:
        """The session that is `meant`; counted if there is none."""
        session = self.meant(resume, salt)
        if session is None:
            self._metrics.resumes.of("refused").inc()
        return session

    def meant(self, resume: Resume, salt: str) -> ResumableSession | None:
        """The session that is meant, if the secret is right and it belongs to the API key of this salt."""
        session = self._sessions.get(resume.session)
        secret = "" if session is None else session.secret
        right = hmac.compare_digest(secret.encode(), resume.secret.encode("utf-8", "surrogatepass"))
        if session is None or not right or not hmac.compare_digest(session.salt.encode(), salt.encode()):
            return None
        return session

    def claim(self, session: ResumableSession, client: Client) -> None:
        """A client goes on with a session; another one that has it loses it."""
        self._unpark(session)
        session.attach(client)
        self._metrics.resumes.of("resumed").inc()

    def left(self, session: ResumableSession, client: Client) -> None:
        """A client lost its socket: let the session wait for another. Nothing happens if it has another one."""
        if not session.detach(client) or self._sessions.get(session.name) is not session:
            return
        size = session.document_bytes  # which doesn't change without a client
        self._waiting[session.name] = self._loop.call_later(self.seconds, self._give_up, session.name)
        owner = self._owners.setdefault(session.salt, _Owner())
        owner.sizes[session.name] = size
        owner.bytes += size
        self._bytes += size
        self._metrics.parked.inc()
        self.make_room(session.usage)
        while len(self._waiting) > self._most:
            most = max(self._owners.values(), key=lambda owner: len(owner.sizes))
            self._give_up(next(iter(most.sizes)))
        if session.name in self._waiting and size > self._most_bytes:
            self._give_up(session.name)  # and none of the others
        while self._bytes > self._most_bytes:
            most = max(self._owners.values(), key=lambda owner: owner.bytes)
            self._give_up(next(name for name, size in most.sizes.items() if size))

    def make_room(self, usage: Usage) -> None:
        """Hold the sessions of a key that wait against its limit, if it has one: one more waits, or is connected.

        Those that have waited longest go first.
        """
        if usage.has_too_many_sessions(len(self._waiting)):  # it may, all of them being its
            owner = self._owners.get(usage.key.salt)
            while owner is not None and owner.sizes and usage.has_too_many_sessions(len(owner.sizes)):
                self._give_up(next(iter(owner.sizes)))

    def end(self, session: ResumableSession, client: Client) -> None:
        """A client ends its session. Nothing happens if another one has it."""
        if session.client is client:
            self._sessions.pop(session.name, None)
            session.close()

    def revoke(self, revoked: Callable[[ApiKey], str | None]) -> None:
        """Close the sessions that wait, and whose keys let nobody in any more."""
        for name in list(self._waiting):
            if revoked(self._sessions[name].key) is not None:
                self._give_up(name)

    def close(self) -> None:
        """The server goes away: close all sessions that wait."""
        for name in list(self._waiting):
            self._give_up(name)

    def _give_up(self, name: str) -> None:
        session = self._sessions.pop(name)
        self._unpark(session)
        logger.debug("session given up", **session.names)
        self._metrics.resumes.of("given_up").inc()
        session.close()

    def _unpark(self, session: ResumableSession) -> None:
        timer = self._waiting.pop(session.name, None)
        if timer is not None:
            timer.cancel()
            owner = self._owners[session.salt]
            size = owner.sizes.pop(session.name)
            owner.bytes -= size
            self._bytes -= size
            if not owner.sizes:
                del self._owners[session.salt]
            self._metrics.parked.dec()
