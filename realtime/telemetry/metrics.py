"""What the service counts and times, for Prometheus. Requests are observed once, at their end; never per token."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    Info,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString
from warmline.engine import FREE_SECONDS, GAP_SECONDS, EngineStats

from ..protocol import Receipt, Timing
from .counts import Count, Counts
from .durations import DurationsByLabel
from .tracing import HOPS

disable_created_metrics()  # type: ignore[no-untyped-call]  # a gauge beside every series, which nobody reads

_SECONDS: Final = (
    50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 20e-3, 50e-3, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0,
)  # fmt: skip
"""Buckets of all durations. The usual first bucket of 10 ms would hide everything that happens here."""
_OPERATIONS: Final = {"complete": "text_completion", "http_completion": "text_completion", "http_chat": "chat"}
_REQUEST: Final = ("gen_ai_operation_name", "kind")
"""Labels of what times a request: OpenTelemetry's, and our own, which tells the doors apart."""
_LAG_SECONDS: Final = (100e-6, 250e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 20e-3, 50e-3, 0.1, 0.5, 1.0)


class Metrics:
    """The counters, gauges and histograms of one server, in a registry of their own."""

    def __init__(
        self,
        engine_stats: Callable[[], EngineStats],
        heartbeat_age: Callable[[], float],
        about: Mapping[str, str] | None = None,
    ) -> None:
        """Make them. ``about`` says what runs, in labels of ``warmline_info``."""
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        Info("warmline", "What runs.", registry=self.registry).info({**(about or {})})
        self.sessions = self._gauge("warmline_sessions", "Sessions that have said hello.")
        self.parked = self._gauge("warmline_sessions_parked", "Sessions that lost their socket and may be resumed.")
        self.resumes = self._counts(
            "warmline_session_resumes",
            "Sessions resumed, refused (not known any more, or not the client's), and given up after a while.",
            "outcome",
        )
        self.documents = self._gauge("warmline_documents", "Open documents.")
        self.running = self._gauge("warmline_requests_running", "Requests running now.")
        self._changes = self._counts("warmline_changes", "Document changes taken, by who made them.", "source")
        self._refused = self._counts("warmline_refused_messages", "Messages refused, by error code.", "code")
        self._http_refused = self._counts(
            "warmline_refused_http_requests", "Requests of the HTTP API that got no answer, by error code.", "code"
        )
        self._turned_away = self._counts(
            "warmline_refused_connections",
            "Handshakes, GETs and sessions that were turned away, by listener and reason.",
            "listener",
            "reason",
        )
        self._limited = self._counts(
            "warmline_limited", "Refusals by a limit of a connection, an API key or an address.", "scope", "limit"
        )
        self.key_tokens = self._counts(
            "warmline_key_tokens", "Tokens computed of prompts and generated, by the API key's name.", "key", "kind"
        )
        self.key_sessions = Counts(GaugeMetricFamily, "warmline_key_sessions", "Sessions by API key's name.", ["key"])
        self.registry.register(self.key_sessions)
        self.api_keys = self._gauge("warmline_api_keys", "API keys that are known.")
        self._reloads = self._counts(
            "warmline_reloads", "Times that keys or certificates were read again.", "what", "outcome"
        )
        self._requests = self._counts("warmline_requests", "Requests ended.", "kind", "outcome")
        self.warm_requests = Counter(
            "warmline_warm_requests",
            "Prompts computed ahead, by what became of them: cancelled for a newer one or a request, dropped by the "
            "engine, put off as over_budget.",
            ["event"],
            registry=self.registry,
        )
        for event in ("started", "finished", "cancelled", "dropped", "over_budget"):
            self.warm_requests.labels(event)
        self.continued = self._counts(
            "warmline_completions_continued",
            "Completions that went on with what was generated for the one before.",
        ).of()
        self.steers = self._counts("warmline_steers", "Instructions added to running edits.").of()
        tokens = self._counts(
            "warmline_tokens",
            "Tokens: prompt (warmed, cached, computed) and output. Of all prompt tokens, warmed is the warm share.",
            "kind",
        )
        self._warmed, self._cached, self._computed, self._output = map(
            tokens.of, ("warmed", "cached", "computed", "output")
        )
        self._drafts = self._counts(
            "warmline_draft_tokens", "Draft tokens by source and outcome.", "source", "outcome"
        )
        self._first = self._histogram(
            "gen_ai_server_time_to_first_token_seconds",
            "From the request's arrival to its first text written.",
            *_REQUEST,
        )
        self._per_token = self._histogram(
            "gen_ai_server_time_per_output_token_seconds",
            "The engine's time after the first token over the tokens after it.",
            *_REQUEST,
        )
        self._whole = self._histogram(
            "gen_ai_server_request_duration_seconds",
            "From the request's arrival to its last text written.",
            *_REQUEST,
        )
        self._hop = self._histogram("warmline_hop_seconds", "Time spent in each hop of a request.", "hop")
        self._hops = [(hop, self._hop.of(hop.replace("_", ".", 1))) for hop in HOPS]
        self.slow_readers = Counter(
            "warmline_slow_readers", "Sockets closed because their client read too slowly.", registry=self.registry
        )
        self.loop_lag = Histogram(
            "warmline_event_loop_lag_seconds",
            "How late a timer of the event loop was called.",
            buckets=_LAG_SECONDS,
            registry=self.registry,
        )
        self.loop_stalls = Counter(
            "warmline_event_loop_stalls", "Timers called over 5 ms late.", registry=self.registry
        )
        self.registry.register(_EngineCollector(engine_stats, heartbeat_age))

    def request_ended(
        self, kind: str, outcome: str, receipt: Receipt, timing: Timing, *, continues: bool = False
    ) -> None:
        """Observe an accepted request.

        Of one that ``continues`` another's text, the costs count that text, and the times don't: it has no rate.
        """
        self._requests.of(kind, outcome).inc()
        self._warmed.inc(receipt.warmed_tokens)
        self._cached.inc(receipt.cached_tokens)
        self._computed.inc(receipt.computed_tokens)
        self._output.inc(receipt.output_tokens)
        for draft in receipt.drafts:
            self._drafts.of(draft.source, "proposed").inc(draft.proposed)
            self._drafts.of(draft.source, "accepted").inc(draft.accepted)
        if outcome == "error":
            return
        labels = operation_name(kind), kind
        self._whole.of(*labels).observe((timing.sent - timing.received) / 1e6)
        for name, hop in self._hops:
            hop.observe(getattr(timing, name) / 1e6)
        if continues:
            return
        if receipt.output_tokens > 1:
            self._per_token.of(*labels).observe(timing.engine_step / 1e6 / (receipt.output_tokens - 1))
        if timing.first_sent:
            self._first.of(*labels).observe((timing.first_sent - timing.received) / 1e6)

    def change_taken(self, applied: bool) -> None:
        """Count a document change: a person's, or one that applies a request's operations."""
        self._changes.of("applied" if applied else "person").inc()

    def message_refused(self, code: str) -> None:
        """Count a message that was answered with an error or a nack."""
        self._refused.of(code).inc()

    def http_refused(self, code: str) -> None:
        """Count a request of the HTTP API that was answered with an error, also one within a stream."""
        self._http_refused.of(code).inc()

    def connection_refused(self, listener: str, reason: str) -> None:
        """Count somebody who was turned away."""
        self._turned_away.of(listener, reason).inc()

    def limited(self, scope: str, limit: str) -> None:
        """Count a refusal by a limit."""
        self._limited.of(scope, limit).inc()

    def reloaded(self, what: str, outcome: str) -> None:
        """Count a reading of files that may have changed: ``read`` or ``failed``."""
        self._reloads.of(what, outcome).inc()

    def render(self) -> bytes:
        """Everything in Prometheus' text format."""
        return generate_latest(self.registry)

    def _gauge(self, name: str, help_text: str) -> Count:
        family = Counts(GaugeMetricFamily, name, help_text, ())
        self.registry.register(family)
        return family.of()

    def _counts(self, name: str, help_text: str, *labels: str) -> Counts:
        family = Counts(CounterMetricFamily, name, help_text, labels)
        self.registry.register(family)
        return family

    def _histogram(self, name: str, help_text: str, *labels: str) -> DurationsByLabel:
        family = DurationsByLabel(name, help_text, labels, _SECONDS)
        self.registry.register(family)
        return family


class _EngineCollector(Collector):
    """Reads the engine's own counters when somebody asks."""

    def __init__(self, stats: Callable[[], EngineStats], heartbeat_age: Callable[[], float]) -> None:
        self._stats = stats
        self._heartbeat_age = heartbeat_age

    def collect(self) -> Iterator[Metric]:
        stats = self._stats()
        yield GaugeMetricFamily(
            "warmline_engine_heartbeat_age_seconds", "Since the engine's last sign of life.", self._heartbeat_age()
        )
        yield GaugeMetricFamily("warmline_engine_sequences_running", "Sequences being computed.", stats.running)
        yield GaugeMetricFamily("warmline_engine_sequences_waiting", "Sequences not started yet.", stats.waiting)
        yield GaugeMetricFamily(
            "warmline_engine_sequences_warming", "Prompts being computed ahead, or to be.", stats.warming
        )
        blocks = GaugeMetricFamily("warmline_engine_kv_blocks", "Blocks of the KV cache.", labels=["state"])
        blocks.add_metric(["used"], stats.blocks_used)
        blocks.add_metric(["cached"], stats.blocks_cached)
        blocks.add_metric(["free"], stats.blocks_total - stats.blocks_used - stats.blocks_cached)
        yield blocks
        yield CounterMetricFamily(
            "warmline_engine_forward_passes", "Forward passes since the engine started.", stats.forward_passes
        )
        yield CounterMetricFamily("warmline_engine_sequences_ended", "Sequences ended, however.", stats.finished)
        yield CounterMetricFamily("warmline_engine_sequences_cancelled", "Sequences cancelled.", stats.cancelled)
        yield CounterMetricFamily(
            "warmline_engine_warm_dropped", "Prompts not computed ahead for want of room or time.", stats.warm_dropped
        )
        yield _counted(
            "warmline_engine_cancel_free_seconds",
            "From the gateway's sending a cancel to the blocks of its sequence being free.",
            FREE_SECONDS,
            stats.freed,
            stats.free_seconds,
        )
        yield _counted(
            "warmline_engine_inter_token_seconds",
            "Between two passes that brought a sequence tokens; those of one pass come together.",
            GAP_SECONDS,
            stats.gaps,
            stats.gap_seconds,
        )
        tokens = CounterMetricFamily("warmline_engine_tokens", "Tokens the engine saw.", labels=["kind"])
        for kind in ("prompt", "cached", "output", "draft", "accepted", "warm_computed", "warm_used"):
            tokens.add_metric([kind], getattr(stats, f"{kind}_tokens"))
        yield tokens


def operation_name(kind: str) -> str:
    """What OpenTelemetry calls a kind of request (``gen_ai.operation.name``); it has no name for an edit."""
    return _OPERATIONS.get(kind, kind)


def _counted(
    name: str, help_text: str, bounds: Sequence[float], counts: Sequence[int], total: float
) -> HistogramMetricFamily:
    buckets = zip([*map(floatToGoString, bounds), "+Inf"], accumulate(counts), strict=True)
    return HistogramMetricFamily(name, help_text, buckets=list(buckets), sum_value=total)
