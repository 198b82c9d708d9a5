"""How late the event loop wakes is measured, and what blocks it shows."""

from __future__ import annotations

import asyncio
import time

import pytest
from prometheus_client.parser import text_string_to_metric_families
from warmline.engine import EngineStats
from warmline.realtime.telemetry.loop_lag import INTERVAL, STALL, LagMonitor
from warmline.realtime.telemetry.metrics import Metrics


class FakeLoop:
    """Holds the one timer that was set, and calls it when told."""

    def __init__(self) -> None:
        self.now = 0
        self.timers = []

    def clock(self) -> int:
        return self.now

    def call_later(self, delay, callback, *arguments):
        timer = Timer()
        self.timers.append((self.now + round(delay * 1e9), callback, arguments, timer))
        return timer

    def fire(self, late: float) -> None:
        """Call the timer so many seconds after its time, unless it was cancelled."""
        due, callback, arguments, timer = self.timers.pop()
        self.now = due + round(late * 1e9)
        if not timer.cancelled:
            callback(*arguments)


class Timer:
    cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


@pytest.fixture
def metrics():
    return Metrics(EngineStats, lambda: 0.0)


def read(metrics: Metrics, name: str, **labels: str) -> float:
    families = text_string_to_metric_families(metrics.render().decode())
    (value,) = [s.value for family in families for s in family.samples if s.name == name and s.labels == labels]
    return value


def test_lateness_goes_into_the_histogram_and_long_ones_count_as_stalls(metrics):
    """Each look by itself: one that was late doesn't make the next one late."""
    loop = FakeLoop()
    LagMonitor(metrics, loop.clock).start(loop)
    for late in (-0.0003, 0.0002, 0.004, STALL + 1e-6, 0.3, 0.0):
        loop.fire(late)
        assert len(loop.timers) == 1
    lag = "warmline_event_loop_lag_seconds"
    assert read(metrics, f"{lag}_count") == 6
    assert read(metrics, f"{lag}_sum") == pytest.approx(0.0002 + 0.004 + STALL + 1e-6 + 0.3)
    assert [read(metrics, f"{lag}_bucket", le=le) for le in ("0.0001", "0.00025", "0.005", "0.01")] == [2, 3, 4, 5]
    assert read(metrics, "warmline_event_loop_stalls_total") == 2


def test_a_monitor_that_was_stopped_looks_no_more(metrics):
    """Nothing is observed and no timer is left."""
    loop = FakeLoop()
    monitor = LagMonitor(metrics, loop.clock)
    monitor.start(loop)
    monitor.stop()
    monitor.stop()
    loop.fire(0.1)
    assert loop.timers == []
    assert read(metrics, "warmline_event_loop_lag_seconds_count") == 0


async def test_a_callback_that_blocks_the_loop_shows(metrics):
    """On a real loop."""
    monitor = LagMonitor(metrics)
    monitor.start(asyncio.get_running_loop())
    time.sleep(INTERVAL + 0.03)
    await asyncio.sleep(0.001)
    monitor.stop()
    assert read(metrics, "warmline_event_loop_stalls_total") >= 1
    assert read(metrics, "warmline_event_loop_lag_seconds_sum") >= 0.03


async def test_a_server_watches_its_loop_while_it_serves(serve, until):
    """And leaves no timer behind."""
    server = await serve()
    await until(lambda: read(server._service.metrics, "warmline_event_loop_lag_seconds_count") > 0)
    await server.close()
    seen = read(server._service.metrics, "warmline_event_loop_lag_seconds_count")
    await asyncio.sleep(2 * INTERVAL)
    assert read(server._service.metrics, "warmline_event_loop_lag_seconds_count") == seen
