"""Frames are what a WebSocket library makes of the same message, and are read as it reads them."""

from __future__ import annotations

import itertools
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.realtime.sockets.framing import (
    KEY_BYTES,
    FrameBounds,
    find_message,
    frame,
    masked_frame,
    read_unmasked,
)
from websockets.frames import Frame, Opcode, apply_mask

WIDTHS = [0, 1, 125, 126, 127, 65535, 65536, 200_000]
"""Sizes of a payload on both sides of each width of the length field."""
SIZES = st.sampled_from([0, 1, 3, 4, 5, 61, 125, 126, 127, 300])
payloads = SIZES.flatmap(lambda size: st.binary(min_size=size, max_size=size))


def library(payload: bytes, mask: bool, opcode: Opcode = Opcode.BINARY, fin: bool = True) -> bytes:
    return Frame(opcode, payload, fin).serialize(mask=mask)


@pytest.mark.parametrize("size", WIDTHS)
@pytest.mark.parametrize("text", [True, False], ids=["text", "binary"])
def test_a_frame_is_the_librarys(size, text):
    """At every width of the length field."""
    payload = b"x" * size
    expected = library(payload, mask=False, opcode=Opcode.TEXT if text else Opcode.BINARY)
    assert frame(payload, text) == expected


@pytest.mark.parametrize("size", WIDTHS)
@pytest.mark.parametrize("text", [True, False], ids=["text", "binary"])
def test_a_masked_frame_is_the_librarys(size, text):
    """But for its key, which is another one each time."""
    payload = b"x" * size
    made = [masked_frame(payload, text, apply_mask) for _ in range(2)]
    expected = library(payload, mask=True, opcode=Opcode.TEXT if text else Opcode.BINARY)
    behind = len(expected) - size
    for data in made:
        assert data[: behind - KEY_BYTES] == expected[: behind - KEY_BYTES]
        assert apply_mask(data[behind:], data[behind - KEY_BYTES : behind]) == payload
    assert made[0][behind - KEY_BYTES : behind] != made[1][behind - KEY_BYTES : behind]


@given(st.lists(payloads, min_size=1, max_size=6), st.binary(max_size=20))
def test_a_clients_frames_are_read_one_after_the_other(messages, before):
    """Each begins where the one before ended."""
    data = before + b"".join(library(message, mask=True) for message in messages)
    at, read = len(before), []
    while at < len(data):
        found = find_message(data, at, masked=True)
        assert found is not None
        begin, at = found
        read.append(apply_mask(data[begin:at], data[begin - KEY_BYTES : begin]))
    assert read == messages


@given(st.lists(payloads, min_size=1, max_size=6))
def test_a_servers_frames_are_read_together(messages):
    """All of a read, in their order."""
    assert read_unmasked(b"".join(library(message, mask=False) for message in messages)) == messages


@given(payloads, payloads, st.data())
def test_what_is_cut_off_is_not_read(first, second, data):
    """Wherever the network cut the last frame."""
    whole = library(first, mask=True), library(second, mask=False)
    client = whole[0][: data.draw(st.integers(0, len(whole[0]) - 1))]
    server = frame(first, False) + whole[1][: data.draw(st.integers(1, len(whole[1]) - 1))]
    assert find_message(client, 0, masked=True) is None
    assert read_unmasked(server) is None


@pytest.mark.parametrize(
    ("opcode", "fin", "size"),
    [
        (Opcode.TEXT, True, 5),
        (Opcode.BINARY, False, 5),
        (Opcode.CONT, True, 5),
        (Opcode.PING, True, 5),
        (Opcode.CLOSE, True, 5),
        (Opcode.BINARY, True, 65536),
    ],
)
def test_other_frames_are_left_to_the_library(opcode, fin, size):
    """And so are those of the wrong side, whose masking is an error."""
    assert find_message(library(bytes(size), True, opcode, fin), 0, masked=True) is None
    assert read_unmasked(library(b"one", False) + library(bytes(size), False, opcode, fin)) is None
    assert find_message(library(b"unmasked", False), 0, masked=True) is None
    assert read_unmasked(library(b"masked", True)) is None


@pytest.mark.parametrize("size", [0, 5, 125, 126, 127, 65535, 65536])
def test_a_client_that_masks_nothing_is_left_to_the_library(size):
    """Also with more behind its frame, where a key would be found if one were looked for."""
    assert find_message(library(bytes(size), mask=False) * 2 + bytes(KEY_BYTES), 0, masked=True) is None
    assert find_message(library(bytes(size), mask=True), 0, masked=False) is None


def test_reserved_bits_are_left_to_the_library():
    """No extension is agreed on that would give them a meaning."""
    for bit in (0x10, 0x20, 0x40):
        client, server = bytearray(library(b"x", True)), bytearray(library(b"x", False))
        client[0] |= bit
        server[0] |= bit
        assert find_message(bytes(client), 0, masked=True) is None
        assert read_unmasked(bytes(server)) is None


UPGRADE = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
frames = st.builds(
    library,
    st.one_of(payloads, st.sampled_from([125, 126, 65535, 65536]).map(bytes)),
    st.booleans(),
    st.sampled_from([Opcode.BINARY, Opcode.TEXT, Opcode.CONT]),
    st.booleans(),
)


@given(st.lists(frames, max_size=6), st.lists(st.integers(1, 400), min_size=1), st.sampled_from(["all", "some"]))
def test_it_is_known_where_frames_end(sent, cuts, reads):
    """Behind the headers of the upgrade and behind each frame, masked or not, and nowhere else."""
    data = UPGRADE + b"".join(sent)
    ends = set(accumulate(map(len, sent), initial=len(UPGRADE)))
    bounds, at = FrameBounds(), 0
    for size in itertools.cycle(cuts) if reads == "some" else [len(data)]:
        read = data[at : at + size]
        assert bounds.skip(read) == len(read)
        at += len(read)
        assert bounds.between is (at in ends)
        if at == len(data):
            break


@given(st.lists(frames, min_size=1, max_size=6), st.integers(1, 4), st.data())
def test_no_more_frames_are_passed_over_than_asked_for(sent, most, data):
    """Of a read that brings many, from any place of it; one that has begun counts, too."""
    bounds = FrameBounds()
    cut = data.draw(st.integers(0, len(UPGRADE + sent[0]) - 1))
    whole = UPGRADE + b"".join(sent)
    assert bounds.skip(whole[:cut]) == cut
    end = len(UPGRADE) + sum(map(len, sent[:most]))
    assert bounds.skip(b"before" + whole[cut:], len(b"before"), most) == len(b"before") + end - cut
    assert bounds.between
