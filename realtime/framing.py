"""A message as one WebSocket frame: RFC 6455, section 5.2, from a server, without extensions."""

from __future__ import annotations

from typing import Final

_FINAL_TEXT: Final = 0x81
_FINAL_BINARY: Final = 0x82
_SHORT: Final = 126
_MEDIUM: Final = 1 << 16
_SHORT_HEADERS: Final = {
    text: [bytes((opcode, size)) for size in range(_SHORT)]
    for text, opcode in ((True, _FINAL_TEXT), (False, _FINAL_BINARY))
}


def frame(payload: bytes, text: bool) -> bytes:
    """The whole frame, unmasked."""
    size = len(payload)
    if size < _SHORT:
        return _SHORT_HEADERS[text][size] + payload
    opcode = _FINAL_TEXT if text else _FINAL_BINARY
    if size < _MEDIUM:
        return bytes((opcode, 126)) + size.to_bytes(2) + payload
    return bytes((opcode, 127)) + size.to_bytes(8) + payload
