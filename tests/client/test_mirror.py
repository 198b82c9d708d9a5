"""The client's copy of a document and the messages made from it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.client import InvalidRange
from warmline.client.mirror import HASH_EVERY, DocumentMirror
from warmline.realtime.documents.text import content_hash, string_index, utf16_length, utf16_offset
from warmline.realtime.protocol import Applied, TextEdit

pieces = st.text(st.sampled_from("ab\né漢😀"), max_size=6)
changes = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), pieces), max_size=2 * HASH_EVERY)


@given(pieces, changes)
def test_a_server_that_applies_the_changes_holds_the_same_text(
    text: str, changes: list[tuple[float, float, str]]
) -> None:
    """Edits, length and hash on the wire describe the mirror's text after every change."""
    mirror = DocumentMirror("a", text, "")
    held, version = mirror.open().text, mirror.open().version
    for first, second, inserted in changes:
        start, end = sorted((round(first * len(mirror.text)), round(second * len(mirror.text))))
        change = mirror.change(start, end, inserted, mirror.replaced(start, end, inserted))
        assert (change.base, change.version) == (version, version + 1)
        for edit in change.edits:
            left, right = string_index(held, edit.start), string_index(held, edit.end)
            held = held[:left] + edit.text + held[right:]
        version = change.version
        assert held == mirror.text
        assert [mirror.offset(at) for at in range(len(held) + 1)] == [
            utf16_offset(held, at) for at in range(len(held) + 1)
        ]
        assert change.length == utf16_length(held)
        assert change.hash == (content_hash(held) if version % HASH_EVERY == 0 else None)


def test_offsets_follow_several_edits_at_once() -> None:
    """Such as an edit that is applied."""
    mirror = DocumentMirror("a", "😀a😀b", "")
    assert mirror.offset(3) == 5
    mirror.commit("😀😀a😀b😀", [TextEdit(0, 0, "😀"), TextEdit(8, 8, "😀")])
    assert [mirror.offset(at) for at in range(7)] == [0, 2, 4, 5, 7, 8, 10]


def test_lone_surrogates_are_replaced_where_they_enter() -> None:
    """What can't travel is U+FFFD from the start, so both sides hold the same text."""
    mirror = DocumentMirror("file:///\ud800", "a\udc00b", "")
    assert (mirror.uri, mirror.text) == ("file:///�", "a�b")


def test_a_change_that_is_to_be_checked_carries_the_hash() -> None:
    """Such as the last one that applies an edit."""
    mirror = DocumentMirror("a", "abc", "")
    change = mirror.commit("axc", [TextEdit(1, 2, "x")], Applied(7, 3), check=True)
    assert change.applied == Applied(7, 3)
    assert (change.length, change.hash) == (3, content_hash("axc"))


@pytest.mark.parametrize(
    ("span", "message"),
    [
        ((-1, 0), "the range (-1, 0) is not within a text of 3 characters: indices are 0 to 3 (invalid_range)"),
        ((0, 4), "the range (0, 4) is not within a text of 3 characters: indices are 0 to 3 (invalid_range)"),
        (
            (2, 1),
            "the range (2, 1) is not within a text of 3 characters: the smaller index comes first (invalid_range)",
        ),
        ((4, 4), "position 4 is not within a text of 3 characters: indices are 0 to 3 (invalid_range)"),
        ((-1, -1), "position -1 is not within a text of 3 characters: indices are 0 to 3 (invalid_range)"),
    ],
)
def test_a_range_outside_the_text_is_an_error(span: tuple[int, int], message: str) -> None:
    """Negative, reversed and too large indices are refused: what is wrong, what there is, and the wire's code."""
    with pytest.raises(InvalidRange) as error:
        DocumentMirror("a", "abc", "").check_range(*span)
    assert isinstance(error.value, ValueError)
    assert (error.value.code, str(error.value)) == ("invalid_range", message)
