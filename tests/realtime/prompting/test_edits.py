"""What an edit shows, what its answer may be, and what fits."""

from __future__ import annotations

import pytest
from warmline.realtime.errors import Refused
from warmline.realtime.prompting.prompts import PromptBuilder
from warmline.realtime.protocol import ErrorCode

from .conftest import ByteTokenizer, complete, edit


def test_an_edit_shows_code_first_and_the_instruction_last(real):
    """The layout is the documented one, with the model's chat template around it and the reply's fence opened."""
    text = "import os\n\ndef f():\n    return 1\n\nprint(f())\n"
    start, end = text.index("def"), text.index("\nprint")
    plan = edit(real.builder, text, start, end, "return 2\n")
    prompt = real.read(plan.prompt)
    assert prompt.endswith(
        "user\n"
        "Code before:\n```python\nimport os\n\n```\n\n"
        "Code after:\n```python\n\nprint(f())\n```\n\n"
        "Code to rewrite:\n```python\ndef f():\n    return 1\n```\n\n"
        "Instruction: return 2\nassistant\n```python\n"
    )
    assert real.read(plan.draft) == "def f():\n    return 1\n```"
    assert (plan.stop, plan.fence, plan.final_newline) == (("\n```",), "```", True)


def test_template_text_has_specials_and_is_tokenised_once():
    """The template's own tokens are special, the message's never are."""
    template = "{{ bos_token }}[{{ messages[0].content }}]"
    plan = edit(PromptBuilder(ByteTokenizer(template), 4000), "a\n", 0, 2)
    marked = [-byte for byte in b"<s>["]
    assert plan.prompt[: len(marked)] == marked
    assert plan.prompt.count(-ord("]")) == 1
    assert all(token > 0 for token in plan.prompt[len(marked) : plan.prompt.index(-ord("]"))])


def test_a_model_without_a_template_gets_the_plain_form():
    """The message, an empty line, the opened fence."""
    plan = edit(PromptBuilder(ByteTokenizer(), 4000), "a\n", 0, 2)
    assert bytes(plan.prompt).decode() == "Code to rewrite:\n```python\na\n```\n\nInstruction: do it\n\n```python\n"


@pytest.mark.parametrize(
    ("text", "start", "end", "draft", "final_newline"),
    [
        ("a\nb\n", 0, 4, "a\nb\n```", True),  # whole lines: the last newline is part of the answer
        ("a\nb", 0, 3, "a\nb\n```", False),  # no final newline: the one before the fence is not
        ("f(x)\n", 2, 3, "x\n```", False),
        ("a\n\n", 0, 3, "a\n\n```", True),
        ("", 0, 0, "```", False),
        ("a\nb\n", 2, 2, "```", True),  # lines inserted before a line
        ("a\n\nb\n", 2, 2, "```", False),  # an empty line filled
        ("a\n", 2, 2, "```", False),  # text added at the end
        ("ab\n", 1, 1, "```", False),  # text inserted within a line
        ("a\r\nb\r\n", 0, 6, "a\nb\n```", True),
        ("a\r\n\r\nb", 3, 3, "```", False),
    ],
)
def test_the_range_decides_what_the_last_newline_means(text, start, end, draft, final_newline):
    """The draft is the range as the model would repeat it, closing fence included."""
    plan = edit(PromptBuilder(ByteTokenizer(), 4000), text, start, end)
    assert bytes(plan.draft).decode() == draft
    assert plan.final_newline is final_newline


@pytest.mark.parametrize(
    ("text", "replay", "answer", "final_newline"),
    [
        ("a\n", "b\n", "b\n```", True),
        ("a\n", "b", "b\n```", False),
        ("a", "b\n", "b\n\n```", False),
        ("a", "b", "b\n```", False),
        ("a\n", "", "```", True),
        ("a", "", "```", False),
        ("a\n", "\n", "\n```", True),
        ("a\r\n", "b\r\nc\r\n", "b\nc\n```", True),
    ],
)
def test_a_replay_is_what_the_model_would_have_said(text, replay, answer, final_newline):
    """Any text can be replayed exactly, whatever the range ends with."""
    plan = edit(PromptBuilder(ByteTokenizer(), 4000), text, 0, len(text), replay=replay)
    assert bytes(plan.replay).decode() == answer
    assert plan.final_newline is final_newline


@pytest.mark.parametrize(
    ("texts", "fence"),
    [
        ({"text": "x = `a`\n"}, "```"),
        ({"text": "```\n"}, "````"),
        ({"text": "# ````` #\n"}, "``````"),
        ({"text": "a\n", "instruction": "use ```"}, "````"),
        ({"text": "a\n", "replay": "````\n"}, "`````"),
        ({"text": "a\n", "language": "markdown"}, "````"),
        ({"text": "a\n", "before": "```sh\nls\n```\n"}, "````"),
    ],
)
def test_the_fence_is_longer_than_any_inside(texts, fence):
    """Range, surroundings, instruction and replay can't close it."""
    before = texts.pop("before", "")
    text = before + texts.pop("text")
    plan = edit(PromptBuilder(ByteTokenizer(), 4000), text, len(before), len(text), **texts)
    assert plan.fence == fence
    assert plan.stop == (f"\n{fence}",)


def test_a_language_can_not_break_the_fence():
    """Only what names a language goes beside the fence."""
    plan = edit(PromptBuilder(ByteTokenizer(), 4000), "a\n", 0, 2, language="c++\n```x y")
    assert b"```c++xy\na\n```\n" in bytes(plan.prompt)


def test_surrounding_lines_go_first_when_room_is_short():
    """The nearest lines stay longest; the range itself is never cut."""
    lines = [f"line number {number}\n" for number in range(200)]
    text = "".join(lines)
    start, end = len("".join(lines[:100])), len("".join(lines[:102]))
    shown = []
    for context in (4000, 700, 350):
        plan = edit(PromptBuilder(ByteTokenizer(), context), text, start, end, max_tokens=100)
        assert len(plan.prompt) < context
        prompt = bytes(plan.prompt).decode()
        assert "Code to rewrite:\n```python\nline number 100\nline number 101\n```" in prompt
        shown.append([number for number in range(200) if f"line number {number}\n" in prompt])
    assert shown == [
        [*range(80, 112)],
        [*range(92, 106)],
        [100, 101],
    ]


def test_a_range_that_can_not_fit_is_refused_with_both_numbers():
    """Needed and available tokens are named."""
    with pytest.raises(Refused, match=r"needs \d+ tokens .* 500 are available") as refusal:
        edit(PromptBuilder(ByteTokenizer(), 500), "x" * 600, 0, 600)
    assert refusal.value.code == ErrorCode.PROMPT_TOO_LONG


@pytest.mark.parametrize("size", [600, 50_000])
@pytest.mark.parametrize(
    ("line", "instruction", "advice"),
    [
        ("x" * 9 + "\n", "", "; name a smaller range"),
        ("x", "", "; break up the line, or name a part of it"),
        ("", "y", "; shorten the instruction, or what is accepted"),
    ],
)
def test_the_refusal_says_what_can_be_done(size: int, line: str, instruction: str, advice: str):
    """There is no smaller range of whole lines than one line, and none helps against a long instruction."""
    text = (line * size)[:size] + "\n"
    with pytest.raises(Refused) as refusal:
        edit(PromptBuilder(ByteTokenizer(), 500), text, 0, len(text), instruction=instruction * size or "shorten it")
    assert str(refusal.value).endswith(advice)


def test_an_enormous_range_is_refused_without_tokenising_it():
    """A megabyte does not hold up the loop."""
    builder = PromptBuilder(ByteTokenizer(), 500)
    builder._tokenizer.encode = None  # type: ignore[assignment, method-assign]
    with pytest.raises(Refused, match=r"needs more than 125188 tokens .* 500 are available"):
        edit(builder, "x" * 1_000_000, 0, 1_000_000 - 5, max_tokens=188)
    with pytest.raises(Refused, match=r"needs more than 62500 tokens"):
        edit(builder, "a\n", 0, 2, replay="x" * 500_000)
    with pytest.raises(Refused, match=r"needs more than 62500 tokens"):
        complete(builder, "a\n", replay="x" * 500_000)


def test_a_short_answer_needs_no_room_for_all_of_max_tokens():
    """What max_tokens allows beyond the context is simply not there."""
    assert edit(PromptBuilder(ByteTokenizer(), 500), "a\n", 0, 2, max_tokens=100_000)
