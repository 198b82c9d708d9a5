"""Where a completion belongs while its document changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.realtime.completing.place import MAX_TAIL, PlaceTracker, Typed
from warmline.realtime.documents.text import utf16_length
from warmline.realtime.documents.text_edits import MAX_NEAR, apply_edits
from warmline.realtime.protocol import TextEdit


def placed(*edits: TextEdit, offset: int = 10) -> PlaceTracker:
    place = PlaceTracker(offset)
    place.changed(edits)
    return place


@pytest.mark.parametrize(
    ("edits", "start", "text"),
    [
        ([TextEdit(2, 4, "long😀")], 14, ""),
        ([TextEdit(0, 9, "")], 1, ""),
        ([TextEdit(12, 15, "x")], 10, ""),
        ([TextEdit(10, 10, "ab"), TextEdit(12, 12, "😀")], 10, "ab😀"),
        ([TextEdit(10, 10, "ab"), TextEdit(11, 12, "")], 10, "a"),
        ([TextEdit(10, 10, "ab"), TextEdit(10, 12, "")], 10, ""),
        ([TextEdit(10, 10, "ac"), TextEdit(11, 11, "b")], 10, "abc"),
        ([TextEdit(10, 10, "😀()"), TextEdit(13, 14, ")")], 10, "😀()"),
        ([TextEdit(10, 11, ")")], 10, ")"),  # typed over what stood there
        ([TextEdit(10, 10, "a"), TextEdit(11, 12, "b")], 10, "ab"),
        ([TextEdit(10, 12, "")], 10, ""),
        ([TextEdit(0, 3, ""), TextEdit(7, 7, "x")], 7, "x"),
    ],
)
def test_a_place_is_shifted_typed_at_or_left_alone(edits: list[TextEdit], start: int, text: str) -> None:
    """By a change that ends before it, at it, or that begins behind it."""
    place = placed(*edits)
    assert (place.start, place.end, place.text) == (start, start + utf16_length(text), text)
    assert not place.lost


@pytest.mark.parametrize(
    "edit",
    [TextEdit(9, 10, ""), TextEdit(8, 11, "x"), TextEdit(8, 14, "x"), TextEdit(11, 13, ""), TextEdit(10, 13, "")],
)
def test_a_change_that_overlaps_it_loses_it(edit: TextEdit) -> None:
    """And nothing is left of the completion, whatever is changed after that."""
    place = placed(TextEdit(10, 10, "ab"), edit, TextEdit(10, 10, "ab"))
    assert place.lost
    assert place.at(place.start) is None
    assert place.remaining("abc") is None
    assert place.remaining("abc", place.end) is None
    assert not place.may_fit("abc")


def test_more_than_is_to_be_kept_loses_it() -> None:
    """A paste of megabytes is not copied for each of the edits in it; without a bound, it is."""
    for most, lost in ((5, False), (4, True), (None, False)):
        place = PlaceTracker(10, most)
        place.changed([TextEdit(10, 10, "abcd"), TextEdit(12, 12, "x")])
        assert place.lost == lost
        assert place.text == ("" if lost else "abxcd")


def test_a_cursor_divides_what_was_put_there() -> None:
    """Unless it is elsewhere, or inside a character."""
    place = placed(TextEdit(10, 10, "a😀()"))
    assert place.at(10) == Typed("", "a😀()")
    assert place.at(14) == Typed("a😀(", ")")
    assert [place.at(offset) for offset in (9, 12, 16)] == [None] * 3


def test_only_what_is_not_typed_yet_remains() -> None:
    """Unless something else was typed."""
    place = placed(TextEdit(10, 10, "re"))
    assert place.remaining("return") == TextEdit(12, 12, "turn")
    assert place.remaining("re") == TextEdit(12, 12, "")
    assert place.remaining("raise") is place.remaining("r") is None
    assert (place.may_fit("r"), place.may_fit("return"), place.may_fit("raise")) == (True, True, False)


def test_what_remains_replaces_what_the_editor_closed() -> None:
    """If it closes the same; until it does, it may yet."""
    place = placed(TextEdit(10, 10, "foo()"))
    assert place.remaining("foo(a, b)") == place.remaining("foo(a, b)", 14) == TextEdit(14, 15, "a, b)")
    assert place.remaining("foo(a, b)", 13) is None
    assert place.remaining("foo()") == TextEdit(15, 15, "")
    assert place.remaining("foo()", 14) == TextEdit(14, 15, ")")
    assert place.remaining("foo(a, ") is None
    assert place.may_fit("foo(a, ")
    assert place.may_fit("fo")
    assert not place.may_fit("foo[")


def test_what_many_closers_stand_behind_is_no_suggestion_being_typed() -> None:
    """So a search for the cursor is short."""
    brackets = MAX_TAIL + 1
    place = placed(TextEdit(10, 10, "(" * brackets + ")" * brackets))
    assert place.remaining("(" * brackets + "x" + ")" * brackets) is None
    assert place.remaining("(" * brackets + "x" + ")" * brackets, 10 + brackets) is None


def test_a_completion_that_goes_on_is_at_the_same_place() -> None:
    """What was typed before counts, also once it is taken back."""
    first = placed(TextEdit(10, 10, "foo()"))
    second = PlaceTracker(14)
    second.go_on_from(first, "foo(")
    assert second.remaining("a, b)") == TextEdit(14, 15, "a, b)")
    second.changed([TextEdit(14, 14, "a"), TextEdit(0, 0, "!")])
    assert second.remaining("a, b)") == TextEdit(16, 17, ", b)")
    second.changed([TextEdit(14, 17, "")])
    assert second.remaining("a, b)") == TextEdit(14, 14, "(a, b)")


def test_many_changes_elsewhere_leave_a_place() -> None:
    """Of a change with more of them than one looks at there, the place is lost."""
    place = PlaceTracker(5000)
    place.changed([TextEdit(5000, 5000, "typed")])
    place.changed([TextEdit(at, at, "#") for at in range(0, 8000, 2)])
    assert (place.start, place.end, place.text, place.lost) == (9000, 9005, "typed", False)
    place.changed([TextEdit(9005, 9005, "!")] * (MAX_NEAR + 1))
    assert (place.text, place.lost) == ("", True)


@given(
    st.text("ab😀", max_size=4), st.text("cd", max_size=3), st.lists(st.tuples(st.integers(0, 9), st.text("xy😀")))
)
def test_insertions_never_lose_the_place(before: str, after: str, insertions: list[tuple[int, str]]) -> None:
    """What stands there is what was inserted since."""
    text = before + after
    place = PlaceTracker(utf16_length(before))
    for at, inserted in insertions:
        offset = utf16_length(text[:at])
        edit = TextEdit(offset, offset, inserted)
        text = apply_edits(text, [edit])
        place.changed([edit])
    units = text.encode("utf-16-le")
    assert not place.lost
    assert units[2 * place.start : 2 * place.end].decode("utf-16-le") == place.text
    assert "".join(c for c in units[2 * place.end :].decode("utf-16-le") if c in "cd") == after
