"""What changed of a text, as hunks: what is outside the changed lines stays outside, and the hunks say it all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.realtime.documents import hunks as hunks_module
from warmline.realtime.documents.hunks import changed_span, hunks_of, split_lines

from ..conftest import patched

LINES = st.lists(st.sampled_from(["a\n", "b\n", "\n", "é🎉\n"]), max_size=12)
TEXTS = st.builds(lambda lines, last: "".join(lines) + last, LINES, st.sampled_from(["", "a", "c"]))


@given(TEXTS, TEXTS)
def test_the_changed_lines_are_all_that_differs(old, new):
    """As few whole lines as go without the ends that both texts have."""
    (start, end), middle = changed_span(old, new)
    assert old[:start] + middle + old[end:] == new
    assert start in (0, len(old)) or old[:start].endswith("\n")
    first, second = split_lines(old[start:end]), split_lines(middle)
    if first and second:
        assert first[0] != second[0]
        assert first[-1] != second[-1]


@given(TEXTS, TEXTS)
def test_hunks_turn_one_text_into_the_other(old, new):
    """Whatever changed, also the last line end; and there are none of a text that is the same."""
    hunks = hunks_of(old, *changed_span(old, new))
    assert patched(old, hunks) == new
    assert (hunks == "") == (old == new)


def test_hunks_are_as_long_as_what_changed():
    """Two places of a long text, with three lines around each."""
    lines = [f"line {number}\n" for number in range(1000)]
    new = [*lines[:10], "import os\n", *lines[10:900], "last\n", *lines[901:]]
    hunks = hunks_of("".join(lines), *changed_span("".join(lines), "".join(new)))
    assert hunks.count("@@ -") == 2
    assert len(split_lines(hunks)) == 2 + 7 + 8


@given(LINES, LINES, LINES, TEXTS)
def test_what_joins_the_line_behind_it_changes_that_line(before, old, after, new):
    """A text without a line end in the place of whole lines."""
    start = len("".join(before))
    end = start + len("".join(old))
    text = "".join((*before, *old, *after))
    hunks = hunks_of(text, (start, end), new)
    assert patched(text, hunks) == text[:start] + new + text[end:]
    assert after == [] or "\\ No newline" not in hunks  # the text ends as before


@given(LINES.map("".join), TEXTS, LINES, st.integers(0, 60))
def test_hunks_are_right_however_little_was_compared(old, new, around, steps):
    """What is left to compare is removed and added then, and what stands around it is still not touched."""
    head, tail = "".join(around), "".join(around)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hunks_module, "_STEPS", steps)
        text = head + old + tail
        hunks = hunks_of(text, (len(head), len(head + old)), new)
        assert patched(text, hunks) == head + new + tail
    changed = [row for row in split_lines(hunks) if row[0] in "+-"]
    assert len(changed) <= len(split_lines(old)) + len(split_lines(new)) + 2  # one may join another


def test_lines_that_repeat_are_compared_a_bounded_number_of_times(monkeypatch):
    """With none left, all lines that may differ are one change."""
    old, new = "a\nb\n" * 50, "b\na\n" * 50
    assert hunks_of(old, (0, len(old)), new).count("\n-") < 50
    monkeypatch.setattr(hunks_module, "_STEPS", 1000)
    hunks = hunks_of(old, (0, len(old)), new)
    assert hunks.count("@@ -") == 1
    assert hunks.count("\n-") == hunks.count("\n+") == 100
