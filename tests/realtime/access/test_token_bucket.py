"""What may be spent in the long run, and at once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.realtime.access.token_bucket import TokenBucket


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_it_is_full_in_the_beginning():
    """A burst may be spent at once; then it fills steadily, and never above the burst."""
    clock = Clock()
    bucket = TokenBucket(10, 60, clock)
    assert bucket.wait == 0
    bucket.spend(60)
    assert bucket.wait == pytest.approx(0.1)
    clock.now += 0.1
    assert bucket.wait == 0
    clock.now += 1000
    bucket.spend(60)
    assert bucket.wait > 0


def test_what_was_spent_too_much_is_waited_for():
    """Whoever had anything left may spend more than that, and waits the longer."""
    clock = Clock()
    bucket = TokenBucket(10, 60, clock)
    bucket.spend(260)
    wait = bucket.wait
    assert wait == pytest.approx(20.1)
    clock.now += wait - 0.11
    assert bucket.wait > 0
    clock.now += 0.11
    assert bucket.wait == 0


@given(st.lists(st.tuples(st.floats(0, 30), st.integers(0, 500)), max_size=60))
def test_nobody_has_more_than_the_rate_and_two_bursts_in_the_long_run(steps):
    """Whoever waits as long as is said, and spends at most a burst each time."""
    clock = Clock()
    bucket = TokenBucket(10, 500, clock)
    began, spent = clock.now, 0
    for pause, amount in steps:
        clock.now += pause
        if bucket.wait == 0:
            bucket.spend(amount)
            spent += amount
        assert spent <= 2 * 500 + 10 * (clock.now - began)


@given(st.floats(0.1, 1000), st.integers(1, 1000), st.integers(1, 5000))
def test_the_wait_is_long_enough_and_not_much_longer(rate, burst, amount):
    """At its end there is something, and a little before there is nothing."""
    clock = Clock()
    bucket = TokenBucket(rate, burst, clock)
    bucket.spend(amount)
    wait = bucket.wait
    if wait == 0:
        assert amount < burst
        return
    clock.now += wait * 1.000001
    assert bucket.wait == 0


def test_another_rate_keeps_what_was_spent():
    """Reading the same limits again gives nobody anything, and more of them helps at once."""
    clock = Clock()
    bucket = TokenBucket(1, 60, clock)
    bucket.spend(100)
    bucket.change(1, 60)
    assert bucket.wait == pytest.approx(41)
    bucket.change(10, 600)
    assert bucket.wait == 0
    bucket.change(1, 60)
    assert bucket.wait == pytest.approx(41)
