"""From a model's text to the frames of a request's stream."""

from __future__ import annotations

import re
from typing import Final, Protocol

from ..editing.edits import EditAligner
from ..prompting.held_text import HeldText
from ..prompting.prompts import PromptPlan
from ..protocol import Delta, Ops

_BARE_LINE_FEED: Final = re.compile(r"(?<!\r)\n")


class Output(Protocol):
    """Makes frames of a request's text. None means that there is nothing to send."""

    def begin(self) -> Delta | Ops | None:
        """What is known before the model says anything. Comes first, once."""

    def feed(self, text: str) -> Delta | Ops | None:
        """Take the next text of the model."""

    def finish(self, completed: bool) -> Delta | Ops | None:
        """The text is at its end, which is the model's own if ``completed``."""

    @property
    def ended(self) -> bool:
        """Whether the text is complete already, so that nothing more need be generated."""


class LineEnds:
    """Gives a model's text, which comes in pieces, the line ends of a CR LF document; one of these for each text.

    A line feed gets the carriage return that belongs before it, unless the model has said that itself, be it at the
    end of the piece before. Nothing is held back. Text for another document stays as it is.

    Attributes:
        converts: the document is one of those.
    """

    def __init__(self, newline: str) -> None:
        self.converts = newline == "\r\n"
        self._returned = False  # what came last is a carriage return

    def convert(self, text: str) -> str:
        """The next piece, converted."""
        if not self.converts or not text:
            return text
        begins = "\n" if self._returned and text[0] == "\n" else ""
        self._returned = text[-1] == "\r"
        return begins + _BARE_LINE_FEED.sub("\r\n", text[len(begins) :])


class CompletionOutput:
    """Text as it comes, in the document's line ends; first what was generated before, if anything.

    Attributes:
        line_ends: those of the text, which another output may go on with.
    """

    ended = False

    def __init__(self, stream: int, line_ends: LineEnds, generated: str = "") -> None:
        self._stream = stream
        self.line_ends = line_ends
        self._convert = line_ends.convert if line_ends.converts else None
        self._generated = generated

    def begin(self) -> Delta | None:
        return Delta(self._stream, self._generated) if self._generated else None

    def feed(self, text: str) -> Delta | None:
        return Delta(self._stream, text if self._convert is None else self._convert(text))

    def finish(self, completed: bool) -> Delta | None:
        return None


class EditOutput:
    """Operations that turn the original range into the text inside the fence that the prompt opened.

    The stop string ends the text at the newline before the closing fence. An answer without a line has no such
    newline: it starts with the fence, which is looked for here. So it is where the model goes on behind a line of
    text that was accepted: ``before`` is such text (LF line ends) that operations already say, and ``original`` what
    they left of the ``whole`` range; ``accepted`` is such text that none says yet.
    """

    def __init__(
        self,
        stream: int,
        plan: PromptPlan,
        original: str,
        *,
        accepted: str = "",
        before: str = "",
        whole: str | None = None,
    ) -> None:
        self._stream = stream
        self._fence = plan.fence
        self._final_newline = plan.final_newline
        self._aligner = EditAligner(original, plan.newline, whole=whole)
        self._accepted = accepted
        self._held = HeldText(plan.held)
        given = before + accepted
        # Held back while it may be the closing fence; None once it is not.
        self._start: str | None = "" if not given or given.endswith("\n") else None
        self.ended = False

    def begin(self) -> Ops | None:
        return self._ops(self._aligner.feed(self._accepted)) if self._accepted else None

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
        text = self._held.feed(text)
        return self._ops(self._aligner.feed(text)) if text else None

    def finish(self, completed: bool) -> Ops | None:
        operations = []
        rest = self._start or ""
        if completed and self._final_newline:
            rest += "\n"
        if not self.ended and (rest := self._held.finish(rest)):
            operations += self._aligner.feed(rest)
        return self._ops(operations + self._aligner.finish(completed))

    def _ops(self, operations: list[int | str]) -> Ops | None:
        return Ops(self._stream, operations) if operations else None
