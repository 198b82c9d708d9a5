"""An engine process that plays a recording: ``python -m warmline.engine.benchmarks.player FD OPTIONS``.

It stands in for the real one where the way of a token is measured and not its computing: `LocalEngine` starts it, it
speaks the same messages over the same socket, and every request gets the tokens that the default model once made, the
first at once and the next ones at a fixed pace. What it can't do is answer in parallel: requests are played one after
the other.

OPTIONS's ``model`` names the file that `PlayerReadings` shares: when each token of the newest request was sent, and
how long each part of the engine's time is to take.
"""

from __future__ import annotations

import gc
import signal
import socket
import sys
import time
from collections import deque
from pathlib import Path
from typing import Final

import msgspec

from ..messages import (
    CancelRequest,
    EngineStats,
    Finished,
    GenerationRequest,
    ModelInfo,
    PauseRequest,
    SequenceEvent,
    StepOutput,
    pack_tokens,
)
from ..options import EngineOptions
from ..process import HEARTBEAT_SECONDS, GatewayLink
from .recording import MOST_TOKENS, PlayerReadings, recorded_tokens

PACE: Final = 0.001
"""Seconds between the tokens of a request."""
_CONTEXT: Final = 1 << 20


class Player:
    """Answers requests with the recording."""

    def __init__(self, link: GatewayLink, readings: PlayerReadings) -> None:
        self._link = link
        self._readings = readings
        self._tokens = recorded_tokens(MOST_TOKENS)
        self._waiting: deque[GenerationRequest] = deque()
        self._cancelled: set[int] = set()
        self._finished = 0
        self._said = self._counted = 0.0

    def run(self) -> None:
        """Play until the gateway closes its end.

        Raises:
            EOFError: it did.

        """
        while True:
            if not self._waiting:
                if time.monotonic() - self._said >= HEARTBEAT_SECONDS:
                    self._say()
                self._link.wait(self._said + HEARTBEAT_SECONDS - time.monotonic())
            self._listen()
            if self._waiting:
                self._play(self._waiting.popleft())

    def _listen(self) -> None:
        for message in self._link.receive():
            if isinstance(message, GenerationRequest):
                self._waiting.append(message)
            elif isinstance(message, CancelRequest):
                self._cancelled.add(message.id)
            elif not isinstance(message, PauseRequest):  # a warm request; a pause matters to nobody here
                self._say(SequenceEvent(message.id, "", finished=Finished("stop")))

    def _play(self, request: GenerationRequest) -> None:
        received = time.monotonic_ns()
        queue, prefill, first, step = self._readings.delays()
        queued = _held_up(received, queue)
        filled = _held_up(queued, prefill)
        ready = _held_up(filled, first)
        _held_up(ready, step)
        count = min(request.sampling.max_tokens, MOST_TOKENS)
        began = time.monotonic()
        for token in range(count):
            if token:
                time.sleep(max(began + token * PACE - time.monotonic(), 0))
                self._listen()
            cancelled = request.id in self._cancelled
            finished = None
            now = time.monotonic_ns()
            if cancelled or token == count - 1:
                self._finished += 1
                finished = Finished(
                    "cancel" if cancelled else "length",
                    prompt_tokens=len(request.prompt) // 4,
                    computed_tokens=len(request.prompt) // 4,
                    output_tokens=token if cancelled else count,
                    forward_passes=token if cancelled else count,
                    received_ns=received,
                    queue_ns=queued - received,
                    prefill_ns=filled - queued,
                    first_token_ns=ready - filled,
                    step_ns=now - ready,
                    sent_ns=now,
                )
            self._readings[token] = now
            text = "" if cancelled else self._tokens[token]
            self._say(SequenceEvent(request.id, text, pack_tokens([token]), finished))
            if cancelled:
                break
        self._cancelled.discard(request.id)

    def _say(self, *events: SequenceEvent) -> None:
        news = None
        if time.monotonic() - self._counted >= HEARTBEAT_SECONDS:
            self._counted, news = time.monotonic(), EngineStats(finished=self._finished)
        self._link.send(StepOutput([*events], news))
        self._said = time.monotonic()


def _held_up(began: int, nanoseconds: int) -> int:
    """When a part that began then is over, once it has taken so long; without that, as it began."""
    if not nanoseconds:
        return began
    while (now := time.monotonic_ns()) < began + nanoseconds:
        pass  # a sleep ends late, and differently late each time
    return now


def main() -> None:
    """Run the process until the gateway closes its end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the gateway ends this process, by closing the socket
    options = msgspec.json.decode(sys.argv[2], type=EngineOptions)
    link = GatewayLink(socket.socket(fileno=int(sys.argv[1])))
    with PlayerReadings(Path(options.model)) as readings:
        link.send(ModelInfo("recording", "none", _CONTEXT, "recording", "none", 1, _CONTEXT))
        gc.collect()
        gc.freeze()
        try:
            Player(link, readings).run()
        except EOFError:
            return


if __name__ == "__main__":
    main()
