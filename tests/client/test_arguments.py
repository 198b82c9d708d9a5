"""Whatever a program passes that can't be meant is a `WarmlineError`, before anything is sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from warmline.client import Document, InvalidArgument, InvalidRange, Session, WarmlineError, WrongType, connect
from warmline.client.parameters import sampling_of
from warmline.realtime.protocol import Cancel, Chat, Complete, Done, Edit, Open, Sampling, Steer, Warm

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
        (lambda s, d: s.complete(d, 0, temperature="hot"), WrongType, "temperature is of type str, not float"),
        (lambda s, d: s.complete(d, 0, stop=7), WrongType, "stop is of type int"),
        (lambda s, d: s.complete(d, 0, stop=["a", b"b"]), WrongType, "stop.1. is of type bytes, not str"),
        (lambda s, d: s.complete(d, 0, logit_bias=[1]), WrongType, "logit_bias is of type list"),
        (lambda s, d: s.complete(d, 0, traceparent=b"00"), WrongType, "traceparent is of type bytes"),
        (lambda s, d: s.complete(d, 0, replay=b"x"), WrongType, "replay is of type bytes"),
        (lambda s, d: s.edit(d, 3, "x"), WrongType, "span is 3, not a pair"),
        (lambda s, d: s.edit(d, (0, 1, 2), "x"), WrongType, "span is .0, 1, 2., not a pair"),
        (lambda s, d: s.edit(d, (0, "3"), "x"), WrongType, "the end of span is of type str"),
        (lambda s, d: s.edit(d, (0, 3), None), WrongType, "instruction is of type NoneType"),
        (lambda s, d: s.edit(d, (0, 3), "x", accepted=b""), WrongType, "accepted is of type bytes"),
        (lambda s, d: s.edit(d, (0, 3), ""), InvalidArgument, "instruction is empty: say what to do"),
        (lambda s, d: s.edit(d, (0, 3), " \n"), InvalidArgument, "instruction is empty: say what to do"),
        (
            lambda s, d: s.edit(d, (0, 3), "x" * 16385),
            InvalidArgument,
            "^instruction has 16,385 characters; at most 16,384 can be sent$",
        ),
        (lambda s, d: s.edit(d, (0, 3), "x", logprobs=1), InvalidArgument, "logprobs can't be had of an edit"),
        (lambda s, d: s.open("b", "", "x" * 65), InvalidArgument, "language has 65 characters; at most 64"),
        (lambda s, d: s.open("b" * 4097, ""), InvalidArgument, "uri has 4,097 characters; at most 4,096"),
        (lambda s, d: s.chat("c", ""), InvalidArgument, "text is empty: say something, or name a document"),
        (lambda s, d: s.chat("c", " \n"), InvalidArgument, "text is empty: say something, or name a document"),
        (lambda s, d: s.complete(d, 0, parallel=1), WrongType, "parallel is of type int, not bool"),
        (lambda s, d: s.complete(d, 0, max_tokens=True), WrongType, "max_tokens is of type bool, not int"),
        (lambda s, d: s.complete(d, 0, max_tokens=8.0), WrongType, "max_tokens is of type float, not int"),
        (
            lambda s, d: s.complete(d, 0, logit_bias={"a": 1}),
            WrongType,
            "a key of logit_bias is of type str",
        ),
        (lambda s, d: s.complete(d, 0, logit_bias={1: "a"}), WrongType, ".1. is of type str, not float"),
        (lambda s, d: s.complete(d, 0, speculation="fast"), InvalidArgument, "must be 'auto' or 'off', not 'fast'"),
        (lambda s, d: s.complete(d, 0, temperature=float("nan")), InvalidArgument, "must be at least 0, not nan"),
        (lambda s, d: s.complete(d, 0, traceparent="0" * 129), InvalidArgument, "traceparent has 129 characters"),
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


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_tokens": 0}, "max_tokens must be at least 1, not 0"),
        ({"max_tokens": 1_000_001}, "max_tokens must be at most 1,000,000, not 1,000,001"),
        ({"temperature": -0.5}, "temperature must be at least 0, not -0.5"),
        ({"temperature": 101}, "temperature must be at most 100, not 101"),
        ({"top_p": 1.5}, "top_p must be at most 1, not 1.5"),
        ({"top_k": -1}, "top_k must be at least 0, not -1"),
        ({"min_p": -1}, "min_p must be at least 0, not -1"),
        ({"seed": 2**53}, "seed must be at most 9,007,199,254,740,991, not 9,007,199,254,740,992"),
        ({"stop": ""}, "stop[0] is empty; it needs 1 to 256 characters"),
        ({"stop": ["a", "x" * 257]}, "stop[1] has 257 characters; at most 256 can be sent"),
        ({"stop": ["x"] * 17}, "stop has 17 items; at most 16 can be sent"),
        ({"repetition_penalty": 0}, "repetition_penalty must be above 0, not 0"),
        ({"repetition_penalty": 101}, "repetition_penalty must be at most 100, not 101"),
        ({"presence_penalty": 3}, "presence_penalty must be at most 2, not 3"),
        ({"frequency_penalty": -3}, "frequency_penalty must be at least -2, not -3"),
        ({"logit_bias": {-1: 0}}, "a key of logit_bias must be at least 0, not -1"),
        ({"logit_bias": {7: 200}}, "logit_bias[7] must be at most 100, not 200"),
        ({"logit_bias": dict.fromkeys(range(1025), 0)}, "logit_bias has 1,025 items; at most 1,024 can be sent"),
        ({"logprobs": 21}, "logprobs must be at most 20, not 21"),
    ],
)
def test_a_parameter_out_of_its_range_is_refused_in_words(parameters: Any, message: str) -> None:
    """By its name, with what there is and what was given."""
    with pytest.raises(InvalidArgument) as caught:
        sampling_of(parameters, 1)
    assert str(caught.value) == message


def test_the_words_are_of_what_the_wire_refuses() -> None:
    """Each bound of each parameter, and each type: what can't be sent never comes out in the words of a decoder."""
    wrong = [-(10**17), 10**17, 1e300, -1e300, "x" * 100, b"x", [b"x"], {1: b""}, {b"": 1}, object(), True, [[]]]
    for name in Sampling.__struct_fields__:
        for value in wrong:
            try:
                encoded = msgspec.convert(sampling_of({name: value}, 1), Sampling)  # type: ignore[misc]
            except (InvalidArgument, WrongType) as error:
                assert "Expected" not in str(error)
            else:
                assert isinstance(encoded, Sampling)


@pytest.mark.parametrize("position", [2, 5])
async def test_no_request_is_for_half_a_line_end(scripted, position: int) -> None:
    """A place between CR and LF is refused before it is sent; a change may begin there."""

    async def script(peer) -> None:
        await peer.greet()
        await peer.idle()
        assert not any(isinstance(received, Complete | Edit | Warm) for received in peer.messages)

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("b", "a\r\nb\r\n")
        between = f"position {position} is between the CR and the LF of a line end; take {position - 1}"
        for misuse in (
            lambda: session.complete(document, position),
            lambda: session.edit(document, (position, 6), "x"),
            lambda: session.edit(document, (0, position), "x"),
        ):
            with pytest.raises(InvalidRange, match=between):
                misuse()
        for place in ((position,), (0, position)):
            with pytest.raises(InvalidRange, match=between):
                await document.warm(*place)
        await document.change(position, position + 1, "")
        await session.ping()


async def test_what_can_not_travel_is_replaced_wherever_it_stands(scripted) -> None:
    """Lone surrogates in any text: they would be no message."""
    came: list[Any] = []

    async def script(peer) -> None:
        await peer.greet()
        came.append(await peer.next(Open))
        came.append(await peer.accept(Edit))
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("\ud800", "\ud800", "\ud800")
        session.edit(document, (0, 1), "x\ud800", accepted="\ud800", traceparent="\ud800", stop="\ud800")
        await session.ping()
    opened, edit = came
    assert (opened.document, opened.text, opened.language) == ("\ufffd", "\ufffd", "\ufffd")
    assert (edit.instruction, edit.accepted, edit.traceparent) == ("x\ufffd", "\ufffd", "\ufffd")
    assert edit.sampling.stop == ("\ufffd",)


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
            ((" ",), InvalidArgument, "instruction is empty"),
            (("x" * 16385,), InvalidArgument, "instruction has 16,385 characters"),
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
        ("ws://127.0.0.1", {"client": "x" * 257}, InvalidArgument),
        ("ws://127.0.0.1", {"subprotocol": "v9"}, InvalidArgument),
        ("ws://127.0.0.1", {"transport": "pigeon"}, InvalidArgument),
    ],
)
def test_so_is_what_can_not_be_connected_to(url: Any, options: dict[str, Any], error: type[WarmlineError]) -> None:
    """It is noticed before anything is awaited."""
    with pytest.raises(error):
        connect(url, **options)
