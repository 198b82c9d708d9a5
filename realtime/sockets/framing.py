"""Whole messages as single WebSocket frames (RFC 6455, section 5.2), made and found without the library.

Its serializer and parser, which know every kind of frame, take most of a token's time at either end. Here are the
frames that nearly all messages travel in; whatever else comes is left to it. No extension is ever negotiated.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from os import urandom
from typing import Final

_FINAL_TEXT: Final = 0x81
_FINAL_BINARY: Final = 0x82
_MASKED: Final = 0x80
_SHORT: Final = 126
_MEDIUM: Final = 1 << 16
_SHORT_TEXT: Final = [bytes((_FINAL_TEXT, size)) for size in range(_SHORT)]
_SHORT_BINARY: Final = [bytes((_FINAL_BINARY, size)) for size in range(_SHORT)]
"""The headers of a server's short frames by their sizes: one is written for every token."""
_LONGEST_HEADER: Final = 14
_END_OF_HEADERS: Final = b"\r\n\r\n"

KEY_BYTES: Final = 4
"""Bytes of the key that a client's frame is masked with, between header and payload."""


def frame(payload: bytes, text: bool) -> bytes:
    """A server's whole frame, which is not masked."""
    size = len(payload)
    if size < _SHORT:
        return (_SHORT_TEXT if text else _SHORT_BINARY)[size] + payload
    return _header(size, text, masked=False) + payload


def masked_frame(payload: bytes, text: bool, mask: Callable[[bytes, bytes], bytes]) -> bytes:
    """A client's whole frame, whose payload ``mask(payload, key)`` masks with a key of its own."""
    key = urandom(KEY_BYTES)
    return _header(len(payload), text, masked=True) + key + mask(payload, key)


def _header(size: int, text: bool, masked: bool) -> bytes:
    """What a frame with a payload of so many bytes begins with, without the key."""
    opcode, mask = _FINAL_TEXT if text else _FINAL_BINARY, _MASKED if masked else 0
    if size < _SHORT:
        return bytes((opcode, mask | size))
    if size < _MEDIUM:
        return bytes((opcode, mask | 126)) + size.to_bytes(2)
    return bytes((opcode, mask | 127)) + size.to_bytes(8)


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


class FrameBounds:
    """Where frames end in what a peer sends, from its upgrade's headers on, however that is cut into reads.

    Nothing is checked: what is no frame has to be noticed by whoever parses it.

    Attributes:
        between: all that was passed over ends with the headers or with a whole frame, so what comes next begins one.
    """

    __slots__ = ("_begun", "_left", "_upgrade", "between")

    def __init__(self) -> None:
        self.between = False
        self._upgrade: bytes | None = b""  # the last bytes of the headers; None behind them
        self._begun = b""  # a header that isn't whole yet
        self._left = 0  # bytes of the payload to come

    def skip(self, data: bytes, start: int = 0, most: int = sys.maxsize) -> int:
        """Pass over what was read from ``start`` on, up to the end of so many frames; returns where that is."""
        at = start if self._upgrade is None else self._skip_upgrade(data, start, self._upgrade)
        size = len(data)
        while at < size and most > 0:
            if self._left == 0:
                header = self._begun + data[at : at + _LONGEST_HEADER - len(self._begun)]
                sizes = _read_header(header)
                if sizes is None:
                    self._begun, at = header, size
                    break
                width, self._left = sizes
                at += width - len(self._begun)
                self._begun = b""
            taken = min(self._left, size - at)
            at += taken
            self._left -= taken
            most -= self._left == 0
        self.between = self._upgrade is None and self._left == 0 and not self._begun
        return at

    def _skip_upgrade(self, data: bytes, start: int, before: bytes) -> int:
        headers = before + data[start:]
        end = headers.find(_END_OF_HEADERS)
        if end < 0:
            self._upgrade = headers[1 - len(_END_OF_HEADERS) :]
            return len(data)
        self._upgrade = None
        return start + end + len(_END_OF_HEADERS) - len(before)


def _read_header(header: bytes) -> tuple[int, int] | None:
    """The sizes of a frame's header, its key included, and of its payload; None if the header isn't whole."""
    if len(header) < 2:
        return None
    size = header[1] & ~_MASKED
    width = 4 if size == 126 else 10 if size == 127 else 2
    if width > 2:
        size = int.from_bytes(header[2:width])
    if header[1] & _MASKED:
        width += KEY_BYTES
    return (width, size) if len(header) >= width else None
