"""One request: from the engine's events to the frames of its stream, and exactly one terminal frame."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import ClassVar, Final

import structlog
from warmline.engine import Finished, GenerationRequest, SamplingParams, SequenceEvent, pack_tokens

from ..errors import FAULT, Refused
from ..prompting.prompts import PromptPlan
from ..protocol import (
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
    TextEdit,
    Timing,
)
from ..telemetry.request_end import RequestEnd, observe_end
from ..telemetry.trace_context import trace_names, valid_traceparent
from ..telemetry.tracing import Trace, clock
from .outputs import Output
from .scored import scored
from .sequences import EngineSequence, Sequences
from .surroundings import Surroundings

logger = structlog.get_logger("warmline.generation")

_CODES: Final = frozenset(ErrorCode)


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
        self._send = surroundings.send
        self._trace = trace
        self._traceparent = valid_traceparent(message.traceparent)
        self._sampling = message.sampling
        # One for all of its sequences, so that it can be repeated.
        self._seed = random.getrandbits(48) if message.sampling.seed is None else message.sampling.seed
        self._prepared = 0
        self._sequences = Sequences(surroundings.service.engine)
        self._failure: Error | None = None
        self._operations: int | None = None
        self._continues = False  # with the sequence of another request

    # What happens to it ----------------------------------------------------------------------------------------

    def accept(self, continued: Continued | None = None) -> None:
        """Tell the client that the request was taken, unless it was told before."""
        if not self.accepted:
            self.accepted = True
            self._send(Accepted(self.request, self.stream, continued))

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
        self._sequences.submit(sequence, output, self, self._trace.submitted)
        if self._surroundings.paused:
            self.pause()
        self._show(output.begin())

    def pause(self) -> None:
        """Let the engine compute for it, or not, as the surroundings say."""
        self._sequences.pause(self._surroundings.paused)

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
            self.free()

    def fail(self, refusal: Refused) -> None:
        """End it with an error, though it was accepted, unless it is ending already."""
        if self.stopping is None and not self.ended:
            self.stopping = "error"
            self._failure = Error(self.request, str(refusal.code), refusal.message, refusal.retryable)
            self.free()

    def retire(self) -> None:
        """It is to end as superseded, and sends nothing more; its sequence runs on until `free` or `take_over`."""
        if self.stopping is None and not self.ended:
            self.stopping = "superseded"

    def refused(self) -> None:
        """It is not carried out after all: a refusal is all that its client is told."""
        self.ended = True
        self._over("error")

    def break_off(self) -> None:
        """End it after a fault of ours, whatever there is to come. Call it while the exception is handled."""
        logger.exception("request failed", **self.names())
        if self.ended:
            return
        self._failure = _failure(self.request, ErrorCode.INTERNAL_ERROR, "")
        try:
            self._sequences.cancel()
        finally:
            self._end("error", Receipt(), Timing())

    def over(self, outcome: Reason) -> None:
        """It is at its end, accepted or not. Called once."""

    # Its sequences ---------------------------------------------------------------------------------------------

    def _request_for(self, plan: PromptPlan, max_tokens: int) -> GenerationRequest:
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
                repetition_penalty=1.0 if sampling.repetition_penalty is None else sampling.repetition_penalty,
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

    @property
    def current(self) -> EngineSequence | None:
        """The sequence that its text comes from; None while a prompt is being prepared."""
        return self._sequences.current

    def free(self) -> None:
        """Free its sequences in the engine at once. It is told to stop, and ends when the engine has."""
        self.accept()
        self._sequences.cancel()
        self._settle(clock())

    def take_over(self, other: Generation, output: Output, continued: Continued) -> None:
        """Go on with the sequence of another request, which ends as superseded. What it cost comes over, too.

        ``output`` makes frames of the text from here on.
        """
        sequence = other.let_go()
        sequence.listener, sequence.output = self, output
        self._sequences.current = sequence
        self._continues = True
        self._surroundings.service.metrics.continued.inc()
        try:
            other.end_without(sequence)
        except Exception:
            other.break_off()
        self._trace.submitted = clock()
        self.accept(continued)
        self._show(output.begin())

    def let_go(self) -> EngineSequence:
        """Leave its sequence to another request, which has to end this one with `end_without`."""
        sequence, self._sequences.current = self._sequences.current, None
        assert sequence is not None
        return sequence

    def end_without(self, sequence: EngineSequence) -> None:
        """End it as superseded: the sequence, which was its own, is another request's now, and what it cost, too."""
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

    def on_event(self, sequence: EngineSequence, event: SequenceEvent) -> None:
        """Take what the engine says of one of its sequences."""
        finished = event.finished
        # Of a token's arrival only the first and the last are of use.
        arrived = 0 if finished is None and sequence.first_event else clock()
        sequence.finished = finished
        if self.ended:
            return
        try:
            if self.stopping is None and sequence is self._sequences.current:
                if not sequence.first_event:
                    sequence.first_event = arrived
                message = self.made_of(sequence, event)
                if message is not None:
                    self._show(message)
                if finished is None and sequence.output.ended:
                    self._cut_short(sequence.output)
            if finished is not None:
                self._settle(arrived)
        except Exception:
            self.break_off()

    def made_of(self, sequence: EngineSequence, event: SequenceEvent) -> Delta | Ops | None:
        """The frame of what the engine says of a sequence, in the text's order; None if there is nothing to send."""
        if not event.logprobs:
            return sequence.output.feed(event.text) if event.text else None
        message = sequence.output.feed(event.text)
        if isinstance(message, Delta):
            return scored(message, event.logprobs, self._surroundings.service.chat.tokenizer.token_bytes)
        return message

    def _cut_short(self, output: Output) -> None:
        """Its text is complete before the engine has ended the sequence."""
        if self.stopping is None:
            self._show(output.finish(completed=True))
            self.stop("stop")

    def _show(self, message: Delta | Ops | None) -> None:
        """Send what there is to send."""
        if message is None:
            return
        trace = self._trace
        trace.encoded = self._send(message)
        if not trace.first_sent:
            trace.first_sent = clock()

    def _settle(self, arrived: int) -> None:
        """End the request if it is at its end and the engine has said its last words about it."""
        current = self._sequences.current
        if self.ended or self._sequences.running or (self.stopping is None and current is None):
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
        timing = trace.timing(finished, self._sequences.earlier())
        self._end(self.stopping or finished.reason, self._sequences.receipt(), timing)

    def _end(self, outcome: Reason, receipt: Receipt, timing: Timing) -> None:
        self.ended = True
        around = self._surroundings
        if around.usage is not None:
            around.usage.spend(receipt.computed_tokens, receipt.output_tokens)
        if not self._over(outcome):
            outcome, self._failure = "error", _failure(self.request, ErrorCode.INTERNAL_ERROR, "")
        try:
            self._send(self._failure or Done(self.request, outcome, receipt, timing, self._operations))
        finally:
            around.on_end(self)
        error = None if self._failure is None else self._failure.code
        end = RequestEnd(self.kind, self.names(), outcome, receipt, timing, self._continues, error)
        observe_end(around.service.metrics, around.service.observers, end)

    def _over(self, outcome: Reason) -> bool:
        """Tell what it is a part of. A fault there keeps no client waiting: returns whether all went well."""
        try:
            self.over(outcome)
        except Exception:
            logger.exception("request failed", **self.names())
            return False
        return True

    def names(self) -> dict[str, object]:
        """What log lines about it say."""
        names = {**self._surroundings.names, "request": self.request, "kind": self.kind}
        return {**names, **trace_names(self._traceparent)}


def _failure(request: int, code: str, message: str, retry_after: float | None = None) -> Error:
    """The terminal frame of a request that the engine, or we, could not carry out; ``retry_after`` is in seconds."""
    if code not in _CODES:
        code = ErrorCode.INTERNAL_ERROR
    retryable = code == ErrorCode.ENGINE_UNAVAILABLE
    after = None if retry_after is None or not retryable else math.ceil(retry_after * 1000)
    return Error(request, str(code), message or FAULT, retryable, after)
