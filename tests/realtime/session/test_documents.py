"""A session keeps documents, and answers what can't be done to them."""

from __future__ import annotations

from typing import Any

import pytest
from warmline.engine import unpack_tokens
from warmline.realtime.limits import Limits
from warmline.realtime.protocol import (
    Applied,
    Change,
    Close,
    Complete,
    Done,
    Edit,
    ErrorCode,
    Hello,
    Nack,
    Open,
    Ping,
    Pong,
    TextEdit,
    Warm,
)
from warmline.realtime.telemetry.tracing import clock

URI = "file:///a"


def complete(request: int, **fields: Any) -> Complete:
    return Complete(request, URI, fields.pop("version", 1), fields.pop("position", 0), **fields)


async def test_requests_see_the_newest_version(client, tokenizer):
    """A change is taken silently, and the next request is about its result."""
    assert client.say(Change(URI, 1, 2, [TextEdit(4, 5, "go")])) == []
    client.say(complete(1, version=2, position=10))
    assert tokenizer.decode(unpack_tokens(client.engine.requests[0].prompt)) == "```python\ndef go():\n"
    await client.drained()


async def test_a_completion_goes_on_through_a_change(client):
    """It answers for the version it named."""
    client.engine.paused = True
    client.say(complete(1, position=9))
    client.say(Change(URI, 1, 2, [TextEdit(0, 22, "")]))
    client.engine.paused = False
    await client.drained()
    assert client.reasons() == {1: "stop"}
    assert client.text_of(1) == "hello world"


async def test_changes_are_counted_by_who_made_them(client):
    """What applies a request's result is not a person's, unless there was no such request."""
    client.say(complete(1, position=9))
    await client.drained()
    client.say(Change(URI, 1, 2, [TextEdit(9, 9, "hello world")], Applied(1, 2)))
    client.say(Change(URI, 2, 3, [TextEdit(0, 0, "x")], Applied(99, 1)))
    client.say(Change(URI, 3, 4, [TextEdit(0, 1, "")]))
    assert client.metric('warmline_changes_total{source="applied"}') == 1
    assert client.metric('warmline_changes_total{source="person"}') == 2


@pytest.mark.parametrize(
    ("message", "held", "code"),
    [
        (Change(URI, 3, 4, []), 1, ErrorCode.STALE_VERSION),
        (Change(URI, 1, 2, [TextEdit(0, 99, "")]), 1, ErrorCode.INVALID_RANGE),
        (Change(URI, 1, 2, [], None, 5), 1, ErrorCode.HASH_MISMATCH),
        (Change(URI, 1, 2, [TextEdit(0, 0, "x" * 100)]), 1, ErrorCode.DOCUMENT_TOO_LARGE),
        (Change("file:///b", 1, 2, []), None, ErrorCode.UNKNOWN_DOCUMENT),
        (Close("file:///b"), None, ErrorCode.UNKNOWN_DOCUMENT),
        (Open(URI, 2, "", "x" * 200), 1, ErrorCode.DOCUMENT_TOO_LARGE),
        (Open(URI, 1, "", "another text"), 1, ErrorCode.STALE_VERSION),
        (Open(URI, 0, "", "def f():\n    return 1\n"), 1, ErrorCode.STALE_VERSION),
        (Open("file:///c", 2, "", ""), None, ErrorCode.TOO_MANY_DOCUMENTS),
    ],
)
async def test_what_can_not_be_done_to_a_document_is_answered_with_a_nack(make, message, held, code):
    """It says which version is held, and that one still serves."""
    client = make(Limits(max_document_bytes=100, max_documents=1))
    client.open()
    (nack,) = client.say(message)
    assert isinstance(nack, Nack)
    assert (nack.document, nack.held, nack.code) == (message.document, held, code)
    client.say(complete(1))
    await client.drained()
    assert client.of(Done)


async def test_opening_again_replaces(client, tokenizer):
    """After a nack the client sends its whole text as a later version; that is no second document."""
    client.open("new\n", version=2)
    client.open("new\n", version=2)
    client.say(complete(1, version=2, position=4))
    assert tokenizer.decode(unpack_tokens(client.engine.requests[0].prompt)) == "```python\nnew\n"
    assert client.metric("warmline_documents") == 1
    await client.drained()


async def test_closing_a_document_cancels_its_requests(client):
    """And no others."""
    client.say(Open("file:///b", 1, "", "x"))
    client.engine.default = ["x"] * 50
    client.say(complete(1), Complete(2, "file:///b", 1, 0), Close(URI))
    await client.drained()
    assert {done.request: done.reason for done in client.of(Done)} == {1: "cancel", 2: "stop"}
    assert client.say(complete(3))[0].code == ErrorCode.UNKNOWN_DOCUMENT


async def test_a_ping_is_answered_with_both_clocks(client):
    """The client's as it was, the server's in microseconds."""
    (pong,) = client.say(Ping(12345))
    assert isinstance(pong, Pong)
    assert pong.sent == 12345
    assert 0 < pong.received <= pong.replied <= clock() // 1000


async def test_hello_comes_once(client):
    """A second one changes nothing."""
    (error,) = client.say(Hello())
    assert (error.request, error.code) == (None, ErrorCode.HELLO_REQUIRED)


async def test_requests_are_counted(client):
    """By kind and outcome, with their tokens and hops."""
    client.say(complete(1), Edit(2, URI, 1, 0, 9, "x"), complete(3, position=99))
    await client.drained()
    assert client.metric('warmline_requests_total{kind="complete",outcome="stop"}') == 1
    assert client.metric('warmline_requests_total{kind="edit",outcome="stop"}') == 1
    assert client.metric('warmline_refused_messages_total{code="invalid_range"}') == 1
    assert client.metric('warmline_tokens_total{kind="output"}') == 4
    assert client.metric('warmline_draft_tokens_total{outcome="accepted",source="edit"}') == 4
    assert (
        client.metric(
            'gen_ai_server_time_to_first_token_seconds_count{gen_ai_operation_name="text_completion",kind="complete"}'
        )
        == 1
    )
    assert client.metric('warmline_hop_seconds_count{hop="engine.prefill"}') == 2


async def test_no_request_begins_or_ends_within_a_line_end(client):
    """Between CR and LF it is refused by its own code, and so is a `warm`; a change that ends there is taken."""
    client.open("a\r\nb\r\n", version=2)
    for refused in (
        complete(1, version=2, position=2),
        Edit(2, URI, 2, 0, 2, "x"),
        Edit(3, URI, 2, 2, 6, "x"),
        Warm(URI, 2, 2),
    ):
        (error,) = client.say(refused)
        assert (error.code, error.request) == (ErrorCode.INVALID_RANGE, getattr(refused, "request", None))
        assert error.message.startswith("offset 2 lies between the CR and the LF")
    assert client.say(Change(URI, 2, 3, [TextEdit(1, 2, ""), TextEdit(1, 1, "\r")])) == []
    assert client.say(Warm(URI, 3, 3)) == []
    client.say(complete(4, version=3, position=1))
    await client.drained()
    assert client.reasons()[4] == "stop"
