"""Where a completion belongs while its document changes, and how much of it the person has typed meanwhile.

Server and client each keep a tracker for a completion, and give it the same changes in the same order; so both know
what is left of its text, and what that replaces. The range that it replaces is what VS Code calls the range of an
inline completion: from the cursor to the end of the *tail*, the closers that the editor has put behind the cursor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ..documents.text import string_index, utf16_length
from ..documents.text_edits import edits_near
from ..protocol import Applied, TextEdit
from .auto_closing import closes, may_close

MAX_TAIL: Final = 64
"""Characters that count as an editor's closers behind the cursor, at most."""


class Typed(NamedTuple):
    """What was put at a place: ``text`` before the cursor, and a ``tail`` behind it."""

    text: str
    tail: str

    def rest(self, suggestion: str) -> str | None:
        """What a suggestion for the place says behind the cursor, instead of the tail; None if it doesn't fit.

        It fits if it begins with the text and, where there is a tail, `closes` what that closes.
        """
        if not suggestion.startswith(self.text):
            return None
        rest = suggestion[len(self.text) :]
        if not self.tail:
            return rest
        return rest if len(self.tail) <= MAX_TAIL and closes(self.text, rest, self.tail) else None

    def may_fit(self, suggestion: str) -> bool:
        """Whether the suggestion may fit, once more of it is there."""
        if not suggestion.startswith(self.text) and not self.text.startswith(suggestion):
            return False
        if not self.tail:
            return True
        return len(self.tail) <= MAX_TAIL and may_close(self.text, suggestion[len(self.text) :], self.tail)


class PlaceTracker:
    """Follows one place in a document. Offsets are UTF-16 units.

    What is inserted exactly at the place belongs to it, and so does what is changed within that. A change that ends
    before the place shifts it, one that begins behind it leaves it. Any other leaves it `lost`: one that removes
    what stood right before the place, or both of what belongs to it and of what doesn't; or one of more places there
    than `edits_near` looks at.

    Attributes:
        start, end: where what was put at the place begins and ends in the current document.
        text: what was put at the place: what was typed, and what the editor closed behind it.
        passed: what of that was typed before the completion was asked for, if it goes on with an earlier one.
        origin: the same object for all that go on from one place.
        lost: the place is gone.

    """

    def __init__(self, offset: int, most: int | None = None) -> None:
        """With more than ``most`` characters put there, the place is lost."""
        self._most = most
        self.start = self.end = offset
        self.text = ""
        self.passed = ""
        self.origin = object()
        self.lost = False

    def at(self, cursor: int) -> Typed | None:
        """What was put at the place before and behind a cursor; None if that is elsewhere, or the place is lost."""
        if self.lost:
            return None
        try:
            index = string_index(self.text, cursor - self.start)
        except ValueError:
            return None
        return Typed(self.text[:index], self.text[index:])

    def go_on_from(self, before: PlaceTracker, passed: str) -> None:
        """Follow the place of an earlier completion, of whose text so much had been typed."""
        self.start, self.end, self.text, self.lost = before.start, before.end, before.text, before.lost
        self.passed, self.origin = passed, before.origin

    def remaining(self, completion: str, cursor: int | None = None) -> TextEdit | None:
        """The edit of the current document that puts in what is left of a completion, and removes the tail for it.

        With the cursor it inserts there. Without, it inserts behind as much of the text as is typed already, so it
        is as small as can be; the document becomes the same. None if the completion doesn't fit (yet: see `may_fit`).
        """
        suggestion = self.passed + completion
        for typed in self._divisions(suggestion, cursor):
            rest = typed.rest(suggestion)
            if rest is not None:
                return TextEdit(self.start + utf16_length(typed.text), self.end, rest)
        return None

    def may_fit(self, completion: str) -> bool:
        """Whether a completion of which more is to come may fit then."""
        suggestion = self.passed + completion
        if self.lost or self.text.startswith(suggestion):
            return not self.lost
        return any(typed.may_fit(suggestion) for typed in self._divisions(suggestion))

    def changed(self, edits: Sequence[TextEdit], applied: Applied | None = None) -> None:
        """Take a change of the document: edits in order, each counted in the result of the one before."""
        if self.lost:
            return
        near = edits_near(edits, self.start, self.end)
        if near is None:
            self.text, self.lost = "", True
            return
        for edit in near.edits:
            if edit.start <= self.end and not self.lost:
                self._take(edit)
                if self._most is not None and len(self.text) > self._most:
                    self.text, self.lost = "", True
        self.start += near.moved
        self.end += near.moved

    def _take(self, edit: TextEdit) -> None:
        grown = utf16_length(edit.text) - (edit.end - edit.start)
        if edit.end < self.start:
            self.start += grown
            self.end += grown
        elif edit.start == self.end:  # what it removes stood behind the place
            self.text += edit.text
            self.end += utf16_length(edit.text)
        elif edit.start >= self.start and edit.end <= self.end:
            first = string_index(self.text, edit.start - self.start)
            last = string_index(self.text, edit.end - self.start)
            self.text = self.text[:first] + edit.text + self.text[last:]
            self.end += grown
        else:
            self.lost = True

    def _divisions(self, suggestion: str, cursor: int | None = None) -> Iterator[Typed]:
        """What was put at the place, divided where the cursor is or may be; the largest beginning first."""
        if cursor is not None:
            typed = self.at(cursor)
            if typed is not None:
                yield typed
        elif not self.lost:
            for index in range(_shared(self.text, suggestion), max(len(self.text) - MAX_TAIL, 0) - 1, -1):
                yield Typed(self.text[:index], self.text[index:])


def _shared(one: str, other: str) -> int:
    """How many characters two texts begin with that are the same."""
    pairs = zip(one, other, strict=False)
    return next((index for index, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
