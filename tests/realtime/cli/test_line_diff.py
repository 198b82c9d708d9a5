"""The lines of a diff that grows with the operations."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from warmline.client import Delete, EditOperation, Insert, Keep
from warmline.realtime.cli.line_diff import DiffLine, LineDiff, near_changes
from warmline.realtime.documents.hunks import split_lines

texts = st.text(st.sampled_from("ab\n\n\r\u2028"), min_size=1, max_size=8)


@st.composite
def edits(draw: st.DrawFn) -> tuple[str, str, list[EditOperation]]:
    """A text, what operations make of it, and the operations, which may leave its end unreached."""
    old = new = ""
    operations: list[EditOperation] = []
    for kind in draw(st.lists(st.sampled_from([Keep, Delete, Insert]), max_size=8)):
        text = draw(texts)
        operations.append(kind(len(old), text))
        old += text if kind is not Insert else ""
        new += text if kind is not Delete else ""
    rest = draw(st.text(st.sampled_from("ab\n"), max_size=6))
    return old + rest, new + rest, operations


def shown(text: str) -> list[str]:
    """The lines of a text as a diff shows them."""
    return [line.removesuffix("\n").removesuffix("\r") for line in split_lines(text)]


@given(edits())
def test_kept_and_removed_lines_are_the_old_text_kept_and_added_the_new(
    edit: tuple[str, str, list[EditOperation]],
) -> None:
    """Whatever the operations, no line is lost, doubled or out of order, and the numbers count the old lines."""
    old, new, operations = edit
    diff = LineDiff(old, first_line=5)
    for operation in operations:
        diff.feed(operation)
    diff.finish()
    lines = diff.lines()
    assert [line.text for line in lines if line.sign in " -"] == shown(old)
    assert [line.text for line in lines if line.sign in " +"] == shown(new)
    assert [line.number for line in lines if line.sign != "+"] == list(range(5, 5 + len(shown(old))))


@given(edits())
def test_all_of_the_old_text_is_shown_at_every_moment(edit: tuple[str, str, list[EditOperation]]) -> None:
    """While it grows, the diff ends with the lines that were not reached yet."""
    old, _, operations = edit
    diff = LineDiff(old)
    for operation in operations:
        diff.feed(operation)
        lines = diff.lines()
        assert [line.text for line in lines if line.sign != "+"] == shown(old)
        signs = "".join(line.sign for line in lines)
        assert "." not in signs.rstrip(".")


def test_a_change_within_a_line_replaces_the_line() -> None:
    """The line is removed and added; its neighbours are kept."""
    diff = LineDiff("one\ntwo\nthree\n")
    for operation in [Keep(0, "one\nt"), Delete(5, "w"), Insert(6, "o"), Keep(6, "o\nthree\n")]:
        diff.feed(operation)
    diff.finish()
    assert diff.lines() == [
        DiffLine(" ", 1, "one"),
        DiffLine("-", 2, "two"),
        DiffLine("+", None, "too"),
        DiffLine(" ", 3, "three"),
    ]


def test_a_removed_line_does_not_touch_the_next_one() -> None:
    """Whole lines that go are not mixed up with the line that is kept after them."""
    diff = LineDiff("one\ntwo\nthree\n")
    for operation in [Delete(0, "one\n"), Keep(4, "two\n")]:
        diff.feed(operation)
    assert [(line.sign, line.text) for line in diff.lines()] == [("-", "one"), (" ", "two"), (".", "three")]


def test_a_line_added_after_a_kept_one_leaves_it_kept() -> None:
    """Inserting from the end of a line adds lines and replaces none."""
    diff = LineDiff("one\ntwo\n")
    for operation in [Keep(0, "one"), Insert(3, "\nmore"), Keep(3, "\ntwo\n")]:
        diff.feed(operation)
    assert [(line.sign, line.text) for line in diff.lines()] == [(" ", "one"), ("+", "more"), (" ", "two")]


def test_far_from_changes_lines_are_left_out() -> None:
    """Three lines on each side stay; a gap stands for the others."""
    lines = [DiffLine(" ", number, str(number)) for number in range(1, 21)]
    lines[9] = DiffLine("-", 10, "10")
    numbers = [line and line.number for line in near_changes(lines)]
    assert numbers == [None, 7, 8, 9, 10, 11, 12, 13, None]
    assert near_changes(lines[:9]) == [None]
