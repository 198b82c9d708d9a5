"""The draft length policy."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from warmline.engine.speculation.length import DraftLength


def test_it_doubles_while_drafts_stand():
    """Each draft accepted whole doubles the next, up to a bound."""
    length = DraftLength()
    limits = []
    for _ in range(5):
        limits.append(length.limit)
        length.observe(length.limit, length.limit)
    assert limits == [16, 32, 64, 64, 64]


def test_it_shrinks_after_a_rejection_and_recovers():
    """A wrong draft makes the next one short; when they stand again it grows again."""
    length = DraftLength()
    length.observe(16, 0)
    short = length.limit
    assert 0 < short < 16
    length.observe(short, short)
    assert length.limit == 2 * short


def test_a_draft_cut_by_others_says_little():
    """A shorter draft than allowed, for want of budget, does not make the next one longer."""
    length = DraftLength()
    length.observe(3, 3)
    length.observe(0, 0)
    assert length.limit == 16


@given(st.lists(st.tuples(st.integers(0, 64), st.integers(0, 64))))
def test_it_stays_within_bounds(outcomes):
    """Whatever happens, there is always a draft, and never one above the bound."""
    length = DraftLength()
    for a, b in outcomes:
        length.observe(max(a, b), min(a, b))
        assert 1 <= length.limit <= 64
