"""Whatever a program passes that can't be meant is a `WarmlineError`, before anything is sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from warmline.client import Document, InvalidArgument, InvalidRange, Session, WarmlineError, WrongType, connect
from warmline.realtime.protocol import Cancel, Chat, Complete, Done, Edit, Steer

Misuse = Callable[[Session, Document], Any]


@pytest.mark.parametrize(
    ("misuse", "error", "message"),
    [
        (lambda s, d: s.open("", ""), InvalidArgument, "needs a name"),
        (lambda s, d: s.open("a", ""), InvalidArgument, "a is open already: change it, or close it first"),
        (lambda s, d: s.open("b", b"text"), WrongType, "text is of type bytes, not str; decode it first"),
        (lambda s, d: s.open(7, ""), WrongType, "uri is of type int, not str"),
        (lambda s, d: s.open("b", "", None), WrongType, "language is of type NoneType"),
        (lambda s, d: d.change(0, 1, b"x"), WrongType, "text is of type bytes"),
        (lambda s, d: d.change("0", 1, "x"), WrongType, "start is of type str, not int"),
        (lambda s, d: d.change(0, 1.0, "x"), WrongType, "end is of type float, not int"),
        (lambda s, d: d.change(0, 9, "x"), InvalidRange, "not within a text of 3 characters"),
        (lambda s, d: d.warm(None), WrongType, "position is of type NoneType"),
        (lambda s, d: d.apply("x"), WrongType, "a str can't be applied"),
        (lambda s, d: s.complete("a", 0), WrongType, "document is of type str, not what `open` gave"),
        (lambda s, d: s.complete(d, 0.5), WrongType, "position is of type float"),
        (lambda s, d: s.complete(d, 4), InvalidRange, "position 4"),
        (lambda s, d: s.complete(d, 0, max_token=1), WrongType, "there is no parameter 'max_token'"),
        (lambda s, d: s.complete(d, 0, top_p=2), InvalidArgument, "top_p"),
        (lambda s, d: s.complete(d, 0, temperature="hot"), InvalidArgument, "temperature"),
        (lambda s, d: s.complete(d, 0, stop=7), WrongType, "stop is of type int"),
        (lambda s, d: s.complete(d, 0, stop=["a", b"b"]), WrongType, "stop is of type bytes"),
        (lambda s, d: s.complete(d, 0, logit_bias=[1]), WrongType, "logit_bias is of type list"),
        (lambda s, d: s.complete(d, 0, traceparent=b"00"), WrongType, "traceparent is of type bytes"),
        (lambda s, d: s.complete(d, 0, replay=b"x"), WrongType, "replay is of type bytes"),
        (lambda s, d: s.edit(d, 3, "x"), WrongType, "span is 3, not a pair"),
        (lambda s, d: s.edit(d, (0, 1, 2), "x"), WrongType, "span is .0, 1, 2., not a pair"),
        (lambda s, d: s.edit(d, (0, "3"), "x"), WrongType, "the end of span is of type str"),
        (lambda s, d: s.edit(d, (0, 3), None), WrongType, "instruction is of type NoneType"),
        (lambda s, d: s.edit(d, (0, 3), "x", accepted=b""), WrongType, "accepted is of type bytes"),
        (lambda s, d: s.chat("", "hi"), InvalidArgument, "needs a name"),
        (lambda s, d: s.chat("c", 7), WrongType, "text is of type int"),
        (lambda s, d: s.chat("c", "hi", documents=d), WrongType, "documents is of type Document"),
        (lambda s, d: s.chat("c", "hi", documents=[d] * 17), InvalidArgument, "at most 16"),
        (lambda s, d: s.conversation(7), WrongType, "conversation is of type int"),
        (lambda s, d: s.end_chat(""), InvalidArgument, "needs a name"),
    ],
)
async def test_what_can_not_be_meant_is_an_error_of_this_package(
    scripted, misuse: Misuse, error: type[WarmlineError], message: str
) -> None:
    """And of the kind that Python has for it. Nothing is sent, and the session goes on."""

    async def script(peer) -> None:
        await peer.greet()
        await peer.idle()
        assert not any(isinstance(received, Complete | Edit | Chat) for received in peer.messages)

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("a", "abc")
        with pytest.raises(error, match=message) as caught:
            made = misuse(session, document)
            if hasattr(made, "__await__"):
                await made
        assert isinstance(caught.value, WarmlineError)
        assert isinstance(caught.value, TypeError if error is WrongType else ValueError)
        assert document.text == "abc"
        await session.ping()


async def test_a_document_of_another_session_is_none_of_this_one(scripted) -> None:
    """Although it may be called the same."""

    async def script(peer) -> None:
        await peer.greet()
        await peer.idle()

    async with scripted(script) as url, connect(url) as one, connect(url) as other:
        await one.open("a", "")
        with pytest.raises(InvalidArgument, match="a is a document of another session"):
            one.complete(await other.open("a", ""), 0)


async def test_steering_is_checked_too(scripted) -> None:
    """Types, and how many operations can stay."""

    async def script(peer) -> None:
        await peer.greet()
        request = await peer.accept(Edit)
        await peer.next(Cancel)
        await peer.send(Done(request.request, "cancel"))
        await peer.idle()
        assert not any(isinstance(received, Steer) for received in peer.messages)

    async with scripted(script) as url, connect(url) as session:
        edit = session.edit(await session.open("a", "abc"), (0, 3), "x")
        for arguments, error, message in [
            ((None,), WrongType, "instruction is of type NoneType"),
            (("x", "1"), WrongType, "operations is of type str"),
            (("x", 1), InvalidArgument, "1 operations can't stay: 0 came"),
        ]:
            with pytest.raises(error, match=message):
                await edit.steer(*arguments)
        edit.cancel()


@pytest.mark.parametrize(
    ("url", "options", "error"),
    [
        ("", {}, InvalidArgument),
        ("http://127.0.0.1", {}, InvalidArgument),
        ("ws://[::1", {}, InvalidArgument),
        ("ws://127.0.0.1:port", {}, InvalidArgument),
        ("ws://127.0.0.1:99999", {}, InvalidArgument),
        (b"ws://127.0.0.1", {}, WrongType),
        (None, {}, WrongType),
        ("ws://127.0.0.1", {"token": b"key"}, WrongType),
        ("ws://127.0.0.1", {"token": "schlüssel"}, InvalidArgument),
        ("ws://127.0.0.1", {"client": 7}, WrongType),
        ("ws://127.0.0.1", {"subprotocol": "v9"}, InvalidArgument),
        ("ws://127.0.0.1", {"transport": "pigeon"}, InvalidArgument),
    ],
)
def test_so_is_what_can_not_be_connected_to(url: Any, options: dict[str, Any], error: type[WarmlineError]) -> None:
    """It is noticed before anything is awaited."""
    with pytest.raises(error):
        connect(url, **options)
