"""Frames are what a WebSocket library makes of the same message."""

from __future__ import annotations

import pytest
from warmline.realtime.framing import frame
from websockets.frames import Frame, Opcode


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 65535, 65536, 200_000])
@pytest.mark.parametrize("text", [True, False], ids=["text", "binary"])
def test_a_frame_is_the_librarys(size, text):
    """At every width of the length field."""
    payload = b"x" * size
    expected = Frame(Opcode.TEXT if text else Opcode.BINARY, payload).serialize(mask=False)
    assert frame(payload, text) == expected
