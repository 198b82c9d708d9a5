"""How requests ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warmline.realtime import PlaceTracker, RangeTracker, Reason, Receipt, TokenLogprob

from .operations import EditOperation
from .timing import HopTiming

if TYPE_CHECKING:
    from .document import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How a request ended.

    Attributes:
        request: its number in the session.
        text: the completion, the new text of the range, or the reply.
        reason: ``stop`` (the model ended, or a stop text came), ``length`` (``max_tokens`` or the context is used
            up), ``cancel``, ``superseded`` (a newer completion of the document took its place), ``interrupted``, or
            ``conflict`` (the person changed what the edit was still to change).
        receipt: what it cost, in tokens and passes.
        timing: where the time went.
        ttft: microseconds from the call to the first text or operations; None if there were none.
    """

    request: int
    text: str
    reason: Reason
    receipt: Receipt
    timing: HopTiming
    ttft: int | None

    @property
    def tokens_per_second(self) -> float:
        """Output tokens over the end-to-end time, time to first token included.

        Of a completion that continues another, whose tokens are counted too, it is too high.
        """
        return self.receipt.output_tokens * 1e6 / max(self.timing.end_to_end, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionResult(Result):
    """The result of `Session.complete`.

    Attributes:
        document: what it was asked for, and ``version`` at that time.
        position: where the text belonged then; ``place`` follows it and says what is left of the text.
        continued: the request whose text it goes on with, since the person typed what that had suggested; or None.
        replaces: how many characters behind ``position`` the text takes the place of. An editor has put them there
            by itself, to close what of the suggestion was typed, and the text closes the same. An editor that shows
            the text gives [position, position + replaces) as its range. 0 unless ``continued``.
        logprobs: one for each token, if they were asked for; empty if not.
    """

    document: Document = field(repr=False)
    version: int
    position: int
    continued: int | None
    replaces: int
    place: PlaceTracker = field(repr=False, compare=False)
    logprobs: tuple[TokenLogprob, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class EditResult(Result):
    """The result of `Session.edit`.

    ``operations`` walk over the range [start, end) of the version; what they don't reach is kept. ``text`` is the
    range with all of them applied. After a ``conflict`` they are those that stand.

    Attributes:
        document: what it was asked for, and ``version`` at that time.
        range: follows the range through later changes.
    """

    document: Document = field(repr=False)
    version: int
    start: int
    end: int
    operations: tuple[EditOperation, ...]
    range: RangeTracker = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatResult(Result):
    """The result of `Session.chat`: the reply as a whole, in a conversation.

    ``logprobs`` has one for each token, if they were asked for.
    """

    conversation: str
    logprobs: tuple[TokenLogprob, ...] = field(default=(), repr=False)
