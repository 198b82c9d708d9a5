"""Where the time of a request went on the server: its hops, from one clock.

The clock is `time.monotonic_ns`, which gateway and engine share on one machine. Hops are differences of
consecutive readings, so they sum to the whole, whatever is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic_ns
from typing import Final

from warmline.engine import Finished

from .protocol import Timing

Clock = Callable[[], int]
clock: Final[Clock] = monotonic_ns

HOPS: Final = (
    "server_parse",
    "session_prompt",
    "ipc_in",
    "engine_queue",
    "engine_prefill",
    "engine_first_token",
    "engine_step",
    "ipc_out",
    "server_encode",
    "server_write",
)
"""The hops of `Timing`, in their order."""


class Trace:
    """The readings of one request (ns), set as it goes through the gateway; 0 = not reached.

    Attributes:
        received: its frame arrived.
        parsed: the frame is decoded.
        submitted: its prompt is built and goes to the engine.
        first_sent: its first text was written.
        ended: its last engine event arrived.
        encoded: what that event brought is ready to be written.
        sent: that was written.
    """

    __slots__ = ("encoded", "ended", "first_sent", "parsed", "received", "sent", "submitted")

    def __init__(self, received: int, parsed: int) -> None:
        self.received = received
        self.parsed = parsed
        self.submitted = 0
        self.first_sent = 0
        self.ended = 0
        self.encoded = 0
        self.sent = 0

    def timing(self, finished: Finished) -> Timing:
        """Put the gateway's readings and the engine's durations together, in microseconds."""
        engine = finished.received_ns
        marks = [self.received, self.parsed, self.submitted, engine]
        for duration in (finished.queue_ns, finished.prefill_ns, finished.first_token_ns, finished.step_ns):
            engine += duration
            marks.append(engine)
        marks += [self.ended, self.encoded, self.sent]
        # A hop that was never reached takes no time; rounding the readings, not the hops, keeps their sum exact.
        highest = 0
        hops = []
        for mark in (reading // 1000 for reading in marks):
            mark = max(mark, highest)
            hops.append(mark - highest)
            highest = mark
        return Timing(
            received=self.received // 1000,
            first_sent=self.first_sent // 1000,
            sent=highest,
            **dict(zip(HOPS, hops[1:], strict=True)),
        )
