"""Edits give what splicing UTF-16 units gives, however many they are and wherever they go."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.realtime.documents import text_edits
from warmline.realtime.documents.text import utf16_length
from warmline.realtime.documents.text_edits import MAX_NEAR, EditSequence, apply_edits, edits_near
from warmline.realtime.errors import Refused
from warmline.realtime.protocol import ErrorCode, TextEdit


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Short texts have many blocks, too, whose edges fall inside of pairs."""
    monkeypatch.setattr(text_edits, "_BLOCK_BYTES", 6)


@given(st.data())
def test_edits_apply_as_on_code_units(edited, splices, data):
    """In whatever order; one that splits a character is refused."""
    text = data.draw(edited)
    edits, expected = data.draw(splices(text))
    if expected is not None:
        assert apply_edits(text, edits) == expected
        return
    with pytest.raises(Refused, match="lies inside a surrogate pair") as refusal:
        apply_edits(text, edits)
    assert refusal.value.code == ErrorCode.INVALID_RANGE


@given(st.data())
def test_the_part_that_edits_lie_in_is_enough(edited, splices, data):
    """Counted from where it begins, it becomes what it does within the whole; and what is outside isn't touched."""
    before, text, after = (data.draw(edited) for _ in range(3))
    edits, expected = data.draw(splices(text))
    if expected is None:
        return
    origin = utf16_length(before)
    moved = [TextEdit(origin + edit.start, origin + edit.end, edit.text) for edit in edits]
    whole = before + text + after
    sequence = EditSequence(moved, utf16_length(whole))
    assert list(sequence) == moved
    assert sequence.apply(text, utf16_length(text), origin) == expected
    assert sequence.apply(whole, utf16_length(whole)) == before + expected + after
    if edits:
        assert origin <= sequence.start <= sequence.end <= origin + utf16_length(text)


def of_ten(*places: int) -> list[TextEdit]:
    """So many insertions, each of ten units, at places of a text as it was."""
    return [TextEdit(place + 10 * number, place + 10 * number, "x" * 10) for number, place in enumerate(places)]


def test_only_edits_near_a_part_are_looked_at():
    """Of many in one direction: those before move it, those that touch it come as if the others weren't there."""
    edits = of_ten(*range(100))
    near = edits_near(edits, 50, 53)
    assert near == (500, of_ten(50, 51, 52, 53))
    assert edits_near([TextEdit(edit, edit + 1, "") for edit in range(99, -1, -1)], 50, 52) == (
        -49,
        [TextEdit(49, 50, ""), TextEdit(49, 50, ""), TextEdit(49, 50, ""), TextEdit(49, 50, "")],
    )
    assert edits_near(edits, 100, 120) == (1000, [])
    assert edits_near(edits[20:], 0, 19) == (0, [])


def test_more_than_can_be_looked_at_is_none():
    """Where the edits go to and fro, all that lies between them counts; few are always looked at."""
    edits = of_ten(*range(100))
    assert len(edits_near(edits, 50, 49 + MAX_NEAR).edits) == MAX_NEAR
    assert edits_near(edits, 50, 50 + MAX_NEAR) is None
    fro = [TextEdit(at, at, "x") for at in (50, 40, *[60] * MAX_NEAR)]
    assert edits_near(fro, 45, 45) is None
    assert edits_near(fro, 0, 39) == (0, ())
    assert edits_near(fro, 61, 70) == (2 + MAX_NEAR, ())
    assert edits_near(fro[:MAX_NEAR], 45, 45) == (0, fro[:MAX_NEAR])


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
        assert apply_edits(whole, edits) == expected


def test_edits_that_go_to_and_fro_keep_blocks_small(monkeypatch):
    """What is inserted in one place is cut again, so that an edit never moves much."""
    sizes = []

    def looked_at(content, at):
        sizes.append(len(content))
        return False

    monkeypatch.setattr(text_edits, "_is_second_half", looked_at)
    edits = [TextEdit(0 if number % 2 else number, 0 if number % 2 else number, "xy") for number in range(400)]
    assert len(apply_edits("", edits)) == 800
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
        apply_edits("a🎉b", edits)
    assert refusal.value.code == ErrorCode.INVALID_RANGE
