"""Which processors the two ends may use."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from .children import Child


@dataclass(frozen=True, slots=True)
class Placement:
    """Processors for the servers with their players, and for the clients, which are this process."""

    name: str
    servers: frozenset[int]
    clients: frozenset[int]

    def take(self, children: Iterable[Child]) -> None:
        """Put everybody in place."""
        for child in children:
            child.place(set(self.servers))
        os.sched_setaffinity(0, self.clients)


def placements() -> list[Placement]:
    """One core for all; and, where there are two, one for each end. The last one counts."""
    cpus = sorted(os.sched_getaffinity(0))
    one = Placement("one core", frozenset(cpus[-1:]), frozenset(cpus[-1:]))
    if len(cpus) == 1:
        return [one]
    return [one, Placement("two cores", frozenset(cpus[:1]), frozenset(cpus[1:2]))]
