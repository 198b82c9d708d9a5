"""White space at the end of an accepted text, said again by the model, is not told twice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.realtime.prompting.held_text import HeldText, text_to_hold


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("def f():\n", "\n"),  # the line end and the indentation behind it are one token
        ("def f():\n\n", "\n\n"),
        ("def f():\n    ", "\n    "),
        ("x = ", " "),
        ("x =", ""),
        ("retu", ""),
        ("", ""),
        ("    ", "    "),
        ("    x = 1\n" * 100, "\n"),
    ],
)
def test_what_may_be_joined_with_what_follows_is_held(tokenizer, text, held):
    """By the default model's tokenizer."""
    assert text_to_hold(tokenizer.encode, text) == held


@pytest.mark.parametrize("text", ["def f():\n", "x = ", "a\n\n    "])
def test_nothing_is_held_where_tokens_stay_the_same(text):
    """As where each character is a token."""
    assert text_to_hold(lambda string: list(string.encode()), text) == ""


def told(held: str, pieces: list[str], last: str = "") -> str:
    text = HeldText(held)
    return "".join([*map(text.feed, pieces), text.finish(last)])


@pytest.mark.parametrize(
    ("held", "said", "new"),
    [
        ("\n", "\n    return 1\n", "    return 1\n"),
        ("\n", "\n\n    return 1\n", "\n    return 1\n"),
        ("\n\n", "\n\nx", "x"),
        ("\n    ", "\n        x", "    x"),
        ("", "x", "x"),
        (" ", " 1", "1"),
        # It says something else.
        ("\n", "  # why\n    return 1\n", "    return 1\n"),
        ("\n", "  # why", ""),
        ("\n", "  # why\n", ""),
        ("\n\n", "\n    return 1\n", "    return 1\n"),
        ("\n\n", "\n", ""),
        ("\n    ", "\nx", "x"),
        ("\n    ", "\n  x", "x"),
        (" ", "1", "1"),
        ("  ", " 1", "1"),
        ("\n", "", ""),
    ],
)
def test_the_model_goes_on_after_what_was_accepted(held, said, new):
    """However its text comes in pieces."""
    assert told(held, [said]) == new
    assert told(held, list(said)) == new
    assert told(held, list(said[:-1]), said[-1:]) == new


@given(st.text(st.sampled_from(" \n")), st.text(st.sampled_from("ab \n")), st.data())
def test_what_follows_held_text_is_told_unchanged(held, rest, data):
    """Whatever it is, and in any pieces."""
    said = held + rest
    cuts = sorted(data.draw(st.lists(st.integers(0, len(said)), max_size=5)))
    pieces = [said[start:end] for start, end in zip([0, *cuts], [*cuts, len(said)], strict=True)]
    assert told(held, pieces) == rest
