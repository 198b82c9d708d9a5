"""The screen that `warmline top` shows."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from warmline.engine import EngineStats
from warmline.realtime.protocol import Drafts, Receipt, Timing
from warmline.realtime.telemetry.metrics import Metrics
from warmline.realtime.top.figures import Figures
from warmline.realtime.top.view import render

ABOUT = {"version": "1.2.3", "model": "smol", "adapter": "edits", "backend": "cpu", "threads": "2"}
RECEIPT = Receipt(100, 60, 20, 20, 50, 0, 9, [Drafts("edit", 40, 30), Drafts("suffix", 10, 0)], 0)
TIMING = Timing(0, 3000, 9000, server_parse=100, engine_prefill=2000, engine_step=6900)


def shown(now: Figures, recent: Figures, seconds: float | None) -> list[str]:
    """The lines of the screen, with single blanks."""
    to = Console(file=io.StringIO(), width=150)
    to.print(render("ws://there:1", now, recent, seconds))
    return [" ".join(line.split()) for line in to.file.getvalue().splitlines()]  # type: ignore[attr-defined]


@pytest.fixture
def metrics() -> Metrics:
    stats = EngineStats(running=1, waiting=2, warming=3, blocks_used=10, blocks_cached=30, blocks_total=100)
    return Metrics(lambda: stats, lambda: 0.1, ABOUT)


def figures(metrics: Metrics) -> Figures:
    return Figures.parse(metrics.render())


def test_it_says_what_runs_and_what_it_has(metrics: Metrics) -> None:
    """Also where nothing was asked yet."""
    metrics.sessions.inc(4)
    metrics.documents.inc(6)
    now = figures(metrics)
    lines = shown(now, now, None)
    assert lines[:5] == [
        "warmline 1.2.3 at ws://there:1 (since its start)",
        "model smol with edits, cpu backend, 2 threads",
        "sessions 4, with 6 documents",
        "sequences 1 running, 2 waiting, 3 warming",
        "KV cache used 10%, cached 30%, free 60%",
    ]
    assert len(lines) == 6  # nothing about requests


def test_it_says_what_requests_cost_and_where_their_time_went(metrics: Metrics) -> None:
    """By kind, by hop, by where prompts and drafts came from."""
    metrics.request_ended("edit", "stop", RECEIPT, TIMING)
    metrics.request_ended("edit", "cancel", Receipt(), Timing())
    metrics.request_ended("chat", "error", Receipt(), Timing())
    metrics.message_refused("stale_version")
    now = figures(metrics)
    lines = shown(now, now, 10.0)
    assert "warmline 1.2.3 at ws://there:1 (the last 10 s)" in lines
    (edit,) = [line for line in lines if line.startswith("edit 2")]
    assert edit.startswith("edit 2 0.20 1 0 3.5 ms")
    (chat,) = [line for line in lines if line.startswith("chat")]
    assert chat == "chat 1 0.10 0 1 - - - - - -"
    (step,) = [line for line in lines if line.startswith("engine.step")]
    assert "76.7% ██████" in step
    assert "prompts 100 tokens: warmed 60%, cached 20%, computed 20%" in lines
    assert "output 50 tokens, 5 a second" in lines
    assert any(line.startswith("edit 40 30 75% ██") for line in lines)
    assert any(line.startswith("suffix 10 0 0%") for line in lines)
    assert lines[-1] == "refused stale_version 1"


def test_it_says_what_became_of_lost_sockets_and_who_came_to_a_limit(metrics: Metrics) -> None:
    """Sessions without a socket, resumes by outcome, and refusals by the limit's name."""
    metrics.sessions.inc(4)
    metrics.parked.inc()
    metrics.resumes.of("resumed").inc(3)
    metrics.resumes.of("given_up").inc(2)
    metrics.message_refused("too_many_requests")
    metrics.limited("key", "requests")
    metrics.limited("connection", "documents")
    now = figures(metrics)
    lines = shown(now, now, 10.0)
    assert "sessions 4, with 0 documents, 1 without a socket, 2 given up, 3 resumed" in lines
    assert lines[-2:] == ["refused too_many_requests 1", "by limits connection.documents 1, key.requests 1"]


def test_an_engine_that_is_silent_is_said_so() -> None:
    """Its heartbeat comes twice a second."""
    now = figures(Metrics(EngineStats, lambda: 12.0, ABOUT))
    assert any("no sign of life for 12 s" in line for line in shown(now, now, None))


def test_names_are_shown_as_they_are() -> None:
    """A model may be named like a style."""
    now = figures(Metrics(EngineStats, lambda: 0.0, {**ABOUT, "model": "[red]x"}))
    assert "model [red]x with edits, cpu backend, 2 threads" in shown(now, now, None)
