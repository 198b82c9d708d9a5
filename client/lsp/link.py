"""The session with the service: made, and made again for as long as the editor runs."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from ..errors import ConnectionFailed, SessionClosed, WarmlineError
from ..session import Session

FIRST_DELAY: Final = 0.5
LONGEST_DELAY: Final = 20.0
"""Seconds between two attempts, which double from the first to the longest, give or take half."""

SETTLED: Final = 5.0
"""Seconds that a session has to last for its end to be news, and not one more failed attempt."""

_log = logging.getLogger(__name__)


class LinkEvents(Protocol):
    """Who is told how the connection fares."""

    def connected(self, session: Session) -> None:
        """There is a session, for the first time or again."""

    def unreachable(self, error: WarmlineError) -> None:
        """There is none, and the next attempts are made without a word: told once until there is one again."""


class Link:
    """One session at a time; when it ends the next is attempted, at ever longer intervals.

    Attributes:
        error: why there is no session; None while there is, and before the first attempt has ended.
    """

    def __init__(
        self,
        connect: Callable[[], Awaitable[Session]],
        events: LinkEvents,
        *,
        first_delay: float = FIRST_DELAY,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.error: WarmlineError | None = None
        self._connect = connect
        self._events = events
        self._first_delay = first_delay
        self._chance = chance
        self._session: Session | None = None
        self._wanted = asyncio.Event()
        self._attempts = asyncio.Condition()
        self._told = False
        self._closed = False
        self._task: asyncio.Task[None] | None = None

    @property
    def session(self) -> Session | None:
        """The session, if there is one that can be used."""
        session = self._session
        return None if session is None or session.closed else session

    def start(self) -> None:
        """Connect, and stay connected."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="warmline link")

    async def close(self) -> None:
        """End the session, and make no other."""
        self._closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._session is not None:
            await self._session.close()
        self.error = SessionClosed()
        await self._attempted()

    async def wanted(self) -> Session:
        """The session; where there is none, one attempt is made now, whatever the interval.

        Raises:
            WarmlineError: the attempt failed.

        """
        session = self.session
        if session is not None:
            return session
        if self._closed:
            raise SessionClosed
        self.start()
        self._wanted.set()
        async with self._attempts:
            await self._attempts.wait()
        session = self.session
        if session is None:
            raise (self.error or ConnectionFailed("the session ended at once")).with_traceback(None)
        return session

    async def _run(self) -> None:
        delay = self._first_delay
        while True:
            self._wanted.clear()
            try:
                lasted = await self._attempt()
            except WarmlineError as error:
                await self._failed(error)
            except Exception as error:
                # A fault of ours, or of a library. Its own words are not logged: they may have what was sent.
                _log.error("connecting failed: %s", type(error).__name__)
                await self._failed(ConnectionFailed(f"connecting failed by a fault ({type(error).__name__})"))
            else:
                if lasted >= SETTLED:
                    delay = self._first_delay
            try:
                async with asyncio.timeout(delay * (0.5 + self._chance())):
                    await self._wanted.wait()
            except TimeoutError:
                delay = min(2 * delay, LONGEST_DELAY)

    async def _attempt(self) -> float:
        """Connect, and return when the session has ended, with the seconds that it lasted."""
        session = self._session = await self._connect()
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            self.error, self._told = None, False
            self._events.connected(session)
            await self._attempted()
            self.error = await session.wait_closed()
        except Exception:
            await session.close()
            raise
        _log.info("the session ended: %s", self.error)
        return loop.time() - began

    async def _failed(self, error: WarmlineError) -> None:
        _log.info("no session: %s", error)
        self.error = error
        await self._attempted()
        if not self._told:
            self._told = True
            try:
                self._events.unreachable(error)
            except Exception as fault:
                _log.error("nobody could be told that there is no session: %s", type(fault).__name__)

    async def _attempted(self) -> None:
        async with self._attempts:
            self._attempts.notify_all()
