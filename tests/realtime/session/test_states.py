"""What ends or turns a request does so in every state that it can be in, with one terminal frame."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from warmline.realtime.protocol import (
    Accepted,
    Cancel,
    Change,
    Close,
    Complete,
    Delta,
    Done,
    Edit,
    Interrupt,
    Open,
    Ops,
    Sampling,
    Steer,
    Steered,
    TextEdit,
)
from warmline.realtime.telemetry.tracing import HOPS

URI = "file:///a"
TEXT = "value = 1\n" * 2000
SHOWN = ["value = 1\n", "value = 1\n"]

STATES = ["preparing", "queued", "streaming", "paused", "ending", "ended"]
KINDS = ["complete", "short edit", "long edit", "steered edit"]


def request(kind: str) -> Complete | Edit:
    if kind == "complete":
        return Complete(1, URI, 1, 20_000)
    return Edit(1, URI, 1, 0, 15_000 if kind == "long edit" else 40, "x", Sampling(max_tokens=99))


async def bring(client: Any, gate: Any, kind: str, state: str) -> None:
    """Have request 1 in a state; it has sent something unless it is preparing or queued."""
    client.engine.default = [*SHOWN, *["value = 1\n"] * 30]
    client.engine.paused = state in ("queued", "paused") or kind == "steered edit"
    if state != "preparing":
        gate.open()
    client.say(request(kind))
    if kind == "steered edit":
        client.say(Steer(1, "y"))
    if state == "preparing":
        return
    await client.until(lambda: len(client.engine.requests) == 1 + (kind == "steered edit"))
    if state == "queued":
        return
    client.engine.paused = False
    await client.until(lambda: bool(client.of(Delta) + client.of(Ops)))
    if state == "paused":
        client.session.pause()
    elif state == "ending":
        client.say(Cancel(1))
    elif state == "ended":
        client.say(Cancel(1))
        await client.drained()


ACTIONS: dict[str, Any] = {
    "cancel": lambda client: client.say(Cancel(1)),
    "interrupted": lambda client: client.say(Interrupt(1)),
    "superseded": lambda client: client.say(Complete(2, URI, 1, 0), Cancel(2)),
    "conflict": lambda client: client.say(Change(URI, 1, 2, [TextEdit(0, 20_000, "")])),
    "steer": lambda client: client.say(Steer(1, "z"), Cancel(1)),
    "close document": lambda client: client.say(Close(URI)),
    "replace document": lambda client: client.say(Open(URI, 2, "", "x")),
    "drain": lambda client: (client.session.drain(0), client.session.stop_requests()),
    "close session": lambda client: client.session.close(),
}


def expected(kind: str, state: str, action: str) -> str | None:
    """The reason that request 1 has to end with; None: the action doesn't end it."""
    if state in ("ending", "ended"):
        return "cancel"
    if action == "superseded":
        return "superseded" if kind == "complete" else None
    if action in ("conflict", "replace document"):
        return "conflict" if kind != "complete" else None
    return action if action in ("interrupted",) else "cancel"


@pytest.fixture
async def client(make, engine, gate):
    """A session with a long document, whose tokenising can be held up."""
    client = make(tokenizer=gate)
    client.open(TEXT)
    yield client
    client.session.close()
    await engine.close()


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("kind", KINDS)
async def test_whatever_ends_a_request_ends_it_once_and_frees_it(client, gate, kind, state, action):
    """With its reason, in every state; what was shown stays, nothing comes after, and nothing is left."""
    await bring(client, gate, kind, state)
    running = [sequence.id for sequence in client.engine.requests if client.engine.generates(sequence.id)]
    ACTIONS[action](client)
    shown = len(client.of(Delta)), len(client.of(Ops))
    reason = expected(kind, state, action)
    if reason is not None:
        assert not any(client.engine.generates(sequence) for sequence in running), "it is freed at once"
    client.session.resume()
    client.engine.paused = False
    gate.open()
    await client.drained()
    ends = client.ends_of(1)
    assert [type(end) for end in ends] == [Done]
    assert ends[0].reason == (reason or "stop")
    if reason is not None:
        assert (len(client.of(Delta)), len(client.of(Ops))) == shown
    if reason == "conflict":
        assert ends[0].operations is not None
    assert len([accepted for accepted in client.of(Accepted) if accepted.request == 1]) == 1
    timing = ends[0].timing
    assert sum(getattr(timing, hop) for hop in HOPS) == timing.sent - timing.received
    assert client.engine.running == 0
    assert client.metric("warmline_requests_running") == 0


@pytest.mark.parametrize("state", ["preparing", "queued", "streaming", "paused"])
@pytest.mark.parametrize("kind", KINDS[1:])
async def test_an_edit_is_steered_in_every_state(client, gate, kind, state):
    """And goes on to its end, also when it was paused."""
    await bring(client, gate, kind, state)
    client.engine.default = ["value = 2\n", "v"]
    answers = client.say(Steer(1, "z", 0))
    assert answers[-1] == Steered(1, 0) or isinstance(answers[-2], Steered)
    if state == "paused":
        newest = client.engine.requests[-1].id
        for _ in range(10):
            await asyncio.sleep(0)
        assert newest in client.engine.held
    client.session.resume()
    client.engine.paused = False
    gate.open()
    await client.drained()
    assert [end.reason for end in client.ends_of(1)] == ["stop"]
    assert client.engine.running == 0


@pytest.mark.parametrize("kind", KINDS)
async def test_requests_that_start_while_paused_wait(client, gate, kind):
    """Until the session goes on; pausing twice is pausing once."""
    gate.open()
    client.session.pause()
    client.session.pause()
    client.say(request(kind))
    await client.until(lambda: bool(client.engine.requests))
    for _ in range(20):
        await asyncio.sleep(0)
    assert client.of(Delta) == client.of(Ops) == client.of(Done) == []
    client.session.resume()
    await client.drained()
    assert client.reasons() == {1: "stop"}
    assert client.engine.held == set()
