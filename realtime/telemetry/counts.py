"""Counters and gauges that are cheap to change: the event loop alone does, and Prometheus asks rarely.

Those of `prometheus_client` lock, and look their labels up, at every change; a request makes a dozen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector


class Count:
    """A number, such as `prometheus_client` has: a counter or a gauge."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0

    def inc(self, by: int = 1) -> None:
        """Add."""
        self.value += by

    def dec(self, by: int = 1) -> None:
        """Take away; of gauges only."""
        self.value -= by


class Counts(Collector):
    """A family of them for Prometheus, one for each combination of its labels' values."""

    def __init__(
        self, family: type[CounterMetricFamily | GaugeMetricFamily], name: str, help_text: str, labels: Sequence[str]
    ) -> None:
        self._family = family
        self._name = name
        self._help = help_text
        self._labels = labels
        self._by_values: dict[tuple[str, ...], Count] = {}

    def of(self, *values: str) -> Count:
        """That of the labels' values, in their order; seen by Prometheus from now on."""
        found = self._by_values.get(values)
        if found is None:
            found = self._by_values[values] = Count()
        return found

    def collect(self) -> Iterator[Metric]:
        """See `Collector`."""
        family = self._family(self._name, self._help, labels=self._labels)
        for values, count in self._by_values.items():
            family.add_metric(values, count.value)
        yield family
