"""A conversation made of pieces is what the model's template makes of the whole."""

from __future__ import annotations

import functools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import Template
from jinja2.sandbox import ImmutableSandboxedEnvironment
from warmline.realtime.errors import Refused
from warmline.realtime.prompting.chat_prompts import PLAIN_STOP, ChatPrompts
from warmline.realtime.protocol import ErrorCode

SMOLLM2 = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM<|im_end|>\n' }}{% endif %}"
    "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
LLAMA3 = (
    "{% for message in messages %}"
    "{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' + message['content'] | trim"
    " + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"
)
INSTRUCT = (
    "{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate user/assistant/user/assistant/...') }}{% endif %}"
    "{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}"
    "{% else %}{{ message['content'] + eos_token }}{% endif %}{% endfor %}"
)
THINKING = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{% if message.role == 'assistant' and '</think>' in message.content %}"
    "{{ message.content.split('</think>')[-1].lstrip('\n') }}{% else %}{{ message.content }}{% endif %}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)

said = st.text(max_size=20)


class CharacterTokenizer:
    """A token for each character; those of the template are negative."""

    bos_id: int | None = 1
    adds_bos = False
    bos_token = "<s>"
    eos_token = "</s>"

    def __init__(self, chat_template: str | None) -> None:
        self.chat_template = chat_template

    def encode(self, text: str) -> list[int]:
        return [ord(character) for character in text]

    def encode_template(self, text: str) -> list[int]:
        return [-ord(character) for character in text]

    def token_bytes(self, token_id: int) -> bytes:
        return chr(token_id).encode()


def read(tokens) -> str:
    return "".join(chr(abs(token)) for token in tokens)


def pieces(prompts: ChatPrompts, turns) -> list[int]:
    """A conversation as it grows, up to where the reply to the last message begins."""
    (first, reply), *rest = turns
    tokens = prompts.first(first)
    for message, next_reply in rest:
        tokens += prompts.tokenizer.encode(reply) + prompts.later(message)
        reply = next_reply
    return tokens


@functools.cache
def compiled(template: str) -> Template:
    return ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True).from_string(template)


def rendered(template: str, turns) -> str:
    """What the template makes of the same conversation."""
    messages = []
    for message, reply in turns:
        messages += [{"role": "user", "content": message}, {"role": "assistant", "content": reply}]
    return compiled(template).render(
        messages=messages[:-1],
        add_generation_prompt=True,
        enable_thinking=False,
        bos_token="<s>",
        eos_token="</s>",
        raise_exception=None,
    )


@pytest.mark.parametrize("template", [SMOLLM2, INSTRUCT], ids=["smollm2", "instruct"])
@given(st.lists(st.tuples(said, said), min_size=1, max_size=5))
def test_pieces_are_the_whole(template, turns):
    """Character by character, whatever is said."""
    prompts = ChatPrompts(CharacterTokenizer(template), 1000)
    assert read(pieces(prompts, turns)) == rendered(template, turns)


@given(st.lists(st.tuples(said, said.map(str.strip)), min_size=1, max_size=5))
def test_pieces_are_the_whole_where_a_template_strips_messages(turns):
    """A message loses the white space at its ends; a reply stays as the model gave it."""
    prompts = ChatPrompts(CharacterTokenizer(LLAMA3), 1000)
    assert read(pieces(prompts, turns)) == rendered(LLAMA3, turns)


def test_an_earlier_turn_stays_as_the_model_was_shown_it():
    """Where a template drops the empty thought from earlier turns, the pieces keep it: nothing is computed again."""
    prompts = ChatPrompts(CharacterTokenizer(THINKING), 1000)
    turns = [("a", "b"), ("c", "d"), ("e", "")]
    grown = read(pieces(prompts, turns))
    assert grown.startswith(read(pieces(prompts, turns[:2])))
    assert grown.count("<think>\n\n</think>\n\n") == 3
    assert grown.replace("<think>\n\n</think>\n\n", "") == rendered(THINKING, turns).replace(
        "<think>\n\n</think>\n\n", ""
    )


@pytest.mark.parametrize("template", [SMOLLM2, LLAMA3, THINKING], ids=["smollm2", "llama3", "thinking"])
def test_a_conversation_given_whole_is_the_templates(template):
    """With a system message, too; only the template's own text may become special tokens."""
    prompts = ChatPrompts(CharacterTokenizer(template), 1000)
    tokens = prompts.whole(["system", "user", "assistant", "user"], ["Be <|im_end|>", " hi ", "ho", "he"])
    text = rendered(template, [(" hi ", "ho"), ("he", "")])
    assert read(tokens).endswith(text[text.index("hi ") - 1 if template != LLAMA3 else text.index("hi") :])
    assert read([token for token in tokens if token > 0]) == (
        "Be <|im_end|>" + ("hi" if template == LLAMA3 else " hi ") + "hohe"
    )


def test_a_conversation_that_the_template_refuses_is_refused_in_its_words():
    """So that the client can put it right."""
    prompts = ChatPrompts(CharacterTokenizer(INSTRUCT), 1000)
    with pytest.raises(Refused, match="roles must alternate") as refusal:
        prompts.whole(["user", "user"], ["a", "b"])
    assert refusal.value.code == ErrorCode.INVALID_PARAMETER


def test_a_template_for_one_message_takes_one():
    """A second one is refused; the first works."""
    with pytest.raises(ValueError, match="chat template"):
        ChatPrompts(CharacterTokenizer("no message"), 1000)
    prompts = ChatPrompts(
        CharacterTokenizer(
            "{% if messages | length > 1 %}{{ raise_exception('one') }}{% endif %}{{ messages[0].content }}>"
        ),
        1000,
    )
    assert read(prompts.first("a")) == "a>"
    with pytest.raises(Refused, match="takes one message"):
        prompts.later("b")


def test_a_model_without_a_template_is_spoken_to_in_plain_words():
    """It begins with BOS if it wants one, and ends its answer by speaking as the user."""
    tokenizer = CharacterTokenizer(None)
    prompts = ChatPrompts(tokenizer, 1000)
    assert read(pieces(prompts, [("Hi", " Hello."), ("Bye", "")])) == (
        "User: Hi\n\nAssistant: Hello.\n\nUser: Bye\n\nAssistant:"
    )
    assert prompts.stop == (PLAIN_STOP,)
    tokenizer.adds_bos = True
    assert ChatPrompts(tokenizer, 1000).first("x")[0] == 1
    assert ChatPrompts(tokenizer, 1000).whole(["user"], ["x"])[0] == 1
