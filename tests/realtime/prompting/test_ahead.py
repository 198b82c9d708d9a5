"""Prompts that are made before a request comes, and the request's own."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.realtime.errors import Refused
from warmline.realtime.limits import Limits
from warmline.realtime.prompting.fill_in_middle import FillForm
from warmline.realtime.prompting.prompts import PromptBuilder
from warmline.realtime.protocol import Change, TextEdit

from .conftest import CODE, CONTEXT, TAUGHT, ByteTokenizer, Counting, Whole, complete, document, edit

INSTRUCTIONS = st.text(st.sampled_from("ab 1é:'\n"), max_size=20)


@given(CODE, st.data(), INSTRUCTIONS, st.sampled_from([400, 700, 8192]), st.integers(1, 4000))
def test_an_edit_begins_with_what_was_warmed_for_it(real, text, data, instruction, context, max_tokens):
    """Whatever the instruction and max_tokens turn out to be, all the code is there already."""
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    for tokenizer in (ByteTokenizer(), real.builder._tokenizer, Whole(real.builder._tokenizer)):
        builder = PromptBuilder(tokenizer, context)
        with contextlib.suppress(Refused):  # where room is short
            warm = builder.warm_edit(document(text), start, end).plan().prompt
            plan = edit(builder, text, start, end, instruction[: context // 32 - 14], max_tokens=max_tokens)
            assert plan.prompt[: len(warm)] == warm
            assert text[start:end].strip() == "" or len(warm) > end - start > 0 or tokenizer.word_ends


def test_all_but_the_instruction_is_warm(real):
    """What is left for the request is a few tokens."""
    text = "import os\n\ndef f():\n    return 1\n\nprint(f())\n"
    start, end = text.index("def"), text.index("\nprint")
    warm = real.builder.warm_edit(document(text), start, end).plan().prompt
    assert real.read(warm).endswith("def f():\n    return 1\n```\n\nInstruction")
    plan = edit(real.builder, text, start, end, "return 2")
    assert real.read(plan.prompt[len(warm) :]) == ": return 2\nassistant\n```python\n"


@given(CODE, st.data(), st.integers(1, 25))
def test_a_completion_is_what_was_warmed_for_it(real, text, data, max_tokens):
    """Any that asks for a usual number of tokens."""
    index = data.draw(st.integers(0, len(text)))
    psm = FillForm("psm", ("P",), ("S",), ("M",))
    for form in (None, psm, FillForm.taught(("S", "P")), FillForm.taught(("S", "P", "N"))):
        builder = PromptBuilder(real.builder._tokenizer, 400, form)
        warm = builder.warm_complete(document(text), index).plan()
        assert warm.prompt == complete(builder, text, index, max_tokens, language="python").prompt


def test_opening_a_document_warms_what_its_completions_have_in_common(real):
    """Its text, if it fits and the model sees the text from its beginning."""
    text = "def f(x):\n    return x\n" * 20
    builder = PromptBuilder(real.builder._tokenizer, 8192)
    assert real.read(builder.warm_open(document(text, "")).plan().prompt) == text
    assert builder.warm_open(document("")) is None
    assert builder.warm_open(document(text * 1000)) is None
    assert PromptBuilder(ByteTokenizer(), 8192, FillForm.taught(("S", "P"))).warm_open(document(text)) is None


@pytest.mark.parametrize("fill", [None, *TAUGHT])
def test_a_completion_that_was_warmed_is_not_tokenised_again(real, fill):
    """Its prompt is remembered until the text changes, and is then that of the new text."""
    counting = Counting(real.builder._tokenizer)
    builder = PromptBuilder(counting, CONTEXT, fill)
    held = document("def f(a):\n    return a\n\n\nprint(f(1))\n")
    warmed = builder.warm_complete(held, 24).plan().prompt
    counting.encoded = 0
    layout = builder.complete(held, 24, 100, (), None)
    assert (layout.chars, layout.plan().prompt, counting.encoded) == (0, warmed, 0)
    assert builder.complete(held, 23, 100, (), None).plan().prompt != warmed
    held.change(Change("file:///a", 1, 2, [TextEdit(0, 3, "async def")]), Limits())
    changed = builder.complete(held, 24, 100, (), None).plan().prompt
    assert (
        changed
        == PromptBuilder(counting, CONTEXT, fill).complete(document(held.text), 24, 100, (), None).plan().prompt
    )
    assert changed != warmed


@pytest.mark.parametrize("fill", [None, TAUGHT[0]])
def test_what_is_warmed_ahead_is_what_a_later_prompt_begins_with(fill):
    """Of a text in which each character is a token. Where the window stays, nothing is; and it moves now and then."""
    lines = [f"def function_{number}(x):\n    return {number * 7919 % 1000} * x\n\n" for number in range(400)]
    text = "".join(lines)
    builder = PromptBuilder(ByteTokenizer(), 2600, fill)
    moved = 0
    for at in range(6000, 9000, 16):
        held, later = document(text[:at]), document(text[: at + 64])
        now = builder.complete(held, at, 100, (), None).plan().prompt
        then = builder.complete(later, at + 64, 100, (), None).plan().prompt
        ahead = builder.warm_ahead(held, at)
        if ahead is None:
            assert then[: len(now) - 64] == now[: len(now) - 64]
        else:
            moved += 1
            prompt = ahead.plan().prompt
            assert then[: len(prompt)] == prompt
            assert len(prompt) + 64 == len(then)
    assert 0 < moved < 60


def test_in_a_short_text_nothing_is_warmed_ahead(real):
    """All of it is shown."""
    assert real.builder.warm_ahead(document("x = 1\n" * 50), 300) is None
