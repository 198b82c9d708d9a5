"""Looking at a service again and again."""

from __future__ import annotations

import io
from typing import cast

import pytest
from rich.console import Console, RenderableType
from warmline.engine import EngineStats
from warmline.realtime.protocol import Receipt, Timing
from warmline.realtime.telemetry.metrics import Metrics
from warmline.realtime.telemetry.scrape import MetricsPage, Unreadable
from warmline.realtime.top.watch import Watch, show_live, show_once


class FakePage:
    """A service's metrics, which can be away, and the clock."""

    url = "http://there:1/metrics"

    def __init__(self) -> None:
        self.metrics = Metrics(EngineStats, lambda: 0.0)
        self.away = False
        self.now = 100.0

    def read(self) -> bytes:
        if self.away:
            raise Unreadable("gone")
        return self.metrics.render()

    def edits_end(self, count: int) -> None:
        for _ in range(count):
            self.metrics.request_ended("edit", "stop", Receipt(output_tokens=1), Timing(0, 1, 2))

    def watch(self, window: float) -> Watch:
        return Watch(cast("MetricsPage", self), "ws://there:1", window, lambda: self.now)


def text(screen: RenderableType) -> str:
    to = Console(file=io.StringIO(), width=120)
    to.print(screen)
    return cast("io.StringIO", to.file).getvalue()


def output(screen: RenderableType) -> str:
    """What is said of output tokens, of which each request has one."""
    return next((line for line in text(screen).splitlines() if line.startswith("output")), "").strip()


def test_the_first_look_is_at_everything_and_the_next_at_what_came_since() -> None:
    """As far back as the window goes."""
    page = FakePage()
    page.edits_end(50)
    watch = page.watch(10.0)
    assert output(watch.look()) == "output   50 tokens"
    for seconds, ended, expected in (
        (4, 8, "8 tokens, 2"),
        (4, 0, "8 tokens, 1"),
        (4, 6, "14 tokens, 1"),
        (4, 6, "12 tokens, 1"),
    ):
        page.now += seconds
        page.edits_end(ended)
        assert output(watch.look()) == f"output   {expected} a second"


def test_a_service_that_is_away_is_waited_for() -> None:
    """What was seen last stays, below why there is nothing newer."""
    page = FakePage()
    seen: list[str] = []
    to = Console(file=io.StringIO(), width=100, height=20, force_terminal=True)

    def sleep(seconds: float) -> None:
        assert seconds == 0.5
        seen.append(cast("io.StringIO", to.file).getvalue())
        page.now += seconds
        page.away = len(seen) == 1
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        show_live(page.watch(10.0), to, 0.5, sleep)
    first, away, back = (seen[0], seen[1][len(seen[0]) :], seen[2][len(seen[1]) :])
    assert "since its start" in first
    assert "gone; trying again" in away and "since its start" in away
    assert "gone" not in back and "the last 1 s" in back


def test_one_screen_can_be_printed() -> None:
    """For a file, or a look."""
    to = Console(file=io.StringIO(), width=100)
    show_once(FakePage().watch(10.0), to)
    assert "warmline" in cast("io.StringIO", to.file).getvalue()


def test_a_page_that_is_something_else_is_said_so() -> None:
    """Another service may listen there."""
    page = FakePage()
    page.read = lambda: b"<html>{hello}</html>"  # type: ignore[method-assign]
    with pytest.raises(Unreadable, match="http://there:1/metrics has no metrics"):
        page.watch(10.0).look()
