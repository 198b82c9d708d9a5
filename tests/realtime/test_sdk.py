"""The SDK against the gateway: what both keep of a document stays the same, whatever is done at once."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable

import pytest
from warmline.client import Conflict, Document, EditStream, connect

LINES = [f"line {number}\n" for number in range(12)]
TEXT = "".join(LINES)
NEW = [line.replace("line", "LINE") if number % 3 == 0 else line for number, line in enumerate(LINES)]


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.001)


async def type_somewhere(document: Document, dice: random.Random) -> None:
    """A person's change, of up to three characters."""
    start = dice.randrange(len(document.text) + 1)
    end = min(start + dice.choice([0, 0, 1, 3]), len(document.text))
    await document.change(start, end, dice.choice(["", "x", "new\n", "😀"]))


async def play(document: Document, edit: EditStream, dice: random.Random) -> str:
    """Take an edit as it comes, applying it now and then, while somebody types; returns how it ended."""
    try:
        async for _ in edit:
            await asyncio.sleep(0)
            if dice.random() < 0.4:
                await document.apply(edit)
            if dice.random() < 0.25:
                await type_somewhere(document, dice)
        await document.apply(edit)
    except Conflict:
        return "conflict"
    return (await edit.result()).reason


@pytest.mark.parametrize("seed", range(12))
async def test_a_document_stays_the_same_on_both_sides_while_edits_stream_and_somebody_types(
    serve, engine, caplog: pytest.LogCaptureFixture, seed: int
) -> None:
    """Lengths and hashes travel with changes, so a difference would be a nack, and the text handed over anew."""
    dice = random.Random(seed)
    server = await serve()
    with caplog.at_level(logging.WARNING, "warmline.client"):
        async with connect(server.url) as session:
            document = await session.open("a", TEXT, "python")
            for _ in range(5):
                engine.scripts.append(NEW)
                start = document.text.find("line")
                edit = session.edit(document, (max(start, 0), len(document.text)), "shout")
                assert await play(document, edit, dice) in ("stop", "conflict")
                await edit.result()
            await document.change(0, 0, "".join(LINES))
            for _ in range(40):  # the next hash is among them
                await document.change(0, 1, "l")
            await session.ping()
    assert caplog.records == []


async def test_a_steered_edit_reads_as_the_operations_say_on_both_sides(serve, engine, caplog) -> None:
    """What was applied before stays, what was sent stays, and the rest follows the added instruction."""
    server = await serve()
    with caplog.at_level(logging.WARNING, "warmline.client"):
        async with connect(server.url) as session:
            document = await session.open("a", TEXT, "python")
            engine.scripts.append([*NEW[:6], *["more\n"] * 10_000])
            edit = session.edit(document, (0, len(TEXT)), "shout", max_tokens=4000)
            await until(lambda: len(edit.operations) >= 3)
            await document.apply(edit)
            engine.scripts.append([line.upper() for line in LINES[-2:]])
            await edit.steer("all of it")
            result = await edit.result()
            await document.apply(result)
            await session.ping()
            assert document.text == result.text
            assert result.text.startswith("LINE 0\nline 1\n") and "LINE 11" in result.text
            assert result.timing.end_to_end == sum(result.timing.hops.values())
    assert caplog.records == []


async def test_what_was_typed_of_a_suggestion_goes_on_and_is_not_inserted_twice(serve, engine) -> None:
    """The newer completion names the older, which was superseded; both hold what they brought."""
    server = await serve()
    async with connect(server.url) as session:
        document = await session.open("a", TEXT, "python")
        engine.scripts.append(["return", " x", *[" + y"] * 10_000])
        first = session.complete(document, len(TEXT), max_tokens=4000)
        await until(lambda: "x" in first.text)
        await document.change(len(TEXT), len(TEXT), "ret")
        second = session.complete(document, len(TEXT) + 3, max_tokens=4000)
        await until(lambda: second.text)
        second.interrupt()
        older, newer = await first.result(), await second.result()
        assert (older.reason, newer.reason, newer.continued) == ("superseded", "interrupted", older.request)
        assert newer.text.startswith("urn x + y")
        await document.apply(newer)
        assert document.text == TEXT + "ret" + newer.text


async def test_a_conversation_is_kept_by_the_server(serve, engine) -> None:
    """Each turn sends its own text alone."""
    server = await serve()
    async with connect(server.url) as session:
        document = await session.open("a", TEXT, "python")
        async with session.conversation() as chat:
            engine.scripts.append(["hello", " there"])
            assert (await chat.say("hi", documents=[document]).result()).text == "hello there"
            engine.scripts.append(["yes"])
            result = await chat.say("sure?").result()
            assert (result.text, result.conversation) == ("yes", chat.name)
