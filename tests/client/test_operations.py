"""Operations over a range: their text, their place, and the change that applies them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.client.operations import Delete, Insert, Keep, RangeWalk, to_text_edits
from warmline.realtime.protocol import Operation, TextEdit
from warmline.realtime.text import string_index, utf16_length, utf16_offset

texts = st.text(st.sampled_from("ab\n\r\té漢😀\u2028"), max_size=12)


@st.composite
def ranges(draw: st.DrawFn) -> tuple[str, str, str, list[Operation]]:
    """Text before a range, the range, text after it, and operations over the range that split no character."""
    operations: list[Operation] = []
    original = ""
    for kind in draw(st.lists(st.sampled_from(["keep", "delete", "insert"]), max_size=8)):
        text = draw(texts.filter(bool))
        if kind == "insert":
            operations.append(text)
        else:
            original += text
            operations.append(utf16_length(text) if kind == "keep" else -utf16_length(text))
    return draw(texts), original + draw(texts), draw(texts), operations


@given(ranges())
def test_the_walk_agrees_with_the_definition_of_operations(
    apply_operations: Callable[..., str], case: tuple[str, str, str, list[Operation]]
) -> None:
    """After every operation the text so far is what `apply_operations` makes of the same prefix."""
    _, original, _, operations = case
    walk = RangeWalk(original, 0)
    assert walk.text == original
    for count, operation in enumerate(operations, 1):
        walk.step(operation)
        assert walk.text == apply_operations(original, operations[:count])


@given(ranges())
def test_an_operation_names_the_text_and_where_it_stood(case: tuple[str, str, str, list[Operation]]) -> None:
    """Kept and deleted text is found in the document at ``start``."""
    before, original, after, operations = case
    walk = RangeWalk(original, len(before))
    document = before + original + after
    for operation in map(walk.step, operations):
        if not isinstance(operation, Insert):
            assert document[operation.start : operation.start + len(operation.text)] == operation.text


@given(ranges())
def test_the_edits_of_a_change_do_what_the_operations_say(case: tuple[str, str, str, list[Operation]]) -> None:
    """Applied in order, each to the result of the one before, the edits give the text of the walk."""
    before, original, after, operations = case
    walk = RangeWalk(original, len(before))
    for operation in operations:
        walk.step(operation)
    text = before + original + after
    for edit in to_text_edits(walk.operations, utf16_offset(text, len(before))):
        start, end = string_index(text, edit.start), string_index(text, edit.end)
        text = text[:start] + edit.text + text[end:]
    assert text == before + walk.text + after


def test_neighbouring_deletions_and_insertions_become_one_edit() -> None:
    """A replacement is one edit, however many operations it took."""
    operations = [Keep(0, "x"), Insert(1, "a"), Delete(1, "lo"), Insert(3, "b"), Keep(3, "y"), Delete(4, "z")]
    assert to_text_edits(operations, 10) == [TextEdit(11, 13, "ab"), TextEdit(14, 15, "")]


@pytest.mark.parametrize("operations", [[5], [-5], [2, -3], [4, "x", 1]])
def test_an_operation_past_the_range_is_an_error(operations: list[Operation]) -> None:
    """Operations that reach past the end of the range are refused."""
    walk = RangeWalk("abcd", 0)
    with pytest.raises(ValueError, match="reaches unit 5 of a range of 4"):
        for operation in operations:
            walk.step(operation)


@pytest.mark.parametrize("operation", [1, -1])
def test_an_operation_that_splits_a_surrogate_pair_is_an_error(operation: int) -> None:
    """Half an emoji can't be kept or deleted."""
    with pytest.raises(ValueError, match="surrogate"):
        RangeWalk("😀", 0).step(operation)
