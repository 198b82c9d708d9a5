"""One accepted request: from the engine's events to the frames of its stream, and exactly one terminal frame."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

import structlog
from warmline.engine import EngineHandle, Finished, GenerationRequest, SequenceEvent

from .edits import EditAligner
from .metrics import Metrics
from .prompts import PromptPlan
from .protocol import Accepted, Delta, Done, Drafts, Error, ErrorCode, Ops, Receipt, ServerMessage, Timing
from .tracing import Trace, clock

logger = structlog.get_logger("warmline.generation")

_CODES: Final = frozenset(ErrorCode)

Send = Callable[[ServerMessage], int]
"""Writes a message to the client; returns the clock's reading (ns) between encoding and writing it."""


class Output(Protocol):
    """Makes frames of a request's text. None means that there is nothing to send."""

    def feed(self, text: str) -> Delta | Ops | None:
        """Take the next text of the model."""

    def finish(self, completed: bool) -> Delta | Ops | None:
        """The text is at its end, which is the model's own if ``completed``."""

    @property
    def ended(self) -> bool:
        """Whether the text is complete already, so that nothing more need be generated."""


class CompletionOutput:
    """Text as it comes, in the document's line ends."""

    ended = False

    def __init__(self, stream: int, newline: str) -> None:
        self._stream = stream
        self._newline = newline

    def feed(self, text: str) -> Delta | None:
        if self._newline != "\n":
            text = text.replace("\n", self._newline)
        return Delta(self._stream, text)

    def finish(self, completed: bool) -> Delta | None:
        return None


class EditOutput:
    """Operations that turn the original range into the text inside the fence that the prompt opened.

    The stop string ends the text at the newline before the closing fence. An answer without a line has no such
    newline: it starts with the fence, which is looked for here.
    """

    def __init__(self, stream: int, plan: PromptPlan, original: str) -> None:
        self._stream = stream
        self._fence = plan.fence
        self._final_newline = plan.final_newline
        self._aligner = EditAligner(original, plan.newline)
        self._start: str | None = ""  # held back while it may be the closing fence; None once it is not
        self.ended = False

    def feed(self, text: str) -> Ops | None:
        if self.ended:
            return None
        if self._start is not None:
            text = self._start + text
            if text.startswith(self._fence):
                self.ended = True
                return None
            if self._fence.startswith(text):
                self._start = text
                return None
            self._start = None
        return self._ops(self._aligner.feed(text))

    def finish(self, completed: bool) -> Ops | None:
        operations = []
        rest = self._start or ""
        if completed and self._final_newline:
            rest += "\n"
        if rest and not self.ended:
            operations += self._aligner.feed(rest)
        return self._ops(operations + self._aligner.finish(completed))

    def _ops(self, operations: list[int | str]) -> Ops | None:
        return Ops(self._stream, operations) if operations else None


class Generation:
    """A request from its arrival to its end.

    Attributes:
        request: the client's id of it.
        stream: its number on the wire.
        document: the id of the document it was made for.
        ended: its terminal frame was sent.
    """

    def __init__(
        self,
        request: int,
        stream: int,
        document: str,
        kind: str,
        trace: Trace,
        engine: EngineHandle,
        metrics: Metrics,
        send: Send,
        on_end: Callable[[Generation], None],
    ) -> None:
        self.request = request
        self.stream = stream
        self.document = document
        self.ended = False
        self._kind = kind
        self._sequence: GenerationRequest | None = None
        self._trace = trace
        self._engine = engine
        self._metrics = metrics
        self._send = send
        self._on_end = on_end

    def start(self, sequence: GenerationRequest, output: Output) -> None:
        """Tell the client that the request was accepted, and give it to the engine."""
        self._sequence = sequence
        self._send(Accepted(self.request, self.stream))
        self._trace.submitted = clock()
        self._engine.submit(sequence, partial(self._on_event, sequence, output))

    def cancel(self) -> None:
        """End it now. The terminal frame of one that was started comes with the engine's last event."""
        if self._sequence is not None:
            self._engine.cancel(self._sequence.id)
        elif not self.ended:
            self.ended = True
            self._send(Accepted(self.request, self.stream))
            trace = self._trace
            trace.submitted = trace.ended = trace.encoded = trace.sent = clock()
            timing = trace.timing(Finished("cancel"))
            self._end("cancel", Receipt(), timing, Done(self.request, "cancel", Receipt(), timing))

    def _on_event(self, sequence: GenerationRequest, output: Output, event: SequenceEvent) -> None:
        if self.ended:
            return
        arrived = clock()
        try:
            if event.text:
                self._show(output.feed(event.text))
                if output.ended and event.finished is None:
                    self.cancel()
            if event.finished is not None:
                self._finish(sequence, output, event.finished, arrived)
        except Exception:
            logger.exception("request failed", request=self.request, kind=self._kind)
            self.cancel()
            if not self.ended:
                self._end("error", Receipt(), Timing(), _failure(self.request, ErrorCode.INTERNAL_ERROR, ""))

    def _show(self, message: Delta | Ops | None) -> None:
        if message is None:
            return
        self._trace.encoded = self._send(message)
        if not self._trace.first_sent:
            self._trace.first_sent = clock()

    def _finish(self, sequence: GenerationRequest, output: Output, finished: Finished, arrived: int) -> None:
        reason = "stop" if output.ended and finished.reason != "error" else finished.reason
        trace = self._trace
        trace.ended = arrived
        self._show(output.finish(reason == "stop"))
        trace.sent = clock()
        if trace.encoded < arrived:  # this event brought nothing to write
            trace.encoded = trace.sent
        receipt, timing = _receipt(finished, sequence.sampling.seed), trace.timing(finished)
        if reason == "error":
            self._end(reason, receipt, timing, _failure(self.request, finished.error_code, finished.error))
        else:
            self._end(reason, receipt, timing, Done(self.request, reason, receipt, timing))

    def _end(self, outcome: str, receipt: Receipt, timing: Timing, message: Done | Error) -> None:
        self.ended = True
        self._send(message)
        self._on_end(self)
        self._metrics.request_ended(self._kind, outcome, receipt, timing)


def _receipt(finished: Finished, seed: int) -> Receipt:
    return Receipt(
        prompt_tokens=finished.prompt_tokens,
        cached_tokens=finished.cached_tokens,
        computed_tokens=finished.computed_tokens,
        output_tokens=finished.output_tokens,
        forward_passes=finished.forward_passes,
        drafts=[Drafts(draft.source, draft.proposed, draft.accepted) for draft in finished.drafts],
        seed=seed,
    )


def _failure(request: int, code: str, message: str) -> Error:
    """The terminal frame of a request that the engine, or we, could not carry out."""
    if code not in _CODES:
        code = ErrorCode.INTERNAL_ERROR
    return Error(
        request,
        str(code),
        message or "the server failed; its log has the details",
        retryable=code == ErrorCode.ENGINE_UNAVAILABLE,
    )
