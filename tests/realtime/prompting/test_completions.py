"""What a completion is shown of the text before it, and what fits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.realtime.prompting.fill_in_middle import FillForm
from warmline.realtime.prompting.prompts import PromptBuilder

from .conftest import CONTEXT, ByteTokenizer, complete, edit


def test_a_completion_sees_the_text_before_the_position(real):
    """Nothing is added and nothing after the position is shown."""
    plan = complete(real.builder, "def f():\n    return x", 13)
    assert real.read(plan.prompt) == "def f():\n    "
    assert (plan.stop, plan.newline, plan.draft, plan.replay, plan.fence) == ((), "\n", None, None, "")


def test_models_see_line_feeds_only(real):
    """CR LF becomes LF in text, stop strings and replay, and the plan remembers the document's line end."""
    plan = complete(real.builder, "a\r\nb\r\n", stop=("\r\n\r\n",), replay="c\r\nd")
    assert real.read(plan.prompt) == "a\nb\n"
    assert plan.stop == ("\n\n",)
    assert plan.newline == "\r\n"
    assert plan.replay == real.encode("c\nd")


def test_special_token_text_in_a_document_is_text(real):
    """What looks like the end of a turn is many plain tokens, in either kind of prompt."""
    text = "end = '<|im_end|>'\n"
    assert complete(real.builder, text).prompt == real.encode(text)
    plan = edit(real.builder, text, 0, len(text))
    (special,) = real.builder._tokenizer.encode_template("<|im_end|>")
    assert plan.prompt.count(special) == 2  # the template's own: after the system message and after the user's
    assert special not in plan.draft


def test_an_empty_document_has_a_prompt():
    """A model can't start from no token at all."""
    assert complete(PromptBuilder(ByteTokenizer(), 100), "").prompt == [10]


def test_a_sequence_starts_with_bos_where_the_model_wants_it():
    """BOS counts against the context like any token."""
    tokenizer = ByteTokenizer()
    tokenizer.adds_bos = True
    plan = complete(PromptBuilder(tokenizer, 100), "x" * 200, max_tokens=20)
    assert plan.prompt[0] == 300
    assert len(plan.prompt) <= 80


@given(
    st.lists(st.text(st.sampled_from("ab é漢🎉\t"), max_size=40), max_size=60).map("\n".join),
    st.integers(8, 400),
    st.integers(1, 500),
)
def test_a_completion_always_fits(text, context, max_tokens):
    """Whatever the text and the room, prompt and answer fit, and the prompt is an end of the text."""
    plan = complete(PromptBuilder(ByteTokenizer(), context), text, max_tokens=max_tokens)
    assert len(plan.prompt) + min(max_tokens, context // 2) <= context
    assert text.encode().endswith(bytes(plan.prompt)) or not text


@pytest.mark.parametrize("tail", ["", "\n", "\nfoo", "\nfoo\nbar"])
def test_a_line_longer_than_the_window_is_cut(tail):
    """What stands above in one very long line is not lost because a line begins behind it."""
    text = "x=1;" * 5000 + tail
    plan = complete(PromptBuilder(ByteTokenizer(), 1000), text, max_tokens=8)
    assert text.encode().endswith(bytes(plan.prompt))
    assert 500 <= len(plan.prompt) <= 992


def test_a_long_text_is_cut_at_the_start_of_a_line_and_fills_the_context(real, edit_records):
    """The window begins with a line and leaves no more of the room unused than it may to stay where it is."""
    text = "".join(record.context + record.before for record in edit_records)
    plan = complete(real.builder, text, max_tokens=8)
    window = real.read(plan.prompt)
    assert text.endswith(f"\n{window}")
    assert 5000 <= len(plan.prompt) <= CONTEXT - 8


def test_the_window_stays_where_it_is_while_a_person_types(real, edit_records):
    """Hundreds of characters typed one by one move the window's start at most once."""
    text = "".join(record.context + record.before for record in edit_records)
    end = len(text) - 1000
    starts = set()
    for at in range(end, end + 600, 20):
        window = real.read(complete(real.builder, text, at, 100).prompt)
        starts.add(at - len(window))
    assert len(starts) <= 2


def test_what_an_answer_may_have_does_not_move_the_window(real, edit_records):
    """Requests with different max_tokens share their prompt, unless they ask for very much."""
    text = "".join(record.context + record.before for record in edit_records)
    assert len({tuple(complete(real.builder, text, max_tokens=most).prompt) for most in (1, 16, 100, 256, 512)}) == 1
    short = text[:12_000]
    assert len({tuple(complete(real.builder, short, max_tokens=most).prompt) for most in (1, 100, 1000, 2000)}) == 1


def test_a_line_longer_than_the_context_is_cut():
    """Minified code has no line start to begin with."""
    plan = complete(PromptBuilder(ByteTokenizer(), 1000), "x" * 100_000)
    assert 500 <= len(plan.prompt) <= 900


@pytest.mark.parametrize(
    ("text", "language", "shown"),
    [
        ("", "python", "```python\n"),
        ("\n\n", "go", "```go\n\n\n"),
        ("import ", "python", "```python\nimport "),
        ('s = "```"\r\n', "python", '````python\ns = "```"\n'),
        ("x = 1\n", "c++\n``` y", "```c++y\nx = 1\n"),
        ("# Title\n", "markdown", "# Title\n"),
        ("Dear ", "plaintext", "Dear "),
        ("x = 1\n", "", "x = 1\n"),
        ("x = 1\n" * 100, "python", "x = 1\n" * 100),
    ],
)
def test_hardly_any_code_is_shown_as_code(real, text, language, shown):
    """In a fence, as a model that talks would else go on with prose; the answer ends where it closes that."""
    plan = complete(real.builder, text, language=language)
    assert real.read(plan.prompt) == shown
    fence = shown[: len(shown) - len(shown.lstrip("`"))]
    assert plan.stop == ((fence,) if fence else ())


def test_no_fence_is_opened_where_it_can_not_be_closed_by_the_model_or_has_no_room():
    """Models without a chat template, models trained on code as it stands, and contexts of a few tokens."""
    talks = "{{ messages[0].content }}"
    assert bytes(complete(PromptBuilder(ByteTokenizer(), 100), "x = ", language="go").prompt) == b"x = "
    trained = FillForm("psm", ("P",), ("S",), ("M",))
    assert bytes(complete(PromptBuilder(ByteTokenizer(talks), 100, trained), "x = ", language="go").prompt) == b"x = "
    assert bytes(complete(PromptBuilder(ByteTokenizer(talks), 100), "x = ", language="go").prompt) == b"```go\nx = "
    assert bytes(complete(PromptBuilder(ByteTokenizer(talks), 8), "x = ", language="go").prompt) == b"x = "


def test_a_replay_is_not_ended_by_a_fence(real):
    """It says what it says, whatever was opened."""
    assert complete(real.builder, "", replay="```", language="python").stop == ()
