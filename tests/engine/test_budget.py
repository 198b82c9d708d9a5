"""How many rows fit in a pass."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.engine.budget import StepBudget, attended, rows_within


@given(st.integers(0, 50), st.integers(0, 50))
def test_rows_attend_to_what_is_before_them_and_to_themselves(position, rows):
    """Each to one key more than the one before."""
    assert attended(position, rows) == sum(range(position + 1, position + rows + 1))


@given(st.floats(0, 30), st.integers(0, 9), st.integers(1, 40))
def test_the_most_rows_that_fit(seconds, least, most):
    """One more would take too long, unless it is the least that is computed, or all there is."""
    rows = rows_within(seconds, least, most, lambda rows: rows / 2)
    assert min(least, most) <= rows <= most
    assert rows / 2 <= seconds or rows == min(least, most)
    assert (rows + 1) / 2 > seconds or rows == most


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"sequences": 9, "decode": 8}, "at least a row"),
        ({"sequences": 0}, "at least a row"),
        ({"prefill": 0}, "need a row"),
        ({"prefill_beside_decode": 0}, "need a row"),
        ({"prefill_stretch": 0.9}, "shorter"),
        ({"warm_stretch": 0.0}, "shorter"),
        ({"warm": 8}, "multiple of 16"),
        ({"warm": 40}, "multiple of 16"),
        ({"warm_requests": 0}, "must be kept"),
        ({"warm_beside_decode": -1}, "fewer than no"),
    ],
)
def test_a_budget_that_cannot_work_is_refused(wrong, why):
    """Every sequence that decodes has its part in each pass, prompts go on, and a warm pass computes blocks."""
    with pytest.raises(ValueError, match=why):
        StepBudget(**wrong)
