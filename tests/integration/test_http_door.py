"""OpenAI's client against the default model, through the HTTP API of `warmline serve`."""

from __future__ import annotations

import itertools
import math
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import openai
import pytest
from warmline.engine import load_tokenizer

CODE = "def mean(values):\n    total = sum(values)\n    return total / len(values)\n"
ASKED = [
    {"role": "system", "content": "You answer with code only."},
    {"role": "user", "content": f"Repeat this:\n```python\n{CODE}```"},
]


@pytest.fixture(scope="module")
def client(serve, default_model) -> Iterator[openai.OpenAI]:
    """OpenAI's client of a server with the default model."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}/v1"
    with (
        serve("--http-port", str(port)),
        openai.OpenAI(api_key="none", base_url=url, max_retries=0) as client,
    ):
        yield client


def model_of(client) -> str:
    (model,) = client.models.list().data
    return model.id


def chat(client, **options):
    return client.chat.completions.create(
        model=model_of(client), messages=ASKED, temperature=0, max_completion_tokens=60, **options
    )


def test_a_stream_says_what_a_whole_answer_says(client):
    """The same request gives the same text; the second time, its prompt is cached."""
    whole = chat(client)
    text = whole.choices[0].message.content
    assert text
    chunks = list(chat(client, stream=True, stream_options={"include_usage": True}))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == text
    usage = chunks[-1].usage
    assert usage.prompt_tokens == whole.usage.prompt_tokens
    assert usage.prompt_tokens - 16 <= usage.prompt_tokens_details.cached_tokens < usage.prompt_tokens
    assert usage.completion_tokens == whole.usage.completion_tokens


def test_a_sampled_answer_can_be_repeated(client):
    """By its seed, where the fingerprint is the same."""
    options = {"model": model_of(client), "prompt": "def ", "max_tokens": 24, "temperature": 1.2, "seed": 11}
    first, second = (client.completions.create(**options) for _ in range(2))
    assert first.choices[0].text == second.choices[0].text
    assert first.system_fingerprint == second.system_fingerprint
    assert first.choices[0].finish_reason in ("length", "stop")


def test_a_prediction_changes_the_time_and_not_the_text(client):
    """Predicting the very answer has it accepted, and predicting another one rejected."""
    text = chat(client).choices[0].message.content
    right = chat(client, prediction={"type": "content", "content": text})
    assert right.choices[0].message.content == text
    assert right.usage.completion_tokens_details.accepted_prediction_tokens > 0
    wrong = chat(client, prediction={"type": "content", "content": "lorem ipsum dolor sit amet " * 20})
    assert wrong.choices[0].message.content == text
    assert wrong.usage.completion_tokens_details.rejected_prediction_tokens > 0


def test_a_chat_has_log_probabilities(client):
    """One for each token, the likeliest first, which a greedy answer is made of; a stream and a draft change none."""
    options = {"logprobs": True, "top_logprobs": 3}
    whole = chat(client, **options)
    text, content = whole.choices[0].message.content, whole.choices[0].logprobs.content
    assert len(content) == whole.usage.completion_tokens
    assert bytes(itertools.chain(*(token.bytes for token in content))).decode() == text
    for token in content:
        first, *others = token.top_logprobs
        assert (first.token, first.bytes, first.logprob) == (token.token, token.bytes, token.logprob)
        assert len(others) == 2
        logprobs = [each.logprob for each in token.top_logprobs]
        assert logprobs == sorted(logprobs, reverse=True)
        assert math.fsum(map(math.exp, logprobs)) <= 1 + 1e-9
    for drafted in ({}, {"prediction": {"type": "content", "content": text}}):
        chunks = [chunk.choices[0] for chunk in chat(client, stream=True, **options, **drafted)]
        assert "".join(chunk.delta.content or "" for chunk in chunks) == text
        assert [token for chunk in chunks if chunk.logprobs for token in chunk.logprobs.content] == content


def test_a_completion_has_log_probabilities(client):
    """Its tokens begin where the offsets say, also in a stream, and the chosen one is among the likeliest."""
    options = {"model": model_of(client), "prompt": CODE, "max_tokens": 24, "temperature": 0}
    (choice,) = client.completions.create(logprobs=2, **options).choices
    found = choice.logprobs
    assert "".join(found.tokens).startswith(choice.text)
    assert found.text_offset == [0, *itertools.accumulate(map(len, found.tokens))][:-1]
    for token, logprob, likeliest in zip(found.tokens, found.token_logprobs, found.top_logprobs, strict=True):
        assert likeliest[token] == logprob == max(likeliest.values())
    chunks = [chunk.choices[0].logprobs for chunk in client.completions.create(logprobs=2, stream=True, **options)]
    for column in ("tokens", "token_logprobs", "top_logprobs", "text_offset"):
        parts = [value for chunk in chunks if chunk for value in getattr(chunk, column)]
        assert parts == getattr(found, column)
    (alone,) = client.completions.create(logprobs=0, **options).choices
    assert alone.logprobs.token_logprobs == found.token_logprobs


def test_the_parts_of_a_character_have_exact_bytes(client, default_model):
    """A bias has the model say the first part alone, again and again."""
    tokenizer = load_tokenizer(default_model)
    half, *_ = tokenizer.encode("\N{PARTY POPPER}")
    part = tokenizer.token_bytes(half)
    with pytest.raises(UnicodeDecodeError):
        part.decode()
    answer = chat(client, logprobs=True, logit_bias={str(half): 100}, max_tokens=4)
    for token in answer.choices[0].logprobs.content:
        assert (token.token, bytes(token.bytes)) == ("\ufffd", part)
    (choice,) = client.completions.create(
        model=model_of(client), prompt="x", logprobs=1, logit_bias={str(half): 100}, max_tokens=3, temperature=0
    ).choices
    assert choice.text == 2 * "\ufffd"  # the last part is left out: the rest of its character would have come
    assert choice.logprobs.tokens == 3 * ["\ufffd"]
    assert choice.logprobs.text_offset == [0, 1, 2]
    assert set(choice.logprobs.top_logprobs[0]) > {"\ufffd"}  # what the model found likeliest, and what it said


def test_log_probabilities_out_of_bounds_are_refused(client):
    """Naming the field."""
    for options, name in (
        ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
        ({"top_logprobs": 1}, "top_logprobs"),
        ({"logprobs": 3}, "logprobs"),
    ):
        with pytest.raises(openai.BadRequestError, match=name) as refusal:
            chat(client, **options)
        assert refusal.value.param == name
    with pytest.raises(openai.BadRequestError, match="<= 20") as refusal:
        client.completions.create(model=model_of(client), prompt="x", logprobs=21)
    assert refusal.value.param == "logprobs"


def test_the_example_of_the_docs_runs(client):
    """Pasted as it stands, on another port."""
    page = (Path(__file__).parent.parent.parent / "docs" / "http.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    result = subprocess.run(
        [sys.executable, "-c", example.replace("http://127.0.0.1:8766/v1", str(client.base_url))],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    assert "CompletionUsage(" in result.stdout


def test_a_prompt_that_does_not_fit_is_refused(client):
    """With the engine's numbers."""
    with pytest.raises(openai.BadRequestError, match="tokens") as refusal:
        client.completions.create(model=model_of(client), prompt="word " * 9000)
    assert refusal.value.code == "prompt_too_long"


def test_the_default_model_fills_in(client):
    """Its adapter was taught to take the text after the cursor."""
    answer = client.completions.create(
        model=model_of(client), prompt="def add(a, b):\n    ", suffix="\n\nprint(add(1, 2))\n", temperature=0
    )
    assert answer.choices[0].text
