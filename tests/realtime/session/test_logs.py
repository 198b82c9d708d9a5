"""What the log says of requests."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs
from warmline.realtime.protocol import Cancel, Complete, Edit

URI = "file:///a"
TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize("traceparent", [TRACEPARENT, "nonsense", None])
async def test_the_end_of_a_request_is_logged_with_its_trace(client, traceparent):
    """At debug level; a traceparent that is none is ignored."""
    with capture_logs() as lines:
        client.say(Complete(1, URI, 1, 0, traceparent=traceparent))
        await client.drained()
    (line,) = [line for line in lines if line["event"] == "request ended"]
    assert (line["log_level"], line["request"], line["kind"], line["outcome"]) == ("debug", 1, "complete", "stop")
    assert line.get("traceparent") == (TRACEPARENT if traceparent == TRACEPARENT else None)
    assert (line["prompt_tokens"], line["output_tokens"]) == (7, 2)


async def test_faults_are_logged_with_their_trace(client, monkeypatch):
    """While the request runs, and before."""
    monkeypatch.setattr("warmline.realtime.requests.outputs.EditAligner.feed", lambda *_: 1 / 0)
    monkeypatch.setattr("warmline.realtime.prompting.prompts.PromptBuilder.complete", lambda *_: 1 / 0)
    client.engine.default = ["line\n"] * 9
    with capture_logs() as lines:
        client.say(Edit(1, URI, 1, 0, 9, "x", traceparent=TRACEPARENT))
        client.say(Complete(2, URI, 1, 0, traceparent=TRACEPARENT))
        await client.drained()
    errors = {line["request"]: line for line in lines if line["log_level"] == "error"}
    assert sorted(errors) == [1, 2]
    assert all(line["traceparent"] == TRACEPARENT for line in errors.values())


async def test_no_line_is_written_for_a_token(client):
    """However many there are."""
    client.engine.default = ["x"] * 500
    with capture_logs() as lines:
        client.say(Complete(1, URI, 1, 0))
        await asyncio.sleep(0)
        client.say(Cancel(1))
        await client.drained()
    assert len(lines) <= 1
