"""What a client's messages have warmed, over the wire."""

from __future__ import annotations

import pytest
from warmline.realtime import warming
from warmline.realtime.protocol import (
    Applied,
    Cancel,
    Change,
    Complete,
    Done,
    Edit,
    Error,
    ErrorCode,
    Interrupt,
    Ping,
    Pong,
    TextEdit,
    Warm,
)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing waits for what may come with it."""
    monkeypatch.setattr(warming, "_SETTLE_SECONDS", 0.0)


async def test_a_session_warms_what_is_typed_and_what_is_asked_for(serve, dial, engine, until):
    """Under the salt of its API key; what another key's session wants has another salt."""
    server = await serve(api_keys=("one", "two"))
    text = "def mean(values):\n    total = sum(values)\n    return total / len(values)\n\n\n"
    for number, key in enumerate(("one", "two")):
        wire = await dial(server, hello=False)
        await wire.hello(key)
        await wire.open(text)
        await wire.send(Change("file:///a", 1, 2, [TextEdit(len(text), len(text), "print(")]))
        await until(lambda wanted=3 * number + 1: len(engine.warmed) == wanted)
        await wire.send(Warm("file:///a", 2, 10))
        await until(lambda wanted=3 * number + 2: len(engine.warmed) == wanted)
        await wire.send(Warm("file:///a", 2, 0, 40))
        await until(lambda wanted=3 * number + 3: len(engine.warmed) == wanted)
    one, two = engine.warmed[:3], engine.warmed[3:]
    assert [request.prompt for request in one] == [request.prompt for request in two]
    assert len({request.prompt for request in one}) == 3
    assert len({request.salt for request in one}) == len({request.salt for request in two}) == 1
    assert one[0].salt != two[0].salt


async def test_a_wrong_place_is_answered(serve, dial, engine):
    """An unknown document, another version, a range outside the text; the connection goes on."""
    wire = await dial(await serve())
    await wire.open("text")
    for warm, code in (
        (Warm("file:///b", 1, 0), ErrorCode.UNKNOWN_DOCUMENT),
        (Warm("file:///a", 2, 0), ErrorCode.STALE_VERSION),
        (Warm("file:///a", 1, 5), ErrorCode.INVALID_RANGE),
        (Warm("file:///a", 1, 3, 2), ErrorCode.INVALID_RANGE),
    ):
        await wire.send(warm)
        error = await wire.until(Error)
        assert (error.request, error.code) == (None, code)
    assert len(engine.warmed) <= 1  # what was opened


@pytest.mark.parametrize("end", ["stop", "cancel", "interrupt", "error", "superseded"])
async def test_the_place_of_a_request_that_ended_is_warmed_again(serve, dial, engine, until, end):
    """However it ended: while it ran it computed its place itself."""
    wire = await dial(await serve())
    await wire.open("x = 1\n" * 20)
    place = Warm("file:///a", 1, 120)
    await wire.send(place)
    await until(lambda: len(engine.warmed) == 1)
    engine.paused = end in ("cancel", "interrupt", "superseded")
    engine.reason = "error" if end == "error" else "stop"
    await wire.send(Complete(1, "file:///a", 1, 120))
    if engine.paused:
        await until(lambda: engine.running == 1)
        await wire.send(place, Ping(0))
        await wire.until(Pong)
        assert len(engine.warmed) == 1
        if end == "superseded":
            await wire.send(Complete(2, "file:///a", 1, 0))
        else:
            await wire.send(Cancel(1) if end == "cancel" else Interrupt(1))
    _, over = await wire.ended()
    assert (over.request, type(over)) == (1, Error if end == "error" else Done)
    engine.paused = False
    await wire.send(place)
    await until(lambda: len(engine.warmed) == 2)
    assert engine.warmed[0].prompt == engine.warmed[1].prompt


async def test_applied_operations_are_not_typed(serve, dial, engine, until):
    """Nobody is going to complete where the model wrote; what a person types then is warmed."""
    wire = await dial(await serve())
    await wire.open("x = 1\n" * 20)
    await until(lambda: len(engine.warmed) == 1)
    engine.scripts.append(["y = 2\n```"])
    await wire.send(Edit(1, "file:///a", 1, 0, 6, "rename"))
    operations, done = await wire.ended()
    assert done.reason == "stop"
    length = 120 + len("y = 2\n") - 6
    applied = Change("file:///a", 1, 2, [TextEdit(0, 6, "y = 2\n")], Applied(1, len(operations)), length=length)
    await wire.send(applied, Change("file:///a", 2, 3, [TextEdit(length, length, "#")], length=length + 1))
    await until(lambda: len(engine.warmed) == 2)
    await wire.send(Ping(0))
    await wire.until(Pong)
    assert len(engine.warmed) == 2


async def test_what_is_being_warmed_ends_with_its_session(serve, dial, engine, until):
    """When the socket closes, and when the server drains."""
    engine.warming = True
    server = await serve()
    for end in ("socket", "server"):
        wire = await dial(server)
        await wire.open("x = 1\n" * 20)
        await wire.send(Warm("file:///a", 1, 120))
        await until(lambda: engine.running == 1)
        await (wire.connection.close() if end == "socket" else server.close())
        await until(lambda: engine.running == 0)
    assert len(engine.cancelled) == 2


async def test_when_the_engine_comes_back_what_is_expected_is_warmed_again(serve, dial, engine, until):
    """Its cache is empty. Not where the document has changed since by an operation of ours, or was closed."""
    wire = await dial(await serve())
    text = "def mean(values):\n    total = sum(values)\n    return total / len(values)\n\n\n"
    await wire.open(text)
    await wire.send(
        Change("file:///a", 1, 2, [TextEdit(len(text), len(text), "print(")]), Warm("file:///a", 2, 0, 40)
    )
    await until(lambda: len(engine.warmed) == 2)
    before = {request.prompt for request in engine.warmed}
    engine.fail("it died")
    engine.warmed.clear()
    engine.come_back()
    await until(lambda: len(engine.warmed) >= 2)
    assert {request.prompt for request in engine.warmed} <= before
    await wire.send(Change("file:///a", 2, 3, []), Ping(1))
    await wire.until(Pong)
    await until(lambda: not engine.running)
    engine.warmed.clear()
    engine.come_back()
    await wire.send(Ping(2))
    await wire.until(Pong)
    assert engine.warmed == []
    await wire.connection.close()
    await until(lambda: not engine._start_listeners)
