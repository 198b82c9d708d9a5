"""The units that records are made of, drawn by size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Final, TypeAlias

from .source import SourceFile, Unit

Sizes: TypeAlias = tuple[tuple[int, float], ...]
"""Up to how many lines a unit has, ascending, and how many of the records are to be from such units."""

_FILES_AT_ONCE: Final = 24
_DRAWS_OF_FILES: Final = 3000


class Pool:
    """The units of one language group."""

    def __init__(self, files: Sequence[SourceFile], sizes: Sizes) -> None:
        self._sizes = sizes
        self._units = [units for file in files if (units := list(file.units()))]
        self.by_path = {(units[0].file.package, units[0].file.path): units for units in self._units}
        self.refill()

    def refill(self) -> None:
        """Make all units available."""
        self._left = [list(units) for units in self._units]
        self._buckets: list[list[Unit]] = []
        self._drawn = 0

    def draw(self, random: Random, usable: Callable[[Unit], bool]) -> Unit | None:
        """A unit that is usable, None if none is left.

        For a while they come from a few files, since what transformations find out about a file they keep for the
        next ones.
        """
        self._drawn += 1
        if self._drawn % _DRAWS_OF_FILES == 0:
            self._buckets = []
        while True:
            weights = [
                weight if units else 0.0 for units, (_, weight) in zip(self._buckets, self._sizes, strict=False)
            ]
            if not any(weights):
                if not self._gather(random, usable):
                    return None
                continue
            units = random.choices(self._buckets, weights)[0]
            index = random.randrange(len(units))
            if usable(units[index]):
                return units[index]
            units[index] = units[-1]
            units.pop()

    def _gather(self, random: Random, usable: Callable[[Unit], bool]) -> bool:
        """Take other files; False if none has a usable unit left."""
        random.shuffle(self._left)
        self._buckets = [[] for _ in self._sizes]
        files = 0
        for units in self._left:
            units[:] = filter(usable, units)
            for unit in units:
                lines = unit.file.data.count(b"\n", unit.start, unit.end)
                size = next((i for i, (most, _) in enumerate(self._sizes) if lines <= most), len(self._sizes) - 1)
                self._buckets[size].append(unit)
            files += bool(units)
            if files == _FILES_AT_ONCE:
                break
        self._left = [units for units in self._left if units]
        return files > 0
