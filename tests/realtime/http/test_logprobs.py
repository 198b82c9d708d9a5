"""Log probabilities in the forms of OpenAI's API, from what the engine says to what its client reads."""

from __future__ import annotations

import codecs
import itertools

import msgspec
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.engine import SequenceEvent, TokenLogprobs, pack_tokens
from warmline.realtime.http.logprobs import ChatCollector, CompletionCollector

HELLO = [{"role": "user", "content": "Hello"}]
PARTY = "🎉"


def taken(collector):
    """What it gives, as a client reads it."""
    return msgspec.json.decode(msgspec.json.encode(collector.take()))


def read(kind, pieces, *tops):
    """What a collector makes of tokens that stand for ``pieces``, the first of which have likeliest ones."""
    collector = kind(pieces.__getitem__)
    rows = itertools.zip_longest(range(len(pieces)), tops, fillvalue=())
    collector.add([TokenLogprobs(token, -1.0, top) for token, top in rows])
    return taken(collector)


# Offsets -------------------------------------------------------------------------------------------------------


def owners(data: bytes) -> list[int]:
    """For each byte the character of the text that it is in; bytes that are no UTF-8 become U+FFFD."""
    broken: dict[int, int] = {}

    def note(error: UnicodeDecodeError) -> tuple[str, int]:
        broken[error.start] = error.end
        return "\ufffd", error.end

    codecs.register_error("warmline-tests-note", note)
    text = data.decode("utf-8", "warmline-tests-note")
    found: list[int] = []
    for number, character in enumerate(text):
        end = broken.get(len(found), len(found) + len(character.encode()))
        found += [number] * (end - len(found))
    return found


PIECES = st.one_of(
    st.binary(max_size=12),
    st.text(max_size=8).map(str.encode),
    st.lists(st.sampled_from([b"a", b"\xf0", b"\x9f", b"\x8e", b"\x89", b"\xe0", b"\x80", b"\xc3"])).map(b"".join),
).flatmap(
    lambda data: st.lists(st.integers(0, len(data)), max_size=8).map(
        lambda cuts: [data[a:b] for a, b in itertools.pairwise([0, *sorted(cuts), len(data)])]
    )
)


@given(PIECES)
def test_an_offset_is_the_character_where_a_token_begins(pieces):
    """However characters are cut into tokens, and whatever their bytes are."""
    data = b"".join(pieces)
    starts = [0, *itertools.accumulate(map(len, pieces))]
    expected = owners(data)
    offsets = read(CompletionCollector, pieces)["text_offset"]
    assert len(offsets) == len(pieces)
    for piece, start, offset in zip(pieces, starts, offsets, strict=False):
        if piece:
            assert offset == expected[start]


@given(PIECES, st.integers(0, 8))
def test_what_is_taken_in_parts_is_the_whole(pieces, cut):
    """Offsets go on from part to part."""
    tokens = [TokenLogprobs(token, -float(token), ((token, -0.5),)) for token in range(len(pieces))]
    for kind in (ChatCollector, CompletionCollector):
        whole, parts = kind(pieces.__getitem__), kind(pieces.__getitem__)
        whole.add(tokens)
        expected = taken(whole)
        parts.add(tokens[:cut])
        first = taken(parts)
        parts.add(tokens[cut:])
        second = taken(parts)
        for column, values in expected.items():
            assert values is None or first[column] + second[column] == values


# Tokens --------------------------------------------------------------------------------------------------------


def test_a_part_of_a_character_has_its_exact_bytes():
    """Its text can't be; the bytes of the parts together are the character's."""
    first, second = PARTY.encode()[:3], PARTY.encode()[3:]
    one, two = read(ChatCollector, [first, second], (), ((0, -2.0),))["content"]
    assert (one["token"], two["token"]) == ("\ufffd", "\ufffd")
    assert bytes(one["bytes"] + two["bytes"]).decode() == PARTY
    assert one["top_logprobs"] == []
    assert two["top_logprobs"] == [{"token": "\ufffd", "logprob": -2.0, "bytes": list(first)}]


def test_a_special_token_has_no_bytes():
    """And no text: it is shown to nobody."""
    (token,) = read(ChatCollector, [b""], ((0, -0.5),))["content"]
    assert (token["token"], token["bytes"]) == ("", None)
    assert token["top_logprobs"] == [{"token": "", "logprob": -0.5, "bytes": None}]


def test_the_chosen_token_is_among_the_likeliest_of_a_completion():
    """So that there may be one more than was asked for."""
    pieces = [b"a", b"b", b"c"]
    found = read(CompletionCollector, pieces, ((1, -0.25), (2, -0.5)), ((1, -1.0),), ())["top_logprobs"]
    assert [list(likeliest.items()) for likeliest in found] == [
        [("b", -0.25), ("c", -0.5), ("a", -1.0)],
        [("b", -1.0)],
        [("c", -1.0)],
    ]


def test_of_tokens_with_the_same_text_the_likeliest_counts():
    """Else the chosen one would seem the likeliest of all."""
    found = read(CompletionCollector, [b"\xf0", b"\x9f"], ((1, -0.25),))
    assert found["top_logprobs"][0] == {"\ufffd": -0.25}
    assert found["token_logprobs"][0] == -1.0


# OpenAI's client -----------------------------------------------------------------------------------------------


@pytest.fixture
def scored(engine, tokenizer):
    """Have the engine say what it says with log probabilities: each step a text and the tokens it brought."""

    def emit(sequence: int, step: tuple[str, tuple[int, ...]]) -> None:
        text, tokens = step
        logprobs = tuple(TokenLogprobs(token, -token / 8, ((token, -token / 8), (2, -90.5))) for token in tokens)
        asked = engine.requests[-1].sampling.logprobs is not None
        packed = pack_tokens(list(tokens))
        engine._live[sequence](SequenceEvent(sequence, text, packed, None, logprobs if asked else ()))

    engine.emit = emit
    return tokenizer


def steps(tokenizer):
    """A text of six characters, one of which is of several tokens; the last token's is held back."""
    hello, party, end = (tuple(tokenizer.encode(text)) for text in ("hello", PARTY, ";"))
    assert len(party) > 1
    return [("hello", hello), (PARTY, party), ("", end)], (*hello, *party, *end)


async def test_a_chat_has_log_probabilities(serve_http, openai_client, engine, scored):
    """One for each token, with as many of the likeliest as the engine says."""
    script, tokens = steps(scored)
    engine.scripts.append(script)
    client = openai_client(await serve_http())
    answer = await client.chat.completions.create(model="scripted", messages=HELLO, logprobs=True, top_logprobs=2)
    assert engine.requests[0].sampling.logprobs == 2
    (choice,) = answer.choices
    assert choice.logprobs.refusal is None
    assert [token.logprob for token in choice.logprobs.content] == [-token / 8 for token in tokens]
    spoken = bytes(itertools.chain(*(token.bytes for token in choice.logprobs.content)))
    assert spoken.decode() == choice.message.content + ";" == f"hello{PARTY};"
    for number, token in zip(tokens, choice.logprobs.content, strict=True):
        assert token.token == scored.decode([number])
        same, special = token.top_logprobs
        assert (same.token, same.bytes, same.logprob) == (token.token, token.bytes, token.logprob)
        assert (special.token, special.bytes, special.logprob) == ("", None, -90.5)


async def test_a_completion_has_log_probabilities(serve_http, openai_client, engine, scored):
    """In columns; offsets count characters, and the parts of one have the same."""
    script, tokens = steps(scored)
    engine.scripts.append(script)
    client = openai_client(await serve_http())
    answer = await client.completions.create(model="scripted", prompt="x", logprobs=2)
    found = answer.choices[0].logprobs
    assert found.tokens == [scored.decode([token]) for token in tokens]
    assert found.token_logprobs == [-token / 8 for token in tokens]
    assert found.text_offset[0] == 0
    assert found.text_offset[-1] == 6
    assert found.text_offset.count(5) == len(scored.encode(PARTY))
    assert [likeliest[token] for likeliest, token in zip(found.top_logprobs, found.tokens, strict=True)] == (
        found.token_logprobs
    )
    assert all(likeliest[""] == -90.5 for likeliest in found.top_logprobs)


async def test_a_stream_has_the_same_ones(serve_http, openai_client, engine, scored):
    """An event brings those of its tokens, even if it has no text; the last, with the reason, has none."""
    client = openai_client(await serve_http())
    script, _ = steps(scored)
    engine.scripts += [script] * 4
    fields = {"model": "scripted", "messages": HELLO, "logprobs": True, "top_logprobs": 1}
    whole = await client.chat.completions.create(**fields)
    *chunks, end = [chunk.choices[0] async for chunk in await client.chat.completions.create(**fields, stream=True)]
    assert (end.finish_reason, end.logprobs) == ("stop", None)
    assert chunks[-1].delta.content is None
    assert [token for chunk in chunks for token in chunk.logprobs.content] == whole.choices[0].logprobs.content

    fields = {"model": "scripted", "prompt": "x", "logprobs": 1}
    whole = await client.completions.create(**fields)
    *chunks, end = [chunk.choices[0] async for chunk in await client.completions.create(**fields, stream=True)]
    assert (end.finish_reason, end.logprobs) == ("stop", None)
    assert len(chunks) == len(script)
    for column in ("text_offset", "tokens", "token_logprobs", "top_logprobs"):
        parts = [value for chunk in chunks for value in getattr(chunk.logprobs, column)]
        assert parts == getattr(whole.choices[0].logprobs, column)


async def test_an_answer_without_tokens_has_empty_ones(serve_http, openai_client, engine):
    """They were asked for; null says that they weren't."""
    engine.default = ()
    client = openai_client(await serve_http())
    chat = await client.chat.completions.create(model="scripted", messages=HELLO, logprobs=True)
    assert chat.choices[0].logprobs.content == []
    text = await client.completions.create(model="scripted", prompt="x", logprobs=0)
    found = text.choices[0].logprobs
    assert found.tokens == found.token_logprobs == found.top_logprobs == found.text_offset == []


async def test_there_are_none_unless_they_are_asked_for(serve_http, openai_client, engine, scored):
    """Null then, whole and streamed."""
    script, _ = steps(scored)
    engine.scripts += [script] * 3
    client = openai_client(await serve_http())
    chat = await client.chat.completions.create(model="scripted", messages=HELLO, logprobs=False)
    assert chat.choices[0].logprobs is None
    text = await client.completions.create(model="scripted", prompt="x")
    assert text.choices[0].logprobs is None
    stream = await client.completions.create(model="scripted", prompt="x", stream=True)
    assert [chunk.choices[0].logprobs async for chunk in stream] == [None] * 3  # what has no text has no event
    assert [request.sampling.logprobs for request in engine.requests] == [None] * 3


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        ({"logprobs": True, "top_logprobs": 21}, "invalid_message", "top_logprobs"),
        ({"logprobs": 5}, "invalid_message", "logprobs"),
        ({"top_logprobs": 5}, "invalid_parameter", "top_logprobs"),
    ],
)
async def test_what_can_not_be_asked_for_is_explained(serve_http, openai_client, engine, fields, code, param):
    """In the envelope of OpenAI's API; nothing reaches the engine."""
    client = openai_client(await serve_http())
    with pytest.raises(openai.BadRequestError, match=param) as refusal:
        await client.chat.completions.create(model="scripted", messages=HELLO, **fields)
    error = refusal.value
    assert (error.code, error.param, error.type) == (code, param, "invalid_request_error")
    assert engine.requests == []
