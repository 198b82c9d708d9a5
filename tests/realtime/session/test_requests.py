"""A session carries out requests, refuses what it can't, and ends each exactly once."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest
from warmline.engine import unpack_tokens
from warmline.realtime.limits import Limits
from warmline.realtime.protocol import (
    Accepted,
    Cancel,
    Complete,
    Done,
    Edit,
    Error,
    ErrorCode,
    Open,
    Ops,
    Sampling,
)
from warmline.realtime.telemetry.tracing import HOPS

URI = "file:///a"


def complete(request: int, **fields: Any) -> Complete:
    return Complete(request, URI, fields.pop("version", 1), fields.pop("position", 0), **fields)


async def test_a_completion_is_accepted_streamed_and_done(client):
    """Accepted first, then the text as it comes, then one terminal frame with receipt and timing."""
    client.say(complete(7, position=9, sampling=Sampling(seed=5)))
    await client.drained()
    accepted, *deltas, done = client.sent
    assert accepted == Accepted(7, deltas[0].stream)
    assert [delta.text for delta in deltas] == ["hello", " world"]
    assert (done.request, done.reason) == (7, "stop")
    receipt = done.receipt
    assert receipt.prompt_tokens == receipt.warmed_tokens + receipt.cached_tokens + receipt.computed_tokens == 7
    assert (receipt.output_tokens, receipt.forward_passes, receipt.seed) == (2, 2, 5)
    assert [(d.source, d.proposed, d.accepted) for d in receipt.drafts] == [("edit", 5, 2)]
    timing = done.timing
    assert sum(getattr(timing, hop) for hop in HOPS) == timing.sent - timing.received
    assert timing.received < timing.first_sent <= timing.sent
    assert (timing.engine_queue, timing.engine_prefill, timing.engine_first_token) == (1, 2, 3)


async def test_the_engine_gets_what_was_asked(client, tokenizer):
    """Prompt, parameters and salt; the draft only for an edit."""
    sampling = Sampling(9, 0.5, 0.9, 40, 0.05, 3, ("END",), "off")
    client.say(complete(1, position=9, sampling=sampling), Edit(2, URI, 1, 9, 22, "return 2"))
    completion, edit = client.engine.requests
    assert tokenizer.decode(unpack_tokens(completion.prompt)) == "```python\ndef f():\n"
    asked = completion.sampling
    assert (asked.max_tokens, asked.temperature, asked.top_p, asked.top_k, asked.min_p) == (9, 0.5, 0.9, 40, 0.05)
    assert (asked.seed, asked.stop) == (3, ("END", "```"))
    assert (completion.salt, completion.speculation, completion.draft, completion.replay) == (
        "salt",
        False,
        None,
        None,
    )
    assert tokenizer.decode(unpack_tokens(edit.draft)) == "    return 1\n```"
    assert edit.sampling.stop == ("\n```",)
    assert edit.speculation
    await client.drained()


async def test_the_engine_is_told_whose_requests_belong_together(client, make, engine):
    """All of a session's are of one client, and another session's of another, also where both have one key."""
    client.say(complete(1), Edit(2, URI, 1, 9, 22, "return 2"))
    other = make()
    other.open()
    other.say(complete(1))
    first, second, third = engine.requests
    assert first.client == second.client != third.client and first.salt == third.salt
    await client.drained()
    await other.drained()
    other.session.close()


async def test_an_edit_becomes_operations(client, apply_operations):
    """Applied to the range, they give the model's text."""
    client.engine.scripts.append(["    ret", "urn 2"])
    client.say(Edit(1, URI, 1, 9, 22, "return 2"))
    await client.drained()
    operations = [operation for frame in client.of(Ops) for operation in frame.operations]
    assert apply_operations("    return 1\n", operations) == "    return 2\n"
    assert client.of(Done)[0].reason == "stop"


async def test_an_empty_answer_ends_the_sequence_early(client):
    """The fence at once means that the range goes; what the model says after it isn't waited for."""
    client.engine.scripts.append(["```"] + ["more"] * 1000)
    client.say(Edit(1, URI, 1, 9, 22, "delete it"))
    await client.drained()
    assert client.of(Ops)[-1].operations == [-13]
    assert [done.reason for done in client.of(Done)] == ["stop"]
    assert len(client.engine.cancelled) == 1


async def test_a_seed_is_drawn_where_none_is_given(client):
    """Two requests get different ones, and the receipt names them."""
    client.say(complete(1), complete(2, parallel=True))
    await client.drained()
    seeds = {done.request: done.receipt.seed for done in client.of(Done)}
    assert [request.sampling.seed for request in client.engine.requests] == [seeds[1], seeds[2]]
    assert seeds[1] != seeds[2]


@pytest.mark.parametrize("reason", ["length", "cancel"])
async def test_reasons_are_passed_on(client, reason):
    """As the engine gives them."""
    client.engine.reason = reason
    client.say(complete(1))
    await client.drained()
    assert client.of(Done)[0].reason == reason


async def test_an_edit_that_is_cut_keeps_the_rest(client, apply_operations):
    """With any reason but stop, the original goes on where the two were last in step."""
    client.engine.reason = "length"
    client.engine.scripts.append(["def f():\n", "    ret"])
    client.say(Edit(1, URI, 1, 0, 22, "x"))
    await client.drained()
    operations = [operation for frame in client.of(Ops) for operation in frame.operations]
    assert apply_operations("def f():\n    return 1\n", operations) == "def f():\n    return 1\n"


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (complete(1, version=2), ErrorCode.STALE_VERSION),
        (complete(1, position=99), ErrorCode.INVALID_RANGE),
        (Complete(1, "file:///b", 1, 0), ErrorCode.UNKNOWN_DOCUMENT),
        (Edit(1, URI, 1, 5, 4, "x"), ErrorCode.INVALID_RANGE),
        (Edit(1, URI, 1, 0, 99, "x"), ErrorCode.INVALID_RANGE),
        (Edit(1, URI, 0, 0, 1, "x"), ErrorCode.STALE_VERSION),
        (complete(1, replay="x"), ErrorCode.REPLAY_DISABLED),
        (Edit(1, URI, 1, 0, 1, "x", replay="x"), ErrorCode.REPLAY_DISABLED),
    ],
)
async def test_a_request_that_can_not_be_carried_out_is_refused(client, message, code):
    """With its id and a code, without having been accepted; the session goes on."""
    (error,) = client.say(message)
    assert isinstance(error, Error)
    assert (error.request, error.code) == (1, code)
    assert client.engine.requests == []
    client.say(complete(2))
    await client.drained()
    assert client.of(Done)[0].request == 2


@pytest.mark.parametrize(
    ("message", "says"),
    [
        (complete(1, position=99), "offset 99 is outside the text, whose places are 0 to 22, in UTF-16 units"),
        (
            Edit(1, URI, 1, 0, 99, "x"),
            "the range 0..99 is outside the text, whose places are 0 to 22, in UTF-16 units",
        ),
        (Edit(1, URI, 1, 5, 4, "x"), "the range 5..4 is reversed; the smaller offset comes first"),
    ],
)
async def test_a_place_that_is_not_there_is_refused_with_those_that_are(client, message, says):
    """So that the message alone is enough to put it right."""
    (error,) = client.say(message)
    assert (error.code, error.message) == (ErrorCode.INVALID_RANGE, says)


async def test_an_offset_inside_a_surrogate_pair_is_refused(client):
    """For a position and for a range."""
    client.say(Open("file:///e", 1, "", "a🎉b"))
    for message in (Complete(1, "file:///e", 1, 2), Edit(2, "file:///e", 1, 0, 2, "x")):
        (error,) = client.say(message)
        assert error.code == ErrorCode.INVALID_RANGE


async def test_a_request_that_can_not_fit_is_refused(client):
    """With both numbers."""
    client.say(Open("file:///long", 1, "", "word " * 10_000))
    client.say(Edit(1, "file:///long", 1, 0, 50_000, "x"))
    await client.drained()
    client.say(Edit(2, "file:///long", 1, 0, 50_000, "x", Sampling(max_tokens=9000)))
    assert [error.request for error in client.sent] == [1, 2]
    assert all(error.code == ErrorCode.PROMPT_TOO_LONG for error in client.of(Error))
    assert all("8192 are available" in error.message for error in client.of(Error))
    assert client.of(Accepted) == client.engine.requests == []


async def test_an_id_is_used_once(client):
    """A running request isn't ended by a second one of its id; an ended id is refused by name."""
    client.engine.paused = True
    client.say(complete(1))
    (error,) = client.say(complete(1))
    assert (error.request, error.code) == (None, ErrorCode.DUPLICATE_REQUEST)
    client.engine.paused = False
    await client.drained()
    assert [done.request for done in client.of(Done)] == [1]
    (error,) = client.say(Edit(1, URI, 1, 0, 0, "x"))
    assert (error.request, error.code) == (1, ErrorCode.DUPLICATE_REQUEST)


async def test_only_so_many_ended_ids_are_remembered(make, engine):
    """The memory of ended requests is bounded."""
    client = make(Limits(remembered_requests=3))
    client.open()
    for request in range(6):
        client.say(complete(request))
        await client.drained()
    assert isinstance(client.say(complete(5))[0], Error)
    assert client.say(complete(0)) == [Accepted(0, client.of(Accepted)[-1].stream)]
    await engine.close()


async def test_running_requests_have_streams_of_their_own(make, engine):
    """Numbers of running requests differ and are free again after the end; beyond the limit a request is refused."""
    client = make(Limits(max_requests=3))
    client.open()
    engine.paused = True
    client.say(*(complete(request, parallel=True) for request in range(3)))
    assert sorted(accepted.stream for accepted in client.of(Accepted)) == [0, 1, 2]
    (error,) = client.say(complete(9, parallel=True))
    assert (error.request, error.code, error.retryable) == (9, ErrorCode.TOO_MANY_REQUESTS, True)
    client.say(Cancel(1))
    await asyncio.sleep(0)
    assert client.say(complete(9, parallel=True)) == [Accepted(9, client.of(Accepted)[1].stream)]
    await engine.close()
    assert len(client.of(Done)) + len(client.of(Error)) == 5  # four accepted, one refused


async def test_a_request_that_is_ending_takes_no_place(make, engine):
    """Where as many run as may, one that was cancelled makes room before the engine has confirmed it."""
    client = make(Limits(max_requests=1))
    client.open()
    engine.default = itertools.repeat("x")
    client.say(complete(1, parallel=True), Cancel(1), complete(2, parallel=True), complete(3), Cancel(3))
    await client.drained()
    assert client.reasons() == {1: "cancel", 2: "superseded", 3: "cancel"}
    assert len({accepted.stream for accepted in client.of(Accepted)}) == 3


# Ends


async def test_a_cancelled_request_ends_with_cancel(client):
    """Once; cancelling what has ended or never was does nothing."""
    client.engine.default = itertools.repeat("x")
    client.say(complete(1))
    await asyncio.sleep(0)
    client.say(Cancel(1))
    await client.drained()
    assert [(done.request, done.reason) for done in client.of(Done)] == [(1, "cancel")]
    assert client.say(Cancel(1), Cancel(99)) == []


async def test_an_engine_that_dies_ends_its_requests(client):
    """Each with one error that says to try again, and when."""
    client.engine.default = itertools.repeat("x")
    client.engine.retry_after = 2.5
    client.say(complete(1), Edit(2, URI, 1, 0, 9, "x"))
    await asyncio.sleep(0.01)
    client.engine.fail("the engine process ended")
    errors = client.of(Error)
    assert [(error.request, error.code, error.retryable, error.retry_after_ms) for error in errors] == [
        (1, ErrorCode.ENGINE_UNAVAILABLE, True, 2500),
        (2, ErrorCode.ENGINE_UNAVAILABLE, True, 2500),
    ]
    assert client.of(Done) == []


async def test_an_error_of_the_engine_is_passed_on(client):
    """With the engine's own words."""
    client.engine.reason = "error"
    client.say(complete(1))
    await client.drained()
    (error,) = client.of(Error)
    assert (error.request, error.code, error.message, error.retryable) == (1, "internal_error", "it broke", False)
    assert error.retry_after_ms is None


async def test_a_fault_of_ours_still_ends_the_request(client, monkeypatch):
    """An exception on the way to the client ends that request and frees its sequence."""

    def fail(*_: object) -> None:
        raise RuntimeError("bug")

    monkeypatch.setattr("warmline.realtime.requests.outputs.EditAligner.feed", fail)
    client.engine.default = ["line\n"] * 100
    client.say(Edit(1, URI, 1, 0, 9, "x"), complete(2))
    await client.drained()
    (error,) = client.of(Error)
    assert (error.request, error.code) == (1, ErrorCode.INTERNAL_ERROR)
    assert len(client.engine.cancelled) == 1
    assert [done.request for done in client.of(Done)] == [2]


async def test_a_fault_while_preparing_ends_the_request(client, monkeypatch):
    """Nothing was accepted, and the id is answered."""
    monkeypatch.setattr("warmline.realtime.prompting.prompts.PromptBuilder.complete", lambda *_: 1 / 0)
    (error,) = client.say(complete(1))
    assert (error.request, error.code) == (1, ErrorCode.INTERNAL_ERROR)


async def test_closing_a_session_cancels_everything(client):
    """Closing it again does nothing, and neither do messages that come after."""
    client.engine.default = itertools.repeat("x")
    client.say(complete(1), complete(2, parallel=True))
    client.session.close()
    client.session.close()
    assert client.say(Open(URI, 1, "", "x"), complete(3)) == []
    assert len(client.engine.cancelled) == 2
    await client.drained()
    assert client.metric("warmline_sessions") == client.metric("warmline_documents") == 0
    assert client.metric("warmline_requests_running") == 0
