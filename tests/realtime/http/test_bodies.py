"""What a request's body means."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.realtime.http.bodies import ChatBody, CompletionBody, parse
from warmline.realtime.http.problems import Problem

SEED = 7


def chat(**fields) -> ChatBody:
    return parse(msgspec.json.encode({"messages": [{"role": "user", "content": "x"}], **fields}), ChatBody)


def completion(**fields) -> CompletionBody:
    return parse(msgspec.json.encode({"prompt": "x", **fields}), CompletionBody)


def test_what_is_not_said_is_as_in_openais_api():
    """Temperature 1, everything else off; null is the same as nothing."""
    plain = completion().sampling(SEED, ("S",), 16)
    assert (plain.temperature, plain.top_p, plain.top_k, plain.min_p) == (1.0, 1.0, 0, 0.0)
    assert (plain.max_tokens, plain.seed, plain.stop) == (16, SEED, ("S",))
    nulls = dict.fromkeys(CompletionBody.__struct_fields__, None) | {"prompt": "x", "model": ""}
    assert parse(msgspec.json.encode(nulls), CompletionBody).sampling(SEED, ("S",), 16) == plain


def test_the_newer_name_for_the_most_tokens_wins():
    """Chats have two."""
    assert chat(max_tokens=5).sampling(SEED, (), 100).max_tokens == 5
    assert chat(max_tokens=5, max_completion_tokens=6).sampling(SEED, (), 100).max_tokens == 6
    assert chat().sampling(SEED, (), 100).max_tokens == 100


@pytest.mark.parametrize(("said", "meant"), [("a", ("a",)), (["a", "b"], ("a", "b")), ([], ()), (None, ())])
def test_one_stop_string_or_several(said, meant):
    """Those of the model come on top."""
    assert chat(stop=said).sampling(SEED, ("S",), 1).stop == (*meant, "S")


@given(st.integers(-(2**63), 2**63 - 1))
def test_any_seed_that_openai_takes_is_taken(seed):
    """The same one always means the same."""
    first, again = (chat(seed=seed).sampling(SEED, (), 1).seed for _ in range(2))
    assert first == again
    assert 0 <= first < 2**53


@pytest.mark.parametrize(
    ("prompt", "meant"), [("a", "a"), (["a"], "a"), ([1, 2], [1, 2]), ([3], [3]), ([[1, 2]], [1, 2]), ("", "")]
)
def test_one_prompt_of_text_or_tokens(prompt, meant):
    """In each form that OpenAI's API has for it."""
    assert completion(prompt=prompt).text_or_tokens() == meant


@pytest.mark.parametrize("prompt", [["a", "b"], [[1], [2]], ["a", 1], []])
def test_several_prompts_are_refused(prompt):
    """Each is a request of its own."""
    with pytest.raises(Problem, match="one prompt"):
        completion(prompt=prompt).text_or_tokens()


def test_a_prediction_is_text_or_parts():
    """Parts follow each other as they are."""
    parts = [{"type": "text", "text": "a\n"}, {"type": "text", "text": "b"}]
    assert chat(prediction={"type": "content", "content": parts}).draft() == "a\nb"
    assert chat(prediction={"type": "content", "content": "c"}).draft() == "c"
    assert chat().draft() == ""


@pytest.mark.parametrize("fields", [{"echo": True}, {"best_of": 2}, {"logprobs": 1}, {"logprobs": 0}, {"n": 3}])
def test_what_a_completion_can_not_do_is_refused(fields):
    """Naming the field."""
    with pytest.raises(Problem, match="not supported") as problem:
        completion(**fields)
    assert problem.value.param in fields
