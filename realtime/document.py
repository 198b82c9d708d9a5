"""A client's document: its newest text and version, changed by edits counted in UTF-16 units."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal

from .errors import Refused
from .limits import Limits
from .pair_index import PairIndex
from .protocol import Change, ErrorCode, Open, TextEdit
from .text import content_hash, string_index, utf16_length
from .tokens import DocumentTokens

_FEW: Final = 8
"""Up to so many edits, rebuilding the string for each is cheaper than going through UTF-16."""

Replacement = tuple[int, int, int]
"""String indices [start, end), and the number of characters that are there now."""
_MANY_PIECES: Final = 256
"""So many pieces in a row are worth copying into one."""


class Document:
    """The mirror of one open document.

    A change that is refused leaves it exactly as it was. Where the text has only characters of the basic plane
    (``length == len(text)``), UTF-16 offsets are string indices and nothing is converted.

    Attributes:
        length: of the text, in UTF-16 units.
        tokens: what is known of the text's tokens.
    """

    __slots__ = ("_pairs", "id", "language", "length", "text", "tokens", "version")

    def __init__(self, opened: Open, limits: Limits) -> None:
        """Take over an opened document.

        Raises:
            Refused: DOCUMENT_TOO_LARGE.

        """
        _check_size(opened.text, limits)
        self.id = opened.document
        self.language = opened.language
        self.version = opened.version
        self.text = opened.text
        self.length = utf16_length(opened.text)
        self.tokens = DocumentTokens(len(opened.text))
        self._pairs: PairIndex | None = None  # made when it is needed

    @property
    def newline(self) -> Literal["\n", "\r\n"]:
        """The line end of the first line; LF for a text of one line."""
        at = self.text.find("\n")
        return "\r\n" if at > 0 and self.text[at - 1] == "\r" else "\n"

    def index(self, offset: int) -> int:
        """The string index of a UTF-16 offset.

        Raises:
            Refused: INVALID_RANGE, the offset is outside the text or inside a surrogate pair.

        """
        return self.range(offset, offset)[0]

    def range(self, start: int, end: int) -> tuple[int, int]:
        """The string indices of a UTF-16 range.

        Raises:
            Refused: INVALID_RANGE, the range is reversed, outside the text, or cuts a surrogate pair.

        """
        _check_range(start, end, self.length)
        if self.length == len(self.text):
            return start, end
        pairs = self._pair_index()
        try:
            if pairs is not None:
                return pairs.index(start), pairs.index(end)
            return string_index(self.text, start), string_index(self.text, end)
        except ValueError as error:
            raise Refused(ErrorCode.INVALID_RANGE, str(error)) from None

    def _pair_index(self) -> PairIndex | None:
        if self._pairs is None:
            self._pairs = PairIndex.of(self.text, self.length)
        return self._pairs

    def change(self, change: Change, limits: Limits) -> None:
        """Apply a change.

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
        pairs = self._pair_index() if len(change.edits) <= _FEW else None
        replacements: Iterable[Replacement]
        if pairs is not None:
            text, length, pairs, replacements = _apply_few(self.text, self.length, pairs, change.edits)
        else:
            text, length = apply_edits(self.text, self.length, change.edits)
            replacements = _enclosing(self.text, self.length, text, length, change.edits)
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
        self._pairs = pairs
        self.version = change.version


def apply_edits(text: str, length: int, edits: Sequence[TextEdit]) -> tuple[str, int]:
    """Apply edits in order, each to the result of the one before.

    ``length`` is the text's in UTF-16 units. Returns the new text and its length.

    Raises:
        Refused: INVALID_RANGE, naming the edit.

    """
    if length == len(text) and len(edits) <= _FEW and all(utf16_length(e.text) == len(e.text) for e in edits):
        for number, edit in enumerate(edits):
            _check_range(edit.start, edit.end, len(text), number)
            text = text[: edit.start] + edit.text + text[edit.end :]
        return text, len(text)
    gap = _Gap(text.encode("utf-16-le"))
    for number, edit in enumerate(edits):
        _check_range(edit.start, edit.end, gap.length // 2, number)
        gap.move(2 * edit.start)
        if gap.splits_pair():
            raise _inside_pair(edit.start, number)
        gap.delete(2 * (edit.end - edit.start))
        if gap.splits_pair():
            raise _inside_pair(edit.end, number)
        gap.insert(edit.text.encode("utf-16-le"))
    return gap.content().decode("utf-16-le"), gap.length // 2


def _apply_few(
    text: str, length: int, pairs: PairIndex, edits: Iterable[TextEdit]
) -> tuple[str, int, PairIndex, list[Replacement]]:
    """Apply a few edits in order to a text of which it is known where the characters of two units are."""
    replacements: list[Replacement] = []
    for number, edit in enumerate(edits):
        _check_range(edit.start, edit.end, length, number)
        try:
            start, end = pairs.index(edit.start), pairs.index(edit.end)
        except ValueError as error:
            raise Refused(ErrorCode.INVALID_RANGE, f"edit {number}: {error}") from None
        text = "".join((text[:start], edit.text, text[end:]))
        length += utf16_length(edit.text) - (edit.end - edit.start)
        pairs = pairs.replaced(edit.start, edit.end, edit.text)
        replacements.append((start, end, len(edit.text)))
    return text, length, pairs, replacements


def _enclosing(
    old: str, old_length: int, new: str, new_length: int, edits: Sequence[TextEdit]
) -> Iterator[Replacement]:
    """What edits replaced, all in one: from where the texts begin to differ to where they cease to."""
    if not edits:
        return
    start = min(edit.start for edit in edits)
    rest, length = old_length, old_length
    for edit in edits:
        rest = min(rest, length - edit.end)
        length += utf16_length(edit.text) - (edit.end - edit.start)
    if old_length != len(old) or new_length != len(new):
        start, rest = string_index(old, start), len(old) - string_index(old, old_length - rest)
    yield start, len(old) - rest, len(new) - start - rest


class _Gap:
    """Bytes as the pieces before and after a point.

    Pieces are views, so moving the point costs the pieces passed, not the bytes: a replace-all of thousands of
    edits, in either order, costs what its edits cost. Many pieces passed at once become one, so that going to and
    fro over them doesn't cost them each time.
    """

    def __init__(self, content: bytes) -> None:
        self.length = len(content)
        self._at = 0
        self._before: list[memoryview] = []
        self._after: list[memoryview] = [memoryview(content)] if content else []  # the nearest piece last

    def move(self, to: int) -> None:
        passed: list[memoryview] = []
        while self._at > to:
            piece = self._before.pop()
            self._at -= len(piece)
            passed.append(piece)
        self._after += _joined(passed[::-1])[::-1]
        passed = []
        while self._at < to:
            piece = self._take(to - self._at)
            self._at += len(piece)
            passed.append(piece)
        self._before += _joined(passed)

    def delete(self, count: int) -> None:
        self.length -= count
        while count:
            count -= len(self._take(count))

    def insert(self, content: bytes) -> None:
        if content:
            self._before.append(memoryview(content))
            self._at += len(content)
            self.length += len(content)

    def splits_pair(self) -> bool:
        """Whether the unit after the point is the second half of a surrogate pair (little-endian units)."""
        return bool(self._after) and 0xDC <= self._after[-1][1] <= 0xDF

    def content(self) -> bytes:
        return b"".join([*self._before, *reversed(self._after)])

    def _take(self, most: int) -> memoryview:
        """Remove the next piece, or as much of it as is wanted."""
        piece = self._after.pop()
        if len(piece) > most:
            self._after.append(piece[most:])
            piece = piece[:most]
        return piece


def _joined(pieces: list[memoryview]) -> list[memoryview]:
    return [memoryview(b"".join(pieces))] if len(pieces) > _MANY_PIECES else pieces


def _check_size(text: str, limits: Limits) -> None:
    if 4 * len(text) <= limits.max_document_bytes:
        return
    size = len(text) if text.isascii() else len(text.encode())
    if size > limits.max_document_bytes:
        raise Refused(
            ErrorCode.DOCUMENT_TOO_LARGE,
            f"the document has {size} bytes; at most {limits.max_document_bytes} are taken",
        )


def _check_range(start: int, end: int, length: int, edit: int | None = None) -> None:
    if start <= end <= length:
        return
    where = "" if edit is None else f"edit {edit}: "
    problem = "is reversed" if start > end else f"is outside the text, which has {length} UTF-16 units"
    raise Refused(ErrorCode.INVALID_RANGE, f"{where}the range {start}..{end} {problem}")


def _inside_pair(offset: int, edit: int) -> Refused:
    return Refused(ErrorCode.INVALID_RANGE, f"edit {edit}: offset {offset} lies inside a surrogate pair")
