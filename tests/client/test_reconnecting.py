"""Which losses a session survives, how it dials, and what a program hears of it."""

from __future__ import annotations

import asyncio
import itertools
import logging

import pytest
from warmline.client import (
    ConnectionEvent,
    ConnectionFailed,
    ConnectionLost,
    InvalidArgument,
    Reconnect,
    RequestError,
    SessionLost,
    Unauthorized,
    WrongType,
    connect,
)
from warmline.client.link import MAX_WAITING
from warmline.realtime.protocol import (
    Accepted,
    Ack,
    Complete,
    Delta,
    Done,
    Error,
    Hello,
    Open,
    Resumed,
    Welcome,
)
from websockets.asyncio.server import serve

SOON = Reconnect(first=0.001, longest=0.01)


async def greet(peer, resumed: Resumed | None = None, secret: str | None = "secret") -> Hello:
    """Answer hello as a server does that keeps sessions."""
    hello = await peer.next(Hello)
    await peer.send(Welcome("session", "scripted", "model", 8192, 1 << 20, 8, secret, 30_000, resumed))
    return hello


def test_waits_are_drawn_from_nothing_to_a_bound_that_doubles() -> None:
    """Full jitter."""
    plan = Reconnect(first=0.5, longest=6)
    longest = list(itertools.islice(plan.waits(lambda low, high: high), 7))
    assert longest == [0.5, 1, 2, 4, 6, 6, 6]
    assert set(itertools.islice(plan.waits(lambda low, high: low), 7)) == {0}
    drawn = list(itertools.islice(plan.waits(), 200))
    assert all(0 <= wait <= 6 for wait in drawn)
    assert min(drawn) < 1 < 5 < max(drawn)


@pytest.mark.parametrize("field", ["first", "longest", "give_up_after"])
def test_times_that_are_none(field: str) -> None:
    """The error names the field."""
    with pytest.raises(InvalidArgument, match=f"{field} must be above 0"):
        Reconnect(**{field: 0})
    with pytest.raises(WrongType, match="reconnect is of type int"):
        connect("ws://127.0.0.1:1", reconnect=3)  # type: ignore[arg-type]


async def test_a_request_goes_on_over_another_connection(scripted) -> None:
    """The hello says how much came of it; what follows is appended, and then acknowledged."""
    hellos: list[Hello] = []
    acknowledged: list[list[int]] = []

    async def script(peer) -> None:
        if not hellos:
            hellos.append(await greet(peer))
            await peer.accept(Complete)
            await peer.send(Delta(1, "on 😀"))
            await asyncio.sleep(0.02)
            peer.connection.transport.abort()
            return
        hellos.append(await greet(peer, Resumed(2, [], [1])))
        await peer.send(Accepted(1, 5), Delta(5, "e"), Done(1, "stop"))
        acknowledged.append((await peer.next(Ack)).requests)
        await peer.idle()

    heard: list[ConnectionEvent] = []
    async with scripted(script) as url, connect(url, reconnect=SOON, on_connection=heard.append) as session:
        document = await session.open("file:///a", "text")
        stream = session.complete(document, 0)
        assert [piece async for piece in stream] == ["on 😀", "e"]
        assert (await stream.result()).text == "on 😀e"
        await session.ping()
    first, second = hellos
    assert (first.resumable, first.resume) == (True, None)
    assert second.resume is not None
    assert (second.resume.session, second.resume.secret) == ("session", "secret")
    (held,) = second.resume.requests
    assert (held.request, held.characters) == (1, 5)
    assert [d.document for d in second.resume.documents] == ["file:///a"]
    assert acknowledged == [[1]]
    assert [event.state for event in heard] == ["lost", "resumed", "ended"]
    assert isinstance(heard[0].error, ConnectionLost)
    assert heard[1].attempt == 1


async def test_a_request_that_the_server_no_longer_knows_ends_with_an_error(scripted) -> None:
    """With what came; and a document that it holds as another text is handed over anew."""
    opens: list[Open] = []
    connections = itertools.count()

    async def script(peer) -> None:
        if next(connections) == 0:
            await greet(peer)
            await peer.accept(Complete)
            await peer.send(Delta(1, "so far"))
            await asyncio.sleep(0.02)
            peer.connection.transport.abort()
            return
        await greet(peer, Resumed(2, [], []))
        opens.append(await peer.next(Open))
        await peer.idle()

    async with scripted(script) as url, connect(url, reconnect=SOON) as session:
        document = await session.open("file:///a", "text")
        stream = session.complete(document, 0)
        with pytest.raises(RequestError) as lost:
            await stream.result()
        assert (lost.value.code, lost.value.retryable, stream.text) == ("result_lost", True, "so far")
        await session.ping()
    assert [(o.version, o.text) for o in opens] == [(1, "text")]


@pytest.mark.parametrize("code", [4401, 4403, 4409, 1002, 1003, 1007, 1008, 1009])
async def test_some_losses_are_final(scripted, code: int) -> None:
    """Another try would end like this again, or take the session from who has it now."""
    connections = itertools.count()

    async def script(peer) -> None:
        assert next(connections) == 0
        await greet(peer)
        await peer.next(Complete)
        await peer.connection.close(code, "because")

    heard: list[ConnectionEvent] = []
    async with scripted(script) as url, connect(url, reconnect=SOON, on_connection=heard.append) as session:
        stream = session.complete(await session.open("file:///a", ""), 0)
        with pytest.raises(Unauthorized if code == 4401 else ConnectionLost, match="because"):
            await stream.result()
        assert session.closed
        await asyncio.sleep(0.05)
    assert [event.state for event in heard] == ["ended"]


async def test_a_key_that_is_refused_meanwhile_ends_the_session(scripted) -> None:
    """It is not tried again."""
    connections = itertools.count()

    async def script(peer) -> None:
        if next(connections) == 0:
            await greet(peer)
            await peer.next(Open)
            peer.connection.transport.abort()
        else:
            await peer.next(Hello)
            await peer.connection.close(4401, "revoked")

    async with scripted(script) as url, connect(url, reconnect=SOON) as session:
        with pytest.raises(Unauthorized, match="revoked"):
            await session.open("file:///a", "")
    assert next(connections) == 2


async def test_it_gives_up_after_a_while(scripted) -> None:
    """The error says for how long there was none, and why."""

    async def script(peer) -> None:
        await greet(peer)
        await peer.idle()

    plan = Reconnect(first=0.001, longest=0.02, give_up_after=0.2)
    heard: list[ConnectionEvent] = []
    async with scripted(script) as url:
        session = await connect(url, reconnect=plan, on_connection=heard.append)
    with pytest.raises(ConnectionLost, match=r"no connection for 0\.2 seconds: .*nothing listens there"):
        await session.ping()
    states = [event.state for event in heard]
    assert (states[0], states[-1]) == ("lost", "ended")
    assert set(states[1:-1]) == {"retrying"}
    attempts = [event.attempt for event in heard[1:-1]]
    assert attempts == list(range(1, len(attempts) + 1))
    await session.close()


async def test_a_request_that_waits_for_its_server_ends_when_the_session_gives_up(scripted) -> None:
    """Not before, whatever the server said of how long it keeps sessions: it may have this one yet."""

    async def script(peer) -> None:
        await peer.next(Hello)
        await peer.send(Welcome("session", "scripted", "model", 8192, 1 << 20, 8, "secret", 1))
        await peer.accept(Complete)
        await peer.idle()

    plan = Reconnect(first=0.001, longest=0.02, give_up_after=0.2)
    async with scripted(script) as url:
        session = await connect(url, reconnect=plan)
        stream = session.complete(await session.open("file:///a", ""), 0)
        await session.ping()
    with pytest.raises(ConnectionLost, match=r"no connection for 0\.2 seconds"):
        await stream.result()
    assert session.closed


async def test_a_server_that_keeps_no_sessions_has_lost_what_ran(scripted) -> None:
    """Which is said at once, and not when it is back."""
    connections = itertools.count()

    async def script(peer) -> None:
        await greet(peer, secret=None)
        if next(connections) == 0:
            await peer.accept(Complete)
            peer.connection.transport.abort()
        await peer.idle()

    async with scripted(script) as url, connect(url, reconnect=Reconnect(first=100, longest=100)) as session:
        stream = session.complete(await session.open("file:///a", ""), 0)
        with pytest.raises(SessionLost):
            await stream.result()
        assert not session.connected and not session.closed


async def test_a_server_that_says_when_to_come_again_is_not_asked_before(scripted) -> None:
    """However short the plan's own waits are."""
    dialled: list[float] = []

    async def script(peer) -> None:
        dialled.append(asyncio.get_running_loop().time())
        if len(dialled) == 2:
            await peer.next(Hello)
            await peer.send(Error(None, "too_many_connections", "all are taken", True, 300))
            return
        await greet(peer)
        if len(dialled) == 1:
            peer.connection.transport.abort()
        await peer.idle()

    heard: list[ConnectionEvent] = []
    async with scripted(script) as url, connect(url, reconnect=SOON, on_connection=heard.append) as session:
        await session.ping()
    assert len(dialled) == 3 and dialled[2] - dialled[1] >= 0.29
    (retried,) = [event.error for event in heard if event.state == "retrying"]
    assert isinstance(retried, ConnectionFailed) and retried.retry_after == 0.3


async def test_a_server_that_wants_to_be_left_alone_for_longer_than_the_plan_says_ends_the_session(scripted) -> None:
    """At once: there is nothing to wait for."""
    connections = itertools.count()

    async def script(peer) -> None:
        if next(connections) == 0:
            await greet(peer)
            peer.connection.transport.abort()
            return
        await peer.next(Hello)
        await peer.send(Error(None, "too_many_connections", "all are taken", True, 60_000))

    plan = Reconnect(first=0.001, longest=0.01, give_up_after=30)
    async with scripted(script) as url, connect(url, reconnect=plan) as session:
        with pytest.raises(
            ConnectionLost, match=r"no connection for 60 seconds, and give_up_after is less: .*all are taken"
        ):
            await session.ping()
            await session.wait_closed()
            await session.ping()
    assert next(connections) == 2


@pytest.mark.parametrize(("said", "understood"), [("7", 7.0), ("Wed, 21 Oct 2015 07:28:00 GMT", None), ("-1", None)])
async def test_retry_after_of_a_refused_upgrade_is_told(transport, said: str, understood: float | None) -> None:
    """Where it is a number of seconds."""

    def full(connection, request):
        response = connection.respond(503, "full\n")
        response.headers["Retry-After"] = said
        return response

    async with serve(lambda connection: connection.wait_closed(), "127.0.0.1", 0, process_request=full) as server:
        with pytest.raises(ConnectionFailed) as failed:
            await connect(f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    assert failed.value.retry_after == understood


async def test_a_session_can_be_closed_while_it_dials(scripted) -> None:
    """Nothing is left running."""
    before = asyncio.all_tasks()

    async def script(peer) -> None:
        await greet(peer)
        await peer.idle()

    async with scripted(script) as url:
        session = await connect(url, reconnect=Reconnect(first=100, longest=100))
        waiting = asyncio.create_task(session.ping())
    await asyncio.sleep(0.05)
    assert not session.connected
    await session.close()
    with pytest.raises(ConnectionLost, match="closed"):
        await waiting
    assert asyncio.all_tasks() <= before | {waiting}


async def test_what_waits_for_a_connection_is_bounded(scripted) -> None:
    """Requests are refused, hints are dropped, and a change waits once there is much."""

    async def script(peer) -> None:
        await greet(peer)
        await peer.idle()

    async with scripted(script) as url:
        session = await connect(url, reconnect=Reconnect(first=100, longest=100))
        document = await session.open("file:///a", "")
    await asyncio.sleep(0.05)
    assert not session.connected
    await document.warm(0)
    with pytest.raises(ConnectionLost, match="too much waits"):
        for _ in range(MAX_WAITING + 1):
            session.complete(document, 0, parallel=True)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            for _ in range(10):
                await document.change(0, 0, "x" * 50_000)
    assert len(document.text) <= 400_000
    await session.close()


async def test_a_program_that_fails_when_it_hears_of_it_disturbs_nothing(scripted, caplog) -> None:
    """It is logged."""
    connections = itertools.count()

    async def script(peer) -> None:
        await greet(peer, None if next(connections) == 0 else Resumed(1, [], []))
        await peer.next(Open)
        if next(connections) < 3:
            peer.connection.transport.abort()
        await peer.idle()

    def fails(event: ConnectionEvent) -> None:
        raise RuntimeError("broken callback")

    with caplog.at_level(logging.ERROR, "warmline.client"):
        async with scripted(script) as url, connect(url, reconnect=SOON, on_connection=fails) as session:
            await session.open("file:///a", "")
    assert "on_connection failed" in caplog.text


async def test_without_reconnect_the_session_ends_with_its_connection(scripted) -> None:
    """And the server need keep nothing."""
    hellos: list[Hello] = []

    async def script(peer) -> None:
        hellos.append(await greet(peer))
        peer.connection.transport.abort()

    async with scripted(script) as url, connect(url, reconnect=False) as session:
        with pytest.raises(ConnectionLost):
            while True:
                await session.ping()
    assert [hello.resumable for hello in hellos] == [False]
