"""The SDK and the gateway, whose connection breaks at any moment: nobody notices, but for the time it takes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from warmline.client import (
    Completion,
    Conflict,
    Document,
    EditStream,
    Reconnect,
    RequestError,
    Session,
    SessionLost,
    WarmlineError,
)
from warmline.realtime.limits import Limits
from warmline.realtime.protocol import Accepted, Delta, Done, Ops, Steered
from warmline.realtime.resuming.session import ResumableSession

SAID = ["al", "pha\n", "be", "ta 😀\n", "gam", "ma\n", "del", "ta\n", "epsi", "lon"]
SCRIPT = "".join(SAID)
TEXT = "one\ntwo = 2\n😀 three\n"
AT_ONCE = Reconnect(first=1e-9, longest=1e-9)
SHORT = 0.002
"""Seconds that a server keeps a session where it may give it up: before its client is back, or while it dials."""
BACK = st.integers(0, 3)
FEW = st.integers(0, 4)

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("move"), FEW, FEW),
        st.tuples(st.just("run"), st.integers(1, 12)),
        st.tuples(st.just("run"), st.integers(1, 12)),
        st.tuples(st.just("turns"), st.integers(1, 6)),
        st.tuples(st.sampled_from(["cut", "vanish"])),
        st.tuples(st.just("type"), st.integers(0, 40), st.integers(0, 2), st.sampled_from(["", "k", "new\n", "é😀"])),
        st.tuples(st.just("complete"), st.booleans()),
        st.tuples(st.just("type and complete"), st.integers(1, 4)),
        st.tuples(st.just("edit"), st.integers(0, 2)),
        st.tuples(st.sampled_from(["steer", "apply", "cancel", "interrupt"]), BACK),
        st.sampled_from([("chat",), ("ping",), ("warm",), ("open",), ("close",), ("fail",), ("forget",), ("wait",)]),
    ),
    max_size=40,
)


class Person:
    """Carries out steps, and knows what must come of them."""

    def __init__(self, network: Any, session: Session, document: Document) -> None:
        self.network = network
        self.session = session
        self.document = document
        self.others: list[Document] = []
        self.streams: list[Any] = []
        self.waiting: list[asyncio.Task[Any]] = []

    def newest(self, kind: str, back: int) -> Any:
        of_kind = [stream for stream in self.streams if type(stream).__name__ == kind]
        return of_kind[-1 - back] if back < len(of_kind) else None

    def later(self, what: Any) -> None:
        self.waiting.append(asyncio.ensure_future(what))

    async def do(self, step: tuple[Any, ...]) -> None:
        document, session = self.document, self.session
        match step:
            case ("move", up, down):
                self.network.move(up, down)
            case ("turns", count):
                for _ in range(count):
                    await asyncio.sleep(0)
            case ("run", turns):
                for _ in range(turns):
                    await asyncio.sleep(0)
                    self.network.move(2, 2)
            case ("cut",):
                self.network.pipes[-1].cut()
            case ("vanish",):
                self.network.pipes[-1].vanish()
            case ("type", start, size, text):
                start = min(start, len(document.text))
                await document.change(start, min(start + size, len(document.text)), text)
            case ("complete", parallel):
                self.streams.append(session.complete(document, len(document.text), parallel=parallel))
            case ("type and complete", count):
                suggested = self.streams[-1].text if self.streams else ""
                at = len(document.text)
                await document.change(at, at, suggested[:count] or "z")
                self.streams.append(session.complete(document, len(document.text)))
            case ("edit", line):
                starts = [match.start() for match in re.finditer("^", document.text, re.MULTILINE)]
                start = starts[min(line, len(starts) - 1)]
                self.streams.append(session.edit(document, (start, len(document.text)), "x"))
            case ("steer", back):
                if (edit := self.newest("EditStream", back)) is not None:
                    self.later(edit.steer("more"))
            case ("apply", back):
                if (edit := self.newest("EditStream", back)) is not None:
                    with contextlib.suppress(Conflict, RequestError):
                        await document.apply(edit)
            case ("cancel", back) if back < len(self.streams):
                self.streams[-1 - back].cancel()
            case ("interrupt", back) if back < len(self.streams):
                self.streams[-1 - back].interrupt()
            case ("chat",):
                with contextlib.suppress(SessionLost):  # what was said before is lost, of which one is told once
                    self.streams.append(session.chat("c", "hello", documents=[document]))
            case ("fail",):
                self.network.engine.fail("it died")
                self.network.engine.come_back()
            case ("forget",):
                self.network.parking.close()
            case ("wait",):
                await asyncio.sleep(2 * SHORT)
            case ("ping",):
                self.later(session.ping())
            case ("warm",):
                await document.warm(0)
            case ("open",):
                uri = f"other {len(self.others)}"
                self.later(self.opened(uri))
            case ("close",) if self.others:
                await self.others.pop().close()

    async def opened(self, uri: str) -> None:
        self.others.append(await self.session.open(uri, "other"))


class Told:
    """What the gateway had to say of each request, whether there was a socket or not."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, steps: list[Any], seconds: float) -> None:
        self.failed, self.forgotten = ("fail",) in steps, ("forget",) in steps or seconds == SHORT
        self.texts: dict[int, str] = {}
        self.operations: dict[int, list[int | str]] = {}
        self.ends: list[int] = []
        self._streams: dict[int, int] = {}
        deliver = ResumableSession._deliver

        def _deliver(session: ResumableSession, message: Any) -> int:
            self.hear(message)
            return deliver(session, message)

        monkeypatch.setattr(ResumableSession, "_deliver", _deliver)

    def hear(self, message: Any) -> None:
        match message:
            case Accepted():
                self._streams[message.stream] = message.request
                self.texts[message.request], self.operations[message.request] = "", []
            case Delta():
                self.texts[self._streams[message.stream]] += message.text
            case Ops():
                self.operations[self._streams[message.stream]] += message.operations
            case Steered():
                del self.operations[message.request][message.operations :]
            case Done():
                self.ends.append(message.request)

    def check(self, stream: Any, ended: Any) -> None:
        """What came is what was said: nothing is missing, and nothing twice."""
        if isinstance(ended, SessionLost):
            assert self.forgotten
            if not isinstance(stream, EditStream):
                assert self.texts.get(stream.request, "").startswith(stream.text)
            return
        if isinstance(ended, BaseException):
            assert isinstance(ended, RequestError), repr(ended)
            assert ended.code in ["stale_version", "too_many_requests", *["engine_unavailable"] * self.failed]
            return
        assert self.ends.count(stream.request) == 1
        if isinstance(stream, EditStream):
            assert stream.range.first(stream.range.known) == self.operations[stream.request]
            return
        assert ended.text == self.texts[stream.request]
        if ended.reason == "stop":
            continued = isinstance(stream, Completion) and stream.continued is not None
            assert SCRIPT.endswith(ended.text) if continued else ended.text == SCRIPT


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=150)
@given(STEPS, st.sampled_from([30.0, SHORT]))
def test_whatever_breaks_the_connection_each_request_has_its_text_and_one_end(
    make_network, scripted, caplog, steps, seconds
) -> None:
    """Sockets are lost at random points of random interleavings; then text, ends and documents are as without.

    Engines die there, too, and sessions are given up, by the server alone, whose clock is not the client's: then it
    is said of each request that it was lost.
    """

    async def play(told: Told) -> None:
        engine = scripted()
        engine.default = SAID
        network = make_network(engine, Limits(max_requests=16, resume_seconds=seconds))
        session = await network.dial(reconnect=AT_ONCE)
        document = await session.open("file:///a", TEXT, "python")
        network.flows = False
        person = Person(network, session, document)
        for step in steps:
            await person.do(step)
        network.flow()
        async with asyncio.timeout(20):
            ends = await asyncio.gather(*(stream.result() for stream in person.streams), return_exceptions=True)
            waited = await asyncio.gather(*person.waiting, return_exceptions=True)
            await session.ping()
            while engine.running:
                await asyncio.sleep(0)
        for stream, ended in zip(person.streams, ends, strict=True):
            told.check(stream, ended)
        for error in waited:  # of a steer, whose edit had ended, or whose refusal was lost
            assert not isinstance(error, BaseException) or isinstance(error, WarmlineError), error
        assert session.connected
        # One whose welcome was lost is nobody's, and waits to be given up.
        (held,) = [kept for kept in network.parking._sessions.values() if kept.client is not None]
        for mirror in (document, *person.others):
            server = held._documents[mirror.uri]
            assert (server.version, server.text) == (mirror.version, mirror.text)
        assert set(held._documents) == {mirror.uri for mirror in (document, *person.others)}
        assert held.running == 0
        await session.close()
        await asyncio.sleep(0)
        assert len(network.parking) == network.parking.waiting
        await network.close()

    caplog.set_level(logging.WARNING)
    caplog.clear()
    with pytest.MonkeyPatch.context() as monkeypatch:
        asyncio.run(play(Told(monkeypatch, steps, seconds)))
    assert [record.getMessage() for record in caplog.records if "handed over anew" in record.getMessage()] == []
