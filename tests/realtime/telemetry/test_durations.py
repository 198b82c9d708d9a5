"""Our histograms say what Prometheus' own would."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram, generate_latest
from warmline.realtime.telemetry.durations import DurationsByLabel

BOUNDS = (0.001, 0.01, 0.5)


KINDS = st.sampled_from([("text_completion", "complete"), ("text_completion", "http_completion"), ("chat", "chat")])


@given(st.lists(st.tuples(KINDS, st.sampled_from([0, 0.001, 0.002, 0.01, 0.5, 0.6, 9]))))
def test_any_durations_read_the_same(durations):
    """Counts, sums and bounds, by labels, in the text that is scraped."""
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    family = DurationsByLabel("seconds", "How long.", ["operation", "kind"], BOUNDS)
    ours.register(family)
    reference = Histogram("seconds", "How long.", ["operation", "kind"], buckets=BOUNDS, registry=theirs)
    for kind, seconds in durations:
        family.of(*kind).observe(seconds)
        reference.labels(*kind).observe(seconds)
    expected = [line for line in generate_latest(theirs).decode().splitlines() if "_created" not in line]
    assert generate_latest(ours).decode().splitlines() == expected
