"""What a request's body means."""

from __future__ import annotations

import json
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.realtime.http.bodies import ChatBody, CompletionBody
from warmline.realtime.http.bodies import parse as parse_for
from warmline.realtime.http.problems import Problem

SEED = 7
TOKENS = 100


def parse(body: bytes, kind):
    return parse_for(body, kind, TOKENS)


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


def test_zero_is_a_value():
    """Not what holds where nothing is said: OpenAI's API takes a top_p of 0, which leaves the likeliest token."""
    zeros = dict.fromkeys(
        ("temperature", "top_p", "top_k", "min_p", "presence_penalty", "frequency_penalty", "seed"), 0
    )
    meant = completion(**zeros, logprobs=0).sampling(SEED, (), 16)
    assert {name: getattr(meant, name) for name in zeros} == zeros
    assert meant.logprobs == 0
    assert chat(logprobs=True, top_logprobs=0, **zeros).sampling(SEED, (), 16) == meant
    for name in ("max_tokens", "max_completion_tokens", "repetition_penalty"):
        with pytest.raises(Problem):
            chat(**{name: 0})


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
    assert completion(prompt=prompt).text_or_tokens(TOKENS) == meant


@pytest.mark.parametrize("prompt", [["a", "b"], [[1], [2]], ["a", 1]])
def test_several_prompts_are_refused(prompt):
    """Each is a request of its own."""
    with pytest.raises(Problem, match="one prompt"):
        completion(prompt=prompt).text_or_tokens(TOKENS)


@pytest.mark.parametrize("prompt", [[], [[]]])
def test_a_prompt_of_nothing_is_empty(prompt):
    """Which is another mistake than several."""
    with pytest.raises(Problem, match="the prompt is empty") as problem:
        completion(prompt=prompt).text_or_tokens(TOKENS)
    assert problem.value.param == "prompt"


def test_a_prediction_is_text_or_parts():
    """Parts follow each other as they are."""
    parts = [{"type": "text", "text": "a\n"}, {"type": "text", "text": "b"}]
    assert chat(prediction={"type": "content", "content": parts}).draft() == "a\nb"
    assert chat(prediction={"type": "content", "content": "c"}).draft() == "c"
    assert chat().draft() == ""


def test_penalties_and_bias_are_taken_as_in_openais_api():
    """JSON spells the token ids of a bias as strings; the repetition penalty is vLLM's."""
    asked = chat(repetition_penalty=1.1, presence_penalty=0.5, frequency_penalty=-1, logit_bias={"7": -100})
    sampling = asked.sampling(SEED, (), 1)
    assert (sampling.repetition_penalty, sampling.presence_penalty, sampling.frequency_penalty) == (1.1, 0.5, -1)
    assert sampling.logit_bias == {7: -100}
    plain = completion().sampling(SEED, (), 1)
    assert (plain.repetition_penalty, plain.presence_penalty, plain.frequency_penalty) == (1, 0, 0)
    assert plain.logit_bias == {}


@pytest.mark.parametrize(
    "fields",
    [
        {"repetition_penalty": 0},
        {"presence_penalty": 2.5},
        {"frequency_penalty": "x"},
        {"logit_bias": {"a": 1}},
        {"logit_bias": {"-1": 1}},
        {"logit_bias": {"1": 101}},
        {"logit_bias": {"1": "x"}},
    ],
)
def test_penalties_and_bias_out_of_range_are_refused(fields):
    """By name."""
    (name,) = fields
    with pytest.raises(Problem, match=name) as problem:
        completion(**fields)
    assert (problem.value.code, problem.value.param) == ("invalid_message", name)


@pytest.mark.parametrize(
    ("fields", "meant"), [({}, None), ({"logprobs": None}, None), ({"logprobs": 0}, 0), ({"logprobs": 20}, 20)]
)
def test_a_completion_says_of_how_many_of_the_likeliest(fields, meant):
    """Of none asks for those of the chosen tokens."""
    assert completion(**fields).sampling(SEED, (), 1).logprobs == meant


@pytest.mark.parametrize(
    ("fields", "meant"),
    [
        ({}, None),
        ({"logprobs": False}, None),
        ({"logprobs": False, "top_logprobs": 0}, None),
        ({"logprobs": True}, 0),
        ({"logprobs": True, "top_logprobs": None}, 0),
        ({"logprobs": True, "top_logprobs": 20}, 20),
    ],
)
def test_a_chat_says_whether_and_of_how_many(fields, meant):
    """In two fields."""
    assert chat(**fields).sampling(SEED, (), 1).logprobs == meant


@pytest.mark.parametrize("logprobs", [None, False])
def test_the_likeliest_alone_are_not_to_be_had(logprobs):
    """As in OpenAI's API."""
    with pytest.raises(Problem, match="top_logprobs needs logprobs to be true") as problem:
        chat(logprobs=logprobs, top_logprobs=1).sampling(SEED, (), 1)
    assert (problem.value.code, problem.value.param) == ("invalid_parameter", "top_logprobs")


@pytest.mark.parametrize(
    ("make", "fields", "name"),
    [
        (completion, {"logprobs": 21}, "logprobs"),
        (completion, {"logprobs": -1}, "logprobs"),
        (completion, {"logprobs": 1.5}, "logprobs"),
        (completion, {"logprobs": True}, "logprobs"),
        (chat, {"logprobs": 5}, "logprobs"),
        (chat, {"logprobs": "true"}, "logprobs"),
        (chat, {"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
        (chat, {"logprobs": True, "top_logprobs": -1}, "top_logprobs"),
        (chat, {"logprobs": True, "top_logprobs": True}, "top_logprobs"),
    ],
)
def test_numbers_of_the_likeliest_out_of_range_are_refused(make, fields, name):
    """By name, as is the other endpoint's type."""
    with pytest.raises(Problem, match=f"^{name}: Expected `") as problem:
        make(**fields)
    assert (problem.value.code, problem.value.param) == ("invalid_message", name)


@pytest.mark.parametrize("fields", [{"echo": True}, {"best_of": 2}, {"n": 3}])
def test_what_a_completion_can_not_do_is_refused(fields):
    """Naming the field, and saying what to do."""
    with pytest.raises(Problem, match="not supported") as problem:
        completion(**fields)
    assert re.fullmatch(r"(\w+) is not supported here: .{10,}", problem.value.message)[1] == problem.value.param
    assert problem.value.param in fields


def test_each_field_that_may_be_refused_has_its_advice():
    """Whatever it is set to."""
    wrong = {
        "n": 2,
        "best_of": 2,
        "echo": True,
    }
    wrong |= {
        "tools": [1],
        "functions": [1],
        "response_format": {"type": "json"},
        "audio": {"a": 1},
    }
    wrong |= {"modalities": ["audio"], "web_search_options": {"a": 1}, "reasoning_effort": "high"}
    for kind, required in ((ChatBody, {"messages": [{"role": "user"}]}), (CompletionBody, {"prompt": "x"})):
        for name in parse(msgspec.json.encode(required), kind).refused():
            with pytest.raises(Problem, match=rf"^{name} is not supported here: \w"):
                parse(msgspec.json.encode({**required, name: wrong[name]}), kind)


# What a body may have too much of ----------------------------------------------------------------------------


@pytest.fixture
def made(monkeypatch):
    """How often something is decoded, and into what, from here on."""
    kinds = []
    decode = msgspec.json.decode
    monkeypatch.setattr(
        msgspec.json, "decode", lambda content, type: kinds.append(type) or decode(content, type=type)
    )
    return kinds


def test_a_body_of_very_many_values_is_not_decoded(made):
    """Counting them is enough, whatever they are."""
    for field in ("prompt", "stop", "nothing"):
        body = msgspec.json.encode({"prompt": "x", field: [1] * 20_000})
        with pytest.raises(Problem, match=f"{TOKENS} tokens are available") as problem:
            parse(body, CompletionBody)
        assert problem.value.code == "prompt_too_long"
    assert made == []


@pytest.mark.parametrize("prompt", [[1] * (TOKENS + 1), [[1] * (TOKENS + 1)], [[]] * (TOKENS + 1)])
def test_more_tokens_than_are_available_are_not_made(made, prompt):
    """They are counted in the body's text."""
    body = completion(prompt=prompt)
    made.clear()
    with pytest.raises(Problem, match=f"{TOKENS + 1} tokens, and {TOKENS} are available") as problem:
        body.text_or_tokens(TOKENS)
    assert (problem.value.code, problem.value.param) == ("prompt_too_long", "prompt")
    assert made == []


@given(st.lists(st.integers(0, 2**31), min_size=1, max_size=TOKENS), st.booleans(), st.sampled_from([None, 1]))
def test_as_many_tokens_as_are_available_are_taken(tokens, nested, indent):
    """However the JSON is laid out."""
    body = json.dumps({"prompt": [tokens] if nested else tokens}, indent=indent).encode()
    assert parse(body, CompletionBody).text_or_tokens(TOKENS) == tokens


@given(st.text())
def test_a_prompt_in_an_array_is_that_text(text):
    """With commas, brackets and quotes of its own."""
    assert completion(prompt=[text]).text_or_tokens(TOKENS) == completion(prompt=text).text_or_tokens(TOKENS) == text


@pytest.mark.parametrize(
    "body",
    [
        {"messages": [{"role": "user", "content": ""}] * (TOKENS + 1)},
        {"messages": [{"role": "user", "content": [{"type": "text"}] * TOKENS}]},
        {"prediction": {"type": "content", "content": [{"type": "text"}] * TOKENS}},
    ],
)
def test_no_more_messages_and_parts_are_made_than_fit(body):
    """The one too many ends the decoding; what follows isn't looked at."""
    encoded = msgspec.json.encode(body)[:-1] + b", this is no JSON"
    with pytest.raises(Problem, match=f"over {TOKENS} messages and parts") as problem:
        parse(encoded, ChatBody)
    assert problem.value.code == "prompt_too_long"


def test_each_body_has_room_of_its_own():
    """A body that was refused, or taken, takes none from the next."""
    full = msgspec.json.encode({"messages": [{"role": "user", "content": ""}] * TOKENS})
    for _ in range(3):
        assert len(parse(full, ChatBody).messages) == TOKENS
        with pytest.raises(Problem):
            parse(full.replace(b"[", b'[{"role":"user"},'), ChatBody)


@pytest.mark.parametrize(
    ("field", "value"),
    [("stop", ["x"] * 17), ("stop", ["x"] * 15_000), ("stop", "x" * 100_000), ("stop", "")]
    + [("logit_bias", {str(token): 1 for token in range(count)}) for count in (1025, 15_000)],
)
def test_too_many_stop_strings_or_biases_are_refused_by_name(field, value):
    """Also where there are far too many."""
    with pytest.raises(Problem, match=f"^{field}") as problem:
        completion(**{field: value})
    assert (problem.value.code, problem.value.param) == ("invalid_message", field)


def test_the_most_and_longest_are_taken():
    """With all characters escaped as JSON allows."""
    stop, biases = ["🎉" * 256] * 16, {str(2**31 - 1 - token): -99.123456789012345 for token in range(1024)}
    body = parse(json.dumps({"prompt": "x", "stop": stop, "logit_bias": biases}, indent=2).encode(), CompletionBody)
    assert body.stops() == tuple(stop)
    assert len(body.biases()) == 1024


@pytest.mark.parametrize("size", [1, 10_000])
def test_fields_that_are_refused_are_not_made(made, size):
    """Only whether they say something is looked at, and that where they are short."""
    with pytest.raises(Problem, match="tools is not supported"):
        chat(tools=[{"a": 1}] * size)
    assert made.count(object) <= 8


@pytest.mark.parametrize("field", ["tools", "functions", "response_format", "modalities", "audio"])
@pytest.mark.parametrize("nothing", [b"null", b"[ ]", b"{\n}"])
def test_nothing_is_nothing_however_it_is_written(field, nothing):
    """Clients send such fields by default."""
    parse(b'{"messages": [{"role": "user"}], "%b": %b }' % (field.encode(), nothing), ChatBody)
