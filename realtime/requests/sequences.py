"""What a request has in the engine: the sequence that its text comes from, and those that it gave up for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from warmline.engine import EngineHandle, Finished, GenerationRequest, SequenceEvent

from ..protocol import Receipt
from ..telemetry.tracing import Stretch, clock
from .outputs import Output
from .receipts import receipt_of


class Listener(Protocol):
    """What the events of a sequence go to."""

    def on_event(self, sequence: EngineSequence, event: SequenceEvent) -> None:
        """Take what the engine says of a sequence."""


@dataclass(eq=False, slots=True)
class EngineSequence:
    """A sequence in the engine. Times are readings of the clock (ns), 0 until then.

    Attributes:
        prompt: its packed tokens.
        output: makes frames of its text.
        listener: what its events are for; another one, once that has taken it over.
        submitted: it went to the engine.
        first_event: the engine first said something of it.
        left: it was given up for another one.
        finished: the engine's last words about it.
    """

    id: int
    seed: int
    prompt: bytes
    output: Output
    listener: Listener
    submitted: int
    first_event: int = 0
    left: int = 0
    finished: Finished | None = None

    def on_event(self, event: SequenceEvent) -> None:
        """Pass on what the engine says."""
        self.listener.on_event(self, event)


class Sequences:
    """The sequences of one request; one at a time is the current one.

    Attributes:
        current: the one that the request's text comes from; None while a prompt is being prepared.
    """

    def __init__(self, engine: EngineHandle) -> None:
        self.current: EngineSequence | None = None
        self._engine = engine
        self._left: list[EngineSequence] = []

    @property
    def running(self) -> bool:
        """Whether the engine has yet to say its last words about one of them."""
        return bool(self._running())

    def submit(self, request: GenerationRequest, output: Output, listener: Listener, now: int) -> None:
        """Give the engine a sequence, which is the current one from now (ns) on."""
        current = EngineSequence(request.id, request.sampling.seed, request.prompt, output, listener, now)
        self.current = current
        self._engine.submit(request, current.on_event)

    def pause(self, paused: bool) -> None:
        """Let the engine compute nothing for the current one, or go on."""
        if self.current is not None and self.current.finished is None:
            self._engine.pause(self.current.id, paused)

    def leave(self) -> None:
        """Give the current one up for another that comes."""
        current, self.current = self.current, None
        if current is not None:
            current.left = clock()
            self._left.append(current)
            self._engine.cancel(current.id)

    def cancel(self) -> None:
        """Free all that run."""
        for sequence in self._running():
            self._engine.cancel(sequence.id)

    def receipt(self) -> Receipt:
        """What those cost that the engine has said its last words about."""
        ended = self._ended()
        return receipt_of([costs for _, costs in ended], ended[-1][0].seed if ended else None)

    def earlier(self) -> list[Stretch]:
        """The parts of the request's time that those took which it gave up."""
        return [
            Stretch(sequence.submitted, sequence.left, costs)
            for sequence, costs in self._ended()
            if sequence is not self.current
        ]

    def _all(self) -> list[EngineSequence]:
        return self._left if self.current is None else [*self._left, self.current]

    def _running(self) -> list[EngineSequence]:
        return [sequence for sequence in self._all() if sequence.finished is None]

    def _ended(self) -> list[tuple[EngineSequence, Finished]]:
        return [(sequence, sequence.finished) for sequence in self._all() if sequence.finished is not None]
