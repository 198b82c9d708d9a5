"""A running edit is given further instructions, and goes on from what was accepted of it."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from warmline.engine import GenerationRequest, unpack_tokens
from warmline.realtime.documents.document import Document
from warmline.realtime.documents.offset_index import OffsetIndex
from warmline.realtime.documents.text import utf16_length
from warmline.realtime.protocol import (
    Accepted,
    Applied,
    Cancel,
    Change,
    Complete,
    Done,
    Edit,
    Error,
    ErrorCode,
    Ops,
    Sampling,
    Steer,
    Steered,
    TextEdit,
)
from warmline.realtime.telemetry.tracing import HOPS

URI = "file:///a"
LINES = "a = 1\nb = 2\nc = 3\nd = 4\n"


def edit(request: int, text: str = LINES, instruction: str = "x", **fields: Any) -> Edit:
    return Edit(request, URI, 1, 0, utf16_length(text), instruction, **fields)


@pytest.fixture
async def client(make, engine):
    client = make(allow_replay=True)
    client.open(LINES)
    yield client
    client.session.close()
    await engine.close()


def standing(client: Any, request: int) -> list[int | str]:
    """The operations of an edit, without the void ones."""
    operations: list[int | str] = []
    for frame in client.frames_of(request):
        if isinstance(frame, Ops):
            operations += frame.operations
        elif isinstance(frame, Steered):
            del operations[frame.operations :]
    return operations


def asked(request: GenerationRequest) -> GenerationRequest:
    """What decides about its text: the draft only changes the time."""
    return msgspec.structs.replace(request, id=0, draft=None)


async def test_a_steered_edit_goes_on_from_what_it_has_sent(client, apply_operations, tokenizer):
    """The sequence is given up for one with both instructions, behind the text that was accepted."""
    client.engine.scripts += [["a = 1\n", "b = 5\n", "c = 3\n", *["e\n"] * 50], ["\n", "d", " = 9"]]
    client.say(edit(1, instruction="set b to 5"))
    await client.until(lambda: client.operations_of(1) == [6, 4, -1, "5", 7])
    assert client.say(Steer(1, "and d to 9")) == [Steered(1, 5)]
    await client.drained()
    assert apply_operations(LINES, standing(client, 1)) == "a = 1\nb = 5\nc = 3\nd = 9\n"
    assert client.reasons() == {1: "stop"}
    assert len(client.engine.cancelled) == 1
    assert len(client.of(Accepted)) == 1
    prompt = tokenizer.decode(unpack_tokens(client.engine.requests[1].prompt))
    assert "Instruction: set b to 5\nInstruction: and d to 9" in prompt
    assert prompt.endswith("```python\na = 1\nb = 5\nc = 3")  # the model says the line end, as it was taught to
    assert tokenizer.decode(unpack_tokens(client.engine.requests[1].draft)) == "\nd = 4\n```"
    assert client.metric("warmline_steers_total") == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(
    st.lists(st.sampled_from(["a = 1\n", "b = 🎈\n", "if a:\n", "    c\n", "\n"]), min_size=1, max_size=6),
    st.lists(st.sampled_from(["a = 1\n", "b = 2\n", "if b:\n", "    c\n", "🎈\n"]), min_size=1, max_size=6),
    st.booleans(),
    st.data(),
)
def test_a_steered_edit_is_a_fresh_one_with_that_text_accepted(
    make, scripted, apply_operations, old, new, crlf, data
):
    """The engine is asked for the same: prompt, seed, tokens left, stop; and the range becomes the same text."""
    original = "".join(old).replace("\n", "\r\n" if crlf else "\n")

    async def play() -> None:
        engine = scripted()
        client = make(engine=engine)
        client.open(original)
        engine.scripts.append([*new, *["more\n"] * 99])
        client.say(edit(1, original, "one", sampling=Sampling(200, 0.7)))
        for _ in range(data.draw(st.integers(0, 9), "turns")):
            await asyncio.sleep(0)
        sent = client.operations_of(1)
        kept = data.draw(st.integers(0, len(sent)), "kept")
        engine.scripts += [["rest\n", "x"], ["rest\n", "x"]]
        client.say(Steer(1, "two", kept))
        await client.drained()
        seed = client.ends_of(1)[0].receipt.seed
        at = sum(abs(step) for step in sent[:kept] if isinstance(step, int))
        made = apply_operations(original, sent[:kept])
        rest = original.encode("utf-16-le")[2 * at :].decode("utf-16-le")
        accepted = made[: len(made) - len(rest)]
        fresh = edit(2, original, "one\nInstruction: two", sampling=Sampling(200, 0.7, seed=seed), accepted=accepted)
        client.say(fresh)
        await client.drained()
        assert [asked(request) for request in engine.requests[1:2]] == [
            asked(request) for request in engine.requests[2:]
        ]
        assert apply_operations(original, standing(client, 1)) == apply_operations(original, standing(client, 2))
        client.session.close()

    asyncio.run(play())


async def test_what_was_generated_and_accepted_counts_as_tokens(client, tokenizer):
    """Of max_tokens, the text that stays uses up what it has; where it has all, the edit is not steered."""
    accepted = "a = 1\nb = 2\n"
    tokens = len(tokenizer.encode(accepted.rstrip()))  # the model says the line end again
    client.engine.scripts += [["a = 1\n", "b = 2\n", *["e"] * 50], ["\n", "c = 5\n", *["e"] * 50]]
    client.say(edit(1, sampling=Sampling(max_tokens=tokens + 5)))
    await client.until(lambda: client.operations_of(1) == [6, 6])
    client.say(Steer(1, "y"))
    assert client.engine.requests[1].sampling.max_tokens == 5
    await client.until(lambda: client.engine.running == 1)
    client.engine.scripts.append(["a = 1\n", "b = 2\n", *["e"] * 50])
    client.say(edit(2, sampling=Sampling(max_tokens=tokens)))
    await client.until(lambda: client.operations_of(2) == [6, 6])
    (error,) = client.say(Steer(2, "y"))
    assert (error.request, error.code) == (None, ErrorCode.INVALID_PARAMETER)
    assert "max_tokens" in error.message
    await client.drained()
    assert client.reasons()[2] == "stop"
    (error,) = client.say(edit(3, sampling=Sampling(max_tokens=tokens), accepted=accepted))
    assert (error.request, error.code) == (3, ErrorCode.INVALID_PARAMETER)


async def test_operations_after_those_kept_are_void(client, apply_operations):
    """And what the first sequence would still have said is never sent."""
    client.engine.scripts += [
        ["A\n", "b = 2\n", "c = 3\n", *["e\n"] * 99],
        ["a = 0\n", "b = 2\n", "c = 3\n", "d = 4"],
    ]
    client.say(edit(1))
    await client.until(lambda: len(client.operations_of(1)) > 3)
    assert client.say(Steer(1, "y", 0)) == [Steered(1, 0)]
    await client.drained()
    assert apply_operations(LINES, standing(client, 1)) == "a = 0\nb = 2\nc = 3\nd = 4\n"


@pytest.mark.parametrize("applied", [None, 2])
async def test_only_operations_that_were_sent_can_be_kept(client, apply_operations, applied):
    """And those that are in the document have to be; the edit goes on as it was."""
    client.engine.scripts.append(["a = 1\n", "b = 2\n", "c = 3\n", "d = 5", *[""] * 20])
    client.say(edit(1))
    await client.until(lambda: client.operations_of(1) == [6, 6, 6])
    kept = 4
    if applied is not None:
        client.say(Change(URI, 1, 2, [], Applied(1, applied)))
        kept = applied - 1
    (error,) = client.say(Steer(1, "y", kept))
    assert (error.request, error.code) == (None, ErrorCode.INVALID_PARAMETER)
    assert f"{kept}" in error.message
    await client.drained()
    assert apply_operations(LINES, client.operations_of(1)) == "a = 1\nb = 2\nc = 3\nd = 5\n"
    assert client.reasons()[1] == "stop"
    assert client.of(Steered) == []


async def test_only_a_running_edit_can_be_steered(client):
    """Neither one that ended or is ending, nor a completion, nor what never was; none ends a second time by that."""
    client.engine.default = itertools.repeat("x")
    client.engine.scripts.append(["a = 1\n"])
    client.say(edit(1))
    await client.drained()
    client.say(Complete(2, URI, 1, 0), edit(3), Cancel(3))
    errors = client.say(*(Steer(request, "y") for request in (1, 2, 3, 4)))
    assert [(error.request, error.code) for error in errors] == [(None, ErrorCode.UNKNOWN_REQUEST)] * 4
    client.say(Cancel(2))
    await client.drained()


async def test_an_edit_can_be_steered_again_and_again(client, tokenizer, apply_operations):
    """Each time the instructions grow by one; costs add up, and hops sum to the whole."""
    client.engine.default = ["a = 1\n", *["e\n"] * 99]
    client.say(edit(1, instruction="0", sampling=Sampling(seed=5)))
    for count in range(1, 4):
        await asyncio.sleep(0)
        client.say(Steer(1, str(count), 0))
    client.engine.default = ["a = 2\n", "b = 2\n", "c = 3\n", "d = 4"]
    await asyncio.sleep(0)
    client.say(Steer(1, "4", 0))
    await client.drained()
    assert apply_operations(LINES, standing(client, 1)) == "a = 2\nb = 2\nc = 3\nd = 4\n"
    prompt = tokenizer.decode(unpack_tokens(client.engine.requests[-1].prompt))
    assert "Instruction: 0\nInstruction: 1\nInstruction: 2\nInstruction: 3\nInstruction: 4" in prompt
    assert {request.sampling.seed for request in client.engine.requests} == {5}
    (done,) = client.of(Done)
    assert (done.receipt.prompt_tokens, done.receipt.output_tokens, done.receipt.seed) == (7, 4, 5)
    timing = done.timing
    assert sum(getattr(timing, hop) for hop in HOPS) == timing.sent - timing.received


async def test_costs_of_all_sequences_add_up(client):
    """Also of those that were given up, as the engine tells them."""
    client.engine.cost = {"prompt_tokens": 10, "computed_tokens": 10, "output_tokens": 4, "forward_passes": 5}
    client.engine.scripts += [itertools.repeat("e\n"), ["a"]]
    client.say(edit(1))
    await asyncio.sleep(0)
    client.say(Steer(1, "y"))
    await client.drained()
    receipt = client.of(Done)[0].receipt
    assert (receipt.prompt_tokens, receipt.output_tokens, receipt.forward_passes) == (10 + 7, 4 + 1, 5 + 1)
    assert receipt.prompt_tokens == receipt.warmed_tokens + receipt.cached_tokens + receipt.computed_tokens


async def test_a_replay_goes_on_behind_the_accepted_text(client, tokenizer):
    """The steered sequence emits what is left of it."""
    client.engine.scripts.append(["a = 1\n", "b = 5\n", "c = 3\n", "d = 4\n", *["e\n"] * 9])
    client.say(edit(1, replay="a = 1\nb = 5\nc = 3\nd = 4\n"))
    await client.until(lambda: len(client.operations_of(1)) >= 4)
    client.say(Steer(1, "y", 1))
    assert tokenizer.decode(unpack_tokens(client.engine.requests[1].replay)) == "\nb = 5\nc = 3\nd = 4\n```"
    await client.drained()


async def test_an_edit_can_be_steered_before_its_prompt_is_ready(gated, gate, tokenizer):
    """It is accepted, and only the newest prompt reaches the engine, however often."""
    gated.say(Edit(1, URI, 1, 0, 15_000, "one", Sampling(max_tokens=9)))
    assert gated.say(Steer(1, "two")) == [Accepted(1, 0), Steered(1, 0)]
    assert gated.say(Steer(1, "three", 0)) == [Steered(1, 0)]
    gate.open()
    await gated.drained()
    (request,) = gated.engine.requests
    assert "one\nInstruction: two\nInstruction: three" in tokenizer.decode(unpack_tokens(request.prompt))
    assert gated.reasons() == {1: "stop"}


async def test_a_steered_edit_with_much_text_is_prepared_beside_the_loop(gated, gate):
    """Meanwhile nothing of it is in the engine; a prompt that doesn't fit is the edit's end, as it was accepted."""
    gate.open()
    gated.engine.default = itertools.repeat("x")
    gated.say(Edit(1, URI, 1, 0, 15_000, "one", Sampling(max_tokens=9)))
    await gated.until(lambda: bool(gated.engine.requests))
    assert gated.say(Steer(1, "word " * 3000)) == [Steered(1, 0)]
    await gated.drained()
    assert len(gated.engine.cancelled) == 1
    (error,) = gated.ends_of(1)
    assert isinstance(error, Error)
    assert (error.request, error.code) == (1, ErrorCode.PROMPT_TOO_LONG)


async def test_what_does_not_fit_at_first_sight_is_not_taken(client):
    """The edit goes on as it was."""
    client.engine.scripts.append(["a = 1\n", "b = 2\n", "c = 3\n", "d = 5"])
    client.say(edit(1))
    await asyncio.sleep(0)
    for _ in range(8):
        answers = client.say(Steer(1, "word" * 4096))
    assert [(error.request, error.code) for error in answers] == [(None, ErrorCode.PROMPT_TOO_LONG)]
    client.say(Cancel(1))
    await client.drained()


@pytest.mark.parametrize("turns", range(4))
async def test_a_cancel_ends_a_steered_edit(client, turns):
    """However soon after: one terminal frame, nothing left in the engine."""
    client.engine.default = itertools.repeat("e\n")
    client.say(edit(1))
    await asyncio.sleep(0)
    client.say(Steer(1, "y"))
    for _ in range(turns):
        await asyncio.sleep(0)
    client.say(Cancel(1), Steer(1, "z"))
    await client.drained()
    assert [end.reason for end in client.ends_of(1)] == ["cancel"]


async def test_an_engine_that_dies_ends_a_steered_edit_once(client):
    """Whichever sequence it says so of first."""
    client.engine.default = itertools.repeat("e\n")
    client.say(edit(1), Steer(1, "y"))
    client.engine.fail("it died")
    await client.drained()
    assert client.reasons()[1] == ErrorCode.ENGINE_UNAVAILABLE
    assert len(client.ends_of(1)) == 1


async def test_accepted_text_is_said_by_the_operations(client, tokenizer, apply_operations):
    """A fresh request can begin with it: it ends the prompt, and the model goes on behind it."""
    client.engine.scripts.append([" 3\n", "d = 5"])
    client.say(edit(1, accepted="a = 1\r\nb = 7\nc = "))
    await client.drained()
    assert apply_operations(LINES, client.operations_of(1)) == "a = 1\nb = 7\nc = 3\nd = 5\n"
    assert tokenizer.decode(unpack_tokens(client.engine.requests[0].prompt)).endswith("a = 1\nb = 7\nc =")
    assert client.of(Ops)[0].operations[0] == 6


async def test_a_persons_change_and_a_steer_go_together(client, apply_operations):
    """What was merged stays, and the prompt is about the version that was named."""
    client.engine.scripts += [["a = 1\n", "b = 2\n", *["e"] * 99], ["\nc = 5\n", "d = 4"]]
    client.say(edit(1))
    await client.until(lambda: client.operations_of(1) == [6, 6])
    client.say(Change(URI, 1, 2, [], Applied(1, 2)), Change(URI, 2, 3, [TextEdit(0, 1, "aa")]), Steer(1, "y"))
    await client.drained()
    assert client.reasons() == {1: "stop"}
    assert apply_operations(LINES, standing(client, 1)) == "a = 1\nb = 2\nc = 5\nd = 4\n"


async def test_a_steer_counts_nothing_of_a_document_that_has_changed(client, monkeypatch):
    """That of a large one, with emoji, would hold the event loop for a dozen milliseconds."""
    client.say(edit(1), Change(URI, 1, 2, [TextEdit(len(LINES), len(LINES), "# 🎉\n")]))
    monkeypatch.setattr(Document, "__init__", lambda *_: 1 / 0)
    monkeypatch.setattr(OffsetIndex, "of", lambda *_: 1 / 0)
    assert client.say(Steer(1, "and y")) == [Steered(1, 0)]
    await client.drained()
    assert client.reasons() == {1: "stop"}


@pytest.mark.parametrize(
    ("text", "start"), [("# head\r\nx\n", 8), ("# head\nx\r\ny\n", 7)], ids=["document in CRLF", "range of both"]
)
async def test_line_ends_are_those_of_the_whole_range(client, text, start):
    """Also where what is left of it has others, or none."""
    client.open(text, version=2)

    def script():
        yield from ("x\n", "y\n")
        client.engine.paused = True
        yield ""

    client.engine.scripts += [script(), ["\n", "NEW\n", "MORE"], ["\n", "NEW\n", "MORE"]]
    client.say(Edit(1, URI, 2, start, len(text), "do"))
    await client.until(lambda: client.engine.paused)
    client.engine.paused = False
    client.say(Steer(1, "more", 1))
    client.say(Edit(2, URI, 2, start, len(text), "do\nInstruction: more", accepted="x\n"))
    await client.drained()
    steered, fresh = ([step for step in standing(client, number) if isinstance(step, str)] for number in (1, 2))
    assert "".join(steered) == "".join(fresh)
    assert "NEW" in "".join(fresh)
