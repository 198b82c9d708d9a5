"""An open document: what the editor holds, kept the same on the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warmline.realtime import (
    Applied,
    RangeTracker,
    TextEdit,
    Warm,
    apply_edits,
    replace_lone_surrogates,
    utf16_length,
)

from .arguments import check_text, whole_number
from .errors import Conflict, DocumentClosed, InvalidArgument, WrongType
from .mirror import DocumentMirror
from .operations import Replacement
from .results import CompletionResult, EditResult
from .streams import Completion, EditStream

if TYPE_CHECKING:
    from .session import Session

MAX_EDITS: Final = 1024
"""Edits in one change above which the whole range is cheaper to send."""


class Document:
    """A document of a session. Indices count the characters of `text`, as Python strings do.

    Changes are sent as they are made. If the server finds that its copy differs, the whole text is handed over anew,
    without the program noticing. Lone surrogates, which can't travel, become U+FFFD.
    """

    def __init__(self, session: Session, mirror: DocumentMirror) -> None:
        self._session = session
        self._mirror = mirror
        self._closed = False

    @property
    def uri(self) -> str:
        """The document's name."""
        return self._mirror.uri

    @property
    def text(self) -> str:
        """The current text."""
        return self._mirror.text

    @property
    def version(self) -> int:
        """The number of changes so far."""
        return self._mirror.version

    async def change(self, start: int, end: int, text: str) -> None:
        """Replace the characters [start, end) by ``text``. Returns when the connection can take more.

        Raises:
            InvalidRange: the range is not within the text.
            WrongType: ``start`` or ``end`` is no whole number, or ``text`` no string.
            RequestError: the text would be larger than the server takes; nothing was changed.
            DocumentClosed, ConnectionLost: there is nobody to tell.

        """
        mirror = self.usable_mirror()
        start, end = whole_number("start", start), whole_number("end", end)
        check_text("text", text)
        mirror.check_range(start, end)
        text = replace_lone_surrogates(text)
        whole = mirror.replaced(start, end, text)
        self._session.check_size(whole)
        await self._session.send_change(mirror.change(start, end, text, whole))

    async def warm(self, position: int, end: int | None = None) -> None:
        """Say where the next request will probably be, so that the server prepares for it in idle time.

        A completion at ``position``, or an edit of [position, end). The text around changes is prepared anyway.

        Raises:
            InvalidRange: the position or range is not within the text, or divides a line end (CR LF).
            WrongType: ``position`` or ``end`` is no whole number.
            DocumentClosed, ConnectionLost: there is nobody to tell.

        """
        mirror = self.usable_mirror()
        position, end = whole_number("position", position), None if end is None else whole_number("end", end)
        mirror.check_place(position, position if end is None else end)
        offset = mirror.offset(position)
        await self._session.send_change(
            Warm(mirror.uri, mirror.version, offset, None if end is None else mirror.offset(end))
        )

    async def apply(self, what: Completion | EditStream | CompletionResult | EditResult) -> None:
        """Put into the document what a request has brought and is not in it yet.

        A request that still runs may be applied as often as one likes: each time, what came since the last time goes
        in. Changes that a person makes meanwhile, or makes before a result is applied, are respected. They move an
        edit when they are outside its range, and stay when they are inside of it and clear of what it changes; what
        was typed at the place of a completion, and is what it begins with, is not inserted again, and takes the place
        of what an editor closed behind it.

        An edit that was cut keeps the rest of the range as it was. One of which a person's change excludes a part is
        put in up to there, whether the stream or the result is applied, and never without `Conflict`. Of a request
        that failed nothing more is put in.

        Raises:
            Conflict: a person's change and what is to be applied exclude each other. The operations of an edit before
                that are in the document; of a completion, nothing was put in.
            InvalidArgument: it is of another document.
            WrongType: it is none of these.
            RequestError: the text would be larger than the server takes, or the request failed; nothing was changed.
            DocumentClosed, ConnectionLost: there is nobody to tell.

        """
        mirror = self._mirror_for(what)
        if isinstance(what, Completion | CompletionResult):
            await self._insert(what, mirror)
            return
        tracker = what.range
        count = min(what.ready if isinstance(what, EditStream) else len(what.operations), tracker.standing)
        if count > tracker.applied:
            await self._operate(mirror, tracker, count, check=isinstance(what, EditResult) or what.ended)
        if _is_excluded(what, tracker):
            raise self._excluded(tracker)

    def replacements(self, what: Completion | EditStream | CompletionResult | EditResult) -> list[Replacement]:
        """What `apply` would put into the text as it is now, without doing so.

        For a program that has the text elsewhere, such as in an editor: it makes the replacements there, and reports
        them by `change` as it does what a person types. They are in ascending order, none overlaps another, and all
        count the same text, which is that before the first of them.

        Raises:
            Conflict: a person's change and what is to be applied exclude each other.
            InvalidArgument: it is of another document.
            WrongType: it is none of these.
            RequestError: the request failed.
            DocumentClosed, ConnectionLost: the document is kept the same nowhere any more.

        """
        mirror = self._mirror_for(what)
        if isinstance(what, Completion | CompletionResult):
            edit = self._insertion(what)
            edits = [] if edit is None else [edit]
        else:
            tracker = what.range
            if _is_excluded(what, tracker):
                raise self._excluded(tracker)
            count = what.ready if isinstance(what, EditStream) else len(what.operations)
            edits = tracker.edits(max(min(count, tracker.standing), tracker.applied))
        replacements = []
        moved = 0  # by the edits before, in each of whose results the next one counts
        for edit in edits:
            start, end = mirror.index(edit.start - moved), mirror.index(edit.end - moved)
            replacements.append(Replacement(start, end, edit.text))
            moved += utf16_length(edit.text) - (edit.end - edit.start)
        return replacements

    def _mirror_for(self, what: Completion | EditStream | CompletionResult | EditResult) -> DocumentMirror:
        """The mirror that something is to be applied to, if it can be."""
        mirror = self.usable_mirror()
        if not isinstance(what, Completion | EditStream | CompletionResult | EditResult):
            raise WrongType(f"a {type(what).__name__} can't be applied: pass a completion, an edit, or its result")
        if what.document is not self:
            raise InvalidArgument(f"the result belongs to {what.document.uri}, not to {self.uri}")
        if isinstance(what, Completion | EditStream) and what.error is not None:
            raise what.error.with_traceback(None)
        return mirror

    def _excluded(self, tracker: RangeTracker) -> Conflict:
        return Conflict(
            f"a change of {self.uri} excludes the rest of the edit: {_applied(tracker.applied)}, "
            "and the rest was given up; ask again for the current text",
            tracker.applied,
        )

    async def _operate(self, mirror: DocumentMirror, tracker: RangeTracker, count: int, check: bool) -> None:
        edits = tracker.edits(count)
        if len(edits) > MAX_EDITS:
            inside = [TextEdit(e.start - tracker.start, e.end - tracker.start, e.text) for e in edits]
            edits = [TextEdit(tracker.start, tracker.end, apply_edits(tracker.text, inside))]
        text = apply_edits(mirror.text, edits)
        self._session.check_size(text)
        await self._session.send_change(mirror.commit(text, edits, Applied(tracker.request, count), check=check))

    async def _insert(self, what: Completion | CompletionResult, mirror: DocumentMirror) -> None:
        edit = self._insertion(what)
        if edit is not None:
            text = apply_edits(mirror.text, [edit])
            self._session.check_size(text)
            await self._session.send_change(mirror.commit(text, [edit]))

    def _insertion(self, what: Completion | CompletionResult) -> TextEdit | None:
        """What puts in the rest of a completion; None if there is none, or none yet."""
        edit = what.place.remaining(what.text)
        if edit is None and not (isinstance(what, Completion) and what.place.may_fit(what.text)):
            raise Conflict(f"something else was typed in {self.uri} than the completion says; ask again")
        return edit if edit is not None and edit.text else None

    async def close(self) -> None:
        """Let the server forget the document; its running requests end with reason ``cancel``. Idempotent."""
        if not self._closed:
            self._closed = True
            self._session.forget(self._mirror)

    def usable_mirror(self) -> DocumentMirror:
        """The mirror, unless the document is closed or the server would not take it."""
        if self._closed:
            raise DocumentClosed(f"{self.uri} is closed; open it again")
        if self._mirror.refused is not None:
            raise self._mirror.refused.with_traceback(None)
        return self._mirror


def _is_excluded(what: EditStream | EditResult, tracker: RangeTracker) -> bool:
    """Whether a person's change keeps a part of an edit out for good."""
    if what.reason is None:
        return tracker.conflict
    return what.reason == "conflict" or tracker.standing < tracker.known


def _applied(operations: int) -> str:
    match operations:
        case 0:
            return "nothing of it was applied"
        case 1:
            return "the one operation before it was applied"
        case _:
            return f"the {operations} operations before it were applied"
