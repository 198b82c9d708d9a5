"""An `open` with a large text, read in turns: the event loop would be held for all of it otherwise.

That is so for texts that aren't ASCII, which are decoded and counted character by character. No thread would help:
decoding keeps the interpreter lock.
"""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import Callable
from typing import Final

import msgspec

from ..protocol import DocumentId, Language, Natural, Open
from ..telemetry.tracing import clock
from .offset_index import BLOCK_CHARS, OffsetIndex
from .text import utf16_length

LARGE_FRAME: Final = 256 << 10
"""Bytes of a frame that is decoded in less than a millisecond."""
_TURN_NS: Final = 1_000_000
_STR_32: Final = 0xDB
_HEADER: Final = 5
"""Bytes before a text of 64 KiB or more: that it is one, and its length."""


class LargeOpen(Open, frozen=True):
    """An `Open` of which more is known: ``offsets`` of its text, and that this has ``size`` bytes of UTF-8."""

    offsets: OffsetIndex = OffsetIndex([0], [0])
    size: int = 0


class _Frame(msgspec.Struct, array_like=True, frozen=True, tag=2):
    """`Open`, its text as it came."""

    document: DocumentId
    version: Natural
    language: Language
    text: msgspec.Raw


_decode: Final = msgspec.msgpack.Decoder(_Frame).decode


async def read_open(frame: bytes) -> LargeOpen | None:
    """Read a MessagePack frame in turns of the event loop.

    None if it needs none, is no `open`, or has something wrong with it, which the codec then says.
    """
    try:
        message = _decode(frame)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    raw = memoryview(message.text)
    content = bytes(raw[_HEADER:])
    if raw[0] != _STR_32 or content.isascii():
        return None
    decode = codecs.getincrementaldecoder("utf-8")().decode
    parts: list[str] = []

    def part(at: int, end: int) -> str:
        parts.append(decode(content[at:end], end >= len(content)))
        return parts[-1]

    try:
        offsets = await _index(len(content), part)
    except UnicodeDecodeError:
        return None
    text = "".join(parts)
    await asyncio.sleep(0)  # megabytes were copied
    return LargeOpen(message.document, message.version, message.language, text, offsets, len(content))


async def count_open(opened: Open) -> Open:
    """Count the text of an `open` that was decoded at once, in turns of the event loop, unless it is ASCII."""
    text, size = opened.text, 0
    if text.isascii():
        return opened

    def part(at: int, end: int) -> str:
        nonlocal size
        found = text[at:end]
        size += len(found.encode())
        return found

    offsets = await _index(len(text), part)
    return LargeOpen(opened.document, opened.version, opened.language, text, offsets, size)


async def _index(size: int, part: Callable[[int, int], str]) -> OffsetIndex:
    """The index of a text that comes in parts, each made when others have had their turns."""
    indices, offsets = [0], [0]
    began = clock()
    for at in range(0, size, BLOCK_CHARS):
        block = part(at, at + BLOCK_CHARS)
        indices.append(indices[-1] + len(block))
        offsets.append(offsets[-1] + utf16_length(block))
        if clock() - began >= _TURN_NS:
            await asyncio.sleep(0)
            began = clock()
    return OffsetIndex(indices, offsets)
