"""The editor's open documents, kept the same on the server while there is one."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from warmline.realtime import replace_lone_surrogates

from ..document import Document
from ..errors import WarmlineError
from ..session import Session
from .exclusions import exclusion_reason, uri_path
from .git_ignored import IGNORED, git_exclusion
from .settings import Settings
from .text import Encoding, LineText

MAX_PENDING: Final = 256
"""Changes that wait to be sent above which their sum is sent instead."""

_log = logging.getLogger(__name__)


class Excluded(WarmlineError):
    """A document may not be sent; the message says which rule keeps it here."""


class OpenDocument:
    """One document: its text as the editor has it, and a copy of it on the server.

    Attributes:
        uri, language: as the editor calls them.
        version: the editor's, of the last notification.
        edition: how often the text has changed; of one edition the text is the same.
        lines: the text.
    """

    def __init__(self, uri: str, language: str, version: int, text: str, encoding: Encoding) -> None:
        self.uri = uri
        self.language = language
        self.version = version
        self.edition = 0
        self.lines = LineText(text, encoding)
        self._session: Session | None = None
        self._copy: Document | None = None
        self._pending: deque[tuple[int, int, str]] = deque()
        self._behind = False  # of more changes than are kept
        self._expected: tuple[str, asyncio.Event] | None = None
        self._lock = asyncio.Lock()

    def change(self, start: int, end: int, text: str) -> None:
        """Take a change that the editor has made: [start, end) of the text becomes another text."""
        text = self.lines.replace(start, end, text)
        self.edition += 1
        if self._copy is not None and not self._behind:
            self._pending.append((start, end, text))
            if len(self._pending) > MAX_PENDING:
                self._pending.clear()
                self._behind = True
        if self._expected is not None and self.lines.text == self._expected[0]:
            self._expected[1].set()

    def expect(self, text: str) -> asyncio.Event:
        """What is set as soon as the text has become this one, if it does before another is expected."""
        self._expected = text, asyncio.Event()
        return self._expected[1]

    def replace_all(self, text: str) -> None:
        """Take a new text as the difference that it makes."""
        change = _difference(self.lines.text, replace_lone_surrogates(text))
        if change is not None:
            self.change(*change)

    async def synced(self, session: Session) -> Document:
        """The copy on a session's server, the same as the text: nothing happens between that and the return.

        Raises:
            RequestError: the server doesn't take the document (too large, too many).
            ConnectionLost: the connection ended.

        """
        async with self._lock:
            copy = self._copy if self._session is session else None
            try:
                if copy is None:
                    text, edition = self.lines.text, self.edition
                    copy = await session.open(self.uri, text, self.language)
                    self._session, self._copy = session, copy
                    self._pending.clear()
                    self._behind = edition != self.edition  # what was typed meanwhile is kept nowhere
                while self._pending or self._behind:
                    change = self._next_change(copy)
                    if change is not None:
                        await copy.change(*change)
            except WarmlineError:
                self._copy = None
                if copy is not None:
                    await copy.close()
                raise
            return copy

    def _next_change(self, copy: Document) -> tuple[int, int, str] | None:
        if not self._behind:
            return self._pending.popleft()
        self._behind = False
        return _difference(copy.text, self.lines.text)

    async def close(self) -> None:
        """Let the server forget it."""
        async with self._lock:
            copy, self._copy = self._copy, None
            if copy is not None:
                await copy.close()


class Documents:
    """All that are open, and whether each may leave this machine.

    Args:
        settings: say what may.
        git: why git keeps a file from being sent; None if it doesn't.
    """

    def __init__(self, settings: Settings, git: Callable[[Path], Awaitable[str | None]] = git_exclusion) -> None:
        self._settings = settings
        self._git = git
        self._open: dict[str, OpenDocument] = {}
        self._reasons: dict[OpenDocument, asyncio.Task[str | None]] = {}
        self._work: set[asyncio.Task[None]] = set()
        self._session: Session | None = None

    def open(self, document: OpenDocument) -> None:
        """The editor has opened a document; one that is open under that name already is given up."""
        self.close(document.uri)
        self._open[document.uri] = document
        self._reasons[document] = asyncio.create_task(self._reason(document))
        self.sync_soon(document)

    def close(self, uri: str) -> None:
        """The editor has closed a document."""
        document = self._open.pop(uri, None)
        if document is not None:
            self._reasons.pop(document).cancel()
            self._begin(document.close())

    def get(self, uri: str) -> OpenDocument | None:
        """The open document of that name."""
        return self._open.get(uri)

    def connected(self, session: Session) -> None:
        """There is a session: hand the documents over, so that its server can begin to read."""
        self._session = session
        for document in self._open.values():
            self.sync_soon(document)

    def sync_soon(self, document: OpenDocument) -> None:
        """Send what has changed, if there is a session."""
        if self._session is not None and not self._session.closed:
            self._begin(self._sync(document, self._session))

    async def on_server(self, document: OpenDocument, session: Session) -> Document:
        """A document's copy on the server, the same as its text now.

        Raises:
            Excluded: it may not be sent.
            RequestError: the server doesn't take it.
            ConnectionLost: the connection ended.

        """
        reason = await self.reason(document)
        if reason is not None:
            raise Excluded(reason)
        return await document.synced(session)

    async def reason(self, document: OpenDocument) -> str | None:
        """Why a document may not be sent; None if it may."""
        task = self._reasons.get(document)
        return "the document is closed" if task is None else await asyncio.shield(task)

    async def end(self) -> None:
        """Give up all that is under way."""
        work = [*self._work, *self._reasons.values()]
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)

    async def _reason(self, document: OpenDocument) -> str | None:
        settings = self._settings
        reason = exclusion_reason(document.uri, settings.exclude, settings.document_schemes)
        if reason is not None or not settings.exclude_git_ignored or not document.uri.lower().startswith("file:"):
            return reason
        reason = await self._git(Path(uri_path(document.uri)))
        if reason not in (None, IGNORED):
            _log.warning("%s is not sent: %s", document.uri, reason)
        return reason

    async def _sync(self, document: OpenDocument, session: Session) -> None:
        try:
            await self.on_server(document, session)
        except WarmlineError as error:  # who asks for something is told; nobody has asked here
            _log.info("%s is not on the server: %s", document.uri, error)

    def _begin(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)


def _difference(before: str, after: str) -> tuple[int, int, str] | None:
    """The one replacement that makes a text another; None if they are the same."""
    if before == after:
        return None
    start = _common(before, after)
    behind = _common(before[start:][::-1], after[start:][::-1])
    return start, len(before) - behind, after[start : len(after) - behind]


def _common(one: str, other: str) -> int:
    """How many characters two texts begin with that are the same, found by halving."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
