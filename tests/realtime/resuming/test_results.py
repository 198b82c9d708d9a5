"""What is kept of results: whatever a client has of one, it gets the rest, and no more is kept than may be."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.realtime.documents.text import utf16_length
from warmline.realtime.limits import Limits
from warmline.realtime.protocol import (
    Accepted,
    Complete,
    Delta,
    Done,
    Error,
    HeldRequest,
    Logprob,
    Ops,
    Pong,
    ScoredDelta,
    Steered,
    TokenLogprob,
)
from warmline.realtime.resuming.record import Record
from warmline.realtime.resuming.results import Results

TEXTS = st.text(st.sampled_from("ab\r\né😀"), min_size=1, max_size=5)
SCORED = st.builds(
    lambda text, count: ScoredDelta(
        3, text, [TokenLogprob(n, "x", -1.0, [Logprob(n, "x", -1.0)]) for n in range(count)]
    ),
    st.one_of(st.just(""), TEXTS),
    st.integers(1, 3),
)
TEXT_FRAMES = st.lists(st.builds(Delta, st.just(3), TEXTS) | SCORED, max_size=12)
EDIT_FRAMES = st.lists(
    st.builds(Ops, st.just(3), st.lists(st.integers(-5, 5) | TEXTS, min_size=1, max_size=4))
    | st.builds(Steered, st.just(7), st.integers(0, 3)),
    max_size=12,
)


def flat(frames: list[Any]) -> list[Any]:
    """What a client has of frames, however they were joined: characters, scores, operations, steers."""
    parts: list[Any] = []
    for frame in frames:
        match frame:
            case ScoredDelta():
                parts += [*frame.text, *frame.logprobs]
            case Delta():
                parts += frame.text
            case Ops():
                parts += frame.operations
            case Steered():
                parts.append(frame)
    return parts


def position(frames: list[Any]) -> HeldRequest:
    """How much of a request a client has that received these frames."""
    texts = [frame.text for frame in frames if isinstance(frame, Delta)]
    return HeldRequest(
        7,
        sum(map(utf16_length, texts)),
        sum(len(frame.operations) for frame in frames if isinstance(frame, Ops)),
        sum(isinstance(frame, Steered) for frame in frames),
        sum(len(frame.logprobs) for frame in frames if isinstance(frame, ScoredDelta)),
    )


@given(TEXT_FRAMES | EDIT_FRAMES, st.data())
def test_what_a_client_has_and_the_rest_are_the_whole(frames: list[Any], data: st.DataObject) -> None:
    """Wherever it was cut off, and also where what it has for certain was given up before."""
    record = Record(7, b"")
    record.accepted, record.end = Accepted(7, 3), Done(7, "stop")
    has = data.draw(st.integers(0, len(frames)))
    forgotten = data.draw(st.none() | st.integers(0, len(frames)))
    for count, frame in enumerate(frames):
        if count == forgotten:
            record.forget()
        record.add(frame)
    if forgotten is not None and forgotten > has and forgotten < len(frames):
        with pytest.raises(ValueError, match="given up"):
            record.rest(position(frames[:has]))
        return
    accepted, *rest, end = record.rest(position(frames[:has]))
    assert (accepted, end) == (Accepted(7, 3), Done(7, "stop"))
    assert flat(frames[:has]) + flat(rest) == flat(frames)


@pytest.mark.parametrize(
    "held", [HeldRequest(7, 3), HeldRequest(7, 1, 1), HeldRequest(7, 0, 0, 1), HeldRequest(7, 1)]
)
def test_what_was_never_sent_can_not_be_had(held: HeldRequest) -> None:
    """More text, operations or steers than there are, or half a character: not this session's client."""
    record = Record(7, b"")
    record.add(Delta(3, "😀"))
    with pytest.raises(ValueError):
        record.rest(held)


def ask(
    results: Results, request: int, stream: int = 0, text: str = "hello", end: bool = True, now: float = 0
) -> None:
    results.asked(Complete(request, "a", 1, 0))
    results.record(Accepted(request, stream), now)
    results.record(Delta(stream, text), now)
    if end:
        results.record(Done(request, "stop"), now)


def test_what_is_acknowledged_is_kept_no_more() -> None:
    """But what runs is, and an unknown one is ignored."""
    results = Results(Limits())
    ask(results, 1)
    ask(results, 2, stream=1, end=False)
    results.acknowledge([1, 2, 3])
    assert results.requests == [2]
    assert results.size == Record(2, b"").size + len("hello")


def test_what_ended_long_ago_is_given_up() -> None:
    """By its age, and not before; then the age of the next one is told."""
    results = Results(Limits())
    ask(results, 1, now=10)
    ask(results, 2, now=20)
    assert results.expire(before=5) == 10
    assert results.expire(before=15) == 20
    assert results.requests == [2]
    assert results.expire(before=25) is None
    assert results.size == 0


def test_above_the_bound_the_oldest_that_ended_goes_first_then_what_is_most_of_what_runs() -> None:
    """Never more than the bound is kept, and what runs is known all the same."""
    results = Results(Limits(max_kept_bytes=10_000))
    ask(results, 1, text="x" * 3000)
    ask(results, 2, text="x" * 3000)
    ask(results, 3, stream=1, text="x" * 3000, end=False)
    assert results.requests == [2, 3]
    ask(results, 4, stream=2, text="x" * 8500, end=False)
    assert results.requests == [3, 4]
    assert results.size <= 10_000
    assert results.rest(HeldRequest(3, 2990))[1:] == [Delta(1, "x" * 10)]
    with pytest.raises(ValueError):
        results.rest(HeldRequest(4, 8499))
    assert results.rest(HeldRequest(4, 8500)) == [Accepted(4, 2)]


def test_a_stream_number_may_be_another_requests_by_now() -> None:
    """The ended ones are told first."""
    results = Results(Limits())
    ask(results, 1, stream=5, end=False)
    results.asked(Complete(2, "a", 1, 0))
    results.record(Done(1, "stop"), 0)
    results.record(Accepted(2, 5), 0)
    results.record(Delta(5, "second"), 0)
    assert results.in_order([HeldRequest(2), HeldRequest(9), HeldRequest(1)]) == [HeldRequest(1), HeldRequest(2)]
    assert results.rest(HeldRequest(1)) == [Accepted(1, 5), Delta(5, "hello"), Done(1, "stop")]
    assert results.rest(HeldRequest(2)) == [Accepted(2, 5), Delta(5, "second")]


def test_a_refused_request_is_kept_too_and_its_id_may_be_used_again() -> None:
    """Its client has to hear of it. What is about an id that was used before doesn't end the request that used it."""
    results = Results(Limits())
    results.asked(Complete(1, "a", 1, 0))
    refused = Error(1, "unknown_document", "it is not open")
    assert results.record(refused, 0)
    assert results.rest(HeldRequest(1)) == [refused]
    ask(results, 1)
    assert results.record(Error(1, "duplicate_request", "used before"), 0)
    assert results.rest(HeldRequest(1)) == [Accepted(1, 0), Delta(0, "hello"), Done(1, "stop")]


def test_frames_wait_while_it_is_not_known_what_the_client_has() -> None:
    """What is of no request goes on."""
    results = Results(Limits())
    ask(results, 1, end=False)
    results.suspend()
    assert not results.record(Delta(0, " you"), 0)
    assert results.record(Pong(1, 2, 3), 0)
    assert results.rest(HeldRequest(1, 5)) == [Accepted(1, 0), Delta(0, " you")]
    assert results.record(Delta(0, " there"), 0)
