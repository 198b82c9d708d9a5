"""What waits for a slow reader is merged, in order, and counted."""

from __future__ import annotations

import sys
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.realtime.protocol import (
    MSGPACK,
    Accepted,
    Delta,
    Done,
    Error,
    Logprob,
    Nack,
    Ops,
    Pong,
    ScoredDelta,
    Steered,
    TokenLogprob,
    server_codec,
)
from warmline.realtime.sockets.outbox import Outbox


def test_frames_of_a_stream_become_one():
    """Streams don't wait for each other, and each keeps the place of its first frame."""
    outbox = Outbox()
    for message in (Delta(1, "a"), Ops(2, [1]), Delta(1, "b"), Ops(2, ["x", -1]), Delta(1, "c")):
        outbox.add(message)
    assert outbox.take() == [Delta(1, "abc"), Ops(2, [1, "x", -1])]
    assert outbox.take() == []
    assert (len(outbox), outbox.size) == (0, 0)


def test_nothing_merges_across_another_message():
    """A stream's number belongs to another request after a terminal frame."""
    outbox = Outbox()
    messages = [Delta(1, "a"), Done(7, "stop"), Accepted(8, 1), Delta(1, "b")]
    for message in messages:
        outbox.add(message)
    assert outbox.take() == messages


def test_scored_deltas_stay_as_they_are():
    """Their log probabilities belong to their text; what was before them isn't merged into what comes after."""
    outbox = Outbox()
    scored = [ScoredDelta(1, "a", [TokenLogprob(1, "a", -1.0)]), ScoredDelta(1, "", [TokenLogprob(2, "b", -1.0)])]
    messages = [*scored, Delta(1, "c")]
    for message in messages:
        outbox.add(message)
    assert outbox.size >= sum(len(server_codec(MSGPACK).encode(message)) for message in messages)
    assert outbox.take() == messages


def test_scored_deltas_count_for_what_they_take():
    """Twenty log probabilities a token, each with its text, are much more in memory than on the wire."""
    outbox = Outbox()

    def delta(number: int) -> ScoredDelta:
        top = [Logprob(1000 + place, f"text {number} {place}", -1.5 - place) for place in range(20)]
        return ScoredDelta(1, "a", [TokenLogprob(1000, f"text {number}", -0.5 - number, top)])

    tracemalloc.start()
    try:
        for number in range(200):
            outbox.add(delta(number))
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken / 1.5 < outbox.size < taken * 1.5


def test_nothing_merges_across_a_steered_edit():
    """The operations before it that it makes void stay apart from those that follow it, and are counted as sent."""
    outbox = Outbox()
    messages = [Ops(1, [5, -1, "a"]), Steered(7, 1), Ops(1, [-6])]
    for message in messages:
        outbox.add(message)
    assert outbox.take() == messages


def test_what_was_added_is_not_changed():
    """The operations of a frame stay the caller's."""
    outbox = Outbox()
    first = Ops(1, [1])
    outbox.add(first)
    outbox.add(Ops(1, [2]))
    assert outbox.take() == [Ops(1, [1, 2])]
    assert first == Ops(1, [1])


@pytest.mark.parametrize(
    "message",
    [
        Nack("\U0001f388" * 4096, 1, "stale_version", "no"),
        Nack("file:///a", None, "unknown_document", "é" * 8192),
        Error(1, "internal_error", "x" * 16384),
        Delta(1, "\U0001f388" * 4096),
        Ops(1, ["\U0001f388" * 4096]),
        Ops(1, [1] * 4096),
    ],
)
def test_every_message_counts_with_what_it_holds(message):
    """However long a document's id, an error's text or a stream's frame is."""
    outbox = Outbox()
    for count in range(1, 4):
        outbox.add(message)
        assert outbox.size >= 16384 * count


def test_pieces_count_with_what_each_takes_in_memory():
    """Many small ones take more than their text."""
    outbox = Outbox()
    for _ in range(1000):
        outbox.add(Delta(1, "ab"))
    assert outbox.size >= 1000 * sys.getsizeof("ab")


@given(
    st.lists(
        st.builds(Delta, st.integers(0, 2), st.text(max_size=9))
        | st.builds(Ops, st.integers(3, 4), st.lists(st.integers(-9, 9) | st.text(max_size=9), max_size=4))
        | st.builds(Nack, st.text(max_size=99), st.none(), st.text(max_size=9), st.text(max_size=300))
        | st.builds(Pong, st.integers(0, 9), st.just(0), st.just(0))
    )
)
def test_each_stream_reads_the_same(messages):
    """Merged or not, a stream's text is the same, and the size is never less than what is sent."""
    outbox = Outbox()
    for message in messages:
        outbox.add(message)
    size = outbox.size
    taken = outbox.take()
    for stream in range(5):
        assert content(taken, stream) == content(messages, stream)
    assert [m for m in taken if isinstance(m, Pong)] == [m for m in messages if isinstance(m, Pong)]
    encode = server_codec("warmline.v1.msgpack").encode
    assert sum(len(encode(message)) for message in taken) <= size


def content(messages, stream):
    deltas = "".join(m.text for m in messages if isinstance(m, Delta) and m.stream == stream)
    return deltas, [op for m in messages if isinstance(m, Ops) and m.stream == stream for op in m.operations]
