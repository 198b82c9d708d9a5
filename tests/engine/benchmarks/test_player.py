"""The engine process that plays a recording, behind `LocalEngine`."""

from __future__ import annotations

import asyncio
import time

import pytest
from warmline.engine import (
    PLAYER_COMMAND,
    PLAYER_PARTS,
    EngineOptions,
    GenerationRequest,
    LocalEngine,
    PlayerReadings,
    SamplingParams,
    WarmRequest,
    pack_tokens,
    recorded_tokens,
)


@pytest.fixture
async def engine(tmp_path):
    """A running one, whose readings are in ``readings``."""
    engine = LocalEngine(EngineOptions(str(tmp_path / "readings")), PLAYER_COMMAND)
    await engine.start()
    yield engine
    await engine.close()


async def play(engine, count, cancel_after=None):
    """All events of a request for so many tokens."""
    events, ended, id_ = [], asyncio.Event(), engine.next_id()

    def on_event(event) -> None:
        events.append(event)
        if len(events) == cancel_after:
            engine.cancel(id_)
        if event.finished is not None:
            ended.set()

    engine.submit(GenerationRequest(id_, pack_tokens([1, 2, 3]), SamplingParams(max_tokens=count)), on_event)
    async with asyncio.timeout(30):
        await ended.wait()
    return events


async def test_a_request_gets_the_recording_and_its_times(engine, tmp_path):
    """As many tokens as it asked for, one a millisecond, and the end with the last."""
    began = time.monotonic_ns()
    events = await play(engine, 300)
    assert [event.text for event in events] == recorded_tokens(300)
    finished = events[-1].finished
    assert (finished.reason, finished.prompt_tokens, finished.output_tokens) == ("length", 3, 300)
    with PlayerReadings(tmp_path / "readings") as readings:
        sent = readings.first(300)
    assert sent == sorted(sent)
    assert began < sent[0] < sent[-1] < time.monotonic_ns()
    assert sent[-1] - sent[0] >= 299_000_000


async def test_each_part_of_its_time_takes_as_long_as_it_is_told(engine, tmp_path):
    """And none but that one; the parts still make up the whole."""
    with PlayerReadings(tmp_path / "readings") as readings:
        for part in PLAYER_PARTS:
            readings.hold_up(part, 150_000_000)
            finished = (await play(engine, 1))[-1].finished
            readings.hold_up(part, 0)
            took = {name: getattr(finished, f"{name}_ns") for name in PLAYER_PARTS}
            assert finished.received_ns + sum(took.values()) == finished.sent_ns
            assert [name for name in PLAYER_PARTS if took[name] >= 150_000_000] == [part]
        with pytest.raises(ValueError, match="not in tuple"):
            readings.hold_up("dinner", 1)


async def test_the_recording_begins_anew_where_it_ends():
    """It is a text of a model, cut as its tokens are."""
    tokens = recorded_tokens(1000)
    length = next(n for n in range(1, 1000) if tokens[:100] == tokens[n : n + 100])
    assert length > 200
    assert all(tokens)


async def test_requests_are_played_in_turn_and_can_be_cancelled(engine):
    """One that is cancelled says how far it came; warming is over at once."""
    warmed = asyncio.get_running_loop().create_future()
    engine.warm(WarmRequest(engine.next_id(), b""), warmed.set_result)
    cancelled, whole = await asyncio.gather(play(engine, 5000, cancel_after=3), play(engine, 2))
    assert cancelled[-1].finished.reason == "cancel"
    assert 3 <= cancelled[-1].finished.output_tokens < 5000
    assert "".join(event.text for event in whole) == "".join(recorded_tokens(2))
    assert (await warmed).finished.reason == "stop"
