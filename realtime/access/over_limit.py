"""Refusals by a limit, whoever's it is: each names it, and is counted by it."""

from __future__ import annotations

from typing import Final

from ..errors import Refused
from ..protocol import ErrorCode
from ..telemetry.metrics import Metrics
from .quotas import Scope

RETRY_CONNECTION_SECONDS: Final = 5.0
"""When to come again where all connections are taken."""
_WHOSE: Final[dict[Scope, str]] = {"connection": "a connection", "key": "an API key", "address": "an address"}


def over_limit(
    metrics: Metrics, scope: Scope, limit: str, code: ErrorCode, why: str, retry_after: float | None = None
) -> Refused:
    """A refusal by a limit, which is counted. ``why`` goes on behind "an API key", or whose limit it is.

    ``retry_after``: seconds after which it may be otherwise; None if that is up to the client.
    """
    metrics.limited(scope, limit)
    return Refused(
        code,
        f"{_WHOSE[scope]} {why} ({named(scope, limit)})",
        retryable=retry_after is not None,
        retry_after=retry_after,
    )


def over_connections(metrics: Metrics, scope: Scope, most: int | None) -> Refused:
    """That refusal where there are as many connections as there may be."""
    why = f"may have {most} connections at once; close one"
    return over_limit(metrics, scope, "connections", ErrorCode.TOO_MANY_CONNECTIONS, why, RETRY_CONNECTION_SECONDS)


def named(scope: Scope, limit: str) -> str:
    """How a refusal names a limit: as whoever sets it writes it."""
    return f"the limit {scope}.{limit}"
