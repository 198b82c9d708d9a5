"""Edits give what splicing UTF-16 units gives, however many they are and wherever they go."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.realtime import text_edits
from warmline.realtime.errors import Refused
from warmline.realtime.protocol import ErrorCode, TextEdit
from warmline.realtime.text import utf16_length
from warmline.realtime.text_edits import EditSequence, apply_edits

TEXTS = st.text(st.sampled_from("ab\r\né漢\u2028🎉👩‍💻"), max_size=30)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Short texts have many blocks, too, whose edges fall inside of pairs."""
    monkeypatch.setattr(text_edits, "_BLOCK_BYTES", 6)


def units(text: str) -> list[bytes]:
    """The UTF-16 code units of a text, the simplest model of what offsets count."""
    encoded = text.encode("utf-16-le")
    return [encoded[at : at + 2] for at in range(0, len(encoded), 2)]


def from_units(code_units: list[bytes]) -> str | None:
    try:
        return b"".join(code_units).decode("utf-16-le")
    except UnicodeDecodeError:
        return None


@st.composite
def edits_of(draw: st.DrawFn, text: str) -> tuple[list[TextEdit], str | None]:
    """Edits with any offsets inside a text, in one direction or not, and what must come of them (None: refusal)."""
    direction = draw(st.sampled_from(["down", "up", "any"]))
    current: list[bytes] = units(text)
    edits: list[TextEdit] = []
    floor, ceiling = 0, len(current)
    for _ in range(draw(st.integers(0, 12))):
        start = draw(st.integers(floor, ceiling))
        edit = TextEdit(start, draw(st.integers(start, ceiling)), draw(TEXTS))
        edits.append(edit)
        if from_units(current[: edit.start]) is None or from_units(current[edit.end :]) is None:
            return edits, None
        current[edit.start : edit.end] = units(edit.text)
        floor = edit.start + utf16_length(edit.text) if direction == "down" else 0
        ceiling = edit.start if direction == "up" else len(current)
    return edits, from_units(current)


@given(TEXTS, st.data())
def test_edits_apply_as_on_code_units(text, data):
    """In whatever order; one that splits a character is refused."""
    edits, expected = data.draw(edits_of(text))
    if expected is not None:
        assert apply_edits(text, utf16_length(text), edits) == (expected, utf16_length(expected))
        return
    with pytest.raises(Refused, match="lies inside a surrogate pair") as refusal:
        apply_edits(text, utf16_length(text), edits)
    assert refusal.value.code == ErrorCode.INVALID_RANGE


@given(TEXTS, TEXTS, TEXTS, st.data())
def test_the_part_that_edits_lie_in_is_enough(before, text, after, data):
    """Counted from where it begins, it becomes what it does within the whole; and what is outside isn't touched."""
    edits, expected = data.draw(edits_of(text))
    if expected is None:
        return
    origin = utf16_length(before)
    moved = [TextEdit(origin + edit.start, origin + edit.end, edit.text) for edit in edits]
    whole = before + text + after
    sequence = EditSequence(moved, utf16_length(whole))
    assert sequence.apply(text, utf16_length(text), origin) == expected
    assert sequence.apply(whole, utf16_length(whole)) == before + expected + after
    if edits:
        assert origin <= sequence.start <= sequence.end <= origin + utf16_length(text)


@pytest.mark.parametrize(
    ("places", "one_way"),
    [
        ([(0, 1), (2, 3), (3, 3)], True),
        ([(4, 5), (2, 4), (0, 2)], True),
        ([(3, 3), (3, 3), (3, 3)], True),
        ([(0, 0), (0, 0), (1, 1)], False),
        ([(2, 3), (4, 5), (0, 1)], False),
        ([], True),
    ],
)
def test_edits_in_one_direction_are_known(places, one_way):
    """From either end, each beside the last one or further on."""
    assert EditSequence([TextEdit(start, end, "x") for start, end in places], 9).one_way is one_way


@pytest.mark.parametrize("text", ["let x = 1;\n", "let x = é;\n", "let x = 🎉;\n"])
def test_a_replace_all_of_thousands_of_edits_is_applied(text, monkeypatch):
    """From either end and in no order, many edits give what replacing them all at once gives."""
    monkeypatch.undo()
    whole, width = text * 5000, utf16_length(text)
    down = [TextEdit(line * (width + 2), line * (width + 2) + 3, "const") for line in range(5000)]
    up = [TextEdit(line * width, line * width + 3, "const") for line in reversed(range(5000))]
    lines = random.Random(1).sample(range(5000), 5000)
    same_size = [TextEdit(line * width, line * width + 3, "var") for line in lines]
    for edits, word in ((down, "const"), (up, "const"), (same_size, "var")):
        expected = whole.replace("let", word)
        assert apply_edits(whole, utf16_length(whole), edits) == (expected, utf16_length(expected))


def test_edits_that_go_to_and_fro_keep_blocks_small(monkeypatch):
    """What is inserted in one place is cut again, so that an edit never moves much."""
    sizes = []

    def looked_at(content, at):
        sizes.append(len(content))
        return False

    monkeypatch.setattr(text_edits, "_is_second_half", looked_at)
    edits = [TextEdit(0 if number % 2 else number, 0 if number % 2 else number, "xy") for number in range(400)]
    text, length = apply_edits("", 0, edits)
    assert (len(text), length) == (800, 800)
    assert max(sizes) <= 2 * 6 + 4 + 2 * 6


@pytest.mark.parametrize(
    ("edits", "named"),
    [
        ([TextEdit(0, 5, "")], "edit 0: the range 0..5 is outside"),
        ([TextEdit(3, 2, "")], "edit 0: the range 3..2 is reversed"),
        ([TextEdit(2, 2, "")], "edit 0: offset 2 lies inside a surrogate pair"),
        ([TextEdit(0, 2, "")], "edit 0: offset 2 lies inside a surrogate pair"),
        ([TextEdit(0, 1, ""), TextEdit(4, 4, "")], "edit 1: the range 4..4 is outside"),
        ([TextEdit(0, 0, "é"), TextEdit(3, 3, "")], "edit 1: offset 3 lies inside a surrogate pair"),
        ([TextEdit(4, 4, "x"), TextEdit(1, 2, "")], "edit 1: offset 2 lies inside a surrogate pair"),
        ([TextEdit(0, 0, "é"), TextEdit(0, 0, "é"), TextEdit(4, 5, "")], "edit 2: offset 4 lies inside"),
        ([TextEdit(4, 4, "x"), TextEdit(0, 9, "")], "edit 1: the range 0..9 is outside"),
    ],
)
def test_a_bad_edit_is_named(edits, named):
    """The refusal says which edit was wrong and how."""
    with pytest.raises(Refused, match=named) as refusal:
        apply_edits("a🎉b", 4, edits)
    assert refusal.value.code == ErrorCode.INVALID_RANGE
