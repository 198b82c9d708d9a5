"""What a page of metrics says, at one moment or between two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

_GROWING: Final = ("_total", "_bucket", "_sum", "_count")
"""What names of series end with that only grow, but for a restart."""

_Series = tuple[str, frozenset[tuple[str, str]]]


@dataclass(frozen=True, slots=True)
class Distribution:
    """Durations, counted in buckets.

    Attributes:
        bounds: seconds, ascending; the last is infinite.
        counts: of durations up to each bound, so that the last is of all.
        seconds: all of them together.
    """

    bounds: tuple[float, ...] = ()
    counts: tuple[float, ...] = ()
    seconds: float = 0.0

    @property
    def count(self) -> float:
        """How many there are."""
        return self.counts[-1] if self.counts else 0.0

    @property
    def mean(self) -> float | None:
        """Seconds; None without any."""
        return self.seconds / self.count if self.count else None

    def quantile(self, part: float) -> float | None:
        """The duration (seconds) that this part of them does not exceed; None without any.

        As Prometheus' ``histogram_quantile``: they are taken to lie evenly within a bucket, and beyond the last
        finite bound at that bound.
        """
        if not self.count:
            return None
        rank, lower, below = part * self.count, 0.0, 0.0
        for bound, count in zip(self.bounds, self.counts, strict=True):
            if count >= rank and count > below:
                return lower if bound == inf else lower + (bound - lower) * (rank - below) / (count - below)
            lower, below = bound, count
        return lower


@dataclass(frozen=True, slots=True)
class Figures:
    """The series of a page of metrics and their values. Labels are given by name; those not given may be any."""

    _values: Mapping[_Series, float] = field(default_factory=dict)

    @classmethod
    def parse(cls, page: bytes) -> Figures:
        """Read a page in Prometheus' text format.

        Raises:
            ValueError: it is none.

        """
        values: dict[_Series, float] = {}
        for family in text_string_to_metric_families(page.decode()):
            for sample in family.samples:
                values[sample.name, frozenset(sample.labels.items())] = sample.value
        return cls(values)

    def since(self, earlier: Figures) -> Figures:
        """What came since, of counters and distributions; all of it if the service was restarted in between."""
        growing = {series: value for series, value in self._values.items() if series[0].endswith(_GROWING)}
        gained = {series: value - earlier._values.get(series, 0.0) for series, value in growing.items()}
        if any(value < 0 for value in gained.values()):
            return self
        return Figures({**self._values, **gained})

    def total(self, name: str, **labels: str) -> float:
        """The sum of the series of a name."""
        return sum(value for _, value in self._series(name, labels))

    def by(self, name: str, label: str, **labels: str) -> dict[str, float]:
        """The sums by the values of a label, in alphabetical order."""
        sums: dict[str, float] = {}
        for found, value in self._series(name, labels):
            if label in found:
                sums[found[label]] = sums.get(found[label], 0.0) + value
        return dict(sorted(sums.items()))

    def labels(self, name: str) -> dict[str, str]:
        """The labels of the one series of a name; none if there is no such series."""
        return next((found for found, _ in self._series(name, {})), {})

    def distribution(self, name: str, **labels: str) -> Distribution:
        """The histogram of a name; of several that fit the labels, all together."""
        counts = {float(bound): count for bound, count in self.by(f"{name}_bucket", "le", **labels).items()}
        bounds = tuple(sorted(counts))
        return Distribution(bounds, tuple(counts[bound] for bound in bounds), self.total(f"{name}_sum", **labels))

    def _series(self, name: str, wanted: Mapping[str, str]) -> Iterator[tuple[dict[str, str], float]]:
        for (found, labels), value in self._values.items():
            if found == name and labels >= wanted.items():
                yield dict(labels), value
