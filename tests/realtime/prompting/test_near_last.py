"""What is around a cursor is split so that what is near it can come last."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from warmline.realtime.prompting.near_last import split

LINES = st.lists(st.text("abc (){}:", max_size=30), max_size=60).map("\n".join)


@given(LINES, st.data())
def test_the_parts_follow_each_other(text, data):
    """The cursor's line up to it, what is near behind it, and what is far."""
    index = data.draw(st.integers(0, len(text)))
    far, near, line = split(text, index)
    assert line[0] <= line[1] == index == near[0] <= near[1] == far[0] <= far[1]
    assert "\n" not in text[slice(*line)]
    assert near[1] == len(text) or text[near[1] - 1] == "\n"
    assert text[slice(*near)].count("\n") <= 13


@given(LINES, st.text("ab\n", max_size=20))
def test_the_far_part_stays_while_lines_come_above_it(text, typed):
    """It begins where its own lines say, unless more of them come between than are looked at."""
    head = "first\n"
    before = split(head + text, len(head))
    after = split(head + typed + text, len(head + typed))
    assert (head + text)[slice(*before.far)] == (head + typed + text)[slice(*after.far)]


def test_very_long_lines_are_cut():
    """A file of one line: so much of it on each side, and nothing further."""
    text = "x" * 10_000
    far, near, line = split(text, 5000)
    assert (line, near, far) == ((4600, 5000), (5000, 5400), (5400, 5400))
