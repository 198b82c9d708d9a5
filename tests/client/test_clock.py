"""The estimate of the server's clock."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from warmline.client.clock import DRIFT, SAMPLES, ClockFilter

delays = st.integers(0, 10_000_000)
offsets = st.integers(-(10**14), 10**14)
exchanges = st.lists(st.tuples(delays, delays, delays), min_size=1, max_size=SAMPLES)


def exchange(filter: ClockFilter, sent: int, offset: int, up: int, inside: int, down: int) -> int:
    """One exchange over a network with these one-way delays; returns when the answer arrived."""
    received = sent + up + offset
    arrived = sent + up + inside + down
    filter.add(sent, received, received + inside, arrived)
    return arrived


def test_symmetric_delays_give_the_exact_offset() -> None:
    """With the same delay both ways the offset is exact."""
    filter = ClockFilter()
    arrived = exchange(filter, sent=1_000, offset=70_000, up=200, inside=50, down=200)
    assert filter.offset(arrived) == 70_000


def test_no_sample_means_no_estimate() -> None:
    """Before the first exchange nothing is claimed."""
    assert ClockFilter().offset(5) is None


@given(offsets, exchanges)
def test_the_error_is_within_half_of_the_smallest_delay(offset: int, network: list[tuple[int, int, int]]) -> None:
    """However lopsided the network, the estimate is off by at most half the best sample's delay, plus drift."""
    filter = ClockFilter()
    at = 0
    bounds = []
    for up, inside, down in network:
        at = exchange(filter, at, offset, up, inside, down)
        bounds.append(((up + down) / 2, at))
    estimate = filter.offset(at)
    assert estimate is not None
    allowed = min(half + DRIFT * (at - taken) for half, taken in bounds)
    assert abs(estimate - offset) <= allowed + 1e-3


def test_a_slow_sample_does_not_spoil_a_fast_one() -> None:
    """The sample with the smallest delay is kept, wherever it stands in the row."""
    filter = ClockFilter()
    at = exchange(filter, 0, offset=500, up=10, inside=0, down=10)
    at = exchange(filter, at, offset=500, up=90_000, inside=0, down=10)
    assert filter.offset(at) == 500


def test_an_old_sample_loses_to_drift() -> None:
    """After hours a fresh sample is better than an old one with less delay, since the clocks part."""
    filter = ClockFilter()
    hours = 3 * 3600 * 1_000_000
    exchange(filter, 0, offset=0, up=10, inside=0, down=10)
    at = exchange(filter, hours, offset=80_000, up=400, inside=0, down=400)
    assert filter.offset(at) == 80_000


def test_old_samples_leave_the_window() -> None:
    """Only the newest samples count."""
    filter = ClockFilter()
    at = exchange(filter, 0, offset=1, up=0, inside=0, down=0)
    for _ in range(SAMPLES):
        at = exchange(filter, at, offset=900, up=50, inside=0, down=50)
    assert filter.offset(at) == 900
