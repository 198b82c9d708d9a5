"""Documents that a person goes on changing while what was asked for comes in and is applied."""

from __future__ import annotations

import asyncio

import pytest
from warmline.client import Conflict, Keep, RequestError, Void, connect
from warmline.client.document import MAX_EDITS
from warmline.realtime import content_hash
from warmline.realtime.protocol import (
    Applied,
    Change,
    Complete,
    Delta,
    Done,
    Edit,
    Error,
    ErrorCode,
    Ops,
    TextEdit,
    Warm,
)


async def until(condition) -> None:
    """Let the session's reader go on until something is so."""
    while not condition():
        await asyncio.sleep(0)


async def test_an_edit_is_applied_while_it_runs_and_the_rest_at_the_end(scripted) -> None:
    """Each time goes in what came since; each change says how many operations are in, the last one what it makes."""
    changes = []

    async def script(peer) -> None:
        await peer.greet()
        request = await peer.accept(Edit)
        await peer.send(Ops(1, [2, "NEW"]))
        changes.append(await peer.next(Change))
        await peer.send(Ops(1, [-1, 2]))
        changes.append(await peer.next(Change))
        await peer.send(Ops(1, [-1]), Done(request.request, "stop"))
        changes.append(await peer.next(Change))
        await peer.idle()
        assert sum(isinstance(message, Change) for message in peer.messages) == 3

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("a", "😀abcdef")
        edit = session.edit(document, (1, 7), "change it")
        await document.apply(edit)
        for count, text in ((2, "😀abNEWcdef"), (4, "😀abNEWdef")):
            await until(lambda count=count: len(edit.operations) == count)
            await document.apply(edit)
            await document.apply(edit)
            assert document.text == text
        result = await edit.result()
        await document.apply(result)
        await document.apply(result)
        await document.apply(edit)
        assert document.text == "😀abNEWde" == "😀" + result.text
        await session.ping()
    assert [change.applied for change in changes] == [Applied(1, 2), Applied(1, 4), Applied(1, 5)]
    assert [change.edits for change in changes] == [
        [TextEdit(4, 4, "NEW")],
        [TextEdit(7, 8, "")],
        [TextEdit(9, 10, "")],
    ]
    assert [change.hash for change in changes] == [None, None, content_hash("😀abNEWde")]


async def test_a_persons_changes_stay_while_an_edit_streams(scripted) -> None:
    """Before the range, in what is applied, between what the model changes, and after it."""

    async def script(peer) -> None:
        await peer.greet()
        request = await peer.accept(Edit)
        await peer.send(Ops(1, ["// ", 4]))
        await peer.next(Change)
        await peer.next(Change)
        await peer.send(Ops(1, [6, -2, "!"]), Done(request.request, "stop"))
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("a", "<one two three>")
        edit = session.edit(document, (1, 14), "comment")
        await until(lambda: len(edit.operations) == 2)
        await document.apply(edit)
        assert document.text == "<// one two three>"
        await document.change(0, 0, "typed ")
        await document.change(document.text.index("one"), document.text.index("one") + 3, "ONE")
        await document.change(document.text.index("wo"), document.text.index("wo") + 1, "w-")
        await document.change(len(document.text), len(document.text), " end")
        await document.apply(await edit.result())
        assert document.text == "typed <// ONE tw-o th!e> end"
        await session.ping()


@pytest.mark.parametrize("whole", [False, True], ids=["stream", "result"])
async def test_what_a_person_and_the_model_both_changed_is_a_conflict(scripted, whole: bool) -> None:
    """Of an edit that ended by itself, what stands goes in, whether the stream is applied or the result."""

    async def script(peer) -> None:
        await peer.greet()
        request = await peer.accept(Edit)
        await peer.next(Change)
        await peer.send(Ops(1, ["new ", 4, -3, 1]), Done(request.request, "stop"))
        await peer.next(Change)
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("a", "one two!")
        edit = session.edit(document, (0, 8), "change it")
        await document.change(5, 6, "W")
        result = await edit.result()
        for _ in range(2):
            with pytest.raises(
                Conflict, match="the 2 operations before it were applied, and the rest was given up; ask again"
            ) as caught:
                await document.apply(result if whole else edit)
            assert (document.text, caught.value.operations) == ("new one tWo!", 2)
        await session.ping()


@pytest.mark.parametrize("whole", [False, True], ids=["stream", "result"])
@pytest.mark.parametrize("stepwise", [False, True], ids=["at the end", "with each operation"])
async def test_an_edit_that_the_server_ended_for_a_conflict_leaves_what_stands(
    scripted, stepwise: bool, whole: bool
) -> None:
    """However it is applied, the operations that stand go in and the last `apply` says that there is no more."""
    taken = asyncio.Event()

    async def script(peer) -> None:
        await peer.greet()
        request = await peer.accept(Edit)
        await peer.send(Ops(1, [1, "x"]))
        await taken.wait()
        await peer.send(Ops(1, [2, -1]))
        while (await peer.next(Change)).applied is not None:
            pass
        await peer.send(Done(request.request, "conflict", operations=2))
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("a", "abcdefgh")
        edit = session.edit(document, (0, 8), "change it")
        came = [await anext(edit) for _ in range(2)]
        if stepwise:
            await document.apply(edit)
            assert document.text == "axbcdefgh"
        taken.set()
        came += [await anext(edit) for _ in range(2)]
        assert came[0] == Keep(0, "a")
        at = document.text.index("e")
        await document.change(at, at, "!")
        assert [operation async for operation in edit] == [Void(2)]
        result = await edit.result()
        assert (result.reason, len(result.operations), result.text) == ("conflict", 2, "axbcdefgh")
        for _ in range(2):
            with pytest.raises(Conflict, match="the 2 operations before it were applied") as caught:
                await document.apply(result if whole else edit)
            assert (document.text, caught.value.operations) == ("axbcd!efgh", 2)


@pytest.mark.parametrize("kind", [Edit, Complete])
async def test_of_a_request_that_failed_nothing_more_is_put_in(scripted, kind) -> None:
    """What came before is in the document if it was applied then; the error is raised again each time."""

    async def script(peer) -> None:
        await peer.greet()
        request = await peer.accept(kind)
        some, more = (Delta(1, "x"), Delta(1, "y")) if kind is Complete else (Ops(1, [1, "x"]), Ops(1, [2, -1]))
        await peer.send(some)
        await peer.next(Change)
        await peer.send(more, Error(request.request, ErrorCode.INTERNAL_ERROR, "it broke"))
        await peer.idle()
        assert sum(isinstance(message, Change) for message in peer.messages) == 1

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("a", "abcdefgh")
        asked = session.edit(document, (0, 8), "change it") if kind is Edit else session.complete(document, 1)
        await until(lambda: asked.text if kind is Complete else len(asked.operations) == 2)
        await document.apply(asked)
        assert document.text == "axbcdefgh"
        assert asked.error is None
        with pytest.raises(RequestError, match="it broke"):
            await asked.result()
        for _ in range(2):
            with pytest.raises(RequestError, match="it broke"):
                await document.apply(asked)
        assert (document.text, asked.reason, str(asked.error)) == ("axbcdefgh", None, "it broke (internal_error)")
        await session.ping()


async def test_what_is_all_in_the_document_has_no_conflict_afterwards(scripted) -> None:
    """Whatever is changed there later, in however many places at once."""

    async def script(peer) -> None:
        await peer.greet()
        first = await peer.accept(Edit)
        await peer.send(Ops(1, [-1, 39]), Done(first.request, "stop"))
        second = await peer.accept(Edit)
        await peer.send(Ops(1, [1, -1] * 19), Done(second.request, "stop"))
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("a", "xy" * 20)
        edit = session.edit(document, (0, 40), "less")
        await document.apply(await edit.result())
        await document.apply(await session.edit(document, (0, 39), "less x").result())
        text = document.text
        await document.apply(edit)
        await document.apply(await edit.result())
        assert document.text == text == "y" * 20


async def test_a_result_is_followed_for_as_long_as_it_is_held(scripted) -> None:
    """A document follows what somebody still holds, and nothing else."""

    async def script(peer) -> None:
        await peer.greet()
        for _ in range(2):
            request = await peer.accept(Edit)
            await peer.send(Ops(1, [-1]), Done(request.request, "stop"))
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("a", "abc")
        held = await session.edit(document, (0, 1), "x").result()
        await session.edit(document, (0, 1), "x").result()
        mirror = document.usable_mirror()
        await until(lambda: len(mirror.trackers) == 1)
        assert list(mirror.trackers) == [held.range]


async def test_an_edit_in_very_many_places_goes_in_as_one_change_of_its_range(scripted) -> None:
    """Servers take a bounded number of edits at once."""
    original = "ab" * (MAX_EDITS + 1)
    changes = []

    async def script(peer) -> None:
        await peer.greet()
        request = await peer.accept(Edit)
        await peer.send(Ops(1, [-1, 1] * (MAX_EDITS + 1)), Done(request.request, "stop"))
        changes.append(await peer.next(Change))
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("a", f"<{original}>")
        await document.apply(await session.edit(document, (1, 1 + len(original)), "no a").result())
        await session.ping()
    text = "b" * (MAX_EDITS + 1)
    assert changes[0].edits == [TextEdit(1, 1 + len(original), text)]
    assert changes[0].hash == content_hash(f"<{text}>")


async def test_an_edit_that_makes_the_document_too_large_is_not_applied(scripted) -> None:
    """Nothing is changed and nothing sent."""

    async def script(peer) -> None:
        await peer.greet(limit=10)
        request = await peer.accept(Edit)
        await peer.send(Ops(1, ["x" * 8]), Done(request.request, "stop"))
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("a", "abc")
        result = await session.edit(document, (0, 3), "grow").result()
        with pytest.raises(RequestError, match="11 bytes; the server takes 10"):
            await document.apply(result)
        assert (document.text, document.version) == ("abc", 0)


async def test_a_completion_goes_where_its_place_is_now(scripted) -> None:
    """What was changed elsewhere moves it; what was typed of it is not inserted again."""

    async def script(peer) -> None:
        await peer.greet()
        request = await peer.accept(Complete)
        await peer.send(Delta(1, "return 😀"), Done(request.request, "stop"))
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("a", "é: \nrest")
        completion = session.complete(document, 3)
        await document.change(0, 1, "def f()")
        await document.change(9, 9, "re")
        await document.change(len(document.text), len(document.text), "!")
        await document.apply(await completion.result())
        assert document.text == "def f(): return 😀\nrest!"
        await document.apply(completion)
        assert document.text == "def f(): return 😀\nrest!"


async def test_a_completion_is_applied_while_it_runs(scripted) -> None:
    """A person who types what it says may be ahead of it."""
    step = asyncio.Event()

    async def script(peer) -> None:
        await peer.greet()
        request = await peer.accept(Complete)
        await peer.send(Delta(1, "one "))
        await step.wait()
        await peer.send(Delta(1, "two three"), Done(request.request, "stop"))
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("a", "[]")
        completion = session.complete(document, 1)
        await until(lambda: completion.text)
        await document.apply(completion)
        assert document.text == "[one ]"
        await document.change(5, 5, "tw")
        await document.apply(completion)
        assert document.text == "[one tw]"
        step.set()
        await document.apply(await completion.result())
        assert document.text == "[one two three]"


async def test_a_long_completion_is_applied_piece_by_piece_and_again(scripted) -> None:
    """Of any length; what is there already stays as it is."""
    pieces = [f"{number:099d}\n" for number in range(60)]
    step = asyncio.Event()

    async def script(peer) -> None:
        await peer.greet()
        request = await peer.accept(Complete)
        for piece in pieces:
            await peer.send(Delta(1, piece))
        await step.wait()
        await peer.send(Done(request.request, "stop"))
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("a", "[]")
        completion = session.complete(document, 1)
        async for _ in completion:
            await document.apply(completion)
            if completion.text == "".join(pieces):
                step.set()
        result = await completion.result()
        await document.apply(result)
        await document.apply(result)
        assert document.text == f"[{''.join(pieces)}]"


@pytest.mark.parametrize(("start", "end", "text"), [(2, 2, "other"), (1, 2, ""), (0, 3, "x")])
async def test_a_completion_that_no_longer_fits_is_a_conflict(scripted, start: int, end: int, text: str) -> None:
    """Something else was typed there, or what stood before it is gone."""

    async def script(peer) -> None:
        await peer.greet()
        request = await peer.accept(Complete)
        await peer.send(Delta(1, "suggested"), Done(request.request, "stop"))
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("a", "ab cd")
        completion = session.complete(document, 2)
        await document.change(start, end, text)
        before = document.text
        result = await completion.result()
        for what in (result, completion):
            with pytest.raises(Conflict, match="ask again"):
                await document.apply(what)
        assert document.text == before


async def test_a_result_goes_into_its_own_document_only(scripted) -> None:
    """The error names both."""

    async def script(peer) -> None:
        await peer.greet()
        request = await peer.accept(Complete)
        await peer.send(Done(request.request, "stop"))
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        first, second = await session.open("first", ""), await session.open("second", "")
        result = await session.complete(first, 0).result()
        with pytest.raises(ValueError, match="belongs to first, not to second"):
            await second.apply(result)


async def test_a_hint_where_the_next_request_will_be(scripted) -> None:
    """It is sent with offsets in UTF-16, and checked here."""
    hints = []

    async def script(peer) -> None:
        await peer.greet()
        hints.extend([await peer.next(Warm), await peer.next(Warm)])
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("a", "😀abc")
        await document.warm(2)
        await document.warm(1, 4)
        for wrong in ((5,), (3, 2), (0, 5)):
            with pytest.raises(ValueError, match="not within a text of 4 characters"):
                await document.warm(*wrong)
        await session.ping()
    assert hints == [Warm("a", 0, 3), Warm("a", 0, 2, 5)]
