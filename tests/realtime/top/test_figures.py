"""What is read from a page of metrics."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from warmline.realtime.top.figures import Distribution, Figures

BOUNDS = (0.001, 0.01, 0.1, 1.0)


class Page:
    """Metrics of a service."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.ended = Counter("ended", "Ended.", ["kind", "outcome"], registry=self.registry)
        self.sessions = Gauge("sessions", "Now.", registry=self.registry)
        self.hops = Histogram("hop_seconds", "Long.", ["hop"], buckets=BOUNDS, registry=self.registry)

    def figures(self) -> Figures:
        return Figures.parse(generate_latest(self.registry))


@pytest.fixture
def page() -> Page:
    return Page()


def test_series_are_summed_by_a_label(page: Page) -> None:
    """Those of other labels together, unless one is named."""
    page.ended.labels("edit", "stop").inc(3)
    page.ended.labels("edit", "error").inc(1)
    page.ended.labels("chat", "stop").inc(5)
    figures = page.figures()
    assert figures.total("ended_total") == 9
    assert figures.by("ended_total", "kind") == {"chat": 5, "edit": 4}
    assert figures.by("ended_total", "outcome", kind="edit") == {"error": 1, "stop": 3}
    assert figures.by("ended_total", "hop") == {} and figures.total("nothing") == 0


def test_what_came_since_is_told_of_what_grows(page: Page) -> None:
    """A gauge is what it is now."""
    page.ended.labels("edit", "stop").inc(3)
    page.sessions.set(7)
    page.hops.labels("ipc").observe(0.005)
    before = page.figures()
    page.ended.labels("edit", "stop").inc(2)
    page.ended.labels("chat", "stop").inc(1)
    page.sessions.set(5)
    page.hops.labels("ipc").observe(0.5)
    recent = page.figures().since(before)
    assert recent.by("ended_total", "kind") == {"chat": 1, "edit": 2}
    assert recent.total("sessions") == 5
    assert recent.distribution("hop_seconds", hop="ipc") == Distribution((*BOUNDS, inf), (0, 0, 0, 1, 1), 0.5)


def test_a_service_that_was_restarted_begins_anew(page: Page) -> None:
    """Fewer than before can only be all since then."""
    page.ended.labels("edit", "stop").inc(3)
    before = page.figures()
    after = Page()
    after.ended.labels("edit", "stop").inc(1)
    assert after.figures().since(before).total("ended_total") == 1


def test_histograms_of_several_labels_are_one(page: Page) -> None:
    """Unless one of them is asked for."""
    page.hops.labels("ipc").observe(0.005)
    page.hops.labels("parse").observe(0.0005)
    page.hops.labels("parse").observe(9)
    assert page.figures().distribution("hop_seconds").counts == (1, 2, 2, 2, 3)
    assert page.figures().distribution("hop_seconds", hop="parse").count == 2
    assert page.figures().distribution("hop_seconds", hop="none") == Distribution()


def test_nothing_has_no_quantile() -> None:
    """Nor a mean."""
    assert Distribution().quantile(0.5) is None and Distribution().mean is None
    assert Distribution((1.0, inf), (0, 0)).quantile(0.5) is None


@pytest.mark.parametrize(
    ("part", "expected"), [(0.0, 0.0), (0.25, 0.0005), (0.5, 0.001), (0.75, 0.0055), (1.0, 0.01)]
)
def test_durations_lie_evenly_within_a_bucket(part: float, expected: float) -> None:
    """Two up to a millisecond, two more up to ten."""
    assert Distribution((0.001, 0.01, inf), (2, 4, 4)).quantile(part) == pytest.approx(expected)


def test_beyond_the_last_bound_nothing_is_known() -> None:
    """The bound is what can be said."""
    assert Distribution((0.001, inf), (1, 10)).quantile(0.9) == 0.001


@given(st.lists(st.floats(0, 2), min_size=1), st.floats(0, 1))
def test_a_quantile_lies_in_the_bucket_of_the_true_one(durations: list[float], part: float) -> None:
    """Of the smallest duration that this part does not exceed, or at the bounds of its bucket."""
    page = Page()
    for duration in durations:
        page.hops.labels("ipc").observe(duration)
    distribution = page.figures().distribution("hop_seconds")
    true = sorted(durations)[max(-int(-part * len(durations) // 1) - 1, 0)]
    edges = (0.0, *BOUNDS)
    low = max(edge for edge in edges if edge < true or edge == 0)
    high = min((edge for edge in BOUNDS if edge >= true), default=BOUNDS[-1])
    found = distribution.quantile(part)
    assert found is not None and min(low, BOUNDS[-1]) <= found <= high
    assert distribution.mean == pytest.approx(sum(durations) / len(durations))


def test_what_is_no_page_of_metrics_is_refused() -> None:
    """Such as a web page."""
    with pytest.raises(ValueError):
        Figures.parse(b"<html><body>hello {world}</body></html>")
