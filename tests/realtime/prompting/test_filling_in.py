"""Completions by models that are shown the text on both sides of the cursor."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.realtime.errors import Refused
from warmline.realtime.prompting.fill_in_middle import FillForm
from warmline.realtime.prompting.prompts import PromptBuilder
from warmline.realtime.protocol import ErrorCode

from .conftest import CONTEXT, TAUGHT, ByteTokenizer, complete, document


def fill(text: str, index: int, context: int = 8000, **fields) -> str:
    """The prompt of a completion by a model that was taught to fill in, its marks as ‹ and ›."""
    builder = PromptBuilder(ByteTokenizer(), context, FillForm.taught(("S", "P")))
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


def test_a_model_may_want_the_text_before_the_cursor_first():
    """Then what comes after it is behind, and a mark asks for the answer."""
    form = FillForm("psm", ("P",), ("S",), ("M",))
    builder = PromptBuilder(ByteTokenizer(), 8000, form)
    shown = complete(builder, "def f(x):\n    re\n\nf(1)\n", 16).prompt
    assert [chr(abs(token)) for token in shown] == [*"Pdef f(x):\n    reS\n\nf(1)\nM"]
    assert [token < 0 for token in shown] == [chr(abs(token)) in "PSM" for token in shown]
    assert bytes(complete(builder, "x = 1\n\n", 5).prompt) == b"x = 1"


def test_marks_may_be_several_tokens():
    """As where a model was trained on one order with the marks of the other."""
    builder = PromptBuilder(ByteTokenizer(), 8000, FillForm("spm", ("P", "S"), ("M",)))
    shown = complete(builder, "a\nb\n", 1).prompt
    assert shown == [-ord("P"), -ord("S"), *b"\nb\n", -ord("M"), *b"a"]


@pytest.mark.parametrize("after", ["", "\n\n", ")\n"])
def test_a_model_taught_on_short_windows_is_shown_one_everywhere(real, edit_records, after):
    """Also where nothing, or nothing but blanks, comes after the cursor."""
    before = "".join(record.context + record.before for record in edit_records)
    builder = PromptBuilder(real.builder._tokenizer, CONTEXT, FillForm.taught(("<jupyter_text>", "<jupyter_code>")))
    prompt = builder.complete(document(before + after), len(before), 100, (), None).plan().prompt
    assert 500 < len(prompt) < 1100


@given(
    st.lists(st.text(st.sampled_from("ab é漢🎉\t"), max_size=40), max_size=60).map("\n".join),
    st.data(),
    st.integers(8, 400),
    st.integers(1, 500),
)
def test_a_completion_with_what_is_near_last_always_fits(text, data, context, max_tokens):
    """Whatever the text, the place and the room."""
    builder = PromptBuilder(ByteTokenizer(), context, FillForm.taught(("S", "P", "N")))
    index = data.draw(st.integers(0, len(text)))
    plan = builder.complete(document(text), index, max_tokens, (), None).plan()
    assert len(plan.prompt) + min(max_tokens, context // 2) <= context + 4  # the marks, where there is no room at all


def test_what_is_near_the_cursor_comes_last(real, edit_records):
    """A closing bracket that an editor adds, or a move within the line, leaves most of a prompt as it was."""
    text = "".join(record.context + record.before for record in edit_records)[:20_000]
    builder = PromptBuilder(real.builder._tokenizer, CONTEXT, TAUGHT[1])
    place = text.index("(", 9000) + 1

    def prompt(text: str, index: int) -> list[int]:
        return builder.complete(document(text), index, 100, (), None).plan().prompt

    def common(first: list[int], second: list[int]) -> int:
        return next(i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b)

    plain = prompt(text, place)
    closed = prompt(text[:place] + ")" + text[place:], place)
    moved = prompt(text, place - 3)
    entered = prompt(text[:place] + "\n" + text[place:], place + 1)
    assert min(common(plain, other) for other in (closed, moved)) > 0.7 * len(plain)
    assert common(plain, entered) > 0.2 * len(plain)  # the far part stays


@pytest.mark.parametrize(
    ("form", "expected"),
    [(FillForm("psm", ("P",), ("S",), ("M",)), "‹Pa‹Sb‹M"), (FillForm("spm", ("P", "S"), ("M",)), "‹P‹Sb‹Ma")],
)
def test_text_that_is_no_document_is_completed_as_it_stands(form, expected):
    """Between two texts in the model's order; a model that can't fill in refuses the second."""
    builder = PromptBuilder(ByteTokenizer(), 100, form)
    assert "".join(f"‹{chr(-token)}" if token < 0 else chr(token) for token in builder.raw("a", "b")) == expected
    plain = PromptBuilder(ByteTokenizer(), 100)
    assert (plain.raw("a\r\n"), plain.raw("")) == (list(b"a\r\n"), [10])
    with pytest.raises(Refused, match="fill in") as refusal:
        plain.raw("a", "b")
    assert refusal.value.code == ErrorCode.INVALID_PARAMETER
