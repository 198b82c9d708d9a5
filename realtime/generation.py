"""One request: from the engine's events to the frames of its stream, and exactly one terminal frame."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import ClassVar, Final

import structlog
from warmline.engine import Finished, GenerationRequest, SamplingParams, SequenceEvent, pack_tokens

from .errors import FAULT, Refused
from .outputs import Output
from .prompts import Layout, PromptPlan
from .protocol import (
    Accepted,
    Applied,
    Chat,
    Complete,
    Continued,
    Delta,
    Done,
    Edit,
    Error,
    ErrorCode,
    Ops,
    Reason,
    Receipt,
    ServerMessage,
    TextEdit,
    Timing,
)
from .receipts import receipt_of
from .scored import scored
from .service import Service
from .trace_context import valid_traceparent
from .tracing import Stretch, Trace, clock

logger = structlog.get_logger("warmline.generation")

_CODES: Final = frozenset(ErrorCode)

Send = Callable[[ServerMessage], int]
"""Writes a message to the client; returns the clock's reading (ns) between encoding and writing it."""


Make = Callable[[PromptPlan], tuple[GenerationRequest, Output]]
"""From a plan to what the engine gets, and what makes frames of its text. May raise `Refused`."""

_clients = count(1)


@dataclass(eq=False, slots=True)
class Surroundings:
    """What the requests of a session share.

    Attributes:
        salt: keys the prefix cache.
        client: between whom the engine's time is shared evenly: each session is one.
        on_end: told of each request that was accepted, after its terminal frame.
        prepare: makes a request's plan, and starts it.
        paused: the engine is to compute nothing for them.
    """

    service: Service
    salt: str
    send: Send
    on_end: Callable[[Generation], None]
    prepare: Callable[[Generation, Layout, Make], None]
    paused: bool = False
    client: str = field(default_factory=lambda: str(next(_clients)))


@dataclass(eq=False, slots=True)
class EngineSequence:
    """A sequence in the engine, and the request that its events are for: another one, once that has taken it over."""

    id: int
    seed: int
    prompt: bytes
    output: Output
    owner: Generation
    submitted: int
    first_event: int = 0
    left: int = 0
    finished: Finished | None = None

    def on_event(self, event: SequenceEvent) -> None:
        self.owner._on_event(self, event)


class Generation:
    """A request from its arrival to its end.

    Its text comes from one sequence in the engine at a time. A request that is told to stop sends nothing more of it,
    and waits for the engine's last words about its sequences, which say what they cost.

    Attributes:
        kind: what it is called in metrics and logs.
        request: the client's id of it.
        stream: its number on the wire.
        document: the id of the document it was made for; None if it was made for none.
        accepted: the client was told that it was taken.
        stopping: the reason that it will end with, once it was told to.
        ended: its terminal frame was sent.
    """

    kind: ClassVar[str]

    def __init__(
        self,
        message: Complete | Edit | Chat,
        stream: int,
        document: str | None,
        trace: Trace,
        surroundings: Surroundings,
    ) -> None:
        self.request = message.request
        self.stream = stream
        self.document = document
        self.accepted = False
        self.stopping: Reason | None = None
        self.ended = False
        self._surroundings = surroundings
        self._trace = trace
        self._traceparent = valid_traceparent(message.traceparent)
        self._sampling = message.sampling
        # One for all of its sequences, so that it can be repeated.
        self._seed = random.getrandbits(48) if message.sampling.seed is None else message.sampling.seed
        self._prepared = 0
        self._current: EngineSequence | None = None
        self._left: list[EngineSequence] = []  # given up for another one
        self._failure: Error | None = None
        self._operations: int | None = None
        self._continues = False  # with the sequence of another request

    # What happens to it ----------------------------------------------------------------------------------------

    def accept(self, continued: Continued | None = None) -> None:
        """Tell the client that the request was taken, unless it was told before."""
        if not self.accepted:
            self.accepted = True
            self._surroundings.send(Accepted(self.request, self.stream, continued))

    def preparing(self) -> Callable[[], bool]:
        """A prompt of it is going to be prepared, instead of others that still are.

        Returns what says whether that one is wanted (still).
        """
        self._prepared += 1
        number = self._prepared
        return lambda: self._prepared == number and self.stopping is None and not self.ended

    def start(self, sequence: GenerationRequest, output: Output) -> None:
        """Give its prompt to the engine."""
        self.accept()
        self._trace.submitted = clock()
        current = EngineSequence(
            sequence.id, sequence.sampling.seed, sequence.prompt, output, self, self._trace.submitted
        )
        self._current = current
        self._surroundings.service.engine.submit(sequence, current.on_event)
        if self._surroundings.paused:
            self.pause()
        self._show(output.begin())

    def pause(self) -> None:
        """Let the engine compute for it, or not, as the surroundings say."""
        if self._current is not None and self._current.finished is None:
            self._surroundings.service.engine.pause(self._current.id, self._surroundings.paused)

    def changed(self, edits: Sequence[TextEdit], applied: Applied | None) -> bool:
        """Its document was changed. Returns whether that applied operations of this request."""
        return False

    def replaced(self) -> None:
        """Its document was opened again, with another text."""

    def stop(self, reason: Reason, operations: int | None = None) -> None:
        """End it with this reason, unless it is ending already, and free its sequences at once."""
        if self.stopping is None and not self.ended:
            self.stopping = reason
            self._operations = operations
            self._stop_sequences()

    def fail(self, refusal: Refused) -> None:
        """End it with an error, though it was accepted, unless it is ending already."""
        if self.stopping is None and not self.ended:
            self.stopping = "error"
            self._failure = Error(self.request, str(refusal.code), refusal.message, refusal.retryable)
            self._stop_sequences()

    def heard(self, event: SequenceEvent) -> None:
        """The engine has said something of its text."""

    def over(self, outcome: Reason) -> None:
        """It is at its end, accepted or not. Called once."""

    # Its sequences ---------------------------------------------------------------------------------------------

    def _sequence(self, plan: PromptPlan, max_tokens: int) -> GenerationRequest:
        sampling, around = self._sampling, self._surroundings
        return GenerationRequest(
            id=around.service.engine.next_id(),
            prompt=pack_tokens(plan.prompt),
            sampling=SamplingParams(
                max_tokens=max_tokens,
                temperature=sampling.temperature,
                top_p=sampling.top_p,
                top_k=sampling.top_k,
                min_p=sampling.min_p,
                seed=self._seed,
                stop=plan.stop,
                repetition_penalty=sampling.repetition_penalty or 1.0,
                presence_penalty=sampling.presence_penalty or 0.0,
                frequency_penalty=sampling.frequency_penalty or 0.0,
                logit_bias=sampling.logit_bias or {},
                logprobs=sampling.logprobs,
            ),
            salt=around.salt,
            speculation=sampling.speculation == "auto",
            draft=None if plan.draft is None else pack_tokens(plan.draft),
            replay=None if plan.replay is None else pack_tokens(plan.replay),
            client=around.client,
        )

    def _leave(self) -> None:
        """Give the current sequence up for another one that comes."""
        current, self._current = self._current, None
        if current is not None:
            current.left = clock()
            self._left.append(current)
            self._surroundings.service.engine.cancel(current.id)

    def _take_over(self, other: Generation, continued: Continued, output: Output) -> None:
        """Go on with the sequence of another request, which ends as superseded. What it cost comes over, too."""
        sequence = other._current
        assert sequence is not None
        other._current = None
        other._hand_over(sequence)
        sequence.owner, sequence.output = self, output
        self._current = sequence
        self._continues = True
        self._trace.submitted = clock()
        self.accept(continued)
        self._show(output.begin())

    def _hand_over(self, sequence: EngineSequence) -> None:
        trace = self._trace
        trace.ended = trace.encoded = trace.sent = now = clock()
        first = sequence.first_event or now
        spent = Finished(
            "cancel",
            received_ns=sequence.submitted,
            first_token_ns=first - sequence.submitted,
            step_ns=now - first,
        )
        self.stopping = "superseded"
        self._end("superseded", Receipt(seed=sequence.seed), trace.timing(spent))

    # The engine's events ---------------------------------------------------------------------------------------

    def _on_event(self, sequence: EngineSequence, event: SequenceEvent) -> None:
        arrived = clock()
        sequence.finished = event.finished
        if self.ended:
            return
        try:
            if sequence is self._current and self.stopping is None:
                self._hear(sequence, event, arrived)
            if event.finished is not None:
                self._settle(arrived)
        except Exception:
            self._break_off()

    def _hear(self, sequence: EngineSequence, event: SequenceEvent, arrived: int) -> None:
        sequence.first_event = sequence.first_event or arrived
        self.heard(event)
        if not event.text and not event.logprobs:
            return
        output = sequence.output
        message = output.feed(event.text)
        if event.logprobs and isinstance(message, Delta):
            message = scored(message, event.logprobs, self._surroundings.service.chat.tokenizer.token_bytes)
        self._show(message, event)
        if output.ended and event.finished is None and self.stopping is None:
            self._show(output.finish(completed=True))
            self.stop("stop")

    def _show(self, message: Delta | Ops | None, event: SequenceEvent | None = None) -> None:
        """Send what there is to send; ``event`` brought it."""
        if message is None:
            return
        self._trace.encoded = self._surroundings.send(message)
        if not self._trace.first_sent:
            self._trace.first_sent = clock()

    def _stop_sequences(self) -> None:
        self.accept()
        for sequence in self._unfinished():
            self._surroundings.service.engine.cancel(sequence.id)
        self._settle(clock())

    def _unfinished(self) -> list[EngineSequence]:
        return [sequence for sequence in self._sequences() if sequence.finished is None]

    def _sequences(self) -> list[EngineSequence]:
        return self._left if self._current is None else [*self._left, self._current]

    def _settle(self, arrived: int) -> None:
        """End the request if it is at its end and the engine has said its last words about it."""
        current = self._current
        if self.ended or self._unfinished() or (self.stopping is None and current is None):
            return
        self._trace.ended = arrived
        finished = Finished("cancel") if current is None or current.finished is None else current.finished
        if current is None:
            self._trace.submitted = arrived  # a prompt was being prepared until now
        elif self.stopping is None:
            if finished.reason == "error":
                after = self._surroundings.service.engine.retry_after
                self._failure = _failure(self.request, finished.error_code, finished.error, after)
            self._show(current.output.finish(finished.reason == "stop"))
        self._conclude(finished, arrived)

    def _conclude(self, finished: Finished, arrived: int) -> None:
        if self.ended:  # the last operations made a conflict
            return
        trace = self._trace
        trace.sent = clock()
        if trace.encoded < arrived:  # this event brought nothing to write
            trace.encoded = trace.sent
        ended = [(sequence, sequence.finished) for sequence in self._sequences() if sequence.finished is not None]
        receipt = receipt_of([costs for _, costs in ended], ended[-1][0].seed if ended else None)
        earlier = [Stretch(left.submitted, left.left, costs) for left, costs in ended if left is not self._current]
        self._end(self.stopping or finished.reason, receipt, trace.timing(finished, earlier))

    def _break_off(self) -> None:
        """A fault of ours: end it, whatever there is to come."""
        logger.exception("request failed", **self.names())
        if self.ended:
            return
        for sequence in self._unfinished():
            self._surroundings.service.engine.cancel(sequence.id)
        self._failure = _failure(self.request, ErrorCode.INTERNAL_ERROR, "")
        self._end("error", Receipt(), Timing())

    def _end(self, outcome: Reason, receipt: Receipt, timing: Timing) -> None:
        self.ended = True
        self.over(outcome)
        around = self._surroundings
        around.send(self._failure or Done(self.request, outcome, receipt, timing, self._operations))
        around.on_end(self)
        around.service.metrics.request_ended(self.kind, outcome, receipt, timing, continues=self._continues)
        logger.debug(
            "request ended",
            **self.names(),
            outcome=outcome,
            prompt_tokens=receipt.prompt_tokens,
            output_tokens=receipt.output_tokens,
            microseconds=timing.sent - timing.received,
        )

    def names(self) -> dict[str, object]:
        """What log lines about it say."""
        names: dict[str, object] = {"request": self.request, "kind": self.kind}
        return names if self._traceparent is None else {**names, "traceparent": self._traceparent}


def _failure(request: int, code: str, message: str, retry_after: float | None = None) -> Error:
    """The terminal frame of a request that the engine, or we, could not carry out; ``retry_after`` is in seconds."""
    if code not in _CODES:
        code = ErrorCode.INTERNAL_ERROR
    retryable = code == ErrorCode.ENGINE_UNAVAILABLE
    after = None if retry_after is None or not retryable else math.ceil(retry_after * 1000)
    return Error(request, str(code), message or FAULT, retryable, after)
