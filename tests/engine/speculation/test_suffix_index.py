"""The suffix index finds the longest, newest match, forgets the oldest tokens, and takes nothing twice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.engine.speculation.suffix_index import LONGEST_MATCH, SuffixIndex

texts = st.lists(st.integers(0, 3), max_size=120)


def index_of(tokens, capacity=256):
    """An index that holds the tokens."""
    index = SuffixIndex(capacity)
    index.extend(tokens)
    return index


def remember(index, text):
    """Have the index take a text in, and all that waited before it; returns in how many pieces."""
    index.remember(text)
    pieces = 0
    while index.work():
        pieces += 1
    return pieces


def longest(text, recent):
    """The length of the longest match that something follows, by trying every place."""
    lengths = [0]
    for place in range(len(text) - 1):
        length = 0
        while length < min(len(recent), LONGEST_MATCH, place + 1) and text[place - length] == recent[-1 - length]:
            length += 1
        lengths.append(length)
    return max(lengths)


@given(texts, st.lists(st.integers(0, 3), min_size=1, max_size=12))
def test_a_match_agrees_with_the_newest_tokens(text, recent):
    """What stands before the place are the newest tokens, as many as it says; never more than there are."""
    index = index_of(text)
    place, length = index.match(recent)
    assert length <= longest(text, recent)
    if length:
        assert text[place - length : place] == recent[len(recent) - length :]
        assert index.following(place, 5) == text[place : place + 5] != []


@given(st.permutations(range(60)), st.integers(1, 58), st.integers(1, 40))
def test_the_longest_match_is_found(text, end, length):
    """In a text without repetitions it is the only one."""
    start = max(end - length, 0)
    place, found = index_of(text).match([99, *text[start:end]])
    assert (place, found) == (end, min(end - start, LONGEST_MATCH))


@pytest.mark.parametrize("gram", [[7], [6, 7], [5, 6, 7], [4, 5, 6, 7]], ids=len)
def test_of_equal_matches_the_newest_is_taken(gram):
    """Each length of match finds what followed last, and not the end of the text itself."""
    text = [*gram, 1, 20, *gram, 2, 21, *gram]
    index = index_of(text)
    place, length = index.match(text)
    assert length >= len(gram)
    assert index.following(place, 2) == [2, 21]


def test_a_longer_match_goes_before_a_newer_one():
    """The place with more of the same tokens before it decides."""
    index = index_of([1, 2, 3, 4, 50, 9, 2, 3, 4, 60, 70])
    place, length = index.match([1, 2, 3, 4])
    assert (index.following(place, 1), length) == ([50], 4)


@given(texts, st.integers(1, 40), st.lists(st.integers(0, 3), min_size=1, max_size=8))
def test_only_the_newest_tokens_are_kept(text, capacity, recent):
    """A full index answers as one of its last tokens would."""
    index = index_of(text, capacity)
    kept = text[-(1 << max(capacity - 1, 15).bit_length()) :]
    place, length = index.match(recent)
    assert length <= longest(kept, recent)
    if length:
        first = len(text) - len(kept)
        assert place - length >= first
        assert text[place - length : place] == recent[len(recent) - length :]


@given(
    st.integers(1, 200),
    st.lists(st.lists(st.integers(0, 3), max_size=90), max_size=6),
    st.lists(st.integers(0, 3), min_size=1, max_size=12),
)
def test_it_does_not_matter_how_a_text_came(capacity, pieces, recent):
    """Token by token, in pieces or at once, the index is the same to the last entry."""
    whole, grown, single = (SuffixIndex(capacity) for _ in range(3))
    text = [token for piece in pieces for token in piece]
    whole.extend(text)
    for piece in pieces:
        grown.extend(piece)
    for token in text:
        single.extend([token])
    assert tables(whole) == tables(grown) == tables(single)
    assert whole.match(recent) == grown.match(recent) == single.match(recent)


def tables(index):
    """All that an index holds."""
    return [index._tokens, index._before, index._trigrams, index._pairs, index._singles, index._length]


def test_token_ids_may_be_any():
    """The largest ones, too, are the same to a loop and to arrays."""
    text = [2**31 - 1 - number % 7 for number in range(100)]
    together, single = SuffixIndex(128), SuffixIndex(128)
    together.extend(text)
    for token in text:
        single.extend([token])
    assert tables(together) == tables(single)


def test_what_is_held_is_not_remembered_again():
    """The same text twice, also behind another beginning, takes no more room; what is new of it does."""
    index, text = SuffixIndex(1024), [*range(100, 228)]
    remember(index, text)
    place, _ = index.match(text)
    assert place == 0  # nothing follows the end
    remember(index, text)
    remember(index, [1] * 32 + text)
    remember(index, text + [*range(300, 340)])
    held = index.following(0, 1024)
    assert held == [*text, *[1] * 32, *range(300, 332)]


@given(
    st.lists(st.integers(0, 40).map(lambda number: [number % 5] * 20 + [*range(number, number + 200)]), max_size=12),
    st.data(),
)
def test_texts_are_remembered_bit_by_bit(parts, data):
    """Each piece is bounded; in the end it is the same as if each text had been taken in when it came."""
    texts = [[token for part in parts[start : start + 4] for token in part] for start in range(len(parts))]
    at_once, bit_by_bit = SuffixIndex(8192), SuffixIndex(8192)
    for text in texts:
        remember(at_once, text)
        bit_by_bit.remember(text)
        for _ in range(data.draw(st.integers(0, 3))):
            before = bit_by_bit._length
            bit_by_bit.work()
            assert bit_by_bit._length <= before + 512
    while bit_by_bit.work():
        pass
    assert tables(at_once) == tables(bit_by_bit)


def test_what_waits_to_be_remembered_is_bounded():
    """Of more texts than it holds the newest are taken in."""
    index = SuffixIndex(1024)
    for number in range(100):
        index.remember([*range(1000 * number, 1000 * number + 320)])
    assert remember(index, [*range(7, 39)]) <= 4
    assert index._length == 3 * 320 + 32
    assert index.match([*range(99_000, 99_005)])[1] == 5


def test_an_empty_index_has_no_match():
    """There is nothing to find, also not the tokens it was made with."""
    assert SuffixIndex(16).match([0, 0, 0]) == (0, 0)
