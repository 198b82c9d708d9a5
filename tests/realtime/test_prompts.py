"""Prompts: what the model is shown, what it may answer with, and what fits."""

from __future__ import annotations

import contextlib
import itertools
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.realtime.document import Document
from warmline.realtime.errors import Refused
from warmline.realtime.limits import Limits
from warmline.realtime.prompts import PromptBuilder
from warmline.realtime.protocol import Change, ErrorCode, Open, TextEdit

CONTEXT = 8192


class ByteTokenizer:
    """One token for each byte, so that sizes are plain; template text is marked by negative numbers."""

    bos_id: int | None = 300
    adds_bos = False
    bos_token = "<s>"
    eos_token = "</s>"

    def __init__(self, chat_template: str | None = None) -> None:
        self.chat_template = chat_template
        self.encoded = 0  # characters so far

    def encode(self, text: str) -> list[int]:
        self.encoded += len(text)
        return list(text.encode())

    def encode_template(self, text: str) -> list[int]:
        return [-byte for byte in text.encode()]


def document(text: str, language: str = "python") -> Document:
    return Document(Open("file:///a", 1, language, text), Limits())


def complete(builder: PromptBuilder, text: str, index: int | None = None, max_tokens: int = 100, **fields):
    at = len(text) if index is None else index
    return builder.complete(document(text), at, max_tokens, fields.get("stop", ()), fields.get("replay")).plan()


def edit(builder: PromptBuilder, text: str, start: int, end: int, instruction: str = "do it", **fields):
    return builder.edit(
        document(text, fields.get("language", "python")),
        start,
        end,
        instruction,
        fields.get("max_tokens", 512),
        fields.get("stop", ()),
        fields.get("replay"),
    ).plan()


@pytest.fixture(scope="module")
def real(tokenizer):
    """The default model's prompts, with a way to read them."""
    return SimpleNamespace(builder=PromptBuilder(tokenizer, CONTEXT), read=tokenizer.decode, encode=tokenizer.encode)


# Completions ---------------------------------------------------------------------------------------------------


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


def fill(text: str, index: int, context: int = 8000, **fields) -> str:
    """The prompt of a completion by a model that was taught to fill in, its marks as ‹ and ›."""
    builder = PromptBuilder(ByteTokenizer(), context, ("S", "P"))
    tokens = complete(builder, text, index, **fields).prompt
    return "".join({-ord("S"): "‹", -ord("P"): "›"}.get(token) or chr(token) for token in tokens)


def test_a_model_that_can_fill_in_sees_the_text_after_the_cursor_first():
    """So that typing only appends: each prompt begins with the one before the last key."""
    assert fill("def f(x):\n    re\n\nf(1)\n", 16) == "‹\n\nf(1)\n›def f(x):\n    re"
    typed = [fill("def f(x):\n    " + "return x"[:keys] + "\n\nf(1)\n", 14 + keys) for keys in range(8)]
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(typed))


@pytest.mark.parametrize("after", ["", "\n", "\n   \n\n"])
def test_blank_text_after_the_cursor_is_not_shown(after):
    """The prompt is then that of any model: the text before the cursor."""
    assert fill("x = 1" + after, 5) == "x = 1"


def test_thirty_lines_after_the_cursor_are_shown():
    """The rest of the cursor's own line is the first of them. Line ends are line feeds."""
    after = "".join(f"{number}\r\n" for number in range(100))
    shown = fill("a = " + after, 4).partition("›")[0]
    assert shown == "‹" + "".join(f"{number}\n" for number in range(30))


def test_text_after_the_cursor_goes_where_room_is_short():
    """It never takes more than half of the room that the answer leaves, and what is before stays."""
    text = "before = 1\n" * 5 + "after = 2\n" * 20
    assert "‹" in fill(text, 55, context=600)
    assert fill(text, 55, context=300) == "before = 1\n" * 5
    assert len(fill(text, 55, context=600)) <= 500


def test_filling_in_shows_a_short_window_of_what_is_before():
    """A thousand tokens of it at most, from the start of a line on."""
    text = "".join(f"line {number}\n" for number in range(1000))
    shown = fill(text + "tail\n", len(text)).partition("›")[2]
    assert 500 < len(shown) <= 1024
    assert text.endswith("\n" + shown)


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
    """The window begins with a line and leaves little of the room unused."""
    text = "".join(record.context + record.before for record in edit_records)
    plan = complete(real.builder, text, max_tokens=8)
    window = real.read(plan.prompt)
    assert text.endswith(f"\n{window}")
    assert 6000 <= len(plan.prompt) <= CONTEXT - 8


def test_the_window_stays_where_it_is_while_a_person_types(real, edit_records):
    """Hundreds of characters typed one by one move the window's start at most once."""
    text = "".join(record.context + record.before for record in edit_records)
    end = len(text) - 1000
    starts = set()
    for at in range(end, end + 600, 20):
        window = real.read(complete(real.builder, text, at, 100).prompt)
        starts.add(at - len(window))
    assert len(starts) <= 2


def test_a_line_longer_than_the_context_is_cut():
    """Minified code has no line start to begin with."""
    plan = complete(PromptBuilder(ByteTokenizer(), 1000), "x" * 100_000)
    assert 500 <= len(plan.prompt) <= 900


# Edits ---------------------------------------------------------------------------------------------------------


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


# What a plan costs ---------------------------------------------------------------------------------------------


class SparseTokenizer(ByteTokenizer):
    """One token for each letter, and none for a space."""

    def encode(self, text: str) -> list[int]:
        self.encoded += len(text)
        return list(text.replace(" ", "").encode())


@pytest.mark.parametrize("tokenizer", [ByteTokenizer, SparseTokenizer])
@pytest.mark.parametrize("text", ["x = y\n", "x", " ", "                    x\n", "é漢🎉\n"])
@pytest.mark.parametrize("max_tokens", [1, 100_000])
def test_a_plan_costs_time_in_the_size_of_the_context(tokenizer, text, max_tokens):
    """However long the document and the range, little more than twice what could fit is tokenised."""
    document = text * 100_000
    room = 8 * 1000  # characters
    for size in (0, 10, 500, 1500, 3000, 6000, 100_000):
        tokens = tokenizer()
        builder = PromptBuilder(tokens, 1000)
        with contextlib.suppress(Refused):
            edit(builder, document, 50_000, 50_000 + size, max_tokens=max_tokens)
        assert tokens.encoded <= 2.2 * room


def test_a_completion_costs_time_in_the_size_of_the_context():
    """Also where the last lines say nothing of how many tokens those before them have."""
    for text in ("x = y\n" * 50_000, "x" * 100_000 + " " * 5000, " " * 100_000, ("x" * 99 + " " * 9901) * 10):
        tokens = SparseTokenizer()
        plan = complete(PromptBuilder(tokens, 1000), text)
        assert len(plan.prompt) <= 900
        assert tokens.encoded <= 2.2 * 8 * 1000


def test_a_layout_keeps_its_version_of_the_text():
    """What is changed after it was made is not in its plan."""
    held = document("a = 1\nb = 2\n")
    builder = PromptBuilder(ByteTokenizer(), 4000)
    layouts = builder.edit(held, 0, 6, "do it", 10, (), None), builder.complete(held, 6, 10, (), None)
    held.change(Change("file:///a", 1, 2, [TextEdit(0, 12, "gone")]), Limits())
    edited, completed = (bytes(layout.plan().prompt).decode() for layout in layouts)
    assert "gone" not in edited and "Code to rewrite:\n```python\na = 1\n```" in edited
    assert completed == "a = 1\n"


def test_a_layout_says_how_much_there_is_to_tokenise():
    """At least what its plan then tokenises, for ordinary text."""
    text = "def f(x):\n    return x + 1\n" * 2000
    for layout in (
        lambda builder: builder.complete(document(text), 30_000, 100, (), "x" * 300),
        lambda builder: builder.complete(document(text), 3000, 100, (), None),
        lambda builder: builder.edit(document(text), 5000, 9000, "do it", 100, (), "y" * 300),
    ):
        tokens = ByteTokenizer()
        made = layout(PromptBuilder(tokens, 40_000))
        tokens.encoded = 0
        made.plan()
        assert tokens.encoded - 20 <= made.chars <= 1.2 * tokens.encoded
