"""An edit, which may be steered, and which a person's changes may shift, mark or end."""

from __future__ import annotations

from collections.abc import Sequence

from warmline.engine import GenerationRequest

from ..documents.document import Document
from ..documents.document_text import DocumentText
from ..editing.merging import RangeTracker
from ..editing.steering import divide, joined
from ..errors import Refused
from ..prompting.fences import lf
from ..prompting.planning import LONG_PLAN_CHARS
from ..prompting.prompts import Layout, PromptPlan
from ..protocol import Applied, Delta, Edit, ErrorCode, Ops, Steer, Steered, TextEdit
from ..telemetry.tracing import Trace
from .generation import Generation
from .outputs import EditOutput
from .surroundings import Surroundings


class EditRequest(Generation):
    """One `Edit`.

    It answers for the version it named. What a person changes in the document meanwhile is followed by a
    `RangeTracker`: once it meets what the operations say, or the part of the range that they have not reached, the
    edit ends with ``conflict``.

    Raises:
        Refused: INVALID_RANGE.

    """

    kind = "edit"

    def __init__(
        self, message: Edit, document: Document, stream: int, trace: Trace, surroundings: Surroundings
    ) -> None:
        self._range = start, end = document.range(message.start, message.end)
        super().__init__(message, stream, message.document, trace, surroundings)
        self._message = message
        self._version = DocumentText(document.text, document.language)  # the document itself goes on to change
        self._original = document.text[start:end]
        self._instructions = [message.instruction]
        self._tracker = RangeTracker(message.request, message.start, self._original, decides=True)

    def lay_out(self, document: Document) -> Layout:
        """Its prompt. The document is as it was given before.

        Raises:
            Refused: PROMPT_TOO_LONG.

        """
        message = self._message
        return self._layout(document, message.instruction, message.accepted, None, message.replay)

    def make(self, plan: PromptPlan) -> tuple[GenerationRequest, EditOutput]:
        """What the engine gets, and what its text becomes.

        Raises:
            Refused: INVALID_PARAMETER, the accepted text leaves no tokens.

        """
        output = EditOutput(self.stream, plan, self._original, accepted=lf(self._message.accepted))
        return self._request_for(plan, self._tokens_left(plan)), output

    def _layout(
        self, document: DocumentText, instruction: str, accepted: str, remaining: str | None, replay: str | None
    ) -> Layout:
        sampling = self._message.sampling
        return self._surroundings.service.prompts.edit(
            document, *self._range, instruction, sampling.max_tokens, sampling.stop, replay, accepted, remaining
        )

    def _tokens_left(self, plan: PromptPlan) -> int:
        """What may be generated: accepted text counts as if it had been."""
        left = self._message.sampling.max_tokens - plan.accepted_tokens
        if left < 1:
            raise Refused(
                ErrorCode.INVALID_PARAMETER,
                f"what is accepted has {plan.accepted_tokens} tokens, which leaves none of the "
                f"{self._message.sampling.max_tokens} that max_tokens allows",
            )
        return left

    # A person's changes ----------------------------------------------------------------------------------------

    def changed(self, edits: Sequence[TextEdit], applied: Applied | None) -> bool:
        if self.stopping is not None:
            return False
        ours = self._tracker.changed(edits, applied)
        self._look_for_conflict()
        return ours

    def replaced(self) -> None:
        self.stop("conflict", self._tracker.applied)

    def _look_for_conflict(self) -> None:
        if self._tracker.conflict:
            self.stop("conflict", self._tracker.standing)

    def _show(self, message: Delta | Ops | None) -> None:
        if isinstance(message, Ops):
            sent = self._tracker.known
            self._tracker.operations(message.operations)
            stands = self._tracker.standing - sent
            if stands < len(message.operations):
                message = Ops(self.stream, message.operations[:stands]) if stands > 0 else None
        super()._show(message)
        self._look_for_conflict()

    # Steering --------------------------------------------------------------------------------------------------

    def steer(self, message: Steer, document: Document | None) -> None:
        """Go on under an added instruction. ``document`` is its document as it is now.

        Raises:
            Refused: INVALID_PARAMETER (operations that were not sent or are to be given up though they are applied;
                no tokens left) or PROMPT_TOO_LONG. The edit goes on as it was.

        """
        count = self._count(message)
        made, left = divide(self._original, self._tracker.first(count))
        made = lf(made)
        instructions = [*self._instructions, message.instruction]
        replay = self._message.replay
        if replay is not None:
            replay = (lf(self._message.accepted) + lf(replay))[len(made) :]
        # The document's tokens are known, those of the version before it are made anew.
        version = document if document is not None and document.text is self._version.text else self._version
        layout = self._layout(version, joined(instructions), made, left, replay)

        def make(plan: PromptPlan) -> tuple[GenerationRequest, EditOutput]:
            output = EditOutput(self.stream, plan, left, before=made, whole=self._original)
            return self._request_for(plan, self._tokens_left(plan)), output

        ready = make(layout.plan()) if layout.chars <= LONG_PLAN_CHARS else None
        self._sequences.leave()
        self.accept()
        self._instructions = instructions
        self._tracker.void(count)
        self._surroundings.send(Steered(self.request, count))
        self._surroundings.service.metrics.steers.inc()
        if ready is None:
            self._surroundings.prepare(self, layout, make)
        else:
            self.preparing()
            self.start(*ready)

    def _count(self, message: Steer) -> int:
        """How many operations stay. While the edit goes on, all that stand were sent."""
        sent, applied = self._tracker.standing, self._tracker.applied
        count = sent if message.operations is None else message.operations
        if count > sent:
            raise Refused(
                ErrorCode.INVALID_PARAMETER,
                f"{count} operations can't be kept: {sent} of request {self.request} were sent; leave the number out "
                "to keep all of them",
            )
        if count < applied:
            raise Refused(
                ErrorCode.INVALID_PARAMETER,
                f"{applied} operations of request {self.request} are in the document, so as many have to be kept, "
                f"not {count}",
            )
        return count
