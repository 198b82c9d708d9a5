"""Edits by command: the model's operations, put into the editor's text by one `workspace/applyEdit`.

All at once, at the end: so one undo takes all of it back in every editor, and an edit that can't be carried out as a
whole changes nothing. What is typed meanwhile moves it, is merged, or excludes it, as with `Document.apply`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Protocol, TypeVar

import msgspec

from ..errors import Conflict, ConnectionLost, WarmlineError
from ..operations import EditOperation, Insert, Replacement, Void
from ..results import EditResult
from ..streams import EditStream
from .documents import Documents, OpenDocument
from .failures import INVALID_PARAMS, REQUEST_CANCELLED, CommandFailure, failure_of
from .link import Link

MOST_ATTEMPTS: Final = 8
"""How often an edit is offered to an editor that has another version each time, since somebody types."""

PATIENCE_SECONDS: Final = 2.0
"""How long an editor that has put an edit in may take to report the change."""

MOST_LINES: Final = 60
"""Lines to each side that count as the paragraph around a cursor."""


class _Position(msgspec.Struct, frozen=True):
    line: Annotated[int, msgspec.Meta(ge=0)]
    character: Annotated[int, msgspec.Meta(ge=0)]


class _Range(msgspec.Struct, frozen=True):
    start: _Position
    end: _Position


class EditArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What ``warmline.edit`` takes.

    Attributes:
        uri: an open document.
        range: what to edit, which becomes whole lines; an empty one is the paragraph around it.
        instruction: what to do.
        version: the document's version that the range belongs to, if the editor says so.
    """

    uri: str
    range: _Range
    instruction: str
    version: int | None = None


class SteerArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What ``warmline.steer`` takes: a further instruction for the newest edit that runs, anywhere or there."""

    instruction: str
    uri: str | None = None


class StopArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What ``warmline.interrupt`` and ``warmline.cancel`` take: a document, or nothing for all."""

    uri: str | None = None


class Outcome(msgspec.Struct, frozen=True, rename="camel"):
    """What ``warmline.edit`` answers.

    Attributes:
        applied: whether the text is another now; it isn't where the model changed nothing.
        reason: why the model ended: ``stop``, or ``interrupted``.
        inserted, deleted: characters.
        tokens_per_second: how fast it was.
    """

    applied: bool
    reason: str
    inserted: int
    deleted: int
    tokens_per_second: float


@dataclass(frozen=True, slots=True)
class Answer:
    """What the editor said to an edit."""

    applied: bool
    why: str


class Progress(Protocol):
    """Shows how far an edit is."""

    def report(self, percentage: int) -> None:
        """So much of the range is done."""

    def end(self, how: str) -> None:
        """It is over: with a `Reason`, or ``failed``."""


ApplyEdit = Callable[[OpenDocument, Sequence[Replacement]], Awaitable[Answer]]
"""Lets the editor make replacements of a document's text as it is now, if it still has that."""

BeginProgress = Callable[[str, Callable[[], None]], Progress]
"""Begins to show progress under a title; what it is given cancels the work."""


class Edits:
    """The edits that run.

    Args:
        link, documents: where to ask, and what about.
        apply: puts what comes into the editor's text.
    """

    def __init__(self, link: Link, documents: Documents, apply: ApplyEdit) -> None:
        self._link = link
        self._documents = documents
        self._apply = apply
        self._running: list[tuple[OpenDocument, EditStream]] = []  # the newest last

    async def edit(self, arguments: Sequence[object] | None, progress: BeginProgress) -> Outcome:
        """Carry out ``warmline.edit``. Cancelled, it ends the request on the server at once.

        Raises:
            CommandFailure: nothing was changed; the message says why.

        """
        given = _parsed(arguments, EditArguments, "warmline.edit takes {uri, range, instruction}")
        document = self._documents.get(given.uri)
        if document is None:
            raise CommandFailure("unknown_document", f"{given.uri} is not open in this editor.")
        if given.version is not None and given.version != document.version:
            what = f"the range is of version {given.version}, and the document has {document.version}"
            raise CommandFailure("stale_version", f"Nothing was changed: {what}. Ask again.")
        start, end = _whole_range(document, given.range)
        edition = document.edition
        try:
            session = await self._link.wanted()
            copy = await self._documents.on_server(document, session)
            if document.edition != edition:
                raise CommandFailure("stale_version", "Something was typed before the edit could begin. Ask again.")
            async with session.edit(copy, (start, end), given.instruction) as stream:
                self._running.append((document, stream))
                try:
                    result = await _watched(stream, end - start, progress(given.instruction, stream.cancel))
                finally:
                    self._running.remove((document, stream))
            return await self._carried_out(document, result)
        except WarmlineError as error:
            raise failure_of(error) from None

    async def steer(self, arguments: Sequence[object] | None) -> None:
        """Carry out ``warmline.steer``: the edit goes on under a further instruction, and keeps what it has made.

        Raises:
            CommandFailure: there is no edit to steer, or it can't be.

        """
        given = _parsed(arguments, SteerArguments, "warmline.steer takes {instruction, uri?}")
        running = self._of(given.uri)
        if not running:
            raise CommandFailure("unknown_request", "No edit runs that could be steered.")
        try:
            await running[-1].steer(given.instruction)
        except WarmlineError as error:
            raise failure_of(error) from None

    def interrupt(self, arguments: Sequence[object] | None) -> int:
        """Carry out ``warmline.interrupt``: the model stops, and what it has made is put in.

        Returns how many edits there were.
        """
        given = _parsed(arguments, StopArguments, "warmline.interrupt takes {uri?}")
        running = self._of(given.uri)
        for stream in running:
            stream.interrupt()
        return len(running)

    def cancel(self, arguments: Sequence[object] | None) -> int:
        """Carry out ``warmline.cancel``: nothing is changed. Returns how many edits there were."""
        given = _parsed(arguments, StopArguments, "warmline.cancel takes {uri?}")
        running = self._of(given.uri)
        for stream in running:
            stream.cancel()
        return len(running)

    def _of(self, uri: str | None) -> list[EditStream]:
        return [stream for document, stream in self._running if uri is None or document.uri == uri]

    async def _carried_out(self, document: OpenDocument, result: EditResult) -> Outcome:
        if result.reason == "cancel":
            raise CommandFailure("cancelled", "The edit was cancelled; nothing was changed.", REQUEST_CANCELLED)
        if result.reason == "length":
            what = "The edit became longer than it may and was cut off, so nothing was changed."
            raise CommandFailure("cut", f"{what} Take a smaller range.")
        outcome: Outcome | None = None  # of an attempt that the editor says it carried out
        for _ in range(MOST_ATTEMPTS):
            try:
                replacements = await self._replacements(document, result)
            except Conflict:
                if outcome is not None:  # it was put in, together with what was typed: that is what excludes it now
                    return outcome
                raise
            inserted = sum(len(one.text) for one in replacements)
            deleted = sum(one.end - one.start for one in replacements)
            speed = round(result.tokens_per_second, 1)
            outcome = Outcome(bool(replacements), result.reason, inserted, deleted, speed)
            if not replacements:
                return outcome
            edition, before = document.edition, document.lines.text
            expected = document.expect(_replaced(before, replacements))
            answer = await self._apply(document, replacements)
            if answer.applied:
                # Neovim says so, too, where it has left an edit of an older version alone.
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(expected.wait(), PATIENCE_SECONDS)
                if expected.is_set() or _has_come(result.text, before, document.lines.text):
                    return outcome
                if document.edition == edition:  # it may still report it, so it isn't offered twice
                    what = "The editor says that it put the edit in, and has reported no change of the text"
                    raise CommandFailure("not_applied", f"{what}. Look whether it is there, and ask again if not.")
            elif document.edition == edition:
                raise CommandFailure("not_applied", f"The editor did not put the edit in: {answer.why}")
            else:
                outcome = None
        raise CommandFailure("not_applied", "The text changed each time that the edit was to be put in. Ask again.")

    async def _replacements(self, document: OpenDocument, result: EditResult) -> list[Replacement]:
        """What the edit makes of the text as it is now."""
        session = self._link.session
        copy = None if session is None else await self._documents.on_server(document, session)
        if copy is not result.document:
            raise ConnectionLost("the connection was lost before the edit could be put in")
        return result.document.replacements(result)


def _has_come(result: str, before: str, after: str) -> bool:
    """Whether the result of an edit stands in a text more often than it did, whatever was typed beside it."""
    return result != "" and after.count(result) > before.count(result)


def _replaced(text: str, replacements: Sequence[Replacement]) -> str:
    for one in reversed(replacements):
        text = text[: one.start] + one.text + text[one.end :]
    return text


async def _watched(stream: EditStream, length: int, progress: Progress) -> EditResult:
    """The result of an edit, whose way through the range is shown."""
    passed = 0
    how = "failed"
    try:
        async for operation in stream:
            if isinstance(operation, Void):  # it was steered from an earlier place
                passed = sum(_walks(operation) for operation in stream.operations)
            else:
                passed += _walks(operation)
            progress.report(min(100 * passed // max(length, 1), 100))
        result = await stream.result()
        how = result.reason
        return result
    finally:
        progress.end(how)


def _walks(operation: EditOperation) -> int:
    """Characters of the range that an operation goes over."""
    return 0 if isinstance(operation, Insert) else len(operation.text)


def _whole_range(document: OpenDocument, given: _Range) -> tuple[int, int]:
    """Whole lines, as small models edit best."""
    lines = document.lines
    start = lines.index(given.start.line, given.start.character)
    end = lines.index(given.end.line, given.end.character)
    if start > end:
        raise CommandFailure("invalid_range", "The range ends before it starts.", INVALID_PARAMS)
    return lines.paragraph(start, MOST_LINES) if start == end else lines.whole_lines(start, end)


_Arguments = TypeVar("_Arguments", bound=msgspec.Struct)


def _parsed(arguments: Sequence[object] | None, kind: type[_Arguments], takes: str) -> _Arguments:
    """The one argument of a command.

    Raises:
        CommandFailure: it is none of that kind.

    """
    if arguments is not None and len(arguments) > 1:
        raise CommandFailure("invalid_parameter", f"{takes} as its one argument.", INVALID_PARAMS)
    try:
        given = arguments[0] if arguments else None
        return msgspec.convert({} if given is None else given, kind)
    except msgspec.ValidationError as error:
        raise CommandFailure("invalid_parameter", f"{takes} as its one argument: {error}", INVALID_PARAMS) from None
