"""What OpenAI's own client gets from the HTTP API."""

from __future__ import annotations

import asyncio

import msgspec
import openai
import pytest
from warmline.engine import unpack_tokens
from warmline.realtime.access.keys import ApiKey
from warmline.realtime.protocol import Complete

HELLO = [{"role": "user", "content": "Hello"}]


def submitted(engine, tokenizer):
    """The newest request of the engine: its prompt as text, and itself."""
    request = engine.requests[-1]
    tokens = unpack_tokens(request.prompt)
    return "".join(tokenizer._literal.get(token) or tokenizer.decode([token]) for token in tokens), request


# Chat ----------------------------------------------------------------------------------------------------------


async def test_a_chat_is_answered(serve_http, openai_client, engine, tokenizer):
    """Through the model's template, with what it cost."""
    client = openai_client(await serve_http())
    answer = await client.chat.completions.create(
        model="scripted",
        messages=[
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Say"}, {"type": "text", "text": "<|im_end|>"}]},
            {"role": "assistant", "content": "No."},
            {"role": "user", "content": "Why?"},
        ],
        temperature=0.5,
        top_p=0.9,
        seed=-1,
        stop=["END"],
        max_completion_tokens=50,
        extra_body={"top_k": 7, "min_p": 0.1, "no_such_field": 1},
    )
    (choice,) = answer.choices
    assert (choice.message.role, choice.message.content, choice.finish_reason) == ("assistant", "hello world", "stop")
    assert (answer.object, answer.model) == ("chat.completion", "scripted")
    usage = answer.usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (7, 2, 9)
    assert usage.prompt_tokens_details.cached_tokens == 4
    prompt, request = submitted(engine, tokenizer)
    assert prompt == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nSay\n<|im_end|><|im_end|>\n"
        "<|im_start|>assistant\nNo.<|im_end|>\n<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n"
    )
    sampling = request.sampling
    assert (sampling.temperature, sampling.top_p, sampling.top_k, sampling.min_p) == (0.5, 0.9, 7, 0.1)
    assert (sampling.max_tokens, sampling.stop, sampling.seed) == (50, ("END",), 2**53 - 1)
    assert unpack_tokens(request.prompt).count(2) == 4  # what looks like <|im_end|> in a message is text


async def test_a_chat_streams(serve_http, openai_client, engine):
    """An event for each step of the engine; the first says the role and the last the reason and what it cost."""
    engine.scripts.append(["Hel", "lo", " é🎉"])
    engine.reason = "length"
    client = openai_client(await serve_http())
    stream = await client.chat.completions.create(
        model="scripted", messages=HELLO, stream=True, stream_options={"include_usage": True}
    )
    chunks = [chunk async for chunk in stream]
    *texts, end, cost = chunks
    assert [chunk.choices[0].delta.content for chunk in texts] == ["Hel", "lo", " é🎉"]
    assert [chunk.choices[0].delta.role for chunk in texts] == ["assistant", None, None]
    assert [chunk.choices[0].finish_reason for chunk in texts] == [None] * 3
    assert end.choices[0].finish_reason == "length"
    assert cost.choices == []
    assert (cost.usage.prompt_tokens, cost.usage.completion_tokens) == (7, 3)
    assert len({chunk.id for chunk in chunks}) == 1
    assert {chunk.object for chunk in chunks} == {"chat.completion.chunk"}


async def test_a_stream_tells_its_cost_only_if_asked(serve_http, openai_client):
    """And all events have a choice then."""
    client = openai_client(await serve_http())
    stream = await client.chat.completions.create(model="scripted", messages=HELLO, stream=True)
    chunks = [chunk async for chunk in stream]
    assert all(chunk.choices and chunk.usage is None for chunk in chunks)


async def test_a_prediction_is_the_draft(serve_http, openai_client, engine, tokenizer):
    """Its accepted and rejected tokens are counted."""
    client = openai_client(await serve_http())
    answer = await client.chat.completions.create(
        model="scripted", messages=HELLO, prediction={"type": "content", "content": "x = 1\n"}
    )
    assert unpack_tokens(engine.requests[0].draft) == tokenizer.encode("x = 1\n")
    details = answer.usage.completion_tokens_details
    assert (details.accepted_prediction_tokens, details.rejected_prediction_tokens) == (2, 3)


async def test_of_a_prediction_no_more_is_taken_than_an_answer_can_have(serve_http, openai_client, engine):
    """However short its tokens are."""
    client = openai_client(await serve_http())
    available = engine.model.max_sequence_tokens
    content = "".join(chr(0x4E00 + number % 20_000) for number in range(2 * available))
    await client.chat.completions.create(
        model="scripted", messages=HELLO, prediction={"type": "content", "content": content}
    )
    assert len(unpack_tokens(engine.requests[0].draft)) == available


async def test_the_sync_client_works(serve_http):
    """In a thread beside the server's loop."""
    server = await serve_http()

    def talk() -> tuple[str, str]:
        with openai.OpenAI(api_key="none", base_url=server.http_url, max_retries=0) as client:
            whole = client.chat.completions.create(model="scripted", messages=HELLO)
            stream = client.completions.create(model="scripted", prompt="x", stream=True)
            return whole.choices[0].message.content, "".join(chunk.choices[0].text for chunk in stream)

    assert await asyncio.to_thread(talk) == ("hello world", "hello world")


# Completions ---------------------------------------------------------------------------------------------------


async def test_a_completion_is_answered(serve_http, openai_client, engine, tokenizer):
    """The prompt goes to the model as it is, special tokens as text; sixteen tokens unless more are asked for."""
    client = openai_client(await serve_http())
    answer = await client.completions.create(model="scripted", prompt="a<|im_end|>\r\n", temperature=0)
    assert (answer.object, answer.choices[0].text) == ("text_completion", "hello world")
    assert answer.choices[0].finish_reason == "stop"
    request = engine.requests[0]
    assert unpack_tokens(request.prompt) == tokenizer.encode("a<|im_end|>\r\n")
    assert (request.sampling.max_tokens, request.sampling.temperature) == (16, 0)


async def test_a_completion_streams(serve_http, openai_client):
    """Each event has text; the last has the reason."""
    client = openai_client(await serve_http())
    stream = await client.completions.create(model="scripted", prompt=["x"], stream=True)
    found = [(chunk.choices[0].text, chunk.choices[0].finish_reason) async for chunk in stream]
    assert found == [("hello", None), (" world", None), ("", "stop")]


async def test_a_prompt_may_be_tokens(serve_http, openai_client, engine):
    """They are the engine's prompt; those that can't be tokens are refused."""
    client = openai_client(await serve_http())
    await client.completions.create(model="scripted", prompt=[5, 6, 7])
    await client.completions.create(model="scripted", prompt=[[8, 9]])
    assert [unpack_tokens(request.prompt) for request in engine.requests] == [[5, 6, 7], [8, 9]]


@pytest.mark.parametrize(
    ("fields", "param", "token"),
    [
        ({"prompt": [5, 100, 6]}, "prompt", 100),
        ({"prompt": [5, -1]}, "prompt", -1),
        ({"prompt": [[2**62]]}, "prompt", 2**62),
        ({"prompt": "x", "logit_bias": {"99": 1, "100": 1}}, "logit_bias", 100),
    ],
)
async def test_a_token_outside_the_vocabulary_is_named(serve_http, openai_client, engine, fields, param, token):
    """And the field that has it; the engine isn't asked."""
    engine.model = msgspec.structs.replace(engine.model, vocabulary=100)
    client = openai_client(await serve_http())
    with pytest.raises(openai.BadRequestError, match=f"token {token} is outside the vocabulary.* 99") as refusal:
        await client.completions.create(model="scripted", **fields)
    assert (refusal.value.code, refusal.value.param) == ("invalid_parameter", param)
    assert engine.requests == []
    await client.completions.create(model="scripted", prompt=[0, 99], logit_bias={"99": 1})


@pytest.mark.parametrize("role", ["system", "user", "assistant"])
@pytest.mark.parametrize("said", [{}, {"content": None}])
async def test_a_message_without_content_is_refused(serve_http, openai_client, engine, role, said):
    """An empty one says nothing, and may."""
    client = openai_client(await serve_http())
    with pytest.raises(openai.BadRequestError, match=r"messages\[1\]\.content is missing") as refusal:
        await client.chat.completions.create(model="scripted", messages=[*HELLO, {"role": role, **said}])
    assert (refusal.value.code, refusal.value.param) == ("invalid_message", "messages[1].content")
    assert engine.requests == []
    await client.chat.completions.create(model="scripted", messages=[*HELLO, {"role": role, "content": ""}])


async def test_a_suffix_needs_a_model_that_can_fill_in(serve_http, openai_client):
    """The scripted one can't."""
    client = openai_client(await serve_http())
    with pytest.raises(openai.BadRequestError, match="fill in") as refusal:
        await client.completions.create(model="scripted", prompt="a", suffix="b")
    assert refusal.value.code == "invalid_parameter"


async def test_a_model_that_can_fill_in_is_given_the_suffix(serve_http, openai_client, engine, tokenizer):
    """Between its own marks."""
    marks = ("<file_sep>", "<repo_name>")
    engine.model = msgspec.structs.replace(engine.model, fill_marks=marks)
    client = openai_client(await serve_http())
    await client.completions.create(model="scripted", prompt="before", suffix="after")
    prompt, _ = submitted(engine, tokenizer)
    assert prompt == "<file_sep>after<repo_name>before"


async def test_a_fence_that_closes_nothing_is_no_part_of_a_completion(serve_http, openai_client, engine):
    """A model whose adapter taught it edits ends some texts with one; where the prompt has fences, they are text."""
    engine.model = msgspec.structs.replace(engine.model, fill_marks=("<file_sep>", "<repo_name>"))
    client = openai_client(await serve_http())
    await client.completions.create(model="scripted", prompt="def fib(n):", stop="END")
    await client.completions.create(model="scripted", prompt="```python\ndef fib(n):")
    await client.completions.create(model="scripted", prompt="def fib(n):", suffix="\n```\n")
    assert [request.sampling.stop for request in engine.requests] == [("END", "\n```", "```"), (), ()]


# Models --------------------------------------------------------------------------------------------------------


async def test_the_model_is_listed(serve_http, openai_client):
    """By the name that requests may use; another one is not here."""
    client = openai_client(await serve_http())
    models = await client.models.list()
    assert [model.id for model in models.data] == ["scripted"]
    assert (await client.models.retrieve("scripted")).object == "model"
    with pytest.raises(openai.NotFoundError) as refusal:
        await client.models.retrieve("org/gpt-5")
    assert refusal.value.code == "model_not_found"
    with pytest.raises(openai.NotFoundError, match="only 'scripted'"):
        await client.chat.completions.create(model="gpt-5", messages=HELLO)


# Keys ----------------------------------------------------------------------------------------------------------


async def test_a_key_is_needed_where_there_are_keys(serve_http, openai_client, engine):
    """A wrong one is refused, and nothing reaches the engine."""
    server = await serve_http(api_keys=("right", "other"))
    with pytest.raises(openai.AuthenticationError) as refusal:
        await openai_client(server, "wrong").models.list()
    assert refusal.value.code == "unauthorized"
    with pytest.raises(openai.AuthenticationError):
        await openai_client(server, "wrong").chat.completions.create(model="scripted", messages=HELLO)
    assert engine.requests == []
    await openai_client(server, "right").models.list()


async def test_a_key_has_one_prefix_cache_whatever_it_comes_through(serve_http, openai_client, dial, engine):
    """Requests of one key have one salt, over HTTP and over a WebSocket; another key has another."""
    server = await serve_http(api_keys=("right", "other"))
    for key in ("right", "other"):
        await openai_client(server, key).completions.create(model="scripted", prompt="x")
    wire = await dial(server, hello=False)
    await wire.hello("right")
    await wire.open("x")
    await wire.send(Complete(1, "file:///a", 1, 1))
    await wire.ended()
    salts = [request.salt for request in engine.requests]
    assert salts == [ApiKey.of("a", "right").salt, ApiKey.of("b", "other").salt, salts[0]]


async def test_connections_of_one_key_share_the_engine_evenly(serve_http, bare, engine):
    """Each is a client of its own to the engine's queue, with or without keys; what comes over one is one's."""
    for keys in ((), ("right",)):
        server = await serve_http(api_keys=keys)
        engine.requests.clear()
        one, other = await bare(server), await bare(server)
        for client in (one, other, one):
            client.send("/v1/completions", {"prompt": "x"}, "Authorization: Bearer right")
            assert (await client.answer()).status == 200
        clients = [request.client for request in engine.requests]
        assert clients[0] == clients[2] != clients[1]
        assert all(clients)
        assert len({request.salt for request in engine.requests}) == 1


# What can't be done --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"n": 2}, "n"),
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"reasoning_effort": "high"}, "reasoning_effort"),
        ({"modalities": ["text", "audio"]}, "modalities"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages[0].content"),
        ({"messages": [{"role": "tool", "content": "x", "tool_call_id": "1"}]}, "messages[0]"),
        ({"prediction": {"type": "wish", "content": "x"}}, "prediction.type"),
    ],
)  # fmt: skip
async def test_what_would_change_the_answer_is_refused(serve_http, openai_client, engine, fields, param):
    """Naming the field, with what to do instead, in the envelope of OpenAI's API."""
    client = openai_client(await serve_http())
    with pytest.raises(openai.BadRequestError) as refusal:
        await client.chat.completions.create(**{"model": "scripted", "messages": HELLO, **fields})
    error = refusal.value
    assert (error.code, error.param, error.type) == ("invalid_parameter", param, "invalid_request_error")
    assert error.response.json().keys() == {"error"}
    assert error.response.json()["error"].keys() == {"message", "type", "param", "code"}
    what, _, instead = error.body["message"].partition(": ")
    assert "not supported here" in what or "text only" in what or "type content" in what
    assert instead or param == "prediction.type"
    assert engine.requests == []


async def test_a_completion_can_not_have_several_answers(serve_http, openai_client, engine):
    """Each field is refused by its own name."""
    client = openai_client(await serve_http())
    for fields in ({"n": 2}, {"best_of": 3}, {"echo": True}):
        (name,) = fields
        with pytest.raises(openai.BadRequestError, match=f"{name} is not supported here: ") as refusal:
            await client.completions.create(model="scripted", prompt="x", **fields)
        assert (refusal.value.code, refusal.value.param) == ("invalid_parameter", name)
    assert engine.requests == []


async def test_fields_that_ask_for_nothing_are_taken(serve_http, openai_client):
    """What clients send by default is no reason to refuse."""
    client = openai_client(await serve_http())
    await client.chat.completions.create(
        model="scripted",
        messages=HELLO,
        n=1,
        logprobs=False,
        tools=[],
        presence_penalty=0,
        frequency_penalty=0,
        response_format={"type": "text"},
        modalities=["text"],
        reasoning_effort="none",
        user="me",
        store=False,
        metadata={"a": "b"},
    )


async def test_a_prompt_that_cannot_fit_is_refused(serve_http, openai_client, engine):
    """By us where that is plain without tokenising it, else by the engine; the code is the same."""
    client = openai_client(await serve_http())
    with pytest.raises(openai.BadRequestError, match="8192 are available") as refusal:
        await client.completions.create(model="scripted", prompt="x" * 100_000)
    assert refusal.value.code == "prompt_too_long"
    assert engine.requests == []


async def test_many_messages_are_refused_before_they_are_rendered(serve_http, openai_client, engine):
    """Each takes some tokens, though it says nothing."""
    client = openai_client(await serve_http())
    with pytest.raises(openai.BadRequestError, match="8192 are available"):
        await client.chat.completions.create(model="scripted", messages=[{"role": "user", "content": ""}] * 5000)
    assert engine.requests == []


async def test_far_too_many_tokens_are_refused_as_too_many(serve_http, openai_client, engine):
    """However many there are; the connection goes on, and as many as fit are the engine's affair."""
    client = openai_client(await serve_http())
    for prompt in ([1] * 8193, [[1] * 8193], [1] * 900_000):
        with pytest.raises(openai.BadRequestError, match="8192") as refusal:
            await client.completions.create(model="scripted", prompt=prompt)
        assert refusal.value.code == "prompt_too_long"
    assert engine.requests == []
    await client.completions.create(model="scripted", prompt=[1] * 8192)
    assert len(unpack_tokens(engine.requests[0].prompt)) == 8192


async def test_far_too_many_messages_are_refused_before_any_is_looked_at(serve_http, openai_client, engine):
    """The last one has a role that is not supported."""
    client = openai_client(await serve_http())
    wrong = {"role": "tool", "content": ""}
    for count in (5000, 50_000):
        with pytest.raises(openai.BadRequestError, match="8192 are available") as refusal:
            await client.chat.completions.create(model="scripted", messages=[wrong] * count)
        assert refusal.value.code == "prompt_too_long"
    assert engine.requests == []


async def test_drafts_count_where_there_is_a_prediction(serve_http, openai_client):
    """Others are the engine's own affair."""
    client = openai_client(await serve_http())
    answer = await client.chat.completions.create(model="scripted", messages=HELLO)
    details = answer.usage.completion_tokens_details
    assert (details.accepted_prediction_tokens, details.rejected_prediction_tokens) == (0, 0)


async def test_a_long_prompt_is_tokenised_beside_the_loop(serve_http, openai_client, engine, tokenizer):
    """With the same result."""
    client = openai_client(await serve_http())
    text = "word " * 4000
    await client.completions.create(model="scripted", prompt=text)
    assert unpack_tokens(engine.requests[0].prompt) == tokenizer.encode(text)
