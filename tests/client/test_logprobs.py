"""Log probabilities and penalties in the SDK: what goes out, and what a result has."""

from __future__ import annotations

import pytest
from warmline.client import connect
from warmline.realtime import Accepted, Chat, Complete, Done, Logprob, ScoredDelta, TokenLogprob


async def test_a_result_has_the_log_probabilities_of_its_tokens(scripted) -> None:
    """Of a completion and a reply; the text is what it would be without them."""
    scores = [TokenLogprob(1, "a", -0.5, [Logprob(2, "b", -0.25)]), TokenLogprob(3, "\ufffd", -0.125)]
    asked = []

    async def script(peer) -> None:
        await peer.greet()
        for kind in (Complete, Chat):
            request = await peer.next(kind)
            asked.append(request.sampling)
            await peer.send(Accepted(request.request, 0))
            await peer.send(ScoredDelta(0, "a", scores[:1]))
            await peer.send(ScoredDelta(0, "", scores[1:]))
            await peer.send(Done(request.request, "length"))
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("file:///a.py", "a + b")
        shaped = {"repetition_penalty": 1.5, "frequency_penalty": -1, "logit_bias": {7: -100}}
        completion = session.complete(document, 0, logprobs=1, **shaped)
        assert [piece async for piece in completion] == ["a"]
        assert completion.logprobs == tuple(scores)
        result = await completion.result()
        assert (result.text, result.logprobs) == ("a", tuple(scores))
        reply = await session.chat("talk", "hello", logprobs=0, presence_penalty=2).result()
        assert reply.logprobs == tuple(scores)
    first, second = asked
    assert (first.repetition_penalty, first.presence_penalty, first.frequency_penalty) == (1.5, None, -1)
    assert (first.logit_bias, first.logprobs, second.presence_penalty, second.logprobs) == ({7: -100}, 1, 2, 0)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"repetition_penalty": 0}, "repetition_penalty"),
        ({"presence_penalty": 2.1}, "presence_penalty"),
        ({"frequency_penalty": "much"}, "frequency_penalty"),
        ({"logit_bias": {3: 200}}, "logit_bias"),
        ({"logit_bias": {-3: 1}}, "logit_bias"),
        ({"logprobs": 21}, "logprobs"),
    ],
)
async def test_wrong_ones_are_reported_where_they_were_written(scripted, wrong, said) -> None:
    """By name, before anything is sent."""

    async def script(peer) -> None:
        await peer.greet()
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("file:///a.py", "a + b")
        with pytest.raises((ValueError, TypeError), match=said):
            session.complete(document, 0, **wrong)
