"""Log probabilities and penalties: from what was asked to the engine, and from the engine to the frames."""

from __future__ import annotations

from typing import Any

import pytest
from warmline.engine import SequenceEvent, TokenLogprobs, pack_tokens
from warmline.realtime.protocol import (
    Chat,
    Complete,
    Delta,
    Edit,
    Error,
    Logprob,
    Sampling,
    ScoredDelta,
    TokenLogprob,
)

URI = "file:///a"


def complete(request: int, sampling: Sampling, position: int = 0, **fields: Any) -> Complete:
    return Complete(request, URI, fields.pop("version", 1), position, sampling, **fields)


def say(client, sequence: int, text: str, *logprobs: TokenLogprobs) -> None:
    """The engine says something of a sequence."""
    tokens = pack_tokens([each.token for each in logprobs])
    client.engine._live[sequence](SequenceEvent(sequence, text, tokens, logprobs=logprobs))


async def test_the_engine_gets_penalties_bias_and_logprobs(client):
    """As they were asked for; off where they were not."""
    asked = Sampling(
        repetition_penalty=1.1, presence_penalty=-0.5, frequency_penalty=0.25, logit_bias={3: -100.0}, logprobs=2
    )
    client.say(complete(1, asked), complete(2, Sampling(), parallel=True))
    shaped, plain = (request.sampling for request in client.engine.requests)
    assert (shaped.repetition_penalty, shaped.presence_penalty, shaped.frequency_penalty) == (1.1, -0.5, 0.25)
    assert (shaped.logit_bias, shaped.logprobs) == ({3: -100.0}, 2)
    assert (plain.repetition_penalty, plain.presence_penalty, plain.frequency_penalty) == (1.0, 0.0, 0.0)
    assert (plain.logit_bias, plain.logprobs) == ({}, None)


@pytest.mark.parametrize("kind", ["complete", "chat"])
async def test_deltas_carry_the_log_probabilities_of_their_tokens(client, tokenizer, kind):
    """With the text of each token; also where a step brought tokens and no text."""
    one, two = tokenizer.encode("a")[0], tokenizer.encode("(")[0]
    client.engine.scripts.append([])
    asked = Sampling(logprobs=1)
    client.say(complete(1, asked) if kind == "complete" else Chat(1, "talk", "hello", (), asked))
    sequence = client.engine.requests[0].id
    say(client, sequence, "a", TokenLogprobs(one, -0.5, ((two, -0.25),)))
    say(client, sequence, "", TokenLogprobs(two, -0.125))
    await client.drained()
    stream = client.sent[0].stream
    assert client.of(Delta) == [
        ScoredDelta(stream, "a", [TokenLogprob(one, "a", -0.5, [Logprob(two, "(", -0.25)])]),
        ScoredDelta(stream, "", [TokenLogprob(two, "(", -0.125, [])]),
    ]


async def test_an_edit_has_none(client):
    """It is told so, and other requests go on."""
    (error,) = client.say(Edit(1, URI, 1, 0, 5, "do", Sampling(logprobs=0)))
    assert isinstance(error, Error)
    assert (error.request, error.code) == (1, "invalid_parameter")


async def test_a_completion_with_log_probabilities_starts_afresh(client):
    """Those of a text that is there already are not kept, so it is not gone on with."""
    from warmline.realtime.protocol import Change, TextEdit

    asked = Sampling(logprobs=0)
    client.engine.scripts.append([])
    client.say(complete(1, asked, position=9))
    say(client, client.engine.requests[0].id, "hello", TokenLogprobs(5, -0.5))
    client.say(Change(URI, 1, 2, [TextEdit(9, 9, "he")]), complete(2, asked, position=11, version=2))
    await client.drained()
    assert len(client.engine.requests) == 2
    assert next(frame for frame in client.frames_of(2)).continued is None
