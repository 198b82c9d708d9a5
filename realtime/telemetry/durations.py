"""Histograms that are cheap to fill: a request goes into a dozen of them while its client waits."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate

from prometheus_client.core import HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString


class Durations:
    """Counts durations by the smallest bound (seconds, ascending) that they don't exceed."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, seconds: float) -> None:
        """Count one."""
        self.counts[bisect_left(self.bounds, seconds)] += 1
        self.sum += seconds


class DurationsByLabel(Collector):
    """A family of histograms for Prometheus, one for each combination of its labels' values."""

    def __init__(self, name: str, help_text: str, labels: Sequence[str], bounds: Sequence[float]) -> None:
        self._name = name
        self._help = help_text
        self._labels = labels
        self._bounds = bounds
        self._by_values: dict[tuple[str, ...], Durations] = {}

    def of(self, *values: str) -> Durations:
        """The histogram of the labels' values, in their order."""
        found = self._by_values.get(values)
        if found is None:
            found = self._by_values[values] = Durations(self._bounds)
        return found

    def collect(self) -> Iterator[Metric]:
        """See `Collector`."""
        family = HistogramMetricFamily(self._name, self._help, labels=self._labels)
        names = [*map(floatToGoString, self._bounds), "+Inf"]
        for values, durations in self._by_values.items():
            buckets = zip(names, accumulate(durations.counts), strict=True)
            family.add_metric(values, [*buckets], durations.sum)
        yield family
