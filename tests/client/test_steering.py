"""Requests that are interrupted, superseded, continued or steered while they run."""

from __future__ import annotations

import asyncio

import pytest
from warmline.client import Conflict, Delete, Insert, Keep, RequestError, ServerMisbehaved, Void, connect
from warmline.realtime.protocol import (
    Accepted,
    Applied,
    Change,
    Complete,
    Continued,
    Delta,
    Done,
    Edit,
    Error,
    Interrupt,
    Ops,
    Steer,
    Steered,
    TextEdit,
    Timing,
)


async def until(condition) -> None:
    """Let the session's reader go on until something is so."""
    while not condition():
        await asyncio.sleep(0)


async def test_an_interrupted_request_keeps_what_it_has(scripted) -> None:
    """Iteration goes on to the end, the interrupt is sent once, and the result says so."""

    async def script(peer) -> None:
        await peer.greet()
        request = await peer.accept(Complete)
        await peer.send(Delta(1, "one"))
        assert (await peer.next(Interrupt)).request == request.request
        await peer.send(Delta(1, "two"), Done(request.request, "interrupted"))
        await peer.idle()
        assert sum(isinstance(message, Interrupt) for message in peer.messages) == 1

    async with scripted(script) as url, connect(url) as session:
        completion = session.complete(await session.open("a", ""), 0)
        assert await anext(completion) == "one"
        completion.interrupt()
        completion.interrupt()
        assert [piece async for piece in completion] == ["two"]
        result = await completion.result()
        assert (result.text, result.reason) == ("onetwo", "interrupted")
        completion.interrupt()
        await session.ping()


async def test_a_newer_completion_supersedes_the_running_one_and_may_go_on_with_its_text(scripted) -> None:
    """Both end well; the new one names the old, and its hops are its own."""
    sent = []

    async def script(peer) -> None:
        await peer.greet()
        old = await peer.accept(Complete, stream=0)
        await peer.send(Delta(0, "return x"))
        await peer.next(Change)
        new = await peer.next(Complete)
        await peer.send(
            Done(old.request, "superseded"),
            Accepted(new.request, 0, Continued(old.request, 0, 1)),
            Delta(0, "turn x"),
            Delta(0, " + 1"),
            Done(new.request, "stop", timing=Timing(received=100, sent=101, engine_step=1)),
        )
        sent.extend([old, new])
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("a", "")
        first = session.complete(document, 0, traceparent="00-abc-def-01")
        assert await anext(first) == "return x"
        await document.change(0, 0, "re")
        second = session.complete(document, 2)
        result = await second.result()
        assert [piece async for piece in first] == []
        assert ((await first.result()).reason, (await first.result()).continued) == ("superseded", None)
        assert (result.text, result.continued, second.continued) == ("turn x + 1", first.request, first.request)
        assert result.timing.engine_step == 1
        await document.apply(result)
        assert document.text == "return x + 1"
    assert [(each.traceparent, each.parallel) for each in sent] == [("00-abc-def-01", False), (None, False)]


async def test_a_completion_goes_on_over_what_the_editor_closed(scripted) -> None:
    """It takes the place of that, wherever the document has changed meanwhile."""
    changes = []

    async def script(peer) -> None:
        await peer.greet()
        old = await peer.accept(Complete, stream=0)
        await peer.send(Delta(0, "foo(a, b)"))
        new = await peer.next(Complete)
        await peer.next(Change)
        await peer.send(
            Done(old.request, "superseded"),
            Accepted(new.request, 0, Continued(old.request, 0, 2, 1)),
            Delta(0, "a, b)"),
            Delta(0, " + 1"),
            Done(new.request, "stop"),
        )
        changes.append(await peer.next(Change))
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("a", "x = \n")
        first = session.complete(document, 4)
        assert await anext(first) == "foo(a, b)"
        await document.change(4, 4, "foo")
        await document.change(7, 7, "()")
        second = session.complete(document, 8)
        await document.change(0, 0, "import y\n")
        result = await second.result()
        assert (second.replaces, result.replaces, first.replaces, result.position) == (1, 1, 0, 8)
        await document.apply(result)
        assert document.text == "import y\nx = foo(a, b) + 1\n"
        await session.ping()
    assert [change.edits for change in changes] == [[TextEdit(17, 18, "a, b) + 1")]]


async def test_a_completion_is_put_in_once_it_closes_what_the_editor_closed(scripted) -> None:
    """Before, nothing is: there would be a bracket too many. One that ends without it doesn't fit."""
    step = asyncio.Event()

    async def script(peer) -> None:
        await peer.greet()
        request = await peer.accept(Complete)
        await peer.send(Delta(1, "foo(a, "))
        await step.wait()
        await peer.send(Delta(1, "b)"), Done(request.request, "stop"))
        request = await peer.accept(Complete, stream=2)
        await peer.send(Delta(2, "[1"), Done(request.request, "length"))
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("a", "")
        completion = session.complete(document, 0)
        await document.change(0, 0, "foo()")
        await until(lambda: completion.text)
        await document.apply(completion)
        assert document.text == "foo()"
        step.set()
        await document.apply(await completion.result())
        assert document.text == "foo(a, b)"
        completion = session.complete(document, 9)
        await document.change(9, 9, "[]")
        with pytest.raises(Conflict, match="ask again"):
            await document.apply(await completion.result())
        assert document.text == "foo(a, b)[]"


async def test_a_continuation_from_another_place_is_an_error(scripted) -> None:
    """The client would not know what is left."""

    async def script(peer) -> None:
        await peer.greet()
        old = await peer.accept(Complete, stream=0)
        new = await peer.next(Complete)
        await peer.send(Done(old.request, "superseded"), Accepted(new.request, 0, Continued(old.request, 0, 0)))
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("a", "abc")
        first = session.complete(document, 0)
        with pytest.raises(ServerMisbehaved, match=f"continued request {first.request}"):
            await session.complete(document, 2).result()


async def test_a_steered_edit_goes_on_after_what_was_sent(scripted) -> None:
    """By default nothing is given up, so iteration and application just go on; hops sum up as ever."""
    steers = []

    async def script(peer) -> None:
        await peer.greet()
        request = await peer.accept(Edit)
        assert (request.accepted, request.traceparent, request.sampling.max_tokens) == ("abc", "trace", 8 + 3 + 128)
        await peer.send(Ops(1, [3]))
        for addition in (Ops(1, ["x", -1]), Ops(1, [1, "y"])):
            steers.append(await peer.next(Steer))
            await peer.send(Ops(1, [1]), Steered(request.request, 2 if len(steers) == 1 else 5), addition)
        await peer.send(Done(request.request, "stop", timing=Timing(received=100, sent=101, engine_step=1)))
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("a", "abcdefgh")
        edit = session.edit(document, (0, 8), "first", accepted="abc", traceparent="trace")
        assert await anext(edit) == Keep(0, "abc")
        await document.apply(edit)
        await asyncio.gather(edit.steer("second\ud800"), edit.steer("third"))
        result = await edit.result()
        assert result.text == "abcdxfgyh"
        assert [type(operation) for operation in [operation async for operation in edit]] == [
            Keep,
            Insert,
            Delete,
            Keep,
            Keep,
            Insert,
        ]
        assert result.timing.engine_step == 1
        await document.apply(result)
        assert document.text == result.text
    assert steers == [Steer(1, "second�"), Steer(1, "third")]


async def test_operations_that_were_given_up_are_taken_back(scripted) -> None:
    """Those that iteration had not brought are left out; the others get a Void. None is applied meanwhile."""

    async def script(peer) -> None:
        await peer.greet()
        request = await peer.accept(Edit)
        await peer.send(Ops(1, [1, "old", -1, 1, "older"]))
        assert await peer.next(Steer) == Steer(request.request, "better", 1)
        assert (await peer.next(Change)).applied == Applied(request.request, 1)
        await peer.send(Ops(1, [1]), Steered(request.request, 1), Ops(1, [-2, "new", 1]))
        await peer.send(Done(request.request, "stop"))
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("a", "abcdef")
        edit = session.edit(document, (0, 6), "change it")
        taken = [await anext(edit) for _ in range(3)]
        assert taken == [Keep(0, "a"), Insert(1, "old"), Delete(1, "b")]
        await until(lambda: len(edit.operations) == 5)
        steering = asyncio.create_task(edit.steer("better", operations=1))
        await asyncio.sleep(0)
        assert edit.ready == 1
        await document.apply(edit)
        assert document.text == "abcdef"
        following = [operation async for operation in edit]
        assert following == [Void(2), Delete(1, "bc"), Insert(3, "new"), Keep(3, "d")]
        await steering
        result = await edit.result()
        assert result.operations == (Keep(0, "a"), Delete(1, "bc"), Insert(3, "new"), Keep(3, "d"))
        await document.apply(result)
        assert document.text == "anewdef" == result.text


async def test_a_steer_that_is_refused_changes_nothing(scripted) -> None:
    """The edit goes on as it was; an edit that has ended can't be steered; wrong numbers never leave."""

    async def script(peer) -> None:
        await peer.greet()
        request = await peer.accept(Edit)
        await peer.send(Ops(1, [1, "x", 2]))
        await peer.next(Steer)
        await peer.send(Error(None, "prompt_too_long", "no room for more instructions"))
        await peer.next(Change)
        await peer.send(Done(request.request, "stop"))
        await peer.next(Steer)
        await peer.send(Error(request.request, "unknown_request", "request 1 is no running edit"))
        await peer.idle()
        assert sum(isinstance(message, Steer) for message in peer.messages) == 2

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("a", "abcdef")
        edit = session.edit(document, (0, 6), "change it")
        await until(lambda: len(edit.operations) == 3)
        with pytest.raises(RequestError, match="no room for more instructions"):
            await edit.steer("more", operations=2)
        assert edit.ready == 3
        await document.apply(edit)
        for wrong in (2, 4):
            with pytest.raises(ValueError, match="3 came, and 3 of them are in the document"):
                await edit.steer("more", operations=wrong)
        assert len([operation async for operation in edit]) == 3
        with pytest.raises(RequestError, match="no running edit") as caught:
            await edit.steer("more")
        assert caught.value.code == "unknown_request"


async def test_an_edit_may_end_before_it_hears_of_a_steer(scripted) -> None:
    """What was to be given up then stays."""

    async def script(peer) -> None:
        await peer.greet()
        request = await peer.accept(Edit)
        await peer.send(Ops(1, [1, "x", 2]))
        await peer.next(Steer)
        await peer.send(Done(request.request, "stop"), Error(request.request, "unknown_request", "it has ended"))
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("a", "abcdef")
        edit = session.edit(document, (0, 6), "change it")
        await until(lambda: len(edit.operations) == 3)
        with pytest.raises(RequestError, match="it has ended"):
            await edit.steer("more", operations=0)
        await document.apply(edit)
        assert document.text == "axbcdef" == (await edit.result()).text


@pytest.mark.parametrize(
    "frames",
    [
        [Steered(9, 0)],
        [Steered(1, 3)],
        [Steered(2, 0)],
        [Accepted(1, 2, Continued(2, 0, 0))],
    ],
    ids=repr,
)
async def test_a_steer_or_a_continuation_out_of_place_is_an_error(scripted, frames) -> None:
    """Of no request, of a completion, with more operations than there are; an edit continues nothing."""

    async def script(peer) -> None:
        await peer.greet()
        await peer.next(Edit)
        await peer.next(Complete)
        await peer.send(Accepted(1, 0), Accepted(2, 1), Ops(0, [1, "x"]), *frames)
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("a", "abcdef")
        edit, completion = session.edit(document, (0, 6), "x"), session.complete(document, 0)
        with pytest.raises(ServerMisbehaved):
            await edit.result()
        completion.cancel()


async def test_a_steer_ends_with_the_connection(scripted) -> None:
    """Nothing hangs."""

    async def script(peer) -> None:
        await peer.greet()
        await peer.accept(Edit)
        await peer.next(Steer)
        peer.connection.transport.abort()

    async with scripted(script) as url, connect(url) as session:
        edit = session.edit(await session.open("a", "abcdef"), (0, 6), "x")
        with pytest.raises(Exception, match="the connection broke"):
            await edit.steer("more")
