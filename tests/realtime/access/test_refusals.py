"""Who was turned away is counted, and logged a few times a second."""

from __future__ import annotations

from structlog.testing import capture_logs
from warmline.realtime.access.refusals import Reason, Refusals


def test_a_flood_is_counted_and_not_logged(metrics):
    """Some lines come, then one that says how many were left out."""
    now = 0.0
    refusals = Refusals(metrics, lambda: now)
    with capture_logs() as lines:
        for _ in range(1000):
            refusals.note("websocket", Reason.WRONG_KEY, "192.0.2.1")
        first = len(lines)
        now = 10.0
        refusals.note("http", Reason.ORIGIN, "192.0.2.1", origin="https://evil.example", host=None)
    assert 10 <= first <= 30
    assert lines[-1]["lines_left_out"] == 1000 - first
    assert lines[-1]["origin"] == "https://evil.example"
    assert "host" not in lines[-1]
    text = metrics.render()
    assert b'warmline_refused_connections_total{listener="websocket",reason="wrong_key"} 1000.0' in text
    assert b'warmline_refused_connections_total{listener="http",reason="origin"} 1.0' in text


def test_what_a_stranger_sends_is_cut(metrics):
    """A line has a bounded length."""
    with capture_logs() as lines:
        Refusals(metrics).note("http", Reason.HOST, "192.0.2.1", host="x" * 10_000)
    assert len(lines[0]["host"]) < 200
