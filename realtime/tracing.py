"""Where the time of a request went on the server: its hops, from one clock.

The clock is `time.monotonic_ns`, which gateway and engine share on one machine. Hops are differences of
consecutive readings, so they sum to the whole, whatever is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Stretch:
    """The part of a request's time that a sequence took which was given up for another one.

    Attributes:
        submitted: its prompt went to the engine.
        left: it was given up; what follows belongs to the next sequence.
        finished: what the engine said of it.
    """

    submitted: int
    left: int
    finished: Finished


class Trace:
    """The readings of one request (ns), set as it goes through the gateway; 0 = not reached.

    Attributes:
        received: its frame arrived.
        parsed: the frame is decoded.
        ready: its prompt is built, and waits for that of a request before it.
        submitted: its prompt is built and goes to the engine; of several, the last.
        first_sent: its first text was written.
        ended: its last engine event arrived.
        encoded: what that event brought is ready to be written.
        sent: that was written.
    """

    __slots__ = ("encoded", "ended", "first_sent", "parsed", "ready", "received", "sent", "submitted")

    def __init__(self, received: int, parsed: int) -> None:
        self.received = received
        self.parsed = parsed
        self.ready = 0
        self.submitted = 0
        self.first_sent = 0
        self.ended = 0
        self.encoded = 0
        self.sent = 0

    def timing(self, finished: Finished, earlier: Sequence[Stretch] = ()) -> Timing:
        """Put the gateway's readings and the engine's durations together, in microseconds.

        ``earlier`` are the sequences that were given up, the oldest first: each hop is the sum of its times.
        """
        # A hop that was never reached takes no time; rounding the readings, not the hops, keeps their sum exact.
        reached = self.received // 1000
        hops = dict.fromkeys(HOPS, 0)

        def reach(hop: str, reading: int) -> None:
            nonlocal reached
            mark = max(reading // 1000, reached)
            hops[hop] += mark - reached
            reached = mark

        def compute(submitted: int, finished: Finished, left: int) -> None:
            reach("session_prompt", submitted)
            engine = finished.received_ns
            reach("ipc_in", min(engine, left))
            for hop, duration in (
                ("engine_queue", finished.queue_ns),
                ("engine_prefill", finished.prefill_ns),
                ("engine_first_token", finished.first_token_ns),
                ("engine_step", finished.step_ns),
            ):
                engine += duration
                reach(hop, min(engine, left))
            reach("ipc_out", left)

        reach("server_parse", self.parsed)
        if self.ready:
            reach("session_prompt", self.ready)
            reach("engine_queue", self.submitted)
        for stretch in earlier:
            compute(stretch.submitted, stretch.finished, stretch.left)
        compute(self.submitted, finished, self.ended)
        reach("server_encode", self.encoded)
        reach("server_write", self.sent)
        return Timing(received=self.received // 1000, first_sent=self.first_sent // 1000, sent=reached, **hops)
