"""`LocalEngine`: requests over the process boundary, and what happens when the process dies."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import signal
import sys
import time

import pytest
import uvloop
from warmline.engine import (
    EngineError,
    EngineOptions,
    GenerationRequest,
    LocalEngine,
    SamplingParams,
    WarmRequest,
    local,
    pack_tokens,
)

DEADLINE = 60.0


class Stream:
    """Collects a sequence's events and wakes whoever waits for its end."""

    def __init__(self) -> None:
        self.events = []
        self.first = asyncio.Event()
        self.ended = asyncio.Event()

    def __call__(self, event) -> None:
        assert not self.ended.is_set(), "an event after the last one"
        self.events.append(event)
        self.first.set()
        if event.finished:
            self.ended.set()

    async def finished(self):
        """The end of the sequence."""
        async with asyncio.timeout(DEADLINE):
            await self.ended.wait()
        return self.events[-1].finished

    @property
    def text(self):
        """All text so far."""
        return "".join(event.text for event in self.events)


def submit(engine, count=30, prompt=(9, 8, 7)):
    """Start a sequence of so many letters; gives its stream and its id."""
    stream, id_ = Stream(), engine.next_id()
    replay = pack_tokens([10 + i % 50 for i in range(count)])
    request = GenerationRequest(id_, pack_tokens(list(prompt)), SamplingParams(max_tokens=count), replay=replay)
    engine.submit(request, stream)
    return stream, id_


def warm(engine, prompt):
    """Have a prompt warmed; gives its stream and its id."""
    stream, id_ = Stream(), engine.next_id()
    engine.warm(WarmRequest(id_, pack_tokens(list(prompt))), stream)
    return stream, id_


async def until(condition):
    """Wait for something to become true."""
    async with asyncio.timeout(DEADLINE):
        while not condition():
            await asyncio.sleep(0.01)


@pytest.fixture
async def engine(fake_command):
    """A running engine that takes 60 ms for a pass."""
    engine = LocalEngine(EngineOptions(model="slow", kv_memory=20_000), fake_command)
    await engine.start()
    yield engine
    await engine.close()


def is_gone(pid):
    """Whether there is no such process, not even a zombie."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 0)
        return False
    return True


@pytest.mark.parametrize("loop_factory", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_it_serves_on_either_event_loop(fake_command, loop_factory, caplog):
    """Each sequence gets its own events and one end; a listener that fails harms no other; closing leaves nothing."""

    def fail(event):
        raise ZeroDivisionError

    async def scenario():
        engine = LocalEngine(EngineOptions(model="fast", kv_memory=4096), fake_command)
        assert engine.heartbeat_age == math.inf
        await engine.start()
        assert engine.model.name == "fast"
        engine.submit(GenerationRequest(engine.next_id(), pack_tokens([9]), SamplingParams(max_tokens=3)), fail)
        streams = [submit(engine, count) for count in (5, 10, 20)]
        with pytest.raises(ValueError, match="already running"):
            engine.submit(GenerationRequest(streams[0][1], pack_tokens([9])), fail)
        for (stream, _), count in zip(streams, (5, 10, 20), strict=True):
            finished = await stream.finished()
            assert (finished.reason, finished.output_tokens, len(stream.text)) == ("length", count, count)
        await until(lambda: engine.stats.finished == 4)
        assert engine.heartbeat_age < DEADLINE
        pid = engine.pid
        await engine.close()
        await engine.close()
        assert is_gone(pid)
        assert engine.heartbeat_age == math.inf

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(scenario())
    assert "listener" in caplog.text


async def test_a_cancel_frees_each_state(engine):
    """Queued, in prefill and in decode, a cancelled sequence ends with one event and leaves no block in use."""
    decoding, decoding_id = submit(engine, 1000)
    await decoding.first.wait()
    prefilling, prefilling_id = submit(engine, prompt=[9] * 10_000)
    queued, queued_id = submit(engine, prompt=[8] * 15_000)
    await until(lambda: (engine.stats.running, engine.stats.waiting) == (2, 1))
    for stream, id_ in ((queued, queued_id), (prefilling, prefilling_id), (decoding, decoding_id)):
        shown = len(decoding.text)  # a character a pass
        engine.cancel(id_)
        engine.cancel(id_)
        assert (await stream.finished()).reason == "cancel"
        assert len(decoding.text) <= shown + 2
    await until(lambda: engine.stats.blocks_used == 0 and engine.stats.cancelled == 3)
    assert (engine.stats.running, engine.stats.waiting) == (0, 0)
    assert sum(engine.stats.freed) == 3 and 0 < engine.stats.free_seconds < DEADLINE


async def test_a_warmed_prompt_makes_its_request_cheap(engine):
    """Warm requests end with one event each, done or cancelled; the receipt of the request says what it found."""
    done, _ = warm(engine, range(2, 52))
    assert (await done.finished()).reason == "stop"
    stream, id_ = submit(engine, 3, prompt=range(2, 52))
    long, long_id = warm(engine, [9] * 10_000)
    with pytest.raises(ValueError, match="already running"):
        engine.warm(WarmRequest(id_, pack_tokens([9])), long)
    finished = await stream.finished()
    assert (finished.warmed_tokens, finished.cached_tokens, finished.computed_tokens) == (48, 0, 2)
    assert not long.events
    engine.cancel(long_id)
    assert (await long.finished()).reason == "cancel"
    assert [event.text for event in (*done.events, *long.events)] == ["", ""]
    await until(lambda: engine.stats.warming == 0 and engine.stats.warm_used_tokens == 48)


async def test_a_paused_sequence_lets_others_pass(engine):
    """Nothing more comes of it while others are served; afterwards it goes on to its whole end."""
    stream, id_ = submit(engine, 40)
    await stream.first.wait()
    engine.pause(id_, True)
    assert (await submit(engine, 3)[0].finished()).reason == "length"
    count = len(stream.events)
    assert (await submit(engine, 5)[0].finished()).reason == "length"
    assert len(stream.events) == count < 40
    engine.pause(id_, False)
    assert (await stream.finished()).output_tokens == len(stream.text) == 40
    engine.pause(id_, True)
    engine.pause(12345, True)


async def test_a_killed_process_ends_every_sequence_once_and_comes_back(engine, monkeypatch):
    """Running and later sequences get engine_unavailable; it tries until it can be started, then serves again."""
    monkeypatch.setattr("warmline.engine.local._FIRST_BACKOFF", 0.05)
    command, engine._command = engine._command, (sys.executable, "-c", "raise SystemExit(3)")
    streams = [submit(engine, 1000)[0] for _ in range(2)]
    await streams[0].first.wait()
    streams.append(warm(engine, [9] * 100)[0])
    dead = engine.pid
    os.kill(dead, signal.SIGKILL)
    for stream in streams:
        finished = await stream.finished()
        assert (finished.reason, finished.error_code) == ("error", "engine_unavailable")
    assert engine.heartbeat_age == math.inf
    assert engine.retry_after is not None and 0.05 <= engine.retry_after < 60
    await asyncio.sleep(0.3)
    for begin in (lambda: submit(engine), lambda: warm(engine, [9] * 100)):
        meanwhile, id_ = begin()
        assert not meanwhile.events, "called from within submit"
        engine.pause(id_, True)
        engine.cancel(id_)
        assert (await meanwhile.finished()).error_code == "engine_unavailable"
    assert is_gone(dead)
    engine._command = command
    await until(lambda: engine.heartbeat_age < math.inf)
    assert engine.retry_after is None
    assert (await submit(engine, 3)[0].finished()).reason == "length"


async def test_a_process_that_does_not_read_is_given_no_more(engine, monkeypatch):
    """What waits for it is bounded: beyond that a request ends at once with an error, and works again later."""
    monkeypatch.setattr("warmline.engine.local._MAX_UNSENT", 1_000_000)
    os.kill(engine.pid, signal.SIGSTOP)
    try:
        streams = [submit(engine, prompt=[9] * 15_000) for _ in range(100)]
        assert engine._process.unsent < 1_100_000
        refused = [stream for stream, id_ in streams if id_ not in engine._live]
        assert 50 < len(refused) < 100
        assert not any(stream.events for stream in refused), "called from within submit"
        for stream in refused:
            finished = await stream.finished()
            assert (finished.reason, finished.error_code) == ("error", "engine_unavailable")
            assert "try again" in finished.error
    finally:
        os.kill(engine.pid, signal.SIGCONT)
    accepted = [(stream, id_) for stream, id_ in streams if stream not in refused]
    for _, id_ in accepted:
        engine.cancel(id_)
    for stream, _ in accepted:
        assert (await stream.finished()).reason in ("cancel", "length")
    assert (await submit(engine, 3)[0].finished()).reason == "length"


async def test_a_stuck_process_is_replaced(fake_command):
    """A silent one is killed, and all that it was asked for ends with engine_unavailable; a new one serves."""
    engine = LocalEngine(EngineOptions(model="slow", kv_memory=20_000), fake_command, silence_limit=2.0)
    await engine.start()
    running, _ = submit(engine, 1000)
    cancelled, cancelled_id = submit(engine, 1000)
    await running.first.wait()
    stuck = engine.pid
    os.kill(stuck, signal.SIGSTOP)
    later, _ = submit(engine)
    engine.cancel(cancelled_id)
    for stream in (running, cancelled, later):
        finished = await stream.finished()
        assert (finished.reason, finished.error_code) == ("error", "engine_unavailable")
        assert "no sign of life" in finished.error
    assert engine.heartbeat_age == math.inf
    assert (await submit(engine)[0].finished()).error_code == "engine_unavailable"
    await until(lambda: engine.heartbeat_age < math.inf)
    assert is_gone(stuck)
    assert engine.pid != stuck
    assert (await submit(engine, 3)[0].finished()).reason == "length"
    await engine.close()


@pytest.mark.parametrize("loop_factory", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_blocked_loop_does_not_kill_a_healthy_engine(fake_command, loop_factory):
    """What the engine said while the gateway was suspended is read before the engine is judged."""

    async def scenario():
        engine = LocalEngine(EngineOptions(model="slow", kv_memory=20_000), fake_command, silence_limit=2.0)
        await engine.start()
        stream, _ = submit(engine, 60)
        await stream.first.wait()
        pid = engine.pid
        time.sleep(3.0)
        assert (await stream.finished()).reason == "length"
        assert engine.pid == pid
        await engine.close()

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(scenario())


async def test_an_engine_that_dies_soon_is_tried_ever_more_rarely(fake_command, monkeypatch):
    """A start that succeeds does not reset the wait for the next; only a life of some length does."""
    waits = []
    sleep = asyncio.sleep

    async def note(seconds):
        waits.append(seconds)
        await sleep(0)

    engine = LocalEngine(EngineOptions(model="fast", kv_memory=4096), fake_command)
    await engine.start()
    monkeypatch.setattr("warmline.engine.local.asyncio.sleep", note)
    for lives in range(1, 4):
        if lives == 3:
            monkeypatch.setattr("warmline.engine.local._HEALTHY_SECONDS", 0.0)
        pid = engine.pid
        os.kill(pid, signal.SIGKILL)
        async with asyncio.timeout(DEADLINE):
            while engine.pid in (pid, None):
                await sleep(0.01)
    assert waits == [0.5, 1.0, 0.0]
    await engine.close()


async def test_closing_kills_a_silent_process_at_once(engine, monkeypatch):
    """One that is stopped is not waited for."""
    graces = []
    reap = local._reap
    monkeypatch.setattr(local, "_reap", lambda process, grace: (graces.append(grace), reap(process, grace)))
    pid = engine.pid
    os.kill(pid, signal.SIGSTOP)
    await until(lambda: engine.heartbeat_age > local._GRACE_SECONDS)
    await engine.close()
    assert graces == [0.0]
    assert is_gone(pid)


async def test_closing_ends_what_runs(engine):
    """Sequences that are running when the engine is closed get their last event; later ones do too."""
    stream, id_ = submit(engine, 1000)
    await stream.first.wait()
    engine.pause(id_, True)
    warming, _ = warm(engine, [9] * 10_000)
    pid = engine.pid
    await engine.close()
    assert (await stream.finished()).error_code == "engine_unavailable"
    assert (await warming.finished()).error_code == "engine_unavailable"
    assert (await submit(engine)[0].finished()).error_code == "engine_unavailable"
    assert is_gone(pid)


async def test_a_failed_start_says_why(fake_command):
    """The engine's own message comes as the error, and no process stays."""
    engine = LocalEngine(EngineOptions(model="broken"), fake_command)
    with pytest.raises(EngineError, match="this fake does not start"):
        await engine.start()
    await engine.close()


async def test_a_model_that_is_not_there_is_named():
    """The real engine process says which file it could not find."""
    engine = LocalEngine(EngineOptions(model="/nowhere/model.gguf"))
    with pytest.raises(EngineError, match=r"/nowhere/model\.gguf"):
        await engine.start()
    await engine.close()


async def test_a_process_that_ends_without_a_word_is_an_error():
    """If it dies while starting, the error says so."""
    engine = LocalEngine(EngineOptions(model="x"), (sys.executable, "-c", "raise SystemExit(3)"))
    with pytest.raises(EngineError, match="ended while starting"):
        await engine.start()


async def test_a_start_that_hangs_is_given_up(fake_command, monkeypatch):
    """Loading is waited for, but not for ever, and what hangs is ended."""
    monkeypatch.setattr("warmline.engine.local.START_SECONDS", 0.2)
    engine = LocalEngine(EngineOptions(model="hanging"), fake_command)
    with pytest.raises(EngineError, match="did not come up"):
        await engine.start()


async def test_a_start_that_is_cancelled_leaves_no_process(fake_command):
    """Ctrl-C while the model loads ends the process too."""
    engine = LocalEngine(EngineOptions(model="hanging"), fake_command)
    starting = asyncio.create_task(engine.start())
    await asyncio.sleep(0.2)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    await engine.close()
