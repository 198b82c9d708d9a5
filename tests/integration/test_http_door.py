"""OpenAI's client against the default model, through the HTTP API of `warmline serve`."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import openai
import pytest

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
