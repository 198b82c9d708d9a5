"""A chat template is reduced to what stands around messages."""

from __future__ import annotations

import pytest
from warmline.realtime.prompting.chat_template import ChatTemplate, render_around_message


def test_the_message_is_cut_out():
    """What is left is the template's own text, up to where the assistant begins."""
    template = (
        "{{ bos_token }}{% for message in messages %}<|{{ message.role }}|>{{ message['content'] | trim }}"
        "{{ eos_token }}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
    )
    assert render_around_message(template, "<s>", "</s>") == ("<s><|user|>", "</s><|assistant|>")


def test_thinking_is_off():
    """A template that knows of thinking is told not to."""
    template = (
        "{{ messages[0].content }}{% if enable_thinking is defined and not enable_thinking %}"
        "<think>\n\n</think>{% endif %}"
    )
    assert render_around_message(template, "", "") == ("", "<think>\n\n</think>")


def test_what_templates_written_for_transformers_use_is_there():
    """Loop controls, tojson without HTML escapes, dates and whitespace control."""
    template = (
        "{%- for message in messages %}\n"
        "    {%- if loop.index > 1 %}{% break %}{% endif %}\n"
        "    {{- {'a': '<é>'} | tojson }}{{ strftime_now('%Y')[:0] }}|{{ message.content }}\n"
        "{%- endfor %}"
    )
    assert render_around_message(template, "", "") == ('{"a": "<é>"}|', "")


@pytest.mark.parametrize(
    "template",
    [
        "{{ raise_exception('no system role') }}",
        "{% for %}",
        "{{ messages[0].content.missing.missing }}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}{{ messages[0].content }}",
        "{{ 1 / 0 }}",
        "nothing of the message",
        "{{ messages[0].content }}{{ messages[0].content }}",
        "{{ messages[0].content | upper }}",
    ],
)
def test_a_template_that_cannot_be_used_is_explained(template):
    """It raises ValueError; a template can't reach into Python."""
    with pytest.raises(ValueError, match="chat template"):
        render_around_message(template, "", "")


def test_a_conversation_is_framed():
    """Before, between and after; and whether white space at a message's ends stays."""
    template = (
        "{% for m in messages %}<{{ m.role }}>{{ m.content | trim if m.role == 'user' else m.content }}{% endfor %}!"
    )
    frame = ChatTemplate(template, "", "").frame(["system", "user", "assistant", "user"])
    assert frame.texts == ("<system>", "<user>", "<assistant>", "<user>", "!")
    assert frame.strips == (False, True, False, True)


@pytest.mark.parametrize(
    "template",
    [
        "{% for m in messages | reverse %}{{ m.content }}{% endfor %}",
        "{{ messages[-1].content }}",
        "{% if messages[0].role == messages[1].role %}{{ raise_exception('roles must alternate') }}{% endif %}",
    ],
)
def test_a_conversation_that_a_template_does_not_show_is_explained(template):
    """Messages that are left out, out of order, or refused."""
    with pytest.raises(ValueError, match="chat template"):
        ChatTemplate(template, "", "").frame(["user", "user"])
