"""Whole messages as single WebSocket frames (RFC 6455, section 5.2), made and found without the library.

Its serializer and parser, which know every kind of frame, take most of a token's time at either end. Here are the
frames that nearly all messages travel in; whatever else comes is left to it. No extension is ever negotiated.
"""

from __future__ import annotations

from typing import Final

_FINAL_TEXT: Final = 0x81
_FINAL_BINARY: Final = 0x82
_MASKED: Final = 0x80
_SHORT: Final = 126
_MEDIUM: Final = 1 << 16
_SHORT_HEADERS: Final = {
    (text, masked): [bytes((opcode, masked << 7 | size)) for size in range(_SHORT)]
    for text, opcode in ((True, _FINAL_TEXT), (False, _FINAL_BINARY))
    for masked in (True, False)
}
_END_OF_HEADERS: Final = b"\r\n\r\n"

KEY_BYTES: Final = 4
"""Bytes of the key that a client's frame is masked with, between header and payload."""


def frame(payload: bytes, text: bool) -> bytes:
    """A server's whole frame, which is not masked."""
    size = len(payload)
    return (_SHORT_HEADERS[text, False][size] if size < _SHORT else frame_header(size, text, masked=False)) + payload


def frame_header(size: int, text: bool, masked: bool) -> bytes:
    """What a frame with a payload of so many bytes begins with, without the key."""
    if size < _SHORT:
        return _SHORT_HEADERS[text, masked][size]
    opcode, mask = _FINAL_TEXT if text else _FINAL_BINARY, _MASKED if masked else 0
    if size < _MEDIUM:
        return bytes((opcode, mask | 126)) + size.to_bytes(2)
    return bytes((opcode, mask | 127)) + size.to_bytes(8)


def frame_size(payload: int, masked: bool) -> int:
    """The bytes of a frame with a payload of so many, its length written as short as can be."""
    header = 2 if payload < _SHORT else 4 if payload < _MEDIUM else 10
    return header + (KEY_BYTES if masked else 0) + payload


def find_message(data: bytes, start: int, masked: bool) -> tuple[int, int] | None:
    """Where the payload of the frame at ``start`` begins and ends. If that is masked, the key is right before it.

    None if there is no whole frame of one binary message of less than 64 KiB.
    """
    begin = start + 2
    if len(data) < begin or data[start] != _FINAL_BINARY:
        return None
    size = data[start + 1] ^ (_MASKED if masked else 0)  # with the wrong mask bit it is too large
    if size == 126:
        size = int.from_bytes(data[begin : begin + 2])
        begin += 2
    elif size > 126:
        return None
    if masked:
        begin += KEY_BYTES
    end = begin + size
    return (begin, end) if end <= len(data) else None


def read_unmasked(data: bytes) -> list[bytes] | None:
    """A server's messages, if the data is whole frames of binary messages, of less than 64 KiB each, and no more."""
    if len(data) > 2 and data[0] == _FINAL_BINARY and data[1] == len(data) - 2 < _SHORT:
        return [data[2:]]  # nearly always
    messages = []
    end = 0
    while end < len(data):
        found = find_message(data, end, masked=False)
        if found is None:
            return None
        begin, end = found
        messages.append(data[begin:end])
    return messages


def ends_upgrade(data: bytes) -> bool:
    """Whether a read that brings the end of an upgrade's headers brings no beginning of a frame."""
    return data.endswith(_END_OF_HEADERS) and data.count(_END_OF_HEADERS) == 1
