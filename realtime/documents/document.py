"""A client's document: its newest text and version, changed by edits counted in UTF-16 units."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from ..access.over_limit import named
from ..errors import Refused
from ..limits import Limits
from ..protocol import Change, ErrorCode, Open, TextEdit
from .document_text import DocumentText
from .large_open import LargeOpen
from .offset_index import OffsetIndex
from .text import content_hash, utf16_length
from .text_edits import EditSequence, check_range, grown

_FEW: Final = 4
"""Up to so many edits, the text is rebuilt for each, and what lies between them keeps its tokens."""

Replacement = tuple[int, int, int]
"""String indices [start, end), and the number of characters that are there now."""


class Document(DocumentText):
    """The mirror of one open document, whose text changes.

    A change that is refused leaves it exactly as it was. Its edits may begin and end anywhere but inside a surrogate
    pair, as they may replace line ends. Where the text has only characters of the basic plane
    (``length == len(text)``), UTF-16 offsets are string indices and nothing is converted.

    Attributes:
        length: of the text, in UTF-16 units.
    """

    __slots__ = ("_offsets", "id", "length", "version")

    def __init__(self, opened: Open, limits: Limits) -> None:
        """Take over an opened document.

        Raises:
            Refused: DOCUMENT_TOO_LARGE.

        """
        read = opened if isinstance(opened, LargeOpen) else None
        _check_size(opened.text, limits, None if read is None else read.size)
        super().__init__(opened.text, opened.language)
        self.id = opened.document
        self.version = opened.version
        self.length = utf16_length(opened.text) if read is None else read.offsets.length
        # Made when it is needed, and forgotten when it isn't.
        self._offsets = None if read is None or self.length == len(self.text) else read.offsets

    def index(self, offset: int) -> int:
        """The string index of a UTF-16 offset.

        Raises:
            Refused: INVALID_RANGE, as of `range`.

        """
        return self.range(offset, offset)[0]

    def range(self, start: int, end: int) -> tuple[int, int]:
        """The string indices of a UTF-16 range that a request may name.

        A text that is put between the CR and the LF of a line end, or taken away there, would leave half of it.

        Raises:
            Refused: INVALID_RANGE, the range is reversed, outside the text, or cuts a surrogate pair or a line end.

        """
        check_range(start, end, self.length)
        first, last = start, end
        if self.length != len(self.text):
            if self._offsets is None:
                self._offsets = OffsetIndex.of(self.text)
            try:
                first, last = self._offsets.index(self.text, start), self._offsets.index(self.text, end)
            except ValueError as error:
                raise Refused(ErrorCode.INVALID_RANGE, str(error)) from None
        for offset, index in ((start, first), (end, last)):
            if index > 0 and self.text.startswith("\r\n", index - 1):
                raise Refused(
                    ErrorCode.INVALID_RANGE,
                    f"offset {offset} lies between the CR and the LF of a line end; take the one before it or behind",
                )
        return first, last

    def change(self, change: Change, limits: Limits) -> Sequence[TextEdit]:
        """Apply a change. Returns its edits, in the form in which those who follow a part of the text want them.

        Raises:
            Refused: STALE_VERSION, INVALID_RANGE, INVALID_PARAMETER (too many edits), DOCUMENT_TOO_LARGE or
                HASH_MISMATCH.

        """
        if change.base != self.version:
            raise Refused(
                ErrorCode.STALE_VERSION, f"the change is for version {change.base}; version {self.version} is held"
            )
        if change.version <= change.base:
            raise Refused(
                ErrorCode.STALE_VERSION, f"version {change.version} must be greater than version {change.base} before"
            )
        if len(change.edits) > limits.max_edits:
            raise Refused(
                ErrorCode.INVALID_PARAMETER,
                f"{len(change.edits)} edits in one change; with more than {limits.max_edits}, open the document anew",
            )
        edits: Sequence[TextEdit] = change.edits
        if len(edits) <= _FEW:
            text, length, offsets, replacements = _apply_few(self.text, self.length, self._offsets, edits)
        else:
            edits = sequence = EditSequence(edits, self.length)
            text, length, offsets, replacements = _apply_many(self.text, self.length, self._offsets, sequence, limits)
        _check_size(text, limits)
        if change.length is not None and change.length != length:
            raise Refused(
                ErrorCode.HASH_MISMATCH,
                f"the text would have {length} UTF-16 units after the change, not {change.length}",
            )
        if change.hash is not None and change.hash != content_hash(text):
            raise Refused(ErrorCode.HASH_MISMATCH, "the content hash after the change differs")
        for replacement in replacements:
            self.tokens.replaced(*replacement)
        self.text = text
        self.length = length
        self._offsets = offsets
        self.version = change.version
        return edits


def _apply_few(
    text: str, length: int, offsets: OffsetIndex | None, edits: Iterable[TextEdit]
) -> tuple[str, int, OffsetIndex | None, list[Replacement]]:
    """Apply a few edits in order, each on the whole text."""
    replacements: list[Replacement] = []
    for number, edit in enumerate(edits):
        check_range(edit.start, edit.end, length, number)
        start, end = edit.start, edit.end
        if length != len(text):
            offsets = offsets or OffsetIndex.of(text)
            try:
                start, end = offsets.index(text, start), offsets.index(text, end)
            except ValueError as error:
                raise Refused(ErrorCode.INVALID_RANGE, f"edit {number}: {error}") from None
        text = "".join((text[:start], edit.text, text[end:]))
        length += utf16_length(edit.text) - (edit.end - edit.start)
        if length == len(text):
            offsets = None
        elif offsets is not None:
            offsets = offsets.replaced(text, edit.start, edit.end, length)
        replacements.append((start, end, len(edit.text)))
    return text, length, offsets, replacements


def _apply_many(
    text: str, length: int, offsets: OffsetIndex | None, sequence: EditSequence, limits: Limits
) -> tuple[str, int, OffsetIndex | None, list[Replacement]]:
    """Apply edits at once to the part of the text that they lie in, which then counts as replaced."""
    if not sequence.one_way and len(sequence) > limits.max_unordered_edits:
        raise Refused(
            ErrorCode.INVALID_PARAMETER,
            f"{len(sequence)} edits that go to and fro in one change; with more than {limits.max_unordered_edits}, "
            "open the document anew",
        )
    start, end = sequence.start, sequence.end
    if length == len(text):
        new, new_length = sequence.apply(text, length), length + grown(sequence)
        return new, new_length, None, [(start, end, end - start + len(new) - len(text))]
    offsets = offsets or OffsetIndex.of(text)
    (first, last), (origin, until) = offsets.blocks_around(start, end)
    new = "".join((text[:first], sequence.apply(text[first:last], until - origin, origin), text[last:]))
    new_length = length + grown(sequence)
    begin, finish = offsets.index(text, start), offsets.index(text, end)
    followed = None if new_length == len(new) else offsets.replaced(new, start, end, new_length)
    return new, new_length, followed, [(begin, finish, finish - begin + len(new) - len(text))]


def _check_size(text: str, limits: Limits, size: int | None = None) -> None:
    """``size`` is the text's in bytes of UTF-8, if that is known."""
    if 4 * len(text) <= limits.max_document_bytes:
        return
    if size is None:
        size = len(text) if text.isascii() else len(text.encode())
    if size > limits.max_document_bytes:
        raise Refused(
            ErrorCode.DOCUMENT_TOO_LARGE,
            f"the document has {size} bytes; at most {limits.max_document_bytes} are taken "
            f"({named(limits.document_bytes_scope, 'document_bytes')})",
        )
