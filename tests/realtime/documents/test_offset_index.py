"""Offsets are found in blocks of a text, and the blocks follow its changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.realtime.documents import offset_index
from warmline.realtime.documents.offset_index import OffsetIndex
from warmline.realtime.documents.text import utf16_length, utf16_offset

TEXTS = st.text(st.sampled_from("ab\né漢🎉👩‍💻"), max_size=40)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Short texts have many blocks, too."""
    monkeypatch.setattr(offset_index, "BLOCK_CHARS", 4)


def check(index: OffsetIndex, text: str) -> None:
    """Each offset leads to its index and back, or is refused if none has it."""
    indices = {utf16_offset(text, at): at for at in range(len(text) + 1)}
    for offset in range(utf16_length(text) + 1):
        if offset in indices:
            assert index.index(text, offset) == indices[offset]
            assert index.offset(text, indices[offset]) == offset
        else:
            with pytest.raises(ValueError, match=f"offset {offset} lies inside a surrogate pair"):
                index.index(text, offset)


@given(TEXTS)
def test_each_offset_leads_to_its_index(text):
    """With blocks at any place among characters of one and of two units."""
    check(OffsetIndex.of(text), text)


@pytest.mark.parametrize("offset", [-1, 5])
def test_an_offset_outside_the_text_is_refused(offset):
    """The message has it and the length."""
    with pytest.raises(ValueError, match=f"offset {offset} is outside the text, which has 4 UTF-16 units"):
        OffsetIndex.of("a🎉b").index("a🎉b", offset)


@given(TEXTS, st.data())
def test_an_index_follows_the_changes_of_its_text(text, data):
    """It is then as good as a new one, and the old one still fits the old text."""
    index = OffsetIndex.of(text)
    for _ in range(data.draw(st.integers(1, 6))):
        start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
        changed = text[:start] + data.draw(TEXTS) + text[end:]
        followed = index.replaced(changed, utf16_offset(text, start), utf16_offset(text, end), utf16_length(changed))
        check(index, text)
        check(followed, changed)
        index, text = followed, changed


@given(TEXTS, st.data())
def test_the_blocks_around_a_range_hold_it(text, data):
    """The same place in both ways to count."""
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    first, last = utf16_offset(text, start), utf16_offset(text, end)
    (begin, finish), (origin, until) = OffsetIndex.of(text).blocks_around(first, last)
    assert begin <= start <= end <= finish <= begin + (end - start) + 2 * 4
    assert (utf16_offset(text, begin), utf16_offset(text, finish)) == (origin, until)


def test_small_blocks_do_not_pile_up():
    """A text that was deleted bit by bit has few."""
    text = "a🎉" * 200
    index = OffsetIndex.of(text)
    while len(text) > 40:
        for start in range(len(text) - 4, 0, -8):
            changed = text[:start] + text[start + 2 :]
            index = index.replaced(
                changed, utf16_offset(text, start), utf16_offset(text, start + 2), utf16_length(changed)
            )
            text = changed
    assert len(index._indices) <= len(text)
    check(index, text)
