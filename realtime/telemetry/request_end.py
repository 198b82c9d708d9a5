"""What is told of a request at its end, whatever it came by: to metrics, to the log, and to whoever else looks on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import structlog

from ..protocol import Receipt, Timing
from .metrics import Metrics

logger = structlog.get_logger("warmline.requests")


@dataclass(frozen=True, slots=True)
class RequestEnd:
    """What a request cost and how long it took.

    Attributes:
        kind: what metrics call it.
        names: what all log lines about it say; with them its ``traceparent``, if it has one.
        outcome: the reason that it ended with, ``error`` for a failure.
        continues: it went on with another's text: the costs count that text, and its times say nothing of a rate.
        error: the code of its failure.
    """

    kind: str
    names: Mapping[str, object]
    outcome: str
    receipt: Receipt
    timing: Timing
    continues: bool = False
    error: str | None = None


Observer = Callable[[RequestEnd], None]


def observe_end(metrics: Metrics, observers: Iterable[Observer], end: RequestEnd) -> None:
    """Tell everybody of a request's end. What fails in an observer is logged, and nobody's request suffers."""
    receipt, timing = end.receipt, end.timing
    metrics.request_ended(end.kind, end.outcome, receipt, timing, continues=end.continues)
    logger.debug(
        "request ended",
        **end.names,
        outcome=end.outcome,
        prompt_tokens=receipt.prompt_tokens,
        output_tokens=receipt.output_tokens,
        microseconds=timing.sent - timing.received,
    )
    _tell(observers, end)


def observe_warmed(observers: Iterable[Observer], names: Mapping[str, object], computed_tokens: int) -> None:
    """Tell observers of prompt tokens computed ahead, as the end of a request of the kind ``warm`` without times."""
    receipt = Receipt(prompt_tokens=computed_tokens, computed_tokens=computed_tokens)
    _tell(observers, RequestEnd("warm", names, "stop", receipt, Timing()))


def _tell(observers: Iterable[Observer], end: RequestEnd) -> None:
    for observer in observers:
        try:
            observer(end)
        except Exception:
            logger.exception("a request's end could not be recorded", **end.names)
