"""A gateway may have as many sockets as it is configured for, if the system lets it."""

from __future__ import annotations

import sys

import pytest
from warmline.realtime.sockets.open_files import SPARE, allow_sockets

resource = pytest.importorskip("resource", reason="only Unix counts sockets as files")
UNLIMITED = resource.RLIM_INFINITY


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch):
    """The process' limits; set them by calling it, and read what they are by calling it with nothing."""
    now = [0, 0]

    def limits(*given: int) -> tuple[int, int]:
        now[:] = given or now
        return now[0], now[1]

    monkeypatch.setattr(resource, "getrlimit", lambda kind: limits())
    monkeypatch.setattr(resource, "setrlimit", lambda kind, given: limits(*given))
    return limits


@pytest.mark.parametrize(
    ("before", "after", "allowed"),
    [
        ((1024, 1 << 20), (10_000 + SPARE, 1 << 20), 10_000),
        ((1024, UNLIMITED), (10_000 + SPARE, UNLIMITED), 10_000),
        ((1 << 20, 1 << 20), (1 << 20, 1 << 20), 10_000),
        ((UNLIMITED, UNLIMITED), (UNLIMITED, UNLIMITED), 10_000),
        ((1024, 4096), (4096, 4096), 4096 - SPARE),
        ((64, 64), (64, 64), 1),
    ],
)
def test_the_soft_limit_is_raised_as_far_as_needed(limits, before, after, allowed):
    """And never lowered; the hard one stays."""
    limits(*before)
    assert allow_sockets(10_000) == allowed
    assert limits() == after


def test_a_system_that_refuses_leaves_what_there_is(limits, monkeypatch):
    """macOS has a limit of its own below the hard one."""
    limits(1024, UNLIMITED)

    def refuse(kind: int, given: tuple[int, int]) -> None:
        raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert allow_sockets(10_000) == 1024 - SPARE


def test_where_sockets_are_no_files_there_is_no_limit(monkeypatch):
    """On Windows."""
    monkeypatch.setattr(sys, "platform", "win32")
    assert allow_sockets(10_000) == 10_000
