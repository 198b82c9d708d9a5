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

from ..protocol import Timing

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
_PARSE, _PROMPT, _IPC_IN, _QUEUE, _PREFILL, _FIRST_TOKEN, _STEP, _IPC_OUT, _ENCODE, _WRITE = range(len(HOPS))

_ENGINE_HOPS: Final = (_PROMPT, _IPC_IN, _QUEUE, _PREFILL, _FIRST_TOKEN, _STEP, _IPC_OUT)


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
        hops, ends = [_PARSE], [self.parsed]
        if self.ready:
            hops += _PROMPT, _QUEUE
            ends += self.ready, self.submitted
        for stretch in earlier:
            hops += _ENGINE_HOPS
            ends += _engine_ends(stretch.submitted, stretch.finished, stretch.left)
        hops += _ENGINE_HOPS
        ends += _engine_ends(self.submitted, finished, self.ended)
        hops += _ENCODE, _WRITE
        ends += self.encoded, self.sent
        # A hop that was never reached takes no time; rounding the readings, not the hops, keeps their sum exact.
        received = reached = self.received // 1000
        times = [0] * len(HOPS)
        for hop, end in zip(hops, ends, strict=True):
            mark = end // 1000
            if mark > reached:
                times[hop] += mark - reached
                reached = mark
        return Timing(received, self.first_sent // 1000, reached, *times)


def _engine_ends(submitted: int, finished: Finished, left: int) -> tuple[int, ...]:
    """When each of `_ENGINE_HOPS` ended, of one sequence; none after ``left``."""
    started = finished.received_ns
    queued = started + finished.queue_ns
    filled = queued + finished.prefill_ns
    first = filled + finished.first_token_ns
    stepped = first + finished.step_ns
    ends: tuple[int, ...] = started, queued, filled, first, stepped
    if stepped > left:  # the engine went on with it after it was left
        ends = tuple(min(end, left) for end in ends)
    return submitted, *ends, left
