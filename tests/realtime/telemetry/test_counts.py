"""Our counters and gauges say what Prometheus' own would."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from warmline.realtime.telemetry.counts import Counts

steps = st.lists(st.tuples(st.sampled_from(["edit", "chat"]), st.sampled_from(["stop", "error"]), st.integers(0, 9)))


def scraped(registry: CollectorRegistry) -> list[str]:
    return [line for line in generate_latest(registry).decode().splitlines() if "_created" not in line]


@given(steps)
def test_any_counts_read_the_same(steps):
    """By the values of all labels, in the text that is scraped."""
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    family = Counts(CounterMetricFamily, "requests", "Ended.", ("kind", "outcome"))
    ours.register(family)
    reference = Counter("requests", "Ended.", ["kind", "outcome"], registry=theirs)
    for kind, outcome, by in steps:
        family.of(kind, outcome).inc(by)
        reference.labels(kind, outcome).inc(by)
    assert scraped(ours) == scraped(theirs)


@given(st.lists(st.integers(-9, 9)))
def test_any_gauge_reads_the_same(steps):
    """Up and down; without labels it is there from the start."""
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    family = Counts(GaugeMetricFamily, "running", "Now.", ())
    ours.register(family)
    gauge, reference = family.of(), Gauge("running", "Now.", registry=theirs)
    for step in steps:
        (gauge.inc if step > 0 else gauge.dec)(abs(step))
        reference.inc(step)
    assert scraped(ours) == scraped(theirs)
