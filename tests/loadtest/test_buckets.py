"""Times of a load test, in microseconds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.loadtest.buckets import bucket_response_time


@pytest.mark.parametrize(
    ("time", "bucket"),
    [(0, 0), (0.4, 0), (147.2, 147), (999.6, 1000), (3432, 3430), (58760, 58800), (1e6, 1_000_000)],
)
def test_three_digits_are_kept(time: float, bucket: int) -> None:
    """Below a thousand every microsecond counts."""
    assert bucket_response_time(time) == bucket


@given(st.floats(0, 1e9), st.floats(0, 1e9))
def test_buckets_are_close_and_in_order(one: float, other: float) -> None:
    """A bucket is within half a percent or half a microsecond, and a longer time is never in a lower one."""
    assert abs(bucket_response_time(one) - one) <= max(0.5, one * 0.005)
    low, high = sorted((one, other))
    assert bucket_response_time(low) <= bucket_response_time(high)
