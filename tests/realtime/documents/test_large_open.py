"""Large texts that aren't ASCII are read in turns, and come to the same."""

from __future__ import annotations

import asyncio
import itertools

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.engine import unpack_tokens
from warmline.realtime.documents import large_open
from warmline.realtime.documents.document import Document
from warmline.realtime.documents.large_open import LARGE_FRAME, LargeOpen, count_open, read_open
from warmline.realtime.documents.text import utf16_length, utf16_offset
from warmline.realtime.errors import Refused
from warmline.realtime.limits import Limits
from warmline.realtime.protocol import (
    MSGPACK,
    SUBPROTOCOLS,
    Change,
    Complete,
    Done,
    Error,
    Nack,
    Open,
    Ping,
    Pong,
    TextEdit,
    client_codec,
)

URI = "file:///a"
ENCODE = client_codec(MSGPACK).encode
TEXTS = st.text(st.sampled_from("ab\né漢🎉👩‍💻"), min_size=1, max_size=9).filter(lambda text: not text.isascii())


@pytest.fixture
def slow_clock(monkeypatch):
    """Each block of a text takes a whole turn."""
    ticks = itertools.count(0, 1_000_000)
    monkeypatch.setattr(large_open, "clock", lambda: next(ticks))


def frame(text: str) -> bytes:
    return ENCODE(Open(URI, 7, "python", text))


def read(data: bytes) -> LargeOpen | None:
    return asyncio.run(read_open(data))


def large(text: str) -> str:
    """Some of it again and again, more than 64 KiB."""
    return text * ((1 << 16) // len(text.encode()) + 1)


@given(TEXTS, st.sampled_from(["", "a", "🎉"]), st.data())
def test_a_text_read_in_turns_is_the_same(text, before, data):
    """Wherever blocks cut its characters; and its document finds the same places as one of the plain message."""
    text = before + large(text)
    opened = read(frame(text))
    counted = asyncio.run(count_open(Open(URI, 7, "python", text)))
    assert (counted.text, counted.offsets.length, counted.size) == (text, opened.offsets.length, opened.size)
    assert (opened.document, opened.version, opened.language, opened.text) == (URI, 7, "python", text)
    assert (opened.offsets.length, opened.size) == (utf16_length(text), len(text.encode()))
    document = Document(data.draw(st.sampled_from([opened, counted])), Limits())
    plain = Document(Open(URI, 7, "python", text), Limits())
    assert document.length == plain.length
    at = data.draw(st.integers(0, len(text)))
    place = utf16_offset(text, at)
    assert document.index(place) == plain.index(place) == at
    change = Change(URI, 7, 8, [TextEdit(place, place, "é🎉")])
    document.change(change, Limits())
    plain.change(change, Limits())
    assert (document.text, document.length) == (plain.text, plain.length)
    assert document.index(document.length) == len(document.text)


def test_others_have_their_turns_meanwhile(slow_clock):
    """After each block."""
    text = "value = 🎉;\n" * 30_000
    turns = 0

    async def watch() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def both() -> LargeOpen | None:
        watching = asyncio.create_task(watch())
        opened = await read_open(frame(text))
        watching.cancel()
        return opened

    assert asyncio.run(both()).text == text
    assert turns >= len(text.encode()) // 4096


def test_an_ascii_text_is_not_counted():
    """There is nothing to count."""
    opened = Open(URI, 7, "python", "x" * 300_000)
    assert asyncio.run(count_open(opened)) is opened


@pytest.mark.parametrize(
    "data",
    [
        frame("x" * 300_000),
        frame("🎉" * 10_000),
        ENCODE(Change(URI, 1, 2, [TextEdit(0, 0, "🎉" * 100_000)])),
        msgspec.msgpack.encode([2, URI, -1, "python", "é" * 100_000]),
        msgspec.msgpack.encode([2, URI, 1, "python", b"\xc3" * 100_000]),
        frame("é" * 100_000).replace(b"\xc3\xa9", b"\xc3", 1)[:-1] + b"\xa9\xa9",
        frame("é" * 100_000)[:-1],
        b"\xc1" * 300_000,
    ],
    ids=["ASCII", "short", "a change", "a bad version", "bytes", "no UTF-8", "cut", "no MessagePack"],
)
def test_what_is_not_read_in_turns_is_left_to_the_codec(data):
    """Which says what is wrong with it, if anything is."""
    assert read(data) is None


def test_a_text_that_is_too_large_is_refused_without_encoding_it_again():
    """By the size that it came with."""
    opened = read(frame(large("é")))
    with pytest.raises(Refused, match=f"the document has {opened.size} bytes"):
        Document(opened, Limits(max_document_bytes=opened.size - 1))
    Document(opened, Limits(max_document_bytes=opened.size))


@pytest.mark.parametrize("subprotocol", SUBPROTOCOLS)
async def test_what_follows_a_large_text_finds_it_there(serve, dial, engine, tokenizer, slow_clock, subprotocol):
    """Messages that arrive while it is read wait for it, in their order."""
    text = "value = 🎉;\n" * 30_000
    assert len(frame(text)) > LARGE_FRAME
    length = utf16_length(text)
    wire = await dial(await serve(), subprotocol)
    await wire.send(
        Open(URI, 1, "python", text),
        Change(URI, 1, 2, [TextEdit(length, length, "last = 🎉")], None, length + 9),
        Complete(1, URI, 2, length + 9),
        Ping(5),
    )
    received = []
    while not any(isinstance(message, Done) for message in received) or Pong not in map(type, received):
        received.append(await wire.receive())
    assert not any(isinstance(message, (Nack, Error)) for message in received)
    assert tokenizer.decode(unpack_tokens(engine.requests[0].prompt)).endswith("value = 🎉;\nlast = 🎉")


@pytest.mark.parametrize("broken", [b"\xff\xff", b"\xc3\x28"])
async def test_a_large_text_that_is_none_is_answered(serve, dial, broken):
    """As a short one is; the connection goes on."""
    wire = await dial(await serve())
    await wire.raw(frame("é" * 200_000).replace(b"\xc3\xa9", broken, 1))
    error = await wire.until(Error)
    assert error.code == "malformed_message"
    await wire.send(Open(URI, 1, "python", "é" * 200_000), Change(URI, 1, 2, [TextEdit(0, 1, "x")], None, 200_000))
    await wire.send(Ping(1))
    assert isinstance(await wire.receive(), Pong)
