"""An open document: what the editor holds, kept the same on the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warmline.realtime import Applied, TextEdit, replace_lone_surrogates

from .errors import DocumentChanged, DocumentClosed
from .mirror import DocumentMirror
from .operations import to_text_edits
from .streams import CompletionResult, EditResult, Result

if TYPE_CHECKING:
    from .session import Session


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
            ValueError: the range is not within the text.
            RequestError: the text would be larger than the server takes; nothing was changed.
            DocumentClosed, ConnectionLost: there is nobody to tell.

        """
        mirror = self.usable_mirror()
        mirror.check_range(start, end)
        text = replace_lone_surrogates(text)
        self._session.check_size(mirror.replaced(start, end, text))
        await self._session.send_change(mirror.change(start, end, text))

    async def apply(self, result: CompletionResult | EditResult) -> None:
        """Make the change that a result proposes. An edit that was cut keeps the rest of the range as it was.

        Raises:
            DocumentChanged: the document is no longer the version the result was made for; nothing was changed.

        """
        mirror = self.usable_mirror()
        if result.document is not self:
            raise ValueError(f"the result belongs to {result.document.uri}, not to {self.uri}")
        if result.version != mirror.version:
            raise DocumentChanged(
                f"the result is for version {result.version} of {self.uri}, which is at {mirror.version} now; "
                "ask again for the current text"
            )
        start, end, edits, applied = _as_change(result, mirror)
        text = mirror.replaced(start, end, result.text)
        self._session.check_size(text)
        await self._session.send_change(mirror.commit(text, edits, applied))

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


def _as_change(result: Result, mirror: DocumentMirror) -> tuple[int, int, list[TextEdit], Applied | None]:
    if isinstance(result, EditResult):
        edits = to_text_edits(result.operations, mirror.offset(result.start))
        return result.start, result.end, edits, Applied(result.request, len(result.operations))
    assert isinstance(result, CompletionResult)
    offset = mirror.offset(result.position)
    return result.position, result.position, [TextEdit(offset, offset, result.text)], None
