"""What the log says of requests."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs
from warmline.realtime.documents.document import Document
from warmline.realtime.prompting.prompts import PromptBuilder
from warmline.realtime.protocol import Cancel, Chat, Complete, Edit, Open, Warm

URI = "file:///a"
TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
NAMES = {"session": "abc", "client": "editor 1.0"}


@pytest.fixture
async def named(make, engine):
    """A session whose client has said what it is, with one document open."""
    client = make(names=NAMES)
    client.open()
    yield client
    client.session.close()
    await engine.close()


@pytest.mark.parametrize("traceparent", [TRACEPARENT, "nonsense", None])
async def test_the_end_of_a_request_is_logged_with_its_trace_and_session(named, traceparent):
    """At debug level; a traceparent that is none is ignored."""
    with capture_logs() as lines:
        named.say(Complete(1, URI, 1, 0, traceparent=traceparent))
        await named.drained()
    (line,) = [line for line in lines if line["event"] == "request ended"]
    assert (line["log_level"], line["request"], line["kind"], line["outcome"]) == ("debug", 1, "complete", "stop")
    assert {name: line[name] for name in NAMES} == NAMES
    assert line.get("traceparent") == (TRACEPARENT if traceparent == TRACEPARENT else None)
    assert (line["prompt_tokens"], line["output_tokens"]) == (7, 2)


async def test_faults_are_logged_with_their_trace_and_session(named, monkeypatch):
    """While the request runs, and before."""
    monkeypatch.setattr("warmline.realtime.requests.outputs.EditAligner.feed", lambda *_: 1 / 0)
    monkeypatch.setattr(PromptBuilder, "complete", lambda *_: 1 / 0)
    named.engine.default = ["line\n"] * 9
    with capture_logs() as lines:
        named.say(Edit(1, URI, 1, 0, 9, "x", traceparent=TRACEPARENT))
        named.say(Complete(2, URI, 1, 0, traceparent=TRACEPARENT))
        await named.drained()
    errors = {line["request"]: line for line in lines if line["log_level"] == "error"}
    assert sorted(errors) == [1, 2]
    assert all(line["traceparent"] == TRACEPARENT for line in errors.values())
    assert all(line[name] == value for line in errors.values() for name, value in NAMES.items())


async def test_faults_of_warm_work_are_logged_with_their_session(named, monkeypatch):
    """There is no request then."""
    monkeypatch.setattr(PromptBuilder, "warm_complete", lambda *_: 1 / 0)
    with capture_logs() as lines:
        named.say(Warm(URI, 1, 3))
        monkeypatch.setattr(Document, "range", lambda *_: 1 / 0)
        named.say(Warm(URI, 1, 4))
    assert [line["event"] for line in lines] == [
        "a prompt to warm could not be prepared",
        "a place could not be warmed",
    ]
    assert all(line[name] == value for line in lines for name, value in NAMES.items())


async def test_no_line_has_text_of_a_document_or_of_a_request(named):
    """Nor what the model answered, whatever becomes of the request."""
    secret = "swordfish"
    named.engine.default = [secret]
    with capture_logs() as lines:
        named.say(
            Open("file:///b", 1, "python", f"{secret} = '{secret}'\n"),
            Complete(1, "file:///b", 1, 0),
            Edit(2, "file:///b", 1, 0, len(secret), f"rename {secret}"),
            Chat(3, "c", secret, ("file:///b",)),
            Complete(4, "file:///b", 2, 0),
            Warm("file:///b", 1, 3),
        )
        await named.drained()
    assert len([line for line in lines if line["event"] == "request ended"]) == 3
    assert secret not in repr(lines)


async def test_no_line_is_written_for_a_token(client):
    """However many there are."""
    client.engine.default = ["x"] * 500
    with capture_logs() as lines:
        client.say(Complete(1, URI, 1, 0))
        await asyncio.sleep(0)
        client.say(Cancel(1))
        await client.drained()
    assert len(lines) <= 1
