"""What waits for a slow reader is merged, in order, and counted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from warmline.realtime.outbox import Outbox
from warmline.realtime.protocol import Accepted, Delta, Done, Ops, Pong, server_codec


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


def test_what_was_added_is_not_changed():
    """The operations of a frame stay the caller's."""
    outbox = Outbox()
    first = Ops(1, [1])
    outbox.add(first)
    outbox.add(Ops(1, [2]))
    assert outbox.take() == [Ops(1, [1, 2])]
    assert first == Ops(1, [1])


@given(
    st.lists(
        st.builds(Delta, st.integers(0, 2), st.text(max_size=9))
        | st.builds(Ops, st.integers(3, 4), st.lists(st.integers(-9, 9) | st.text(max_size=9), max_size=4))
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
