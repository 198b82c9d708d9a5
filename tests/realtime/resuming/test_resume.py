"""`hello` names a session: who gets it, what is said of it, and how long there is something to get."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from warmline.client import Reconnect, SessionLost, WarmlineError
from warmline.realtime.access.quotas import Quota, Quotas
from warmline.realtime.documents.text import content_hash
from warmline.realtime.limits import Limits
from warmline.realtime.protocol import (
    MSGPACK,
    Accepted,
    Ack,
    Change,
    Complete,
    Delta,
    Done,
    Error,
    HeldDocument,
    HeldRequest,
    HeldVersion,
    Hello,
    Notice,
    Open,
    Ping,
    Pong,
    Resume,
    TextEdit,
    Welcome,
    client_codec,
)
from warmline.realtime.session import Session
from warmline.realtime.sockets import connection
from warmline.realtime.sockets.connection import Connection

URI = "file:///a"
TEXT = "x = 1\n"
QUICK = Reconnect(first=0.01, longest=0.05)


async def greet(wire: Any, resume: Resume | None = None, token: str | None = None) -> Welcome:
    await wire.send(Hello(token, "tests", True, resume))
    return await wire.until(Welcome)


def again(welcome: Welcome, *requests: HeldRequest, documents: tuple[HeldDocument, ...] = ()) -> Resume:
    assert welcome.secret is not None
    return Resume(welcome.session, welcome.secret, list(documents), list(requests))


@pytest.fixture
def begin(serve, dial, engine):
    """A socket with a session, a document and a request of which "one " has come, and the server."""

    async def begin(token: str | None = None, **config: Any) -> tuple[Any, Welcome, Any]:
        server = await serve(**config)
        wire = await dial(server, hello=False)
        welcome = await greet(wire, token=token)
        await wire.open(TEXT)
        engine.paused = True
        await wire.send(Complete(1, URI, 1, 6))
        await wire.until(Accepted)
        engine.emit(engine.requests[-1].id, "one ")
        assert await wire.until(Delta) == Delta(0, "one ")
        return wire, welcome, server

    return begin


async def parked(server: Any, until: Any, count: int = 1) -> None:
    await until(lambda: server._parking.waiting == count)


async def test_a_request_goes_on_where_its_client_was(begin, dial, engine, until) -> None:
    """It ran on without a socket, and nothing of it comes twice."""
    wire, welcome, server = await begin()
    assert (welcome.resume_ms, welcome.resumed) == (30_000, None)
    wire.connection.transport.abort()
    await parked(server, until)
    engine.emit(engine.requests[0].id, "two ")
    wire = await dial(server, hello=False)
    held = HeldDocument(URI, 1, content_hash(TEXT))
    back = await greet(wire, again(welcome, HeldRequest(1, 2), documents=(held,)))
    assert back.session == welcome.session
    assert back.resumed is not None
    assert (back.resumed.messages, back.resumed.documents) == (2, [HeldVersion(URI, 1)])
    assert back.resumed.requests == [1]
    assert [await wire.receive() for _ in range(2)] == [Accepted(1, 0), Delta(0, "e two ")]
    engine.emit(engine.requests[0].id, "three")
    assert await wire.receive() == Delta(0, "three")
    engine.paused = False
    parts, end = await wire.ended()
    assert (parts, end.reason) == (["hello", " world"], "stop")
    assert engine.cancelled == []


async def test_a_request_that_ended_meanwhile_is_told_whole(begin, dial, engine, until) -> None:
    """Until its client says that it has it."""
    wire, welcome, server = await begin()
    wire.connection.transport.abort()
    await parked(server, until)
    engine.paused = False
    await until(lambda: not engine.running)
    for _ in range(2):
        wire = await dial(server, hello=False)
        await greet(wire, again(welcome, HeldRequest(1, 4)))
        parts, end = await wire.ended()
        assert (parts, end.reason) == (["hello world"], "stop")
        wire.connection.transport.abort()
        await parked(server, until)
    wire = await dial(server, hello=False)
    back = await greet(wire, again(welcome, HeldRequest(1, 15)))
    assert back.resumed.requests == [1]
    await wire.until(Done)
    await wire.send(Ack([1]), Ping(5))
    await wire.until(Pong)
    wire.connection.transport.abort()
    await parked(server, until)
    wire = await dial(server, hello=False)
    back = await greet(wire, again(welcome, HeldRequest(1, 15)))
    assert back.resumed.requests == []


@pytest.mark.parametrize("what", ["secret", "session", "key"])
async def test_a_session_is_for_who_knows_its_secret_and_has_its_key(begin, dial, until, what, http) -> None:
    """Anybody else gets a new one and is not told why; the first is as it was."""
    wire, welcome, server = await begin("one", api_keys=("one", "two"))
    resume = again(welcome, HeldRequest(1, 4))
    wrong = {
        "secret": Resume(resume.session, "x" * len(resume.secret)),
        "session": Resume("another", resume.secret),
        "key": resume,
    }[what]
    other = await dial(server, hello=False)
    stranger = await greet(other, wrong, token="two" if what == "key" else "one")
    assert stranger.resumed is None
    assert stranger.session != welcome.session and stranger.secret not in (None, welcome.secret)
    assert 'warmline_session_resumes_total{outcome="refused"} 1.0' in (await http(server, "/metrics"))[1]
    await wire.send(Ping(1))
    await wire.until(Pong)


async def test_another_socket_takes_a_session_that_has_one(begin, dial, engine) -> None:
    """The first is closed with 4409, and its end ends nothing."""
    wire, welcome, server = await begin()
    second = await dial(server, hello=False)
    await greet(second, again(welcome, HeldRequest(1, 4)))
    assert await wire.closed() == (4409, "another connection took over this session")
    engine.paused = False
    parts, end = await second.ended()
    assert ("".join(parts), end.reason) == ("hello world", "stop")


async def test_a_close_frame_ends_the_session(begin, dial, engine, until) -> None:
    """At once, with its requests."""
    wire, welcome, server = await begin()
    await wire.connection.close()
    await until(lambda: not engine.running)
    assert len(server._parking) == 0
    back = await greet(await dial(server, hello=False), again(welcome))
    assert back.resumed is None


async def test_a_fault_of_ours_ends_the_session(begin, dial, engine, monkeypatch, until) -> None:
    """It closes with 1011, but nobody knows what state the session is in."""
    wire, welcome, server = await begin()

    def fails(*args: Any) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(Session, "handle", fails)
    await wire.send(Change(URI, 1, 2, [TextEdit(0, 0, "# ")]))
    assert (await wire.closed())[0] == 1011
    await until(lambda: not engine.running)
    back = await greet(await dial(server, hello=False), again(welcome))
    assert back.resumed is None


@pytest.mark.parametrize("who", ["close_sent", "close_rcvd"])
async def test_a_ping_without_an_answer_ends_no_session(make_network, engine, who: str) -> None:
    """Libraries close with 1011 then, the server's or the client's."""
    network = make_network(engine)
    session = await network.dial(reconnect=QUICK)
    await session.ping()
    network.flows = False
    setattr(network.pipes[-1].server.protocol, who, SimpleNamespace(code=1011))
    network.pipes[-1].cut()
    await asyncio.sleep(0)
    assert network.parking.waiting == 1
    network.flow()
    await session.ping()
    assert len(network.parking) == 1 and network.parking.waiting == 0
    await session.close()
    await network.close()


async def test_a_session_that_is_not_resumable_ends_with_its_socket(serve, dial, engine, until) -> None:
    """As before: a client has to ask."""
    server = await serve()
    wire = await dial(server, hello=False)
    assert (await wire.hello()).secret is None
    await wire.open(TEXT)
    engine.paused = True
    await wire.send(Complete(1, URI, 1, 6))
    await wire.until(Accepted)
    wire.connection.transport.abort()
    await until(lambda: not engine.running)
    assert server._parking.waiting == 0


async def test_nobody_comes_back(begin, engine, until, http) -> None:
    """After a while the session ends, and its requests."""
    wire, _, server = await begin(limits=Limits(resume_seconds=0.1))
    wire.connection.transport.abort()
    await until(lambda: engine.cancelled)
    await until(lambda: len(server._parking) == 0)
    metrics = (await http(server, "/metrics"))[1]
    assert "warmline_sessions_parked 0.0" in metrics
    assert "warmline_sessions 0.0" in metrics


async def test_no_sessions_are_kept_where_the_server_does_not_want_to(serve, dial) -> None:
    """`--resume-seconds 0`."""
    server = await serve(limits=Limits(resume_seconds=0))
    welcome = await greet(await dial(server, hello=False))
    assert (welcome.secret, welcome.resume_ms) == (None, 0)


async def test_of_too_many_the_one_that_waited_longest_ends(serve, dial, until) -> None:
    """Of the key that has most of them: nobody crowds out others."""
    server = await serve(api_keys=("one", "two"), max_parked_sessions=3)
    welcomes = []
    for key in ("two", "one", "one", "one"):
        wire = await dial(server, hello=False)
        welcomes.append(await greet(wire, token=key))
        wire.connection.transport.abort()
        await parked(server, until, min(len(welcomes), 3))
        await until(lambda: len(server._parking) <= 3)
    kept = []
    for key, welcome in zip(("two", "one", "one", "one"), welcomes, strict=True):
        back = await greet(await dial(server, hello=False), again(welcome), token=key)
        kept.append(back.resumed is not None)
    assert kept == [True, False, True, True]


async def test_documents_are_compared(begin, dial, until) -> None:
    """By version; in the same version also by hash. One that isn't open isn't listed."""
    wire, welcome, server = await begin()
    await wire.send(Change(URI, 1, 2, [TextEdit(0, 0, "# ")]), Ping(1))
    await wire.until(Pong)
    wire.connection.transport.abort()
    await parked(server, until)
    now = content_hash("# " + TEXT)
    for named, listed in [
        ((URI, 2, now), [HeldVersion(URI, 2)]),
        ((URI, 2, now + 1), []),
        ((URI, 3, 0), [HeldVersion(URI, 2)]),
        (("file:///other", 2, now), []),
    ]:
        wire = await dial(server, hello=False)
        back = await greet(wire, again(welcome, documents=(HeldDocument(*named),)))
        assert back.resumed.documents == listed
        assert back.resumed.messages == 3


async def test_a_known_request_is_attached_again_by_its_body_and_refused_with_another(begin, dial, engine) -> None:
    """Its frames come from the beginning; until then none of them do."""
    _, welcome, server = await begin()
    wire = await dial(server, hello=False)
    await greet(wire, again(welcome))
    engine.emit(engine.requests[0].id, "two ")
    await wire.send(Complete(1, URI, 1, 5))
    refused = await wire.receive()
    assert isinstance(refused, Error) and refused.code == "duplicate_request"
    await wire.send(Complete(1, URI, 1, 6))
    assert [await wire.receive() for _ in range(2)] == [Accepted(1, 0), Delta(0, "one two ")]
    engine.paused = False
    parts, end = await wire.ended()
    assert ("".join(parts), end.reason) == ("hello world", "stop")
    await wire.send(Complete(1, URI, 1, 6))
    again_ = await wire.receive()
    assert isinstance(again_, Error) and again_.code == "duplicate_request"
    assert len(engine.requests) == 1


async def test_what_is_not_kept_any_more_ends_with_an_error(begin, dial, engine, until) -> None:
    """One that asks again may do so; the request is freed, and says nothing more."""
    wire, welcome, server = await begin(limits=Limits(max_kept_bytes=3000))
    wire.connection.transport.abort()
    await parked(server, until)
    engine.emit(engine.requests[0].id, "x" * 4000)
    wire = await dial(server, hello=False)
    await greet(wire, again(welcome, HeldRequest(1, 4)))
    lost = await wire.receive()
    assert isinstance(lost, Error)
    assert (lost.request, lost.code, lost.retryable) == (1, "result_lost", True)
    await until(lambda: not engine.running)
    await wire.send(Ping(1))
    assert isinstance(await wire.receive(), Pong)


async def test_an_engine_that_dies_meanwhile_ends_the_request_with_an_error_that_can_be_had(
    begin, dial, engine, until
) -> None:
    """Retryable, after what came."""
    wire, welcome, server = await begin()
    wire.connection.transport.abort()
    await parked(server, until)
    engine.fail("it died")
    wire = await dial(server, hello=False)
    await greet(wire, again(welcome, HeldRequest(1, 0)))
    parts, end = await wire.ended()
    assert parts == ["one "]
    assert isinstance(end, Error) and (end.code, end.retryable) == ("engine_unavailable", True)


async def test_frames_wait_for_the_welcome(make_network, engine) -> None:
    """While documents are compared, which takes turns, the engine goes on."""
    network = make_network(engine)
    session = await network.dial(reconnect=False)
    await session.close()
    pipe = network.pipe()
    encode = session._link._encode
    decode = session._link._decode
    heard: list[Any] = []
    pipe.inbox.read(lambda frame: heard.append(decode(frame)), lambda code, reason: None)
    others = [Open(f"{URI}{number}", 1, "", TEXT) for number in range(20)]
    for message in (Hello(None, "", True), Open(URI, 1, "", TEXT), *others, Complete(1, URI, 1, 0)):
        pipe.send(encode(message))
    engine.paused = True
    async with asyncio.timeout(5):
        while not engine.requests:
            await asyncio.sleep(0)
    welcome = heard[0]
    second = network.pipe()
    told: list[Any] = []
    second.inbox.read(lambda frame: told.append(decode(frame)), lambda code, reason: None)
    named = [HeldDocument(other.document, 1, content_hash(TEXT)) for other in others]
    second.send(encode(Hello(None, "", True, Resume(welcome.session, welcome.secret, named, [HeldRequest(1)]))))
    async with asyncio.timeout(5):
        while not any(isinstance(message, Delta) for message in told):
            if engine.running:
                engine.emit(engine.requests[0].id, "x")
            await asyncio.sleep(0)
    assert isinstance(told[0], Welcome)
    assert isinstance(told[1], Accepted)
    await network.close()


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Until this is set, a resume compares documents."""
    done = asyncio.Event()
    held = Connection._held

    async def waits(*args: Any) -> HeldVersion | None:
        await done.wait()
        return await held(*args)

    monkeypatch.setattr(Connection, "_held", waits)
    return done


async def test_hello_is_in_time_however_long_it_takes_to_answer_it(begin, dial, engine, compared, until) -> None:
    """The server hashes large documents, maybe; the client is not closed with 4408 for it, nor its session lost."""
    wire, welcome, server = await begin(limits=Limits(hello_timeout=0.5))
    wire.connection.transport.abort()
    await parked(server, until)
    wire = await dial(server, hello=False)
    named = (HeldDocument(URI, 1, content_hash(TEXT)),)
    await wire.send(Hello(None, "tests", True, again(welcome, HeldRequest(1, 4), documents=named)))
    await until(lambda: server._parking.waiting == 0)
    await asyncio.sleep(0.6)
    compared.set()
    back = await wire.receive()
    assert isinstance(back, Welcome) and back.resumed is not None
    assert (back.resumed.documents, back.resumed.requests) == ([HeldVersion(URI, 1)], [1])
    assert len(engine.cancelled) == 0


async def test_a_connection_without_hello_ends_no_session(begin, dial, until) -> None:
    """The one that it would have asked for still waits."""
    wire, welcome, server = await begin(limits=Limits(hello_timeout=0.5))
    wire.connection.transport.abort()
    await parked(server, until)
    late = await dial(server, hello=False)
    assert (await late.closed())[0] == 4408
    back = await greet(await dial(server, hello=False), again(welcome, HeldRequest(1, 4)))
    assert back.resumed is not None and back.resumed.requests == [1]


async def test_welcome_comes_before_the_notice_that_the_server_goes_away(
    begin, dial, compared, engine, until
) -> None:
    """Which may be due while documents are compared; then new requests are refused all the same."""
    _, welcome, server = await begin()
    wire = await dial(server, hello=False)
    named = (HeldDocument(URI, 1, content_hash(TEXT)),)
    await wire.send(Hello(None, "tests", True, again(welcome, HeldRequest(1, 4), documents=named)))
    await until(lambda: len([c for c in server._connections if c._session is not None and not c._greeted]) == 1)
    draining = asyncio.create_task(server.drain(5))
    await asyncio.sleep(0)
    compared.set()
    assert [type(await wire.receive()) for _ in range(3)] == [Welcome, Accepted, Notice]
    await wire.send(Complete(2, URI, 1, 0))
    refused = await wire.receive()
    assert isinstance(refused, Error) and (refused.request, refused.code) == (2, "engine_unavailable")
    engine.paused = False
    await draining


async def test_a_document_that_is_named_many_times_is_compared_once(begin, dial, monkeypatch) -> None:
    """By the last that is said of it."""
    _, welcome, server = await begin()
    hashed: list[str] = []
    monkeypatch.setattr(connection, "content_hash", lambda text: hashed.append(text) or content_hash(text))
    named = (*[HeldDocument(URI, 1, 5)] * 4_000, HeldDocument(URI, 1, content_hash(TEXT)))
    back = await greet(await dial(server, hello=False), again(welcome, documents=named))
    assert back.resumed.documents == [HeldVersion(URI, 1)]
    assert hashed == [TEXT]


async def test_taking_over_its_own_session_is_no_further_connection(make_network, engine) -> None:
    """A key that may have one gets back what a dead socket still holds; a second session it may not have."""
    network = make_network(engine, quotas=Quotas(key=Quota(connections=1)))
    session = await network.dial(reconnect=QUICK)
    network.pipes[-1].vanish()  # the server is not told
    async with asyncio.timeout(5):
        while not session.connected or len(network.pipes) < 2:
            await asyncio.sleep(0.01)
    await session.ping()
    with pytest.raises(WarmlineError, match="may have 1 connections at once"):
        await network.dial(reconnect=False)
    await session.close()
    async with asyncio.timeout(5):
        while network.parking.waiting or len(network.parking):
            await asyncio.sleep(0.01)
    await (await network.dial(reconnect=False)).close()
    await network.close()


async def test_a_client_that_was_gone_for_longer_than_the_server_keeps_sessions_gets_one_that_it_has(
    make_network, engine
) -> None:
    """A server that hasn't noticed the loss still has it. With one connection to a key, it lets in nobody else."""
    network = make_network(engine, Limits(resume_seconds=0.05), quotas=Quotas(key=Quota(connections=1)))
    engine.paused = True
    heard: list[str] = []
    session = await network.dial(reconnect=QUICK, on_connection=lambda event: heard.append(event.state))
    document = await session.open(URI, TEXT)
    stream = session.complete(document, 0)
    await session.ping()
    network.flows = False
    network.pipes[-1].vanish()
    await asyncio.sleep(0.2)  # its hello is under way
    network.flow()
    engine.paused = False
    async with asyncio.timeout(5):
        assert (await stream.result()).text == "hello world"
        await session.ping()
    assert heard == ["lost", "resumed"]
    await session.close()
    await network.close()


async def test_a_session_counts_for_the_address_that_it_is_resumed_from(make_network, engine) -> None:
    """Whoever is at the one before has that for themselves."""
    network = make_network(engine, quotas=Quotas(address=Quota(requests=1)))
    engine.paused = True
    session = await network.dial(reconnect=QUICK)
    running = session.complete(await session.open(URI, TEXT), 0)
    await session.ping()
    make_pipe = network.pipe

    def elsewhere() -> Any:
        pipe = make_pipe()
        pipe.server.address = "10.0.0.2"
        return pipe

    network.pipe = elsewhere
    network.pipes[-1].cut()
    await session.ping()
    other = await network.dial(reconnect=False)
    refused = other.complete(await other.open(URI, TEXT), 0)
    with pytest.raises(WarmlineError, match="an address may have 1 requests"):
        await refused.result()
    network.pipe = make_pipe
    neighbour = await network.dial(reconnect=False)
    stream = neighbour.complete(await neighbour.open(URI, TEXT), 0)
    engine.paused = False
    for asked in (running, stream):
        assert (await asked.result()).text == "hello world"
    for one in (session, other, neighbour):
        await one.close()
    await network.close()


async def leave_behind(network: Any, text: str) -> None:
    """A session with a document, whose socket is lost."""
    encode = client_codec(MSGPACK).encode
    before, pipe = network.metrics.documents.value, network.pipe()
    for message in (Hello(None, "", True), Open(URI, 1, "", text)):
        pipe.send(encode(message))
    async with asyncio.timeout(5):
        while network.metrics.documents.value == before:
            await asyncio.sleep(0)
    pipe.cut()


async def test_sessions_that_wait_count_with_the_connections_of_their_key(make_network, engine) -> None:
    """Where those are limited: neither by losing sockets nor by opening more has a key more than that."""
    network = make_network(engine, quotas=Quotas(key=Quota(connections=2)))
    for _ in range(5):
        await leave_behind(network, TEXT)
    assert network.parking.waiting == len(network.parking) == 2
    one = await network.dial(reconnect=False)
    assert network.parking.waiting == 1
    two = await network.dial(reconnect=False)
    assert network.parking.waiting == network.metrics.documents.value == 0
    for session in (one, two):
        await session.close()
    await network.close()


async def test_the_documents_of_sessions_that_wait_are_bounded(make_network, engine) -> None:
    """The oldest goes, and one that is too large for all never waits."""
    network = make_network(engine, most_bytes=250_000)
    for _ in range(4):
        await leave_behind(network, "x" * 100_000)
    assert network.parking.waiting == network.metrics.documents.value == 2
    kept = list(network.parking._sessions)
    await leave_behind(network, "")
    assert list(network.parking._sessions)[:2] == kept
    await leave_behind(network, "x" * 300_000)
    assert list(network.parking._sessions)[:2] == kept and network.parking.waiting == 3
    await network.close()


async def test_a_conversation_that_was_never_begun_is_not_lost(make_network, engine) -> None:
    """Its first message is sent to whoever is there. Of one that was begun it is told once that it is lost."""
    network = make_network(engine)
    session = await network.dial(reconnect=QUICK)
    assert (await session.chat("old", "hello").result()).text == "hello world"
    network.flows = False
    network.pipes[-1].cut()
    first, next_turn = session.chat("new", "hello"), session.chat("old", "and?")
    network.parking.close()
    network.flow()
    async with asyncio.timeout(5):
        assert (await first.result()).text == "hello world"
        with pytest.raises(SessionLost, match="said before in its conversation"):
            await next_turn.result()
        for name in ("new", "old"):
            assert (await session.chat(name, "again").result()).text == "hello world"
    await session.close()
    await network.close()


@pytest.mark.parametrize("end", ["the key is revoked", "the server drains"])
async def test_a_session_that_waits_ends_with_what_it_waits_for(make_network, engine, end: str) -> None:
    """Its requests, too: nobody can come for them any more. One of another key waits on."""
    network = make_network(engine)
    engine.paused = True
    encode = client_codec(MSGPACK).encode
    pipe = network.pipe()
    for message in (Hello(None, "", True), Open(URI, 1, "", TEXT), Complete(1, URI, 1, 0)):
        pipe.send(encode(message))
    async with asyncio.timeout(5):
        while not engine.requests:
            await asyncio.sleep(0)
    pipe.cut()
    async with asyncio.timeout(5):
        while not network.parking.waiting:
            await asyncio.sleep(0)
    network.parking.revoke(lambda key: None)
    assert network.parking.waiting == 1 and not engine.cancelled
    if end == "the key is revoked":
        network.parking.revoke(lambda key: f"{key.name} is not known any more")
    else:
        network.parking.close()
    assert network.parking.waiting == len(network.parking) == 0 and len(engine.cancelled) == 1
    await network.close()


async def test_a_large_message_whose_connection_breaks_while_it_is_read_is_not_handled_twice(make_network, engine):
    """It was not handled, the server says so, and it is sent again."""
    network = make_network(engine)
    async with asyncio.timeout(10):
        session = await network.dial(reconnect=Reconnect(first=1e-9, longest=1e-9))
        await session.ping()
        (held,) = network.parking._sessions.values()
        network.flows = False
        opening = asyncio.create_task(session.open(URI, "😀 text\n" * 300_000))
        await asyncio.sleep(0)
        network.move(1, 0)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert held.messages == 0  # it is being read
        network.pipes[-1].cut()
        network.flow()
        document = await opening
        await document.change(0, 1, "x")
        await session.ping()
        assert held.messages == 2
        assert held._documents[URI].text == document.text
        await session.close()
    await network.close()


async def test_a_session_that_cannot_be_welcomed_is_not_kept(serve, dial, monkeypatch, until) -> None:
    """Whatever fails in beginning it: nobody could ever come for it."""

    def fail(*_: object, **__: object) -> None:
        raise OverflowError("too large to say")

    server = await serve()
    monkeypatch.setattr(Connection, "_welcome", fail)
    wire = await dial(server, hello=False)
    await wire.send(Hello(None, "tests", True))
    assert (await wire.closed())[0] == 1011
    await until(lambda: server._metrics.sessions.value == 0)
    assert len(server._parking) == 0
