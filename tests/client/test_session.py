"""Documents, completions and edits of a session, against a scripted server, in both subprotocols."""

from __future__ import annotations

import asyncio
import gc

import pytest
from warmline.client import (
    JSON,
    MSGPACK,
    Completion,
    Delete,
    DocumentClosed,
    Insert,
    Keep,
    PromptTooLong,
    RequestError,
    SessionClosed,
    connect,
)
from warmline.client.state import TextState
from warmline.realtime import protocol as wire
from warmline.realtime.protocol import (
    Applied,
    Cancel,
    Change,
    Complete,
    Delta,
    Done,
    Edit,
    Error,
    Nack,
    Open,
    Ops,
    TextEdit,
)


@pytest.fixture(params=[MSGPACK, JSON])
def subprotocol(request: pytest.FixtureRequest) -> str:
    return request.param


async def only_open(peer) -> None:
    await peer.greet()
    await peer.idle()


async def test_a_completion_streams_its_text_and_then_the_result(scripted, subprotocol: str) -> None:
    """Pieces arrive in order; the result has text, reason, receipt and hops."""

    async def script(peer) -> None:
        await peer.greet()
        request = await peer.accept(Complete)
        assert (request.position, request.sampling.max_tokens, request.sampling.stop) == (7, 9, ("é",))
        await peer.send(Delta(1, "x"), Delta(1, "é😀"))
        await peer.send(Done(request.request, "stop", wire.Receipt(output_tokens=3), wire.Timing(10, 20, 30, 20)))
        await peer.idle()

    async with scripted(script) as url, connect(url, subprotocol=subprotocol) as session:
        document = await session.open("file:///a.py", "x = 😀\n", "python")
        completion = session.complete(document, 6, max_tokens=9, stop="é")
        assert "".join([piece async for piece in completion]) == "xé😀" == completion.text
        result = await completion.result()
        assert (result.text, result.reason, result.receipt.output_tokens) == ("xé😀", "stop", 3)
        assert result.ttft is not None and 0 <= result.ttft <= result.timing.end_to_end
        assert result.timing.server_parse == 20
        assert result.tokens_per_second > 0


@pytest.mark.parametrize(
    ("text", "given", "sent"),
    [("x = 1\n" * 11, None, 66 + 128), ("é😀", None, 6 + 128), ("", None, 128), ("x = 1\n" * 11, 7, 7)],
)
async def test_an_edit_may_write_its_range_anew_and_some_more(scripted, text: str, given, sent: int) -> None:
    """Unless max_tokens is given, it is a token for each byte of the range and 128."""
    sampled = []

    async def script(peer) -> None:
        await peer.greet()
        request = await peer.accept(Edit)
        sampled.append(request.sampling.max_tokens)
        await peer.send(Done(request.request, "stop"))
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("a", f"# 😀\n{text}# rest")
        await session.edit(document, (4, 4 + len(text)), "shout", max_tokens=given).result()
    assert sampled == [sent]


async def test_an_edit_streams_operations_and_can_be_applied(scripted, subprotocol: str) -> None:
    """Offsets travel as UTF-16; applying sends one change that names the request and its operations."""
    changes = []

    async def script(peer) -> None:
        await peer.greet()
        request = await peer.accept(Edit)
        assert (request.start, request.end, request.instruction) == (3, 8, "shout")
        await peer.send(Ops(1, [1, "É"]), Ops(1, [-2]), Done(request.request, "stop"))
        changes.append(await peer.next(Change))
        await peer.idle()

    async with scripted(script) as url, connect(url, subprotocol=subprotocol) as session:
        document = await session.open("a", "😀 hé llo", "")
        edit = session.edit(document, (2, 7), "shout")
        assert edit.text == "hé ll"
        assert [operation async for operation in edit] == [Keep(2, "h"), Insert(3, "É"), Delete(3, "é ")]
        result = await edit.result()
        assert result.text == edit.text == "hÉll"
        await document.apply(result)
        assert (document.text, document.version) == ("😀 hÉllo", 1)
        await session.ping()
    assert changes[0].edits == [TextEdit(4, 6, "É")]
    assert changes[0].applied == Applied(1, 3)


async def test_a_completion_can_be_applied(scripted) -> None:
    """Its text goes in at its position."""

    async def script(peer) -> None:
        await peer.greet()
        request = await peer.accept(Complete)
        await peer.send(Delta(1, "42"), Done(request.request, "stop"))
        assert (await peer.next(Change)).edits == [TextEdit(2, 2, "42")]
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("a", "😀!")
        await document.apply(await session.complete(document, 1).result())
        assert document.text == "😀42!"
        await session.ping()


async def test_a_request_out_of_bounds_never_leaves(scripted) -> None:
    """Ranges, positions and parameters are checked where they are written."""

    async def script(peer) -> None:
        await peer.greet()
        await peer.idle()
        assert [type(message) for message in peer.messages] == [wire.Hello, Open, wire.Close]

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("a", "abc")
        for span in [(0, 4), (-1, 2), (2, 1)]:
            with pytest.raises(ValueError, match="not within a text of 3 characters"):
                session.edit(document, span, "x")
            with pytest.raises(ValueError, match="not within"):
                await document.change(*span, "x")
        with pytest.raises(ValueError, match="position 4"):
            session.complete(document, 4)
        with pytest.raises(ValueError, match="max_tokens"):
            session.complete(document, 0, max_tokens=0)
        with pytest.raises(TypeError, match="there is no parameter 'max_token'"):
            session.complete(document, 0, max_token=7)  # type: ignore[call-arg]
        with pytest.raises(ValueError, match="traceparent has 129 characters; at most 128"):
            session.edit(document, (0, 1), "x", traceparent="0" * 129)
        with pytest.raises(ValueError, match="speculation"):
            session.complete(document, 0, speculation="maybe")  # type: ignore[arg-type]
        assert document.version == 0
        await document.close()
        await document.close()
        with pytest.raises(DocumentClosed):
            await document.change(0, 0, "x")
        with pytest.raises(DocumentClosed):
            session.complete(document, 0)
        await session.ping()


async def test_a_refused_request_raises_in_the_loop_and_in_the_result(scripted) -> None:
    """The iterator raises once and is then at its end; every result() raises."""

    async def script(peer) -> None:
        await peer.greet()
        request = await peer.next(Complete)
        await peer.send(Error(request.request, "prompt_too_long", "9000 tokens; 8192 fit"))
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        completion = session.complete(await session.open("a", ""), 0)
        with pytest.raises(PromptTooLong, match=r"9000 tokens; 8192 fit \(prompt_too_long\)"):
            await anext(completion)
        with pytest.raises(StopAsyncIteration):
            await anext(completion)
        for _ in range(2):
            with pytest.raises(PromptTooLong):
                await completion.result()


async def test_cancel_before_the_request_was_accepted(scripted) -> None:
    """Iteration ends at once, cancelling again does nothing, and the result says so."""

    async def script(peer) -> None:
        await peer.greet()
        request = await peer.next(Complete)
        assert (await peer.next(Cancel)).request == request.request
        await peer.send(wire.Accepted(request.request, 1), Done(request.request, "cancel"))
        await peer.idle()
        assert sum(isinstance(message, Cancel) for message in peer.messages) == 1

    async with scripted(script) as url, connect(url) as session:
        completion = session.complete(await session.open("a", ""), 0)
        completion.cancel()
        completion.cancel()
        assert [piece async for piece in completion] == []
        assert (await completion.result()).reason == "cancel"
        completion.cancel()
        await session.ping()


async def test_cancel_wakes_a_loop_that_waits(scripted) -> None:
    """Another task cancels; the loop ends without another piece, though the text so far is in the result."""

    async def script(peer) -> None:
        await peer.greet()
        request = await peer.accept(Complete)
        await peer.send(Delta(1, "one"))
        await peer.next(Cancel)
        await peer.send(Delta(1, "two"), Done(request.request, "cancel"))
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        completion = session.complete(await session.open("a", ""), 0)
        assert await anext(completion) == "one"
        waiting = asyncio.ensure_future(anext(completion, None))
        await asyncio.sleep(0)
        completion.cancel()
        assert await waiting is None
        assert (await completion.result()).text == "onetwo"


async def test_leaving_an_async_with_cancels(scripted) -> None:
    """``async with`` ends the request when the block is left."""

    async def script(peer) -> None:
        await peer.greet()
        request = await peer.accept(Complete)
        await peer.send(Delta(1, "x"))
        await peer.next(Cancel)
        await peer.send(Done(request.request, "cancel"))
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        async with session.complete(await session.open("a", ""), 0) as completion:
            async for _ in completion:
                break
        assert (await completion.result()).reason == "cancel"


async def test_a_stream_nobody_holds_is_cancelled_and_keeps_nothing(scripted) -> None:
    """Breaking out of a loop over a temporary ends the request by itself."""
    cancelled = asyncio.Event()

    async def script(peer) -> None:
        await peer.greet()
        await peer.accept(Complete)
        await peer.send(Delta(1, "x"))
        await peer.next(Cancel)
        cancelled.set()
        await peer.send(Delta(1, "y"))
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("a", "")
        async for _ in session.complete(document, 0):
            break
        gc.collect()
        await cancelled.wait()
        await session.ping()
        gc.collect()
        held = gc.get_objects()
        assert not [each for each in held if type(each) is Completion]
        assert [each.pieces for each in held if type(each) is TextState] == [["x"]]


async def test_a_reader_that_lags_gets_longer_pieces(scripted) -> None:
    """Text that piled up comes as one piece."""

    async def script(peer) -> None:
        await peer.greet()
        request = await peer.accept(Complete)
        await peer.send(*(Delta(1, str(number)) for number in range(10)), Done(request.request, "stop"))
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        completion = session.complete(await session.open("a", ""), 0)
        await completion.result()
        assert [piece async for piece in completion] == ["0123456789"]


async def test_a_waiter_that_is_cancelled_does_not_disturb_another(scripted) -> None:
    """Giving up on result() (a timeout, say) leaves the request and other waiters alone."""
    proceed = asyncio.Event()

    async def script(peer) -> None:
        await peer.greet()
        request = await peer.accept(Complete)
        await proceed.wait()
        await peer.send(Delta(1, "x"), Done(request.request, "stop"))
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        completion = session.complete(await session.open("a", ""), 0)
        other = asyncio.ensure_future(completion.result())
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(completion.result(), 0.01)
        proceed.set()
        assert (await other).text == "x"


async def test_a_nack_is_answered_with_the_whole_text(scripted) -> None:
    """The program's own text wins, and the document stays usable."""
    opened = []

    async def script(peer) -> None:
        await peer.greet()
        await peer.next(Change)
        await peer.send(Nack("a", 0, "hash_mismatch", "differs"))
        opened.append(await peer.next(Open))
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("a", "abc", "python")
        await document.change(0, 1, "x")
        await session.ping()
        await session.ping()
    assert opened == [Open("a", 1, "python", "xbc")]


async def test_a_document_the_server_refuses_does_not_open(scripted) -> None:
    """open() raises what the server said, and the name is free again."""

    async def script(peer) -> None:
        await peer.greet()
        refusal = Error(None, "too_many_documents", "1 is open already")
        await peer.next(Open)
        await peer.next(wire.Close, before_pong=refusal)
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        await session.ping()
        with pytest.raises(RequestError, match="1 is open already"):
            await session.open("a", "text")
        await session.open("a", "text")


async def test_a_text_above_the_servers_limit_never_leaves(scripted) -> None:
    """The document keeps its text, and the connection lives on."""

    async def script(peer) -> None:
        await peer.greet(limit=10)
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        with pytest.raises(RequestError, match="11 bytes; the server takes 10"):
            await session.open("a", "x" * 11)
        document = await session.open("a", "é" * 5)
        with pytest.raises(RequestError, match="12 bytes"):
            await document.change(0, 0, "é")
        assert document.text == "é" * 5
        await session.ping()


async def test_names_are_checked(scripted) -> None:
    """A document is open once per session, has a name, and belongs to one session."""
    async with scripted(only_open) as url, connect(url) as session, connect(url) as other:
        document = await session.open("a", "")
        with pytest.raises(ValueError, match="open already"):
            await session.open("a", "")
        with pytest.raises(ValueError, match="needs a name"):
            await session.open("", "")
        with pytest.raises(ValueError, match="another session"):
            other.complete(document, 0)


async def test_lone_surrogates_are_replaced_on_the_way_out(scripted, subprotocol: str) -> None:
    """Text, instruction and stop strings with lone surrogates travel as U+FFFD."""
    seen = []

    async def script(peer) -> None:
        await peer.greet()
        seen.append((await peer.next(Open)).text)
        seen.append((await peer.next(Change)).edits[0].text)
        edit = await peer.next(Edit)
        seen.extend([edit.instruction, edit.sampling.stop[0], edit.replay])
        await peer.send(Done(edit.request, "stop"))
        await peer.idle()

    async with scripted(script) as url, connect(url, subprotocol=subprotocol) as session:
        document = await session.open("a", "\ud800")
        await document.change(0, 0, "\udfff")
        await session.edit(document, (0, 1), "\ud800", stop=["\ud800"], replay="\ud800").result()
        assert document.text == "��"
    assert seen == ["�"] * 5


async def test_closing_the_session_ends_what_runs(scripted) -> None:
    """Every waiter raises SessionClosed, and the session refuses more."""
    async with scripted(only_open) as url:
        session = await connect(url)
        document = await session.open("a", "")
        completion = session.complete(document, 0)
        waiters = [asyncio.ensure_future(completion.result()), asyncio.ensure_future(anext(completion))]
        await asyncio.sleep(0)
        await session.close()
        await session.close()
        for waiter in waiters:
            with pytest.raises(SessionClosed):
                await waiter
        for call in (lambda: session.complete(document, 0), lambda: session.edit(document, (0, 0), "x")):
            with pytest.raises(SessionClosed):
                call()
        with pytest.raises(SessionClosed):
            await session.ping()
        with pytest.raises(SessionClosed):
            await document.change(0, 0, "x")
        completion.cancel()
        await document.close()
        assert session.closed


async def test_ping_measures_the_round_trip(scripted) -> None:
    """In microseconds; several at once don't mix."""
    async with scripted(only_open) as url, connect(url) as session:
        delays = await asyncio.gather(*(session.ping() for _ in range(5)))
        assert all(0 < delay < 10_000_000 for delay in delays)
