"""What the client believes the server holds of one document: text and version, and the messages that keep it true."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol
from weakref import WeakSet

from warmline.realtime import (
    Applied,
    Change,
    Close,
    OffsetIndex,
    Open,
    TextEdit,
    content_hash,
    replace_lone_surrogates,
    utf16_length,
)

from .errors import InvalidRange, WarmlineError

HASH_EVERY: Final = 32
"""A content hash costs time in the size of the text, so one change in this many carries it."""


class Tracker(Protocol):
    """What follows a place through the changes of its document."""

    def changed(self, edits: Sequence[TextEdit], applied: Applied | None = None) -> object:
        """Take a change: edits in order, each counted in the result of the one before."""


class DocumentMirror:
    """Text and version of an open document. Indices are those of Python strings; the wire's are UTF-16.

    Attributes:
        trackers: what is told of each change, for as long as somebody else holds it.
        refused: why the server would not take the document when it was handed over last.
    """

    def __init__(self, uri: str, text: str, language: str) -> None:
        self.uri = replace_lone_surrogates(uri)
        self.text = replace_lone_surrogates(text)
        self.language = replace_lone_surrogates(language)
        self.version = 0
        self.trackers: WeakSet[Tracker] = WeakSet()
        self.refused: WarmlineError | None = None
        self._length = utf16_length(self.text)
        self._offsets: OffsetIndex | None = None  # made when it is needed

    def supersede(self, held: int) -> None:
        """The server holds some text as version ``held``, and takes ours only as a later one."""
        self.version = max(self.version, held + 1)

    def open(self) -> Open:
        """The whole document."""
        return Open(self.uri, self.version, self.language, self.text)

    def close(self) -> Close:
        """The document is no longer needed."""
        return Close(self.uri)

    def check_range(self, start: int, end: int) -> None:
        """Raise InvalidRange unless [start, end) lies in the text; an empty one is a position."""
        length = len(self.text)
        if 0 <= start <= end <= length:
            return
        what = f"position {start}" if start == end else f"the range ({start}, {end})"
        hint = "the smaller index comes first" if start > end else f"indices are 0 to {length}"
        raise InvalidRange(f"{what} is not within a text of {length} characters: {hint}")

    def check_place(self, start: int, end: int) -> None:
        """Raise InvalidRange unless [start, end) lies in the text and divides no line end, as requests have to."""
        self.check_range(start, end)
        for index in (start, end):
            if 0 < index < len(self.text) and self.text[index] == "\n" and self.text[index - 1] == "\r":
                raise InvalidRange(
                    f"position {index} is between the CR and the LF of a line end; take {index - 1} or {index + 1}"
                )

    def offset(self, index: int) -> int:
        """The UTF-16 offset of an index, which is the index itself where no character takes two units."""
        if self._length == len(self.text):
            return index
        if self._offsets is None:
            self._offsets = OffsetIndex.of(self.text)
        return self._offsets.offset(self.text, index)

    def index(self, offset: int) -> int:
        """The index of a UTF-16 offset in the text, which must not divide a character."""
        if self._length == len(self.text):
            return offset
        if self._offsets is None:
            self._offsets = OffsetIndex.of(self.text)
        return self._offsets.index(self.text, offset)

    def replaced(self, start: int, end: int, text: str) -> str:
        """The whole text with [start, end) replaced."""
        return self.text[:start] + text + self.text[end:]

    def change(self, start: int, end: int, text: str, whole: str) -> Change:
        """Replace [start, end), which must be in the text and ``text`` free of lone surrogates, for ``whole``."""
        start_offset = self.offset(start)
        edit = TextEdit(start_offset, start_offset + utf16_length(self.text[start:end]), text)
        return self.commit(whole, [edit])

    def commit(
        self, text: str, edits: list[TextEdit], applied: Applied | None = None, *, check: bool = False
    ) -> Change:
        """Take over ``text``, which is what ``edits`` make of the current one; ``check`` adds a content hash."""
        for tracker in self.trackers:
            tracker.changed(edits, applied)
        base, self.version = self.version, self.version + 1
        self.text = text
        self._length += sum(utf16_length(edit.text) - (edit.end - edit.start) for edit in edits)
        if len(edits) != 1:  # the texts between them would be needed
            self._offsets = None
        elif self._offsets is not None:
            self._offsets = self._offsets.replaced(text, edits[0].start, edits[0].end, self._length)
        hashed = content_hash(text) if check or self.version % HASH_EVERY == 0 else None
        return Change(self.uri, base, self.version, edits, applied, self._length, hashed)
