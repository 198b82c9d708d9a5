"""Who was not let in, and why: counted by reason, and in the log, without what was sent for a key."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from time import monotonic
from typing import Final, Literal

import structlog

from ..telemetry.metrics import Metrics
from .token_bucket import TokenBucket

logger = structlog.get_logger("warmline.access")

Listener = Literal["websocket", "http"]

_LINES_PER_SECOND: Final = 2.0
_LINES_AT_ONCE: Final = 20.0
_SHOWN: Final = 120


class Reason(StrEnum):
    """Why somebody was turned away."""

    HOST = "host"  # the Host header is not on the list
    ORIGIN = "origin"  # the page is not on the list
    SUBPROTOCOL = "subprotocol"
    NO_KEY = "no_key"
    WRONG_KEY = "wrong_key"
    EXPIRED_KEY = "expired_key"
    UNREADABLE_KEY = "unreadable_key"  # no Bearer, or a subprotocol that is no base64url
    REVOKED_KEY = "revoked_key"  # it expired or was removed while its session was open
    CONNECTIONS = "too_many_connections"
    FULL = "full"
    DRAINING = "draining"
    SLOW_HANDSHAKE = "slow_handshake"
    OVERSIZED_REQUEST = "oversized_request"  # its line, or its headers
    OVERSIZED_FRAME = "oversized_frame"
    NO_HELLO = "no_hello"


class Refusals:
    """Counts them all, and logs a few a second: whoever is turned away must not fill a disk."""

    def __init__(self, metrics: Metrics, now: Callable[[], float] = monotonic) -> None:
        self._metrics = metrics
        self._lines = TokenBucket(_LINES_PER_SECOND, _LINES_AT_ONCE, now)
        self._left_out = 0

    def note(self, listener: Listener, reason: Reason, address: str, **said: str | None) -> None:
        """Somebody was turned away. ``said`` is what else the line has, never a credential; None is left out."""
        self._metrics.connection_refused(listener, reason)
        if self._lines.wait > 0:
            self._left_out += 1
            return
        self._lines.spend(1)
        names = {name: value[:_SHOWN] for name, value in said.items() if value is not None}
        left_out = {"lines_left_out": self._left_out} if self._left_out else {}
        self._left_out = 0
        logger.info("turned away", reason=str(reason), listener=listener, address=address, **names, **left_out)
