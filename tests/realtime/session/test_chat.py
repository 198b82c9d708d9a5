"""Turns of conversations are requests like others."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from warmline.engine import unpack_tokens
from warmline.realtime.limits import Limits
from warmline.realtime.protocol import Accepted, Cancel, Chat, Complete, EndChat, Error, ErrorCode, Interrupt, Open

URI = "file:///a"


def prompt_of(client: Any, tokenizer: Any, number: int) -> str:
    return tokenizer.decode(unpack_tokens(client.engine.requests[number].prompt))


async def test_a_turn_is_answered_and_kept(client, tokenizer):
    """As text; the next prompt goes on from it."""
    client.say(Chat(1, "c", "Hi there", (URI,)))
    await client.drained()
    assert client.text_of(1) == "hello world"
    assert client.reasons() == {1: "stop"}
    client.say(Chat(2, "c", "And now"))
    await client.drained()
    first, second = client.engine.requests
    assert second.prompt.startswith(first.prompt)
    assert "return 1" in prompt_of(client, tokenizer, 0)
    assert "And now" in prompt_of(client, tokenizer, 1)
    assert client.metric('warmline_requests_total{kind="chat",outcome="stop"}') == 2


@pytest.mark.parametrize(
    ("message", "reason", "stays"), [(Interrupt(1), "interrupted", True), (Cancel(1), "cancel", False)]
)
async def test_a_turn_stays_if_it_was_interrupted(client, tokenizer, message, reason, stays):
    """And is taken out again if it was cancelled."""
    client.engine.scripts.append(itertools.repeat("ha"))
    client.say(Chat(1, "c", "Laugh"))
    await client.until(lambda: bool(client.text_of(1)))
    client.say(message)
    await client.drained()
    assert client.reasons() == {1: reason}
    client.say(Chat(2, "c", "Again"))
    await client.drained()
    assert ("Laugh" in prompt_of(client, tokenizer, 1)) == stays


async def test_ending_a_conversation_cancels_its_turn(client, tokenizer):
    """No other one's; an unknown one is ignored."""
    client.engine.default = ["x"] * 40
    client.say(Chat(1, "c", "One"), Chat(2, "d", "Two"), EndChat("c"), EndChat("e"))
    await client.drained()
    assert client.reasons() == {1: "cancel", 2: "stop"}
    client.say(Chat(3, "c", "Three"))
    await client.drained()
    assert "One" not in prompt_of(client, tokenizer, 2)


async def test_a_turn_that_is_refused_leaves_nothing(make, engine):
    """The conversation takes the next one."""
    client = make(Limits(max_requests=1))
    client.open()
    engine.default = ["x"] * 9
    client.say(Complete(1, URI, 1, 0))
    refusals = client.say(
        Chat(2, "c", "x"), Chat(3, "c", "x", ("file:///b",)), Chat(4, "c", " "), Chat(5, "c", "x", replay="x")
    )
    assert [type(refusal) for refusal in refusals] == [Error] * 4
    await client.drained()
    client.say(Chat(6, "c", "word " * 20_000))
    assert client.ends_of(6)[0].code == ErrorCode.PROMPT_TOO_LONG
    (accepted,) = client.say(Chat(7, "c", "x"))
    assert isinstance(accepted, Accepted)
    await client.drained()
    assert client.reasons()[7] == "stop"


async def test_a_change_of_a_document_does_not_touch_a_turn(client):
    """It answers for what it was shown, also when the document is closed."""
    client.engine.default = ["x"] * 20
    client.say(Chat(1, "c", "Hi", (URI,)), Open(URI, 2, "", "other"))
    await client.drained()
    assert client.reasons() == {1: "stop"}


async def test_a_turn_interrupted_before_its_prompt_is_made_is_cancelled(client, tokenizer):
    """There is nothing of it to keep, and its end says so."""
    client.say(Chat(1, "c", "remember " + "banana " * 2000), Interrupt(1))
    await client.drained()
    assert client.reasons() == {1: "cancel"}
    client.say(Chat(2, "c", "Again"))
    await client.drained()
    assert "banana" not in prompt_of(client, tokenizer, -1)
