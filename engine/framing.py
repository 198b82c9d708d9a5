"""Messages on a byte stream: a 4-byte little-endian length, then MessagePack."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

import msgspec

_HEADER = 4
_encoder = msgspec.msgpack.Encoder()
_Message = TypeVar("_Message")


def encode_frame(message: object) -> bytearray:
    """The bytes of one message with its length before them."""
    frame = bytearray(_HEADER)
    _encoder.encode_into(message, frame, _HEADER)
    frame[:_HEADER] = (len(frame) - _HEADER).to_bytes(_HEADER, "little")
    return frame


class FrameDecoder(Generic[_Message]):
    """Collects bytes as they come and gives the messages that are complete."""

    def __init__(self, messages: Any) -> None:
        """``messages`` is the union of the message types that may come."""
        self._decode = msgspec.msgpack.Decoder(messages).decode
        self._buffer = bytearray()

    def feed(self, data: bytes | memoryview) -> Iterator[_Message]:
        """Take bytes; give the messages they complete, in order.

        Raises:
            msgspec.ValidationError: a message is of no known type.

        """
        buffer = self._buffer
        if not buffer and len(data) - _HEADER == int.from_bytes(data[:_HEADER], "little"):
            yield self._decode(memoryview(data)[_HEADER:])  # nearly always: one whole message, read where it lies
            return
        buffer += data
        start = 0
        while len(buffer) - start >= _HEADER:
            end = start + _HEADER + int.from_bytes(buffer[start : start + _HEADER], "little")
            if end > len(buffer):
                break
            with memoryview(buffer) as view, view[start + _HEADER : end] as body:
                message = self._decode(body)
            start = end
            yield message
        del buffer[:start]
