"""Where a completion belongs while its document changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.client.place import PlaceTracker
from warmline.realtime import TextEdit
from warmline.realtime.document import apply_edits


@pytest.mark.parametrize(
    ("edits", "offset", "typed", "lost"),
    [
        ([TextEdit(2, 4, "long😀")], 14, "", False),
        ([TextEdit(12, 15, "x")], 10, "", False),
        ([TextEdit(10, 10, "ab"), TextEdit(12, 12, "😀")], 14, "ab😀", False),
        ([TextEdit(10, 10, "ab"), TextEdit(11, 12, "")], 11, "a", False),
        ([TextEdit(10, 10, "ab"), TextEdit(10, 12, "")], 10, "", False),
        ([TextEdit(10, 10, "ac"), TextEdit(11, 11, "b")], 13, "abc", False),
        ([TextEdit(10, 11, ")")], 11, ")", False),  # typed over what stood there
        ([TextEdit(10, 12, "")], 10, "", False),
        ([TextEdit(0, 3, ""), TextEdit(7, 7, "x")], 8, "x", False),
        ([TextEdit(9, 10, "")], 10, "", True),
        ([TextEdit(8, 12, "x")], 10, "", True),
    ],
)
def test_what_changes_mean_for_the_place(edits: list[TextEdit], offset: int, typed: str, lost: bool) -> None:
    """A place at 10: shifted by what comes before, typed at, or lost."""
    place = PlaceTracker(10)
    place.changed(edits)
    assert (place.offset, place.typed, place.lost) == (offset, typed, lost)


@given(
    st.text("ab😀", max_size=4), st.text("cd", max_size=3), st.lists(st.tuples(st.integers(0, 9), st.text("xy😀")))
)
def test_insertions_never_lose_the_place(before: str, after: str, insertions: list[tuple[int, str]]) -> None:
    """What stands around it is what stood around it, with what was typed between."""
    text = before + after
    place = PlaceTracker(len(before.encode("utf-16-le")) // 2)
    start = place.offset
    for at, inserted in insertions:
        at = min(at, len(text))
        offset = len(text[:at].encode("utf-16-le")) // 2
        if offset < start:
            start += len(inserted.encode("utf-16-le")) // 2
        edit = TextEdit(offset, offset, inserted)
        text, _ = apply_edits(text, len(text.encode("utf-16-le")) // 2, [edit])
        place.changed([edit])
    units = text.encode("utf-16-le")
    assert not place.lost
    assert units[2 * start : 2 * place.offset].decode("utf-16-le") == place.typed


def test_only_what_is_not_typed_yet_remains() -> None:
    """Unless something else was typed."""
    place = PlaceTracker(0)
    place.changed([TextEdit(0, 0, "re")])
    assert (place.remaining("return"), place.remaining("raise"), place.remaining("r")) == ("turn", None, None)
    assert (place.is_ahead("r"), place.is_ahead("return")) == (True, False)
