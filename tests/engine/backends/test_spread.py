"""The threads of a pass don't stay on one core."""

from __future__ import annotations

import os
import sys
import threading

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from warmline.engine.backends import spread
from warmline.engine.backends.spread import ThreadSpread, openmp_threads, placed_apart

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
cores = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="there is one core only"
)


@given(st.dictionaries(st.integers(1, 50), st.integers(0, 7), max_size=10), st.integers(8, 12))
def test_each_thread_gets_a_core_of_its_own_if_there_are_enough(on: dict[int, int], count: int) -> None:
    """Those that are alone on theirs stay, and the first of those that share one."""
    apart = placed_apart(on, dict.fromkeys(on, range(count)))
    assert apart.keys() == on.keys()
    assert all(0 <= core < count for core in apart.values())
    if len(on) <= count:
        assert len(set(apart.values())) == len(on)
    first_on = {core: thread for thread, core in reversed(on.items())}
    assert all(apart[thread] == core for core, thread in first_on.items())


def test_a_thread_is_not_placed_where_it_may_not_run() -> None:
    """It stays then."""
    assert placed_apart({1: 0, 2: 0, 3: 0}, {1: {0, 1}, 2: {0, 2}, 3: {0}}) == {1: 0, 2: 2, 3: 0}


@linux
def test_the_threads_are_those_of_torch() -> None:
    """This one, and the same others each time."""
    threads = openmp_threads()
    assert len(threads) == torch.get_num_threads()
    assert threads[0] == threading.get_native_id()
    assert openmp_threads() == threads


def test_what_keeps_them_from_being_told_fails_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that forbids to make code at run time, for one."""

    def fail() -> set[int]:
        raise MemoryError

    monkeypatch.setattr(spread, "_threads_of_a_region", fail)
    assert openmp_threads() == []


@linux
@cores
def test_threads_on_one_core_are_held_apart_until_the_pass_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the first pass after a pause only."""
    monkeypatch.setattr(spread, "_core_of", lambda _: min(os.sched_getaffinity(0)))
    before = {thread: os.sched_getaffinity(thread) for thread in openmp_threads()}
    if len(before) < 2:
        pytest.skip("torch uses one thread")
    held = ThreadSpread()
    held.begin()
    held.under_way()
    bound = [os.sched_getaffinity(thread) for thread in before]
    assert all(len(cores) == 1 for cores in bound)
    assert len(set.union(*bound)) == len(before)
    started, go_on = threading.Event(), threading.Event()
    other = threading.Thread(target=lambda: (started.set(), go_on.wait()))
    other.start()
    started.wait()
    held.end()
    assert other.native_id is not None
    assert os.sched_getaffinity(other.native_id) == before[threading.get_native_id()]  # not left bound
    go_on.set()
    other.join()
    assert {thread: os.sched_getaffinity(thread) for thread in before} == before
    held.begin()  # at once
    held.under_way()
    assert {thread: os.sched_getaffinity(thread) for thread in before} == before
    held.end()


@linux
def test_threads_that_are_apart_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where they run is the system's business."""
    monkeypatch.setattr(spread, "_core_of", lambda thread: thread)
    monkeypatch.setattr(spread, "_bind", lambda *_: pytest.fail("bound"))
    apart = ThreadSpread()
    apart.begin()
    apart.under_way()
    apart.end()


def test_elsewhere_nothing_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where torch brings no libgomp: macOS, Windows."""
    monkeypatch.setattr(spread, "openmp_threads", list)
    monkeypatch.setattr(spread, "_core_of", lambda _: pytest.fail("looked"))
    elsewhere = ThreadSpread()
    elsewhere.begin()
    elsewhere.under_way()
    elsewhere.end()
