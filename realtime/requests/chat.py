"""A turn of a conversation."""

from __future__ import annotations

from warmline.engine import GenerationRequest, SequenceEvent

from ..prompting.prompts import PromptPlan
from ..protocol import Chat, Delta, Ops, Reason
from ..telemetry.tracing import Trace
from .conversations import ChatTurn
from .generation import Generation
from .outputs import CompletionOutput, LineEnds
from .sequences import EngineSequence
from .surroundings import Surroundings


class ChatRequest(Generation):
    """One `Chat`. Its turn is told what the model said, and how it ended."""

    kind = "chat"

    def __init__(self, message: Chat, turn: ChatTurn, stream: int, trace: Trace, surroundings: Surroundings) -> None:
        super().__init__(message, stream, None, trace, surroundings)
        self._turn = turn

    @property
    def conversation(self) -> str:
        """The id of its conversation."""
        return self._turn.conversation

    def make(self, plan: PromptPlan) -> tuple[GenerationRequest, CompletionOutput]:
        """What the engine gets, and what its text becomes."""
        output = CompletionOutput(self.stream, LineEnds(plan.newline))
        return self._request_for(plan, self._sampling.max_tokens), output

    def stop(self, reason: Reason, operations: int | None = None) -> None:
        # Of a turn without a prompt there is nothing to keep.
        super().stop("cancel" if reason == "interrupted" and not self._turn.begun else reason, operations)

    def made_of(self, sequence: EngineSequence, event: SequenceEvent) -> Delta | Ops | None:
        self._turn.feed(event)
        return super().made_of(sequence, event)

    def over(self, outcome: Reason) -> None:
        self._turn.end(outcome)
