"""Who is told of a request's end."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs
from warmline.engine import EngineStats
from warmline.realtime.protocol import Receipt, Timing
from warmline.realtime.telemetry.metrics import Metrics
from warmline.realtime.telemetry.request_end import RequestEnd, observe_end

END = RequestEnd("edit", {"session": "s1"}, "stop", Receipt(prompt_tokens=3), Timing(1, 2, 3))


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(EngineStats, lambda: 0.0)


def test_metrics_and_observers_are_told(metrics: Metrics) -> None:
    """Each observer gets the same."""
    told: list[RequestEnd] = []
    observe_end(metrics, (told.append, told.append), END)
    assert told == [END, END]
    assert 'warmline_requests_total{kind="edit",outcome="stop"} 1.0' in metrics.render().decode()


def test_an_observer_that_fails_keeps_nobody_from_being_told(metrics: Metrics) -> None:
    """It is logged, with the request's names."""

    def failing(end: RequestEnd) -> None:
        raise OSError("no space left")

    told: list[RequestEnd] = []
    with capture_logs() as logs:
        observe_end(metrics, (failing, told.append), END)
    assert told == [END]
    (failure,) = [entry for entry in logs if entry["log_level"] == "error"]
    assert failure["session"] == "s1" and failure["exc_info"]
