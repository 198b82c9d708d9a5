"""Keep the threads that share a pass on cores of their own.

After a pause of some 50 ms Linux may wake OpenMP's threads all on one core, and leaves them there: each region of a
pass is shorter than what its load balancer moves a thread for. The pass then takes two to three times as long, and
it is the first one of a request that nobody computed anything before. So the threads are looked at early in such a
pass, and if two are on one core, each is held on its own until the pass ends. Longer would be a trap: other processes
that are bound to the same cores, in containers of one machine for instance, would compete while others are idle.
"""

from __future__ import annotations

import ctypes
import logging
import os
import random
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import torch

logger = logging.getLogger(__name__)

_PAUSE_SECONDS: Final = 0.005
"""Threads that waited for less have stayed where they were."""
_PROCESSOR_FIELD: Final = 38
"""Of /proc/PID/stat, counted from 0: the core that the thread ran on last (proc_pid_stat(5))."""


class ThreadSpread:
    """For one backend. Does nothing where the threads or their cores can't be told: elsewhere than on Linux."""

    def __init__(self) -> None:
        self._master = 0
        self._threads: list[int] = []
        self._looks = False
        self._ended = 0.0
        self._held: dict[int, set[int]] = {}
        self._known: set[int] = set()

    def begin(self) -> None:
        """A pass begins in this thread."""
        if self._master != threading.get_native_id():  # each has a pool of its own
            self._master = threading.get_native_id()
            self._threads = openmp_threads()
        self._looks = len(self._threads) > 1 and time.monotonic() - self._ended > _PAUSE_SECONDS

    def under_way(self) -> None:
        """All threads have taken part in the pass by now."""
        if self._looks:
            self._looks = False
            self._hold()

    def end(self) -> None:
        """The pass has ended; also to be said of one that was given up."""
        if self._held:
            for thread in _threads() - self._known:  # begun meanwhile, they are bound as this one is
                _bind(thread, self._held[self._master])
            for thread, cores in self._held.items():
                _bind(thread, cores)
            self._held = {}
        self._ended = time.monotonic()

    def _hold(self) -> None:
        try:
            allowed = {thread: os.sched_getaffinity(thread) for thread in self._threads}
            cores = {thread: _core_of(thread) for thread in self._threads}
        except OSError:  # a thread has ended: look for those there are, the next time
            self._master = 0
            return
        apart = placed_apart(cores, allowed)
        if apart != cores:
            self._held, self._known = allowed, _threads()
            for thread, core in apart.items():  # all of them: one that is free to move joins another on its core
                _bind(thread, {core})


def placed_apart(cores: Mapping[int, int], allowed: Mapping[int, Iterable[int]]) -> dict[int, int]:
    """A core for each thread: its own where it has that for itself, else one that none of them is on.

    Those that no core is left for stay.
    """
    placed: dict[int, int] = {}
    taken = set(cores.values())
    for thread, core in cores.items():
        if core not in placed.values():
            placed[thread] = core
            continue
        free = sorted(set(allowed[thread]) - taken)
        placed[thread] = random.choice(free) if free else core
        taken.add(placed[thread])
    return placed


def openmp_threads() -> list[int]:
    """The system's ids of the threads that torch's OpenMP runs this thread's regions in, this one first.

    None if that isn't known.
    """
    try:
        found = _threads_of_a_region()
    except Exception:  # whatever keeps a system from telling: no pass is to fail for it
        logger.exception("OpenMP's threads can't be told; after a pause they may share a core")
        return []
    own = threading.get_native_id()
    return [own, *sorted(found - {own})] if found else []


def _threads_of_a_region() -> set[int]:
    bundled = sorted((Path(torch.__file__).parent / "lib").glob("libgomp*.so*"))
    if not bundled or not hasattr(os, "sched_setaffinity"):
        return set()
    found: set[int] = set()

    signature = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    region = signature(lambda _: found.add(threading.get_native_id()))
    library = ctypes.CDLL(str(bundled[0]))
    library.GOMP_parallel.argtypes = [signature, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint]
    library.GOMP_parallel.restype = None
    library.GOMP_parallel(region, None, torch.get_num_threads(), 0)
    return found


def _threads() -> set[int]:
    return {int(thread.name) for thread in Path("/proc/self/task").iterdir()}


def _core_of(thread: int) -> int:
    stat = Path(f"/proc/self/task/{thread}/stat").read_bytes()
    # The name, in brackets, may have spaces.
    return int(stat[stat.rindex(b")") + 2 :].split()[_PROCESSOR_FIELD - 2])


def _bind(thread: int, cores: set[int]) -> None:
    try:
        os.sched_setaffinity(thread, cores)
    except OSError:  # it has ended, or the cores were taken from us meanwhile
        return
