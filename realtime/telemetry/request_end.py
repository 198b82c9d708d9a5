"""What is told of a request at its end, whatever it came by: to metrics, and to the log."""

from __future__ import annotations

from collections.abc import Mapping

import structlog

from ..protocol import Receipt, Timing
from .metrics import Metrics

logger = structlog.get_logger("warmline.requests")


def observe_end(
    metrics: Metrics,
    kind: str,
    names: Mapping[str, object],
    outcome: str,
    receipt: Receipt,
    timing: Timing,
    *,
    continues: bool = False,
) -> None:
    """Tell what a request cost and how long it took.

    ``kind`` is what metrics call it, ``names`` what all log lines about it say. For ``continues`` see
    `Metrics.request_ended`.
    """
    metrics.request_ended(kind, outcome, receipt, timing, continues=continues)
    logger.debug(
        "request ended",
        **names,
        outcome=outcome,
        prompt_tokens=receipt.prompt_tokens,
        output_tokens=receipt.output_tokens,
        microseconds=timing.sent - timing.received,
    )
