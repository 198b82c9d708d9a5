"""What becomes of a completion when another one of the same document comes: it is replaced, and may live on in that.

If the person typed the beginning of what was suggested, the new request goes on with the old one's sequence: it is
told what is left of the text by then, and gets the rest as it comes. `Suggestion` says whether it can.

Keys may come faster than a prompt is computed. If each cancelled the request before, none would ever get to its
first token. So a superseded completion that is still at its prompt stays in the engine until that is done, if the new
prompt begins like it, and then as long as its text may turn out to be what is being typed. Then the newest request
goes on with that text, or takes its place with little left to compute. Those in between never reach the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
from warmline.engine import GenerationRequest, SequenceEvent, pack_tokens

from ..protocol import Complete, Continued, TextEdit
from ..requests.generation import Generation
from ..requests.outputs import CompletionOutput, Output
from ..requests.sequences import EngineSequence
from ..telemetry.tracing import clock
from .suggestion import Suggestion

_TOKEN_BYTES: Final = len(pack_tokens([0]))
_LOST_TOKENS: Final = 32
"""How many of a prompt's last tokens a newer one may have no use for; a prompt of no more isn't worth waiting for."""


class Continuation(NamedTuple):
    """A completion that another request can go on with, and what it has generated for that already."""

    before: Succession
    rest: str


def find_continuation(completions: Sequence[Succession], message: Complete) -> Continuation | None:
    """The first of some completions whose text another request asks for; None if that has to start afresh."""
    for before in completions:
        rest = before.rest_for(message)
        if rest is not None:
            return Continuation(before, rest)
    return None


class Succession:
    """One completion's part in this: what it suggests, whom it replaces, and whose prompt it waits for.

    Its request tells it of changes of the document, of its text, and of its end, and asks it before it starts.
    """

    def __init__(self, request: Generation, message: Complete) -> None:
        self._request = request
        self._message = message
        self._suggestion = Suggestion(message)
        self._wait: _Wait | None = None

    def changed(self, edits: Sequence[TextEdit]) -> None:
        """Take a change of the document."""
        self._suggestion.changed(edits)

    def replaced(self) -> None:
        """The document has another text now."""
        self._suggestion.replaced()

    def generated(self, text: str, event: SequenceEvent) -> None:
        """Take the next text, in the document's line ends, which ``event`` brought."""
        self._suggestion.generated(text, len(event.tokens) // _TOKEN_BYTES)

    def break_off(self) -> None:
        """End the request after a fault of ours. Call it while the exception is handled."""
        self._request.break_off()

    def over(self) -> None:
        """The request is at its end."""
        self._stop_waiting()

    def rest_for(self, message: Complete) -> str | None:
        """What was generated already of another request's text; None if that has to start afresh."""
        return self._suggestion.rest(message) if self._request.stopping is None else None

    # Replacing others ------------------------------------------------------------------------------------------

    def supersede(self, others: Sequence[Succession], continuation: Continuation | None) -> None:
        """End other completions, the oldest first, as superseded, and go on with one of them if it can be.

        Else the prompt of the newest may be worth waiting for, if that is still being computed.
        """
        if continuation is not None:
            self._go_on_with(*continuation)
            for other in others:
                other._request.stop("superseded")
            return
        for other in others[:-1]:
            other._request.stop("superseded")
        if others:
            self._replace(others[-1])

    def waits(self, sequence: GenerationRequest, output: Output) -> bool:
        """Whether what would start now waits for the prompt of a completion before; it is started after that."""
        wait = self._wait
        if wait is not None and wait.is_worth_it(sequence.prompt):
            wait.ready = sequence, output
            return True
        self._stop_waiting()
        return False

    def _replace(self, other: Succession) -> None:
        wait, current = other._wait, other._request.current
        if wait is not None:  # what that one waited for, this one does
            other._wait = None
            wait.serve(self)
            other._request.stop("superseded")
        elif current is not None and other._may_serve(current, self._message):
            _Wait(other, current, self)
            other._request.retire()
        else:
            other._request.stop("superseded")

    def _may_serve(self, current: EngineSequence, message: Complete) -> bool:
        if current.finished is not None:
            return False
        return not current.first_event or self._suggestion.may_reach(message)

    def _go_on_with(self, before: Succession, rest: str) -> None:
        """Take over another completion, which ends as superseded; ``rest`` is what it has generated for this one."""
        other = before._request
        self._suggestion = Suggestion(self._message, before._suggestion)
        continued = Continued(
            other.request, before._message.version, self._message.version, self._suggestion.replaces
        )
        sequence = other.current
        assert sequence is not None and isinstance(sequence.output, CompletionOutput)
        # The line ends know how the text has ended so far.
        output = CompletionOutput(self._request.stream, sequence.output.line_ends, rest)
        self._request.take_over(other, output, continued)

    def _stop_waiting(self) -> None:
        if self._wait is not None:
            self._wait.end()


class _Wait:
    """A completion, the following one, waits for the prompt of one that is superseded, whose sequence goes on.

    The sequence's events come here meanwhile, until its text is handed over or proves to be of no use.

    Attributes:
        ready: what the following one starts with if it can't go on with the text; None until its prompt is made.
    """

    ready: tuple[GenerationRequest, Output] | None
    _following: Succession

    def __init__(self, superseded: Succession, sequence: EngineSequence, following: Succession) -> None:
        self._superseded = superseded
        self._sequence = sequence
        sequence.listener = self
        self.serve(following)

    def serve(self, following: Succession) -> None:
        """Wait for this one, instead of the one before."""
        self.ready = None
        self._following = following
        following._wait = self
        self._superseded._suggestion.awaited(following._message)

    def is_worth_it(self, prompt: bytes) -> bool:
        """Whether the following one, whose prompt is known now, had better wait on."""
        if not self._sequence.first_event:
            return _begins_like(prompt, self._sequence.prompt)
        return self._superseded._suggestion.may_reach(self._following._message)

    def on_event(self, sequence: EngineSequence, event: SequenceEvent) -> None:
        """Take what the engine says of the sequence: it is the following one's if it goes beyond what was typed."""
        superseded, following = self._superseded, self._following
        sequence.first_event = sequence.first_event or clock()
        try:
            if self._hand_over(event):
                if event.finished is not None:  # its last words, which are the other's now
                    following._request.on_event(sequence, msgspec.structs.replace(event, text="", tokens=b""))
                return
            superseded._request.on_event(sequence, event)
            if following._wait is not self:
                return
            if event.finished is not None or not superseded._suggestion.may_reach(following._message):
                self.end()
                if self.ready is not None and not following._request.ended:
                    following._request.start(*self.ready)
        except Exception:
            following._request.break_off()
            superseded._request.break_off()

    def end(self) -> None:
        """The following one has no use for the sequence."""
        self._detach()
        self._superseded._request.free()

    def _hand_over(self, event: SequenceEvent) -> bool:
        """Let the following one go on with the text if there is a rest for it by now. Returns whether there is."""
        superseded, following = self._superseded, self._following
        if event.text:
            superseded._request.made_of(self._sequence, event)
        if event.finished is not None and event.finished.reason not in ("stop", "length"):
            return False
        rest = superseded._suggestion.rest(following._message)
        if rest is None:
            return False
        self._detach()
        following._request.preparing()  # no prompt is wanted any more
        following._go_on_with(superseded, rest)
        return True

    def _detach(self) -> None:
        self._following._wait = None
        self._sequence.listener = self._superseded._request


def _begins_like(prompt: bytes, other: bytes) -> bool:
    """Whether a prompt begins with another, but for some tokens at that one's end."""
    shared = len(other) - _LOST_TOKENS * _TOKEN_BYTES
    return shared > 0 and prompt.startswith(other[:shared])
