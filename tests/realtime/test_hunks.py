"""What changed of a text, as hunks: what is outside the changed lines stays outside, and the hunks say it all."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from warmline.realtime.hunks import changed_span, hunks_of, split_lines

from .conftest import patched

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
