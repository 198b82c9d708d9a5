"""Every edit record through SDK, socket, session, engine process and back, with a model that says what it is told."""

from __future__ import annotations

import asyncio
import random

import pytest
from rapidfuzz.distance import Indel
from warmline.client import JSON, MSGPACK, Insert, Keep, connect

SUBPROTOCOLS = pytest.mark.parametrize("subprotocol", [MSGPACK, JSON])
ADDED_CASES = {
    "emoji": ("x = '🎉'\ny = 1\nz = '🎈🎈'\n", "x = '🎉🎉'\ny = 1\nz = '🎈'\n"),
    "tabs": ("func f() {\n\treturn 1\n}\n", "func f() {\n\tlog()\n\treturn 1\n}\n"),
    "line separator": ("a = '\u2028'\nb = 2\n", "a = '\u2028'\nb = 3\n"),
    "fence in the range": ("Use:\n```sh\nmake\n```\nDone\n", "Use:\n```sh\nmake all\n```\nDone\n"),
    "special token text": ("end = '<|im_end|>'\nn = 1\n", "end = '<|im_end|>'\nn = 2\n"),
    "no final line end": ("a = 1\nb = 2", "a = 1\nb = 3"),
    "emptied": ("a = 1\n", ""),
}


def line_ends(operations):
    return sum(operation.text.count("\r\n") for operation in operations if isinstance(operation, Insert))


@SUBPROTOCOLS
async def test_operations_turn_the_old_text_into_the_new(scripted_server, edit_records, subprotocol):
    """Applied to the document, each edit's operations give its final text, at little more than a minimal diff."""
    async with connect(scripted_server.url, subprotocol=subprotocol) as session:
        for record in edit_records:
            document = await session.open(record.id, record.context + record.before, language=record.language)
            start = len(record.context)
            edit = session.edit(
                document,
                (start, len(document.text)),
                record.instruction,
                max_tokens=6000,
                replay=record.after,
            )
            result = await edit.result()
            assert (result.reason, result.text) == ("stop", record.after), record.id
            changed = sum(len(operation.text) for operation in result.operations if not isinstance(operation, Keep))
            assert changed <= 1.15 * Indel.distance(record.before, record.after), record.id
            await document.apply(result)
            assert document.text == record.context + record.after
            # The server holds the same text: a request for the new version is taken.
            assert (await session.complete(document, 0, max_tokens=1).result()).reason in ("length", "stop")
            await document.close()


@SUBPROTOCOLS
@pytest.mark.parametrize("name", ADDED_CASES)
async def test_unusual_text_comes_through(scripted_server, subprotocol, name):
    """Emoji, tabs, separators, fences and special-token text are just text."""
    before, after = ADDED_CASES[name]
    async with connect(scripted_server.url, subprotocol=subprotocol) as session:
        document = await session.open("file:///a", "# 🐍 head\n" + before, language="python")
        edit = session.edit(document, (9, len(document.text)), "change it", replay=after)
        result = await edit.result()
        assert (result.reason, result.text) == ("stop", after)
        await document.apply(result)
        assert document.text == "# 🐍 head\n" + after


@SUBPROTOCOLS
async def test_crlf_documents_stay_crlf(scripted_server, subprotocol):
    """The model sees line feeds; what it adds gets the document's line ends."""
    before = "def f():\r\n    return 1\r\n"
    async with connect(scripted_server.url, subprotocol=subprotocol) as session:
        document = await session.open("file:///a", before, language="python")
        edit = session.edit(document, (0, len(before)), "log", replay="def f():\n    log()\n    return 1\n")
        result = await edit.result()
        assert result.text == "def f():\r\n    log()\r\n    return 1\r\n"
        assert line_ends(result.operations) == 1


async def test_a_lone_surrogate_becomes_a_replacement_character(scripted_server):
    """What UTF-8 can't carry is replaced on the client, without moving an offset."""
    async with connect(scripted_server.url) as session:
        document = await session.open("file:///a", "a = '\ud83d'\nb = 1\n")
        assert document.text == "a = '\ufffd'\nb = 1\n"
        edit = session.edit(document, (8, 14), "two", replay="b = 2\n")
        assert (await edit.result()).text == "b = 2\n"


@SUBPROTOCOLS
async def test_an_edit_that_is_cut_keeps_the_rest_of_the_original(scripted_server, edit_records, subprotocol):
    """After `length`, the text is a beginning of the new text up to a point in step, then the original."""
    cut = changed = 0
    async with connect(scripted_server.url, subprotocol=subprotocol) as session:
        for number, record in enumerate(random.Random(5).sample(edit_records, 40)):
            document = await session.open(f"{record.id}/{number}", record.before, language=record.language)
            limit = 20 + 7 * number
            edit = session.edit(document, (0, len(record.before)), "x", max_tokens=limit, replay=record.after)
            result = await edit.result()
            if result.reason == "length":
                assert is_cut(record.before, record.after, result.text), record.id
                cut += 1
                changed += result.text != record.before
            else:
                assert (result.reason, result.text) == ("stop", record.after)
            await document.close()
    assert changed >= cut / 3, "what was written before the cut should show"


async def test_a_cancelled_edit_keeps_the_rest_of_the_original(server):
    """A cancel after the first change leaves that change and the rest of the original."""
    lines = [f"value_{number} = compute({number})\n" for number in range(200)]
    before = "".join(lines)
    after = "".join(["# the first change\n", *lines[:100], *(line.upper() for line in lines[100:])])
    async with connect(server.url) as session:
        document = await session.open("file:///a", before)
        edit = session.edit(document, (0, len(before)), "x", max_tokens=6000, replay=after)
        async for operation in edit:
            if isinstance(operation, Keep):
                break
        edit.cancel()
        result = await edit.result()
        assert result.reason == "cancel"
        assert result.text.startswith("# the first change\nvalue_0")
        assert is_cut(before, after, result.text)


@SUBPROTOCOLS
async def test_deltas_of_a_completion_are_the_result(scripted_server, edit_records, subprotocol):
    """Concatenated, the pieces of a completion are the text, none of them empty."""
    async with connect(scripted_server.url, subprotocol=subprotocol) as session:
        for record in edit_records[::10]:
            document = await session.open(record.id, record.context, language=record.language)
            completion = session.complete(document, len(record.context), max_tokens=6000, replay=record.after)
            pieces = [piece async for piece in completion]
            assert all(pieces)
            assert "".join(pieces) == record.after == (await completion.result()).text
            await document.close()


async def test_many_edits_at_once_do_not_disturb_each_other(scripted_server, edit_records):
    """Sixteen requests of one session end with their own texts."""
    async with connect(scripted_server.url) as session:

        async def edit(record):
            document = await session.open(record.id, record.before)
            stream = session.edit(document, (0, len(record.before)), "x", max_tokens=6000, replay=record.after)
            return (await stream.result()).text

        chosen = edit_records[:16]
        assert await asyncio.gather(*map(edit, chosen)) == [record.after for record in chosen]


def is_cut(before: str, after: str, text: str) -> bool:
    """Whether a text is a beginning of ``after`` followed by an end of ``before``."""
    return any(after.startswith(text[:cut]) and before.endswith(text[cut:]) for cut in range(len(text) + 1))
