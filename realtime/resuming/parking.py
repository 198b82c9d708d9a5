"""The sessions of a server that may be resumed: those with a socket, and for a while those that lost theirs."""

from __future__ import annotations

import asyncio
import hmac
from collections import Counter
from collections.abc import Callable

import structlog

from ..access.keys import ApiKey
from ..protocol import Resume
from ..telemetry.metrics import Metrics
from .session import Client, ResumableSession

logger = structlog.get_logger("warmline.parking")


class Parking:
    """Keeps sessions by their names.

    One that lost its socket is closed after so many ``seconds``. If more than ``most`` of them wait, the one that has
    waited longest is closed before: of the API key that has most of them, so that nobody crowds out others.
    """

    def __init__(self, seconds: float, most: int, metrics: Metrics) -> None:
        self.seconds = seconds
        self._most = most
        self._metrics = metrics
        self._sessions: dict[str, ResumableSession] = {}
        self._waiting: dict[str, asyncio.TimerHandle] = {}  # the one that has waited longest first
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
        if session is None or not right or not hmac.compare_digest(session.key.salt.encode(), salt.encode()):
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
        self._waiting[session.name] = self._loop.call_later(self.seconds, self._give_up, session.name)
        self._metrics.parked.inc()
        while len(self._waiting) > self._most:
            self._give_up(self._longest())

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

    def _longest(self) -> str:
        owners = Counter(self._sessions[name].key.salt for name in self._waiting)
        ((owner, _),) = owners.most_common(1)
        return next(name for name in self._waiting if self._sessions[name].key.salt == owner)

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
            self._metrics.parked.dec()
