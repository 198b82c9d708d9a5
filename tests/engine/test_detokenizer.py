"""Tokens to text: whole characters only, stop strings found across tokens, nothing of them shown."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from warmline.engine.detokenizer import Detokenizer

TEXT = "naïve 日本語 🙂🎉 end"
pieces = st.lists(st.binary(max_size=6), max_size=12)
alphabet = st.sampled_from("ab\n🙂")


def show(pieces, stop=(), cut=False):
    """Push pieces until a stop; the deltas, and whether it stopped."""
    detokenizer = Detokenizer(stop)
    deltas = []
    for piece in pieces:
        deltas.append(detokenizer.push(piece))
        if detokenizer.stopped:
            break
    deltas.append(detokenizer.finish(cut=cut))
    return deltas, detokenizer.stopped


def expected(text, stop):
    """The text before the stop string that is complete first, the longest of several."""
    ends = [(text.find(string) + len(string), text.find(string)) for string in stop if string in text]
    return (text[: min(ends)[1]], True) if ends else (text, False)


@given(pieces)
@example([b"\xf0\x9f", b"\x99", b"\x82"])
@example([b"\xf0\x9f", b"a", b"\xe6\x97"])
def test_deltas_are_the_decoded_bytes(pieces):
    """However bytes are cut into tokens, the deltas are what decoding all of them gives."""
    deltas, _ = show(pieces)
    assert "".join(deltas) == b"".join(pieces).decode("utf-8", "replace")


def test_no_delta_has_half_a_character():
    """At every split of the text, each delta is a piece of the text itself."""
    data = TEXT.encode()
    for at in range(len(data) + 1):
        deltas, _ = show([data[:at], data[at:]])
        assert "".join(deltas) == TEXT
        assert "\ufffd" not in "".join(deltas)


@given(
    st.text(alphabet, max_size=30),
    st.lists(st.text(alphabet, min_size=1, max_size=5), max_size=3),
    st.lists(st.integers(0, 120), max_size=20),
)
def test_stop_strings_do_not_depend_on_the_split(text, stop, cuts):
    """The same text stops at the same place, with the same text before it, whatever its tokens are."""
    data = text.encode()
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    deltas, stopped = show([data[a:b] for a, b in pairwise(edges)], tuple(stop))
    assert ("".join(deltas), stopped) == expected(text, stop)


@pytest.mark.parametrize("at", range(1, len("END")))
def test_a_stop_string_is_found_across_tokens(at):
    """Cut at any place, a stop string ends the text and none of it is shown."""
    deltas, stopped = show([b"one ", b"END"[:at], b"END"[at:] + b" two"], ("END",))
    assert (deltas, stopped) == (["one ", "", "", ""], True)


def test_only_what_may_become_a_stop_string_is_held_back():
    """Text that can't be the beginning of a stop string is shown at once."""
    detokenizer = Detokenizer(("\n\n", "```"))
    assert [detokenizer.push(piece) for piece in (b"a\n", b"b", b"`", b"`c", b"\n")] == ["a", "\nb", "", "``c", ""]
    assert detokenizer.finish(cut=False) == "\n"


def test_the_stop_string_that_is_complete_first_counts():
    """An inner stop string ends the text before a longer one around it is complete; of two at once, the longer."""
    assert show([b"xabcd"], ("abcd", "bc")) == (["xa", ""], True)
    assert show([b"xabc"], ("bc", "abc")) == (["x", ""], True)


def test_a_character_cut_off_by_the_length_is_left_out():
    """The missing bytes would have come, so nothing is shown for the others; at a real end they are an error."""
    assert show([b"a\xf0\x9f"], cut=True) == (["a", ""], False)
    assert show([b"a\xf0\x9f"]) == (["a", "\ufffd"], False)


def test_held_back_text_is_shown_at_the_end():
    """The beginning of a stop string that never came belongs to the text."""
    assert show([b"a``"], ("```",), cut=True) == (["a", "``"], False)
