"""One sequence's text, between an engine that is fast and a reader that may not be."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
from structlog.testing import capture_logs
from warmline.engine import Finished, GenerationRequest, SamplingParams, SequenceEvent, TokenLogprobs
from warmline.realtime.http.problems import Problem
from warmline.realtime.http.reply import ClientGone, Reply, Taken
from warmline.realtime.limits import Limits
from warmline.realtime.telemetry.tracing import Trace


class Recorder:
    """An engine and metrics that note what they are told."""

    retry_after = 7.0

    def __init__(self) -> None:
        self.paused: list[bool] = []
        self.cancelled: list[int] = []
        self.observed: list[tuple[str, str, int | None]] = []
        self.ended = 0

    def submit(self, request, on_event) -> None:
        self.say = lambda text="", finished=None, logprobs=(): on_event(
            SequenceEvent(request.id, text, b"", finished, logprobs)
        )

    def pause(self, sequence: int, paused: bool) -> None:
        self.paused.append(paused)

    def cancel(self, sequence: int) -> None:
        self.cancelled.append(sequence)

    def request_ended(self, kind, outcome, receipt, timing, *, continues) -> None:
        assert not continues
        self.observed.append((kind, outcome, receipt.seed))


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def reply(recorder) -> Reply:
    """A reply that pauses above ten characters."""
    service = SimpleNamespace(engine=recorder, metrics=recorder, limits=Limits(pause_unsent_bytes=10), observers=())

    def ended(_: Reply) -> None:
        recorder.ended += 1

    request = GenerationRequest(3, b"", SamplingParams(seed=5))
    started = Reply(request, "test", Trace(0, 0), service, ended, {"request": "cmpl-1", "kind": "test"})
    started.start()
    return started


async def test_text_is_taken_as_it_comes(reply, recorder):
    """A reader that waits gets each step's; the last comes with how it ended."""
    taking = asyncio.ensure_future(reply.take())
    await asyncio.sleep(0)
    recorder.say("a")
    assert await taking == Taken("a")
    recorder.say("b", Finished("stop"))
    assert await reply.take() == Taken("b", finished=Finished("stop"))


async def test_what_was_not_taken_is_joined(reply, recorder):
    """A slow reader gets fewer and longer texts."""
    for text in ("a", "b", "c"):
        recorder.say(text)
    assert await reply.take() == Taken("abc")


async def test_the_engine_pauses_while_much_waits(reply, recorder):
    """Once, and goes on when it is taken."""
    recorder.say("x" * 10)
    assert recorder.paused == []
    recorder.say("x")
    recorder.say("x")
    assert recorder.paused == [True]
    assert await reply.take() == Taken("x" * 12)
    assert recorder.paused == [True, False]
    recorder.say("x" * 11, Finished("stop"))
    assert recorder.paused == [True, False]


ONE, TWO = TokenLogprobs(1, -0.5), TokenLogprobs(2, -0.25, ((3, -0.125),))


async def test_log_probabilities_come_with_their_text(reply, recorder):
    """Joined as it is; also those that have none, alone or with the end."""
    recorder.say("a", logprobs=(ONE,))
    recorder.say("b", logprobs=(TWO,))
    assert await reply.take() == Taken("ab", (ONE, TWO))
    taking = asyncio.ensure_future(reply.take())
    await asyncio.sleep(0)
    recorder.say(logprobs=(TWO,))
    assert await taking == Taken("", (TWO,))
    recorder.say("", Finished("stop"), (ONE,))
    assert await reply.take() == Taken("", (ONE,), Finished("stop"))


async def test_the_engine_pauses_while_many_log_probabilities_wait(reply, recorder):
    """They take far more room than their text."""
    recorder.say("x", logprobs=(ONE,))
    assert recorder.paused == [True]
    assert await reply.take() == Taken("x", (ONE,))
    assert recorder.paused == [True, False]


async def test_a_failure_before_any_text_is_told_at_once(reply, recorder):
    """Whatever the log probabilities were of."""
    recorder.say("", Finished("error", error_code="internal_error", error="broke"), (ONE,))
    with pytest.raises(Problem, match="broke"):
        await reply.take()


async def test_a_reader_that_waits_is_told_that_it_is_over(reply, recorder):
    """With what it was given up for; the sequence is freed, and no text comes any more."""
    taking = asyncio.ensure_future(reply.take())
    await asyncio.sleep(0)
    reply.give_up(ClientGone())
    reply.give_up(ValueError("too late"))
    recorder.say("late", Finished("cancel"))
    with pytest.raises(ClientGone):
        await taking
    assert recorder.cancelled == [3]
    assert recorder.ended == 1


async def test_text_comes_before_the_failure_that_follows_it(reply, recorder):
    """The engine may say both at once."""
    recorder.say("a", Finished("error", error_code="engine_unavailable", error="gone"))
    assert await reply.take() == Taken("a")
    with pytest.raises(Problem, match="gone") as problem:
        await reply.take()
    assert problem.value.headers["retry-after"] == "7"


@pytest.mark.parametrize("engine_first", [True, False])
async def test_it_is_observed_once_engine_and_reader_are_done(reply, recorder, engine_first):
    """Whoever is the last."""
    ends = [lambda: recorder.say("", Finished("stop")), reply.close]
    first, second = ends if engine_first else reversed(ends)
    with capture_logs() as lines:
        first()
        assert recorder.observed == lines == []
        second()
    assert recorder.observed == [("test", "stop", 5)]
    assert [(line["event"], line["request"], line["kind"], line["outcome"]) for line in lines] == [
        ("request ended", "cmpl-1", "test", "stop")
    ]
    assert recorder.cancelled == ([] if engine_first else [3])
