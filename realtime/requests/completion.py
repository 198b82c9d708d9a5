"""A completion."""

from __future__ import annotations

from collections.abc import Sequence

from warmline.engine import GenerationRequest, SequenceEvent

from ..completing.supersede import Succession
from ..prompting.prompts import PromptPlan
from ..protocol import Applied, Complete, Delta, Ops, Reason, TextEdit
from ..telemetry.tracing import Trace, clock
from .generation import Generation
from .outputs import CompletionOutput, LineEnds, Output
from .sequences import EngineSequence
from .surroundings import Surroundings


class CompletionRequest(Generation):
    """One `Complete`.

    Attributes:
        succession: what becomes of it when another comes, and what this one makes of those before.
    """

    kind = "complete"

    def __init__(self, message: Complete, stream: int, trace: Trace, surroundings: Surroundings) -> None:
        super().__init__(message, stream, message.document, trace, surroundings)
        self.succession = Succession(self, message)

    def make(self, plan: PromptPlan) -> tuple[GenerationRequest, CompletionOutput]:
        """What the engine gets, and what its text becomes."""
        output = CompletionOutput(self.stream, LineEnds(plan.newline))
        return self._request_for(plan, self._sampling.max_tokens), output

    def start(self, sequence: GenerationRequest, output: Output) -> None:
        if self.succession.waits(sequence, output):
            self._trace.ready = clock()
        else:
            super().start(sequence, output)

    def changed(self, edits: Sequence[TextEdit], applied: Applied | None) -> bool:
        self.succession.changed(edits)
        return False

    def replaced(self) -> None:
        self.succession.replaced()

    def over(self, outcome: Reason) -> None:
        self.succession.over()

    def made_of(self, sequence: EngineSequence, event: SequenceEvent) -> Delta | Ops | None:
        message = super().made_of(sequence, event)
        if isinstance(message, Delta):
            self.succession.generated(message.text, event)
        return message
