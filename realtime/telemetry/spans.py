"""Spans of OpenTelemetry: one for each request, and in it one for each hop.

Made at a request's end from what was measured anyway, so that nothing is added to its way. Only OpenTelemetry's API
is needed here: which SDK records spans, and where it sends them, is for whoever runs the service to say.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from .metrics import operation_name
from .request_end import RequestEnd
from .tracing import HOPS

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

PROVIDER: Final = "warmline"
"""``gen_ai.provider.name``."""


class RequestSpans:
    """Makes spans of requests that have ended, as children of the client's if they brought a ``traceparent``.

    Names and attributes are those of the GenAI conventions where these have some
    (https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/), and begin with ``warmline.`` otherwise. No
    text is in them.

    Raises:
        ImportError: OpenTelemetry's API is not installed.

    """

    def __init__(self, model: str, tracer: Tracer | None = None) -> None:
        from opentelemetry import trace
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._trace = trace
        self._model = model
        self._tracer = trace.get_tracer("warmline") if tracer is None else tracer
        self._propagator = TraceContextTextMapPropagator()

    def __call__(self, end: RequestEnd) -> None:
        """Record a request; costs next to nothing where nobody records, or its trace is not sampled."""
        timing = end.timing
        if not timing.sent:  # it failed before it was measured
            return
        # The readings are of a monotonic clock, spans of the calendar's.
        to_calendar = time.time_ns() - time.monotonic_ns()
        started = timing.received * 1000 + to_calendar
        operation = operation_name(end.kind)
        trace = self._trace
        span = self._tracer.start_span(
            f"{operation} {self._model}",
            self._propagator.extract({"traceparent": str(end.names.get("traceparent", ""))}),
            kind=trace.SpanKind.SERVER,
            attributes={
                "gen_ai.operation.name": operation,
                "gen_ai.provider.name": PROVIDER,
                "gen_ai.request.model": self._model,
            },
            start_time=started,
        )
        if span.is_recording():
            span.set_attributes(_attributes(end))
            if end.outcome == "error":
                span.set_status(trace.StatusCode.ERROR)
            within = trace.set_span_in_context(span)
            for name in HOPS:
                ended = started + getattr(timing, name) * 1000
                if ended > started:
                    hop = self._tracer.start_span(name.replace("_", ".", 1), within, start_time=started)
                    hop.end(ended)
                started = ended
        span.end(timing.sent * 1000 + to_calendar)


def _attributes(end: RequestEnd) -> dict[str, Any]:
    receipt, timing = end.receipt, end.timing
    found: dict[str, Any] = {
        "gen_ai.response.finish_reasons": [end.outcome],
        "gen_ai.usage.input_tokens": receipt.prompt_tokens,
        "gen_ai.usage.output_tokens": receipt.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": receipt.warmed_tokens + receipt.cached_tokens,
        "warmline.kind": end.kind,
        "warmline.usage.warmed_tokens": receipt.warmed_tokens,
        "warmline.usage.forward_passes": receipt.forward_passes,
        "warmline.drafts.proposed": sum(draft.proposed for draft in receipt.drafts),
        "warmline.drafts.accepted": sum(draft.accepted for draft in receipt.drafts),
    }
    if timing.first_sent and not end.continues:
        found["gen_ai.response.time_to_first_chunk"] = (timing.first_sent - timing.received) / 1e6
    if end.outcome == "error":
        found["error.type"] = end.error or "_OTHER"
    if "session" in end.names:
        found["session.id"] = str(end.names["session"])
    return found
