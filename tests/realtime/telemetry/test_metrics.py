"""What can be read at /metrics."""

from __future__ import annotations

import pytest
from warmline.engine import EngineStats
from warmline.realtime.protocol import Drafts, Receipt, Timing
from warmline.realtime.telemetry.metrics import Metrics

RECEIPT = Receipt(10, 1, 2, 7, 5, 0, 3, [Drafts("edit", 4, 3)], 0)
TIMING = Timing(received=1000, first_sent=3000, sent=9000, engine_prefill=1500, engine_step=4000)


@pytest.fixture
def metrics():
    stats = EngineStats(
        running=1, waiting=2, blocks_used=3, blocks_cached=4, blocks_total=10, output_tokens=5,
        warming=1, warm_computed_tokens=9, warm_used_tokens=8, warm_dropped=2,
        freed=(0, 2, *[0] * 10, 1, 3), free_seconds=9.5,
    )  # fmt: skip
    return Metrics(lambda: stats, lambda: 0.25)


def series(metrics: Metrics) -> dict[str, float]:
    """Every series and its value."""
    lines = metrics.render().decode().splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}


def test_a_request_is_observed_once(metrics):
    """Its outcome, its tokens, and where its time went, in seconds."""
    metrics.request_ended("edit", "stop", RECEIPT, TIMING)
    read = series(metrics)
    assert read['warmline_requests_total{kind="edit",outcome="stop"}'] == 1
    for kind, count in (("warmed", 1), ("cached", 2), ("computed", 7), ("output", 5)):
        assert read[f'warmline_tokens_total{{kind="{kind}"}}'] == count
    assert read['warmline_draft_tokens_total{outcome="proposed",source="edit"}'] == 4
    assert read['warmline_draft_tokens_total{outcome="accepted",source="edit"}'] == 3
    assert read[
        'gen_ai_server_time_to_first_token_seconds_sum{gen_ai_operation_name="edit",kind="edit"}'
    ] == pytest.approx(0.002)
    assert read[
        'gen_ai_server_time_per_output_token_seconds_sum{gen_ai_operation_name="edit",kind="edit"}'
    ] == pytest.approx(0.001)
    assert read[
        'gen_ai_server_request_duration_seconds_sum{gen_ai_operation_name="edit",kind="edit"}'
    ] == pytest.approx(0.008)
    assert read['warmline_hop_seconds_sum{hop="engine.prefill"}'] == pytest.approx(0.0015)
    assert read['warmline_hop_seconds_bucket{hop="server.write",le="5e-05"}'] == 1


def test_a_failed_request_says_nothing_about_times(metrics):
    """Only that it failed."""
    metrics.request_ended("edit", "error", Receipt(), Timing())
    read = series(metrics)
    assert read['warmline_requests_total{kind="edit",outcome="error"}'] == 1
    assert 'gen_ai_server_request_duration_seconds_sum{gen_ai_operation_name="edit",kind="edit"}' not in read


def test_a_request_without_text_has_no_first_token(metrics):
    """One cancelled before its first token."""
    metrics.request_ended("complete", "cancel", Receipt(), Timing(received=1, sent=2))
    read = series(metrics)
    assert (
        read['gen_ai_server_request_duration_seconds_count{gen_ai_operation_name="text_completion",kind="complete"}']
        == 1
    )
    assert (
        'gen_ai_server_time_to_first_token_seconds_count{gen_ai_operation_name="text_completion",kind="complete"}'
        not in read
    )


def test_the_engine_is_shown_as_it_is_now(metrics):
    """Gauges and counters of its newest statistics."""
    read = series(metrics)
    assert read["warmline_engine_heartbeat_age_seconds"] == 0.25
    assert (read["warmline_engine_sequences_running"], read["warmline_engine_sequences_waiting"]) == (1, 2)
    for state, count in (("used", 3), ("cached", 4), ("free", 3)):
        assert read[f'warmline_engine_kv_blocks{{state="{state}"}}'] == count
    assert read['warmline_engine_tokens_total{kind="output"}'] == 5


def test_the_time_to_free_what_was_cancelled_is_a_histogram(metrics):
    """As the engine counts it, by its bounds."""
    read = series(metrics)
    name = "warmline_engine_cancel_free_seconds"
    buckets = {bound: read[f'{name}_bucket{{le="{bound}"}}'] for bound in ("0.0001", "0.0002", "0.5", "1.0", "+Inf")}
    assert buckets == {"0.0001": 0, "0.0002": 2, "0.5": 2, "1.0": 3, "+Inf": 6}
    assert (read[f"{name}_count"], read[f"{name}_sum"]) == (6, 9.5)


def test_warm_work_is_counted_from_nothing(metrics):
    """Every event has its series from the start; what the engine computed ahead stands beside what was used of it."""
    metrics.warm_requests.labels("finished").inc()
    read = series(metrics)
    for event in ("started", "finished", "cancelled", "dropped", "over_budget"):
        assert read[f'warmline_warm_requests_total{{event="{event}"}}'] == (event == "finished")
    assert read['warmline_engine_tokens_total{kind="warm_computed"}'] == 9
    assert read['warmline_engine_tokens_total{kind="warm_used"}'] == 8
    assert (read["warmline_engine_sequences_warming"], read["warmline_engine_warm_dropped_total"]) == (1, 2)


def test_servers_in_one_process_count_for_themselves(metrics):
    """There is no global registry."""
    other = Metrics(EngineStats, lambda: 0.0)
    other.sessions.inc()
    assert series(metrics)["warmline_sessions"] == 0
