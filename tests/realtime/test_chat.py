"""Conversations over the wire, on the scripted engine, whose tokens are all 1."""

from __future__ import annotations

import itertools

import pytest
from warmline.engine import unpack_tokens
from warmline.realtime.limits import Limits
from warmline.realtime.protocol import (
    JSON,
    MSGPACK,
    Accepted,
    Cancel,
    Change,
    Chat,
    Close,
    Delta,
    Done,
    EndChat,
    Error,
    ErrorCode,
    Interrupt,
    Sampling,
    Steer,
    TextEdit,
)


def prompts(engine) -> list[list[int]]:
    """The prompts of all requests, in tokens."""
    return [unpack_tokens(request.prompt) for request in engine.requests]


@pytest.mark.parametrize("subprotocol", [MSGPACK, JSON])
async def test_a_message_is_answered(serve, dial, engine, subprotocol):
    """In deltas, with the receipt and the times of any request."""
    engine.scripts.append(["Hi", " there"])
    wire = await dial(await serve(), subprotocol)
    await wire.send(Chat(1, "c", "Hello", sampling=Sampling(max_tokens=9, stop=("END\r\n",))))
    parts, done = await wire.ended()
    assert (parts, done.request, done.reason) == (["Hi", " there"], 1, "stop")
    assert (done.receipt.prompt_tokens, done.receipt.output_tokens) == (7, 2)
    assert done.timing.sent >= done.timing.received > 0
    sampling = engine.requests[0].sampling
    assert (sampling.max_tokens, sampling.stop) == (9, ("END\n",))


async def test_a_turn_appends_to_the_one_before(serve, dial, engine, tokenizer):
    """Its prompt is that one's, the tokens of its answer, and what is new. Conversations don't mix."""
    engine.scripts += [["Hi", " there"], ["Other"], ["Yes"]]
    wire = await dial(await serve())
    for request, conversation in enumerate(("a", "b", "a")):
        await wire.send(Chat(request, conversation, f"turn {request}"))
        _, done = await wire.ended()
        assert isinstance(done, Done)
    first, other, second = prompts(engine)
    assert second[: len(first) + 2] == [*first, 1, 1]
    assert tokenizer.decode(second[len(first) + 2 :]) == "\nuser\nturn 2\nassistant\n"
    assert "turn 0" not in tokenizer.decode(other)


async def test_a_document_comes_along_as_it_is(serve, dial, engine, tokenizer):
    """Again only when it has changed, and not once it is closed."""
    wire = await dial(await serve())
    await wire.open("a = 1\n", document="file:///a.py")
    for request in range(2):
        await wire.send(Chat(request, "c", "?", ("file:///a.py",)))
        await wire.ended()
    await wire.send(Change("file:///a.py", 1, 2, [TextEdit(4, 5, "2")]), Chat(2, "c", "?", ("file:///a.py",)))
    await wire.ended()
    texts = [tokenizer.decode(prompt) for prompt in prompts(engine)]
    assert [text.count("a = 1\n") for text in texts] == [1, 1, 1]
    assert [text.count("a = 2\n") for text in texts] == [0, 0, 1]
    await wire.send(Close("file:///a.py"), Chat(3, "c", "?", ("file:///a.py",)))
    error = await wire.until(Error)
    assert (error.request, error.code) == (3, ErrorCode.UNKNOWN_DOCUMENT)


async def test_a_cancelled_turn_is_taken_out_and_an_interrupted_one_stays(serve, dial, engine, tokenizer):
    """With the tokens whose text was sent."""
    engine.scripts += [itertools.repeat("x"), itertools.repeat("y"), ["z"]]
    wire = await dial(await serve())
    await wire.send(Chat(1, "c", "first"))
    await wire.until(Delta)
    await wire.send(Cancel(1))
    done = await wire.until(Done)
    assert (done.request, done.reason) == (1, "cancel")
    await wire.send(Chat(2, "c", "second"))
    shown = [(await wire.until(Delta)).text]
    await wire.send(Interrupt(2))
    while not isinstance(message := await wire.receive(), Done):
        assert isinstance(message, Delta)
        shown.append(message.text)
    assert (message.request, message.reason) == (2, "interrupted")
    await wire.send(Chat(3, "c", "third"))
    await wire.ended()
    _, second, third = prompts(engine)
    assert "first" not in tokenizer.decode(second)
    assert third[: len(second)] == second
    assert third[len(second) :].index(2) == len("".join(shown))  # before the end of the turn, a token for each y


async def test_a_turn_whose_engine_failed_is_taken_out(serve, dial, engine, tokenizer):
    """The next one goes on from before it."""
    wire = await dial(await serve())
    await wire.send(Chat(1, "c", "one"))
    await wire.ended()
    engine.reason = "error"
    await wire.send(Chat(2, "c", "two"))
    _, error = await wire.ended()
    assert (error.request, error.code) == (2, ErrorCode.INTERNAL_ERROR)
    engine.reason = "stop"
    await wire.send(Chat(3, "c", "three"))
    await wire.ended()
    assert "two" not in tokenizer.decode(prompts(engine)[2])


async def test_a_conversation_answers_one_at_a_time(serve, dial, engine):
    """The second is refused, retryable, with its own id; steering is for edits."""
    engine.paused = True
    wire = await dial(await serve())
    await wire.send(Chat(1, "c", "?"), Chat(2, "c", "?"), Chat(3, "d", "?"), Steer(1, "more"))
    refused = await wire.until(Error)
    assert (refused.request, refused.code, refused.retryable) == (2, ErrorCode.TOO_MANY_REQUESTS, True)
    assert (await wire.until(Accepted)).request == 3
    assert (await wire.until(Error)).code == ErrorCode.UNKNOWN_REQUEST
    engine.paused = False
    assert {(await wire.until(Done)).request for _ in range(2)} == {1, 3}


async def test_ending_a_chat_ends_its_request(serve, dial, engine, tokenizer):
    """And the next message begins a conversation of the same name."""
    engine.scripts.append(itertools.repeat("x"))
    wire = await dial(await serve(limits=Limits(max_conversations=1)))
    await wire.send(EndChat("nothing"), Chat(1, "c", "one"))
    await wire.until(Delta)
    await wire.send(Chat(2, "d", "two"))
    error = await wire.until(Error)
    assert (error.request, error.code) == (2, ErrorCode.TOO_MANY_CONVERSATIONS)
    await wire.send(EndChat("c"), Chat(3, "c", "three"))
    reasons = {(done := await wire.until(Done)).request: done.reason for _ in range(2)}
    assert reasons == {1: "cancel", 3: "stop"}
    assert "one" not in tokenizer.decode(prompts(engine)[1])


async def test_a_conversation_that_is_full_says_what_to_do(serve, dial, engine):
    """Also when the message is tokenised beside the loop; it goes on with less."""
    wire = await dial(await serve())
    for request, text in enumerate(("word " * 9000, "x" * 100_000)):
        await wire.send(Chat(request, "c", text))
        error = await wire.until(Error)
        assert (error.request, error.code) == (request, ErrorCode.PROMPT_TOO_LONG)
        assert "8192" in error.message
    await wire.send(Chat(3, "c", "short", sampling=Sampling(max_tokens=5)))
    _, done = await wire.ended()
    assert done.reason == "stop"
