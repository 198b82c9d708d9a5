"""Scores of small texts, computed by hand."""

from __future__ import annotations

import pytest
from warmline.realtime.evaluation.scores import first_line, lines_kept, score_completion, score_edit, wilson_interval

BEFORE = "a = 1\nb = 2\nc = 3\n"
AFTER = "a = 1\nb = 9\nc = 3\n"  # distance 2


@pytest.mark.parametrize(
    ("answer", "exact", "size", "kept", "similarity"),
    [
        (AFTER, True, 1.0, 1.0, 1.0),
        (BEFORE, False, 0.0, 1.0, 0.0),
        ("a = 1\nb = 7\nc = 3\n", False, 1.0, 1.0, 0.0),  # 7 for 9 is 2 away from the reference
        ("a = 1\nb = 29\nc = 3\n", False, 0.5, 1.0, 0.5),
        ("a = 1\nb = 9\n", False, 4.0, 0.5, -2.0),  # 2 + 6 from before, 6 from after
        ("", False, 9.0, 0.0, -8.0),
    ],
)
def test_an_edit(answer: str, exact: bool, size: float, kept: float, similarity: float) -> None:
    """Distances count inserted and deleted characters, relative to those of the reference."""
    scores = score_edit(BEFORE, AFTER, answer)
    assert (scores.exact, scores.size, scores.lines_kept, scores.similarity) == (exact, size, kept, similarity)
    assert scores.parses is None


def test_whitespace_at_line_ends() -> None:
    """It is told apart from everything else, and indentation counts."""
    close = score_edit(BEFORE, AFTER, "a = 1  \nb = 9\nc = 3\n\n")
    assert (close.exact, close.exact_text) == (False, True)
    indented = score_edit(BEFORE, AFTER, " a = 1\nb = 9\nc = 3\n")
    assert (indented.exact, indented.exact_text) == (False, False)


def test_an_edit_that_should_change_nothing() -> None:
    """It has no relative measures."""
    right, wrong = score_edit(BEFORE, BEFORE, BEFORE), score_edit(BEFORE, BEFORE, AFTER)
    assert (right.exact, right.size, right.similarity, right.lines_kept) == (True, None, None, 1.0)
    assert (wrong.exact, wrong.size, wrong.similarity) == (False, None, None)
    assert wrong.lines_kept == pytest.approx(2 / 3)


def test_kept_lines_count_in_their_order() -> None:
    """A line that moved is kept once; nothing kept by the reference gives no share."""
    assert lines_kept("1\n2\n3\n", "1\n2\n3\n4\n", "3\n1\n2\n") == pytest.approx(2 / 3)
    assert lines_kept("1\n", "2\n", "1\n") is None
    assert lines_kept("", "2\n", "1\n") is None


def test_a_completion() -> None:
    """Right up to the first wrong character; exact only if it ended there."""
    middle = "return a\nx = 1"
    right = score_completion(middle, middle, True)
    assert (right.exact, right.begins, right.first_line, right.right, right.length) == (True, True, True, 14, 14)
    longer = score_completion(middle, middle + "0", True)
    assert (longer.exact, longer.begins, longer.first_line) == (False, True, True)
    cut = score_completion(middle, middle, False)
    assert (cut.exact, cut.begins) == (False, True)
    wrong = score_completion(middle, "return a\ny", True)
    assert (wrong.exact, wrong.begins, wrong.first_line, wrong.right) == (False, False, True, 9)
    assert score_completion(middle, "return ab", True).first_line is False


def test_the_first_line_is_not_blank() -> None:
    """Blank lines before it belong to it."""
    assert first_line("\n  a = 1\nb\n") == "\n  a = 1"
    assert first_line("a") == "a"
    assert first_line("\n\n") == "\n\n"


def test_wilson_s_interval() -> None:
    """By the formula: for 8 of 10, (0.8 + 0.19207 ± 0.26752) / 1.38415."""
    assert wilson_interval(8, 10) == pytest.approx((0.49016, 0.94332), abs=1e-4)
    assert wilson_interval(0, 10) == pytest.approx((0.0, 0.27753), abs=1e-4)
    assert wilson_interval(10, 10) == pytest.approx((0.72247, 1.0), abs=1e-4)
    assert wilson_interval(0, 0) == (0.0, 1.0)
