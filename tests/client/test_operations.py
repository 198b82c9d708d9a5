"""Operations over a range: their text, their place, and the change that applies them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.client.operations import Insert, RangeWalk
from warmline.realtime import RangeTracker, apply_edits
from warmline.realtime.documents.text import utf16_length
from warmline.realtime.protocol import Operation

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


@given(ranges(), st.integers(0, 8))
def test_void_operations_leave_no_trace(case: tuple[str, str, str, list[Operation]], count: int) -> None:
    """The walk is then as if it had never taken them, and goes on."""
    _, original, _, operations = case
    walk, short = RangeWalk(original, 5), RangeWalk(original, 5)
    for operation in operations:
        walk.step(operation)
    for operation in operations[:count]:
        short.step(operation)
    walk.again(operations[:count])
    assert (walk.operations, walk.text) == (short.operations, short.text)
    for operation in [*operations[count:], "end"]:
        assert walk.step(operation) == short.step(operation)


@given(ranges())
def test_edits_in_order_do_what_the_operations_say(case: tuple[str, str, str, list[Operation]]) -> None:
    """Applied to the document, the edits of a tracker give the text of the walk."""
    before, original, after, operations = case
    walk, tracker = RangeWalk(original, len(before)), RangeTracker(1, utf16_length(before), original)
    tracker.operations(operations)
    for operation in operations:
        walk.step(operation)
    assert apply_edits(before + original + after, tracker.edits()) == before + walk.text + after


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
