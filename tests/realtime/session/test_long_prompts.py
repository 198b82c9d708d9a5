"""Prompts with much text are tokenised beside the event loop."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from warmline.engine import unpack_tokens
from warmline.realtime.prompting.planning import PlanQueue
from warmline.realtime.protocol import (
    Accepted,
    Cancel,
    Change,
    Close,
    Complete,
    Done,
    Edit,
    Error,
    ErrorCode,
    Ping,
    Pong,
    Sampling,
    TextEdit,
)
from warmline.realtime.telemetry.tracing import HOPS

URI = "file:///a"


def complete(request: int, **fields: Any) -> Complete:
    return Complete(request, URI, fields.pop("version", 1), fields.pop("position", 0), **fields)


LONG = "value = 1\n" * 2000


def long_requests(*requests: int) -> list[Complete | Edit]:
    """Completions and edits, in turns, that need much tokenised."""
    return [
        Edit(request, URI, 1, 0, 15_000, "x", Sampling(max_tokens=9))
        if request % 2
        else complete(request, position=20_000, parallel=True)
        for request in requests
    ]


async def test_much_text_is_not_tokenised_on_the_event_loop(gated, gate):
    """Meanwhile pings are answered, and short requests carried out, of this session and of others."""
    assert gated.say(*long_requests(1, 2)) == []
    assert isinstance(gated.say(Ping(1))[0], Pong)
    gated.say(complete(3, position=10, parallel=True))
    async with asyncio.timeout(10):
        while not gated.of(Done):
            await asyncio.sleep(0)
    assert [accepted.request for accepted in gated.of(Accepted)] == [3]
    gate.open()
    await gated.drained()
    assert [done.request for done in gated.of(Done)] == [3, 1, 2]
    here = threading.get_ident()
    assert sum(length for thread, length in gate.threads if thread == here) <= 8000
    assert sum(length for thread, length in gate.threads if thread != here) >= 15_000


async def test_a_long_request_is_for_the_version_it_named(gated, gate, tokenizer):
    """Changes that come while it is tokenised don't reach it, and its version is checked when it arrives."""
    gated.say(*long_requests(2), Change(URI, 1, 2, [TextEdit(0, 20_000, "gone")]))
    (stale,) = gated.say(*long_requests(4))
    assert (stale.request, stale.code) == (4, ErrorCode.STALE_VERSION)
    gate.open()
    await gated.drained()
    assert LONG.endswith(tokenizer.decode(unpack_tokens(gated.engine.requests[0].prompt)))


@pytest.mark.parametrize("ending", [Cancel(1), Close(URI)], ids=["cancel", "close"])
async def test_a_request_can_end_before_it_is_tokenised(gated, gate, ending):
    """It is accepted and done with cancel at once, whether its turn had come or not, and never reaches the engine."""
    gated.say(*long_requests(3, 1, 5))
    await asyncio.sleep(0.05)
    gated.say(ending)
    ended = [1] if isinstance(ending, Cancel) else [3, 1, 5]
    assert [(done.request, done.reason) for done in gated.of(Done)] == [(request, "cancel") for request in ended]
    assert [accepted.request for accepted in gated.of(Accepted)] == ended
    done = gated.of(Done)[0].timing
    assert sum(getattr(done, hop) for hop in HOPS) == done.sent - done.received
    gate.open()
    await gated.drained()
    assert sorted(done.request for done in gated.of(Done)) == [1, 3, 5]
    assert len(gated.engine.requests) == 3 - len(ended)


async def test_a_session_that_closes_leaves_nothing_to_tokenise(gated, gate):
    """What waits is dropped, and what comes out of the thread is thrown away."""
    gated.say(*long_requests(*range(10)))
    await asyncio.sleep(0.05)
    gated.session.close()
    gate.open()
    async with asyncio.timeout(10):
        while gated.session._requests._plans._worker is not None:
            await asyncio.sleep(0)
    assert gated.engine.requests == []
    assert gated.metric("warmline_requests_running") == 0


async def test_sessions_take_turns_with_long_requests(make, gate, engine):
    """One with many of them does not keep another waiting until they are all done."""
    first = make(tokenizer=gate)
    second = make(tokenizer=gate)
    second.session._requests._plans = PlanQueue(first.session._service.threads)
    for client in (first, second):
        client.open(LONG)
    first.say(*long_requests(*range(0, 20, 2)))
    second.say(*long_requests(0))
    gate.open()
    async with asyncio.timeout(10):
        while not second.of(Accepted):
            await asyncio.sleep(0)
    assert len(first.of(Accepted)) < 10
    await first.drained()
    await second.drained()
    await engine.close()


async def test_cancelled_long_requests_do_not_pile_up(gated):
    """What is asked for and cancelled while a thread is busy is forgotten."""
    for request in range(100):
        gated.say(*long_requests(request), Cancel(request))
    assert len(gated.session._requests._plans._waiting) <= 2
    assert len(gated.of(Done)) == 100


async def test_a_fault_while_tokenising_ends_the_request(gated, gate, monkeypatch):
    """Its id is answered, and the next one is carried out."""
    monkeypatch.setattr(gate, "encode", lambda text: 1 / 0)
    gated.say(*long_requests(2))
    await gated.drained()
    monkeypatch.undo()
    gate.open()
    gated.say(*long_requests(4))
    await gated.drained()
    assert [(error.request, error.code) for error in gated.of(Error)] == [(2, ErrorCode.INTERNAL_ERROR)]
    assert [done.request for done in gated.of(Done)] == [4]


async def test_a_draining_session_takes_no_more_and_ends_what_runs_when_told_to(gated, gate):
    """A new request is told when to come again; running and waiting ones go on, and end with cancel at last."""
    gated.engine.paused = True
    gated.say(complete(8, position=10), *long_requests(1))
    gated.session.drain(20)
    (error,) = gated.say(complete(9, position=10))
    assert (error.request, error.code, error.retryable) == (9, ErrorCode.ENGINE_UNAVAILABLE, True)
    assert 1000 <= error.retry_after_ms <= 20_000
    assert gated.session.running == 2
    gated.session.stop_requests()
    gate.open()
    await gated.drained()
    assert {done.request: done.reason for done in gated.of(Done)} == {1: "cancel", 8: "cancel"}
