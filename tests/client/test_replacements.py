"""What a request would change, for programs whose text is elsewhere and that report what they did with it."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.client import Conflict, InvalidArgument, Replacement, WrongType, connect
from warmline.client.mirror import DocumentMirror
from warmline.realtime import utf16_offset
from warmline.realtime.protocol import Change, Complete, Delta, Done, Edit, Ops, TextEdit


def replaced(text: str, replacements: list[Replacement]) -> str:
    """A text with replacements made, the last one first, so that each counts the text as it was."""
    for replacement in reversed(replacements):
        text = text[: replacement.start] + replacement.text + text[replacement.end :]
    return text


async def test_an_edits_replacements_count_the_text_as_it_is_and_change_nothing(serve_script) -> None:
    """Behind characters of two units, and behind what was typed since; the change that reports them is a person's."""
    sent = []

    async def script(peer) -> None:
        await peer.greet()
        request = await peer.accept(Edit)
        await peer.send(Ops(1, ["😀NEW", -1, 2, -1, "Z"]), Done(request.request, "stop"))
        sent.extend([await peer.next(Change), await peer.next(Change)])
        await peer.idle()

    async with serve_script(script) as url, connect(url) as session:
        document = await session.open("a", "😀abcdef")
        result = await session.edit(document, (1, 5), "change it").result()
        assert document.replacements(result) == [Replacement(1, 2, "😀NEW"), Replacement(4, 5, "Z")]
        assert document.text == "😀abcdef"
        await document.change(0, 0, "🎈")
        there = document.replacements(result)
        assert there == [Replacement(2, 3, "😀NEW"), Replacement(5, 6, "Z")]
        assert replaced(document.text, there) == "🎈😀😀NEWbcZef"
        await document.change(5, 6, "Z")
        assert document.text == "🎈😀abcZef"
        await session.ping()
    assert [change.edits for change in sent] == [[TextEdit(0, 0, "🎈")], [TextEdit(7, 8, "Z")]]
    assert [change.applied for change in sent] == [None, None]


async def test_replacements_of_an_edit_that_a_change_excludes_are_a_conflict(serve_script) -> None:
    """All of it: half an edit is not what a program that puts in the whole is asked for."""

    async def script(peer) -> None:
        await peer.greet()
        request = await peer.accept(Edit)
        await peer.send(Ops(1, ["x", 2, -2]), Done(request.request, "stop"))
        await peer.idle()

    async with serve_script(script) as url, connect(url) as session:
        document = await session.open("a", "abcd")
        other = await session.open("b", "abcd")
        result = await session.edit(document, (0, 4), "change it").result()
        with pytest.raises(InvalidArgument, match="belongs to a"):
            other.replacements(result)
        with pytest.raises(WrongType, match="can't be applied"):
            other.replacements("x")  # type: ignore[arg-type]
        await document.change(3, 3, "typed")
        with pytest.raises(Conflict, match="nothing of it was applied"):
            document.replacements(result)
        assert document.text == "abctypedd"


async def test_a_completions_replacement_is_what_is_left_of_it(serve_script) -> None:
    """None once all of it is typed, and a conflict once something else is."""

    async def script(peer) -> None:
        await peer.greet()
        request = await peer.accept(Complete)
        await peer.send(Delta(1, "(a)"), Done(request.request, "stop"))
        await peer.idle()

    async with serve_script(script) as url, connect(url) as session:
        document = await session.open("a", "f")
        result = await session.complete(document, 1).result()
        assert document.replacements(result) == [Replacement(1, 1, "(a)")]
        await document.change(1, 1, "()")
        assert document.replacements(result) == [Replacement(2, 3, "a)")]
        await document.change(2, 2, "a")
        assert document.replacements(result) == []
        await document.change(2, 3, "b")
        with pytest.raises(Conflict, match="something else was typed"):
            document.replacements(result)


async def test_who_waits_for_the_end_of_a_session_is_told_why(serve_script) -> None:
    """By the other side, and by close."""

    async def script(peer) -> None:
        await peer.greet()
        await peer.connection.close(1012, "drain")

    async with serve_script(script) as url, connect(url, reconnect=False) as session:
        assert "restarting" in str(await session.wait_closed())
        assert session.closed

    async def stay(peer) -> None:
        await peer.greet()
        await peer.idle()

    async with serve_script(stay) as url:
        session = await connect(url)
        waiting = asyncio.create_task(session.wait_closed())
        await session.close()
        assert "was closed" in str(await waiting)


@given(st.text(st.sampled_from("ab😀é\n"), max_size=40), st.data())
def test_an_offset_leads_back_to_its_index(text: str, data) -> None:
    """Whatever has two units before it."""
    mirror = DocumentMirror("a", text, "")
    index = data.draw(st.integers(0, len(text)))
    assert mirror.index(utf16_offset(text, index)) == index == mirror.index(mirror.offset(index))
