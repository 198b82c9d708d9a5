"""Frames on a byte stream: whatever the pieces, the same messages."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from warmline.engine import CancelRequest, GenerationRequest, pack_tokens, unpack_tokens
from warmline.engine.framing import FrameDecoder, encode_frame
from warmline.engine.messages import ToEngine


@given(st.lists(st.one_of(
    st.builds(CancelRequest, st.integers(0, 2**53)),
    st.builds(GenerationRequest, st.integers(0, 2**53), st.lists(st.integers(0, 2**31 - 1)).map(pack_tokens)),
), max_size=5), st.lists(st.integers(1, 50), max_size=30))  # fmt: skip
def test_messages_come_through_in_any_pieces(messages, sizes):
    """Encoded, cut anywhere and fed, the messages are what was sent, in order."""
    stream = b"".join(map(encode_frame, messages))
    decoder = FrameDecoder(ToEngine)
    received = []
    for size in sizes:
        received += decoder.feed(stream[:size])
        stream = stream[size:]
    received += decoder.feed(stream)
    assert received == messages


@given(st.lists(st.integers(-(2**31), 2**31 - 1)))
def test_tokens_survive_packing(tokens):
    """Packing and unpacking token ids changes nothing."""
    assert unpack_tokens(pack_tokens(tokens)) == tokens
