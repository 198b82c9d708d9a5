"""A completion, which may go on with what was generated for the one before, or with the prompt computed for it.

Keys may come faster than a prompt is computed. If each cancelled the request before, none would ever get to its
first token. So a superseded completion that is still at its prompt stays in the engine until that is done, if the new
prompt begins like it, and then as long as its text may turn out to be what is being typed. Then the newest request
goes on with that text, or takes its place with little left to compute. Those in between never reach the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
from warmline.engine import GenerationRequest, SequenceEvent, pack_tokens

from .generation import EngineSequence, Generation, Surroundings
from .outputs import CompletionOutput, LineEnds, Output
from .prompts import PromptPlan
from .protocol import Applied, Complete, Continued, Delta, Ops, Reason, TextEdit
from .supersede import Suggestion
from .tracing import Trace, clock

_TOKEN_BYTES: Final = len(pack_tokens([0]))
_LOST_TOKENS: Final = 32
"""How many of a prompt's last tokens a newer one may have no use for; a prompt of no more isn't worth waiting for."""


class CompletionRequest(Generation):
    """One `Complete`."""

    kind = "complete"

    def __init__(self, message: Complete, stream: int, trace: Trace, surroundings: Surroundings) -> None:
        super().__init__(message, stream, message.document, trace, surroundings)
        self._message = message
        self._line_ends = LineEnds("\n")  # of the sequence's text
        self._suggestion = Suggestion(message)
        self._before: CompletionRequest | None = None  # whose prompt this one waits for
        self._next: CompletionRequest | None = None  # which waits for the prompt of this one
        self._waiting: tuple[GenerationRequest, Output] | None = None

    def make(self, plan: PromptPlan) -> tuple[GenerationRequest, CompletionOutput]:
        """What the engine gets, and what its text becomes."""
        self._line_ends = LineEnds(plan.newline)
        sequence = self._sequence(plan, self._message.sampling.max_tokens)
        return sequence, CompletionOutput(self.stream, self._line_ends)

    def changed(self, edits: Sequence[TextEdit], applied: Applied | None) -> bool:
        self._suggestion.changed(edits)
        return False

    def replaced(self) -> None:
        self._suggestion.replaced()

    def rest_for(self, message: Complete) -> str | None:
        """What was generated already of another request's text; None if that has to start afresh."""
        return self._suggestion.rest(message) if self.stopping is None else None

    def go_on_with(self, other: CompletionRequest, rest: str) -> None:
        """Take over another completion, which ends as superseded; ``rest`` is what it has generated for this one."""
        self._line_ends = other._line_ends  # which know how the text has ended so far
        self._suggestion = Suggestion(self._message, other._suggestion)
        self._surroundings.service.metrics.continued.inc()
        replaces = self._suggestion.replaces
        continued = Continued(other.request, other._message.version, self._message.version, replaces)
        self._take_over(other, continued, CompletionOutput(self.stream, self._line_ends, rest))

    # Waiting for a prompt --------------------------------------------------------------------------------------

    def supersede(self, others: Sequence[CompletionRequest]) -> None:
        """End other completions as superseded; the prompt of the newest that is at it may serve this one."""
        for other in others:
            serving = other._before or (other if other._may_serve(self) else None)
            if serving is None or other is not others[-1]:
                other.stop("superseded")
                continue
            self._before, serving._next = serving, self
            serving._suggestion.awaited(self._message)
            other._before = None
            if other is serving:
                other.stopping = "superseded"
            else:
                other.stop("superseded")

    def start(self, sequence: GenerationRequest, output: Output) -> None:
        before = self._before
        if before is not None and before._next is self and before._is_worth_waiting_for(self, sequence.prompt):
            self._waiting = sequence, output
            self._trace.ready = clock()
        else:
            self._stop_waiting()
            super().start(sequence, output)

    def over(self, outcome: Reason) -> None:
        self._stop_waiting()

    def _may_serve(self, other: CompletionRequest) -> bool:
        current = self._current
        if current is None or current.finished is not None:
            return False
        return not current.first_event or self._suggestion.may_reach(other._message)

    def _is_worth_waiting_for(self, other: CompletionRequest, prompt: bytes) -> bool:
        current = self._current
        if current is None:
            return False
        if not current.first_event:
            return _begins_like(prompt, current.prompt)
        return self._suggestion.may_reach(other._message)

    def _stop_waiting(self) -> None:
        """This request has no use for the prompt of the one before."""
        before, self._before = self._before, None
        if before is not None and before._next is self:
            before._next = None
            before._stop_sequences()

    def _on_event(self, sequence: EngineSequence, event: SequenceEvent) -> None:
        following = self._next
        if following is None:
            super()._on_event(sequence, event)
            return
        sequence.first_event = sequence.first_event or clock()
        try:
            if self._serve(following, event):
                if event.finished is not None:  # its last words, which are the other's now
                    following._on_event(sequence, msgspec.structs.replace(event, text="", tokens=b""))
                return
        except Exception:
            following._break_off()
        super()._on_event(sequence, event)
        if self._next is None or (event.finished is None and self._suggestion.may_reach(following._message)):
            return
        self._next = following._before = None
        self._stop_sequences()
        if following._waiting is not None and not following.ended:
            following.start(*following._waiting)

    def _serve(self, following: CompletionRequest, event: SequenceEvent) -> bool:
        """Hand the text over if it goes beyond what was typed by now. Returns whether it does."""
        if event.text:
            self._suggestion.generated(self._line_ends.convert(event.text), len(event.tokens) // _TOKEN_BYTES)
        if event.finished is not None and event.finished.reason not in ("stop", "length"):
            return False
        rest = self._suggestion.rest(following._message)
        if rest is None:
            return False
        self._next = following._before = following._waiting = None
        following.preparing()  # no prompt is wanted any more
        following.go_on_with(self, rest)
        return True

    def _show(self, message: Delta | Ops | None, event: SequenceEvent | None = None) -> None:
        super()._show(message, event)
        if event is not None and isinstance(message, Delta):
            self._suggestion.generated(message.text, len(event.tokens) // _TOKEN_BYTES)


def _begins_like(prompt: bytes, other: bytes) -> bool:
    """Whether a prompt begins with another, but for some tokens at that one's end."""
    shared = len(other) - _LOST_TOKENS * _TOKEN_BYTES
    return shared > 0 and prompt.startswith(other[:shared])
