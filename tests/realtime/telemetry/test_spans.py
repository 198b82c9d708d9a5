"""What OpenTelemetry is told of a request."""

from __future__ import annotations

import time

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import NoOpTracer, SpanKind, StatusCode
from warmline.realtime.protocol import Drafts, Receipt, Timing
from warmline.realtime.telemetry.request_end import RequestEnd
from warmline.realtime.telemetry.spans import RequestSpans

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
RECEIPT = Receipt(10, 1, 2, 7, 5, 0, 3, [Drafts("edit", 4, 3), Drafts("suffix", 2, 0)], 0)
MICROSECONDS = {"server_parse": 100, "session_prompt": 400, "engine_prefill": 1500, "engine_step": 4000}
RECEIVED = 5_000_000
TIMING = Timing(RECEIVED, RECEIVED + 3000, RECEIVED + 6000, **MICROSECONDS)


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def spans(exporter: InMemorySpanExporter) -> RequestSpans:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return RequestSpans("smol", provider.get_tracer("test"))


def ended(outcome: str = "stop", error: str | None = None, *, continues: bool = False, **names: str) -> RequestEnd:
    return RequestEnd("complete", {"session": "s1", **names}, outcome, RECEIPT, TIMING, continues, error)


def split(exporter: InMemorySpanExporter) -> tuple[ReadableSpan, list[ReadableSpan]]:
    """The request's span, and those of its hops."""
    *hops, request = exporter.get_finished_spans()
    return request, hops


def test_a_request_is_a_span_with_what_it_cost(spans: RequestSpans, exporter: InMemorySpanExporter) -> None:
    """By the names of the GenAI conventions, where there are some."""
    spans(ended())
    request, _ = split(exporter)
    assert (request.name, request.kind, request.parent) == ("text_completion smol", SpanKind.SERVER, None)
    assert request.status.status_code is StatusCode.UNSET
    assert dict(request.attributes or {}) == {
        "gen_ai.operation.name": "text_completion",
        "gen_ai.provider.name": "warmline",
        "gen_ai.request.model": "smol",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.response.time_to_first_chunk": 0.003,
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.usage.cache_read.input_tokens": 3,
        "session.id": "s1",
        "warmline.kind": "complete",
        "warmline.usage.warmed_tokens": 1,
        "warmline.usage.forward_passes": 3,
        "warmline.drafts.proposed": 6,
        "warmline.drafts.accepted": 3,
    }


def test_its_hops_are_spans_one_after_the_other(spans: RequestSpans, exporter: InMemorySpanExporter) -> None:
    """From its beginning to its end, each as long as it was measured; those that took no time are left out."""
    spans(ended())
    request, hops = split(exporter)
    assert [(hop.name, hop.end_time - hop.start_time) for hop in hops] == [  # type: ignore[operator]
        ("server.parse", 100_000),
        ("session.prompt", 400_000),
        ("engine.prefill", 1_500_000),
        ("engine.step", 4_000_000),
    ]
    starts = [hop.start_time for hop in hops] + [request.end_time]
    assert starts == [request.start_time, *(hop.end_time for hop in hops)]
    assert request.context is not None
    assert {hop.parent.span_id for hop in hops if hop.parent} == {request.context.span_id}


def test_its_times_are_those_of_the_calendar(spans: RequestSpans, exporter: InMemorySpanExporter) -> None:
    """Measured on a monotonic clock, they are told by the one that all machines share."""
    now = time.monotonic_ns() // 1000
    spans(RequestEnd("chat", {}, "stop", Receipt(), Timing(now - 2000, now, now, engine_step=2000)))
    request, _ = split(exporter)
    assert request.end_time is not None and abs(time.time_ns() - request.end_time) < 60e9
    assert request.name == "chat smol"


def test_it_is_part_of_the_trace_that_the_client_named(spans: RequestSpans, exporter: InMemorySpanExporter) -> None:
    """By its ``traceparent``."""
    spans(ended(traceparent=f"00-{TRACE}-{PARENT}-01"))
    request, _ = split(exporter)
    assert request.context is not None and request.parent is not None
    assert f"{request.context.trace_id:032x}" == TRACE
    assert (f"{request.parent.span_id:016x}", request.parent.is_remote) == (PARENT, True)


def test_a_failure_says_its_code(spans: RequestSpans, exporter: InMemorySpanExporter) -> None:
    """As ``error.type``, and by its status."""
    spans(ended("error", "engine_unavailable"))
    request, _ = split(exporter)
    assert request.status.status_code is StatusCode.ERROR
    assert request.attributes is not None and request.attributes["error.type"] == "engine_unavailable"


def test_one_that_went_on_with_another_s_text_has_no_first_chunk(
    spans: RequestSpans, exporter: InMemorySpanExporter
) -> None:
    """Its time would say nothing."""
    spans(ended(continues=True))
    request, _ = split(exporter)
    assert "gen_ai.response.time_to_first_chunk" not in (request.attributes or {})


def test_what_failed_before_it_was_measured_has_no_span(spans: RequestSpans, exporter: InMemorySpanExporter) -> None:
    """There are no times to tell."""
    spans(RequestEnd("edit", {}, "error", Receipt(), Timing()))
    assert exporter.get_finished_spans() == ()


@pytest.mark.parametrize(
    "tracer", [TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False).get_tracer(""), NoOpTracer()]
)
def test_where_nobody_records_nothing_is_made(tracer: object) -> None:
    """Neither by an SDK that leaves the trace out, nor without one."""
    RequestSpans("smol", tracer)(ended())  # type: ignore[arg-type]
