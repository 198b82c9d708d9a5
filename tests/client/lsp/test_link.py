"""The session is made again when it ends, and whoever waits is told how it went."""

from __future__ import annotations

import asyncio

import pytest
from warmline.client import ConnectionFailed, ConnectionLost, SessionClosed, Unauthorized, WarmlineError
from warmline.client.lsp import link as link_module
from warmline.client.lsp.link import Link


class FakeSession:
    """What the link asks of one."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()
        self.error: WarmlineError = ConnectionLost("the connection broke")

    @property
    def closed(self) -> bool:
        return self.gone.is_set()

    def end(self) -> None:
        self.gone.set()

    async def wait_closed(self) -> WarmlineError:
        await self.gone.wait()
        return self.error

    async def close(self) -> None:
        self.gone.set()


class Service:
    """Something to connect to, which is there or not; and who is told of it."""

    def __init__(self) -> None:
        self.there: Exception | None = None
        self.deaf: Exception | None = None
        self.attempts = 0
        self.sessions: list[FakeSession] = []
        self.told: list[WarmlineError] = []

    async def connect(self) -> FakeSession:
        self.attempts += 1
        await asyncio.sleep(0)
        if self.there is not None:
            raise self.there
        return FakeSession()

    def connected(self, session) -> None:
        self.sessions.append(session)
        if self.deaf is not None:
            raise self.deaf

    def unreachable(self, error: WarmlineError) -> None:
        self.told.append(error)
        if self.deaf is not None:
            raise self.deaf


async def until(condition) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.001)


@pytest.fixture
async def service():
    return Service()


@pytest.fixture
async def link(service):
    link = Link(service.connect, service, first_delay=0.001, chance=lambda: 0.5)
    yield link
    await link.close()


async def test_it_connects_again_when_the_session_has_ended(link, service) -> None:
    """And what can be used is the new one; the old one never is once it has ended."""
    link.start()
    link.start()
    await until(lambda: service.sessions)
    assert link.session is service.sessions[0] is await link.wanted()
    service.sessions[0].end()
    assert link.session is None
    await until(lambda: len(service.sessions) == 2)
    assert link.session is service.sessions[1]
    assert (service.told, link.error) == ([], None)


async def test_it_tells_once_that_there_is_no_server_until_there_was_one_again(link, service) -> None:
    """However many attempts are made."""
    service.there = ConnectionFailed("nothing listens there")
    link.start()
    await until(lambda: service.attempts > 4)
    assert service.told == [service.there] == [link.error]
    service.there = None
    await until(lambda: service.sessions)
    service.there = Unauthorized("another key")
    service.sessions[-1].end()
    await until(lambda: service.attempts > 8)
    assert [str(error) for error in service.told] == ["nothing listens there", "another key"]


async def test_who_wants_a_session_has_one_attempt_made_at_once(link, service, monkeypatch) -> None:
    """However long the next one would be away; and hears what came of that."""
    monkeypatch.setattr(link_module, "LONGEST_DELAY", 3600.0)
    link._first_delay = 3600.0
    service.there = ConnectionFailed("nothing listens there")
    async with asyncio.timeout(10):
        with pytest.raises(ConnectionFailed):
            await link.wanted()
        with pytest.raises(ConnectionFailed):
            await link.wanted()
        service.there = None
        assert await link.wanted() is service.sessions[0]
    assert service.attempts in (3, 4)  # one may be made before it is asked for


async def test_intervals_grow_up_to_a_longest_one(link, service, monkeypatch) -> None:
    """Also where each session ends as soon as it is there, as those of a server do that can't start."""
    waits = []
    real = asyncio.timeout

    def timeout(delay):
        waits.append(delay)
        return real(0)

    monkeypatch.setattr(link_module.asyncio, "timeout", timeout)
    link._first_delay = 0.5
    link.start()
    while len(waits) < 8:
        await asyncio.sleep(0)
        if link.session is not None:
            link.session.end()
    assert waits[:8] == [0.5, 1, 2, 4, 8, 16, 20, 20]
    assert len(service.sessions) >= 8


async def test_closing_ends_the_session_and_makes_no_other(service) -> None:
    """Nor is there one that was never begun."""
    link = Link(service.connect, service, first_delay=0.001)
    await link.close()
    link.start()
    await until(lambda: service.sessions)
    await link.close()
    assert service.sessions[0].closed
    await asyncio.sleep(0.02)
    assert service.attempts == 1


async def test_no_fault_ends_it_and_whoever_waits_is_woken(link, service, caplog) -> None:
    """Whatever connecting raises; the log has nothing of what that says."""
    service.there = RuntimeError("Bearer sekrit")
    async with asyncio.timeout(10):
        with pytest.raises(ConnectionFailed, match="by a fault"):
            await link.wanted()
        assert [str(error) for error in service.told] == [str(link.error)]
        service.there = None
        assert await link.wanted() is service.sessions[0]
    assert "RuntimeError" in caplog.text and "sekrit" not in caplog.text


async def test_an_editor_that_can_not_be_told_ends_nothing(link, service) -> None:
    """A session that was made in vain is closed, and the next attempt is made."""
    service.deaf = BrokenPipeError("the editor has gone")
    service.there = ConnectionFailed("nothing listens there")
    async with asyncio.timeout(10):
        with pytest.raises(ConnectionFailed):
            await link.wanted()
        service.there = None
        await until(lambda: len(service.sessions) > 1)
        assert service.sessions[0].closed
        service.deaf = None
        assert await link.wanted() is service.sessions[-1]


async def test_closing_wakes_who_waits_for_a_session(service) -> None:
    """Nor does anybody wait later."""
    never = asyncio.Event()

    async def connect() -> FakeSession:
        await never.wait()
        return FakeSession()

    link = Link(connect, service)
    waiting = asyncio.create_task(link.wanted())
    await asyncio.sleep(0.01)
    await link.close()
    async with asyncio.timeout(10):
        for wanted in (waiting, link.wanted()):
            with pytest.raises(SessionClosed):
                await wanted
