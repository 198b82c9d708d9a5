"""What a steered edit goes on from."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from warmline.realtime.documents.text import utf16_length
from warmline.realtime.editing.steering import divide, joined


def test_operations_divide_a_text():
    """Into what they make of its beginning, and what they leave; counted in UTF-16 units."""
    operations = [2, -2, "\U0001f600", 1]
    assert divide("ab\U0001f388cd", operations) == ("ab\U0001f600c", "d")
    assert divide("ab\U0001f388cd", operations[:1]) == ("ab", "\U0001f388cd")
    assert divide("ab", []) == ("", "ab")


@given(st.text("a\n\U0001f388"), st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.text("xy", max_size=2))))
def test_both_parts_make_the_whole(apply_operations, text, steps):
    """What the operations make, and what they leave, is the text after them."""
    operations, rest = [], text
    for characters, keep, inserted in steps:
        units = utf16_length(rest[:characters])
        rest = rest[characters:]
        operations += [inserted, units if keep else -units]
    made, left = divide(text, operations)
    assert left == rest
    assert made + left == apply_operations(text, operations)


def test_instructions_are_joined_the_oldest_first():
    """One that is alone stays as it is."""
    assert joined(["a"]) == "a"
    assert joined(["a", "b", "c"]) == "a\nInstruction: b\nInstruction: c"
