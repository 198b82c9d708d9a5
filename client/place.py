"""Where a completion belongs while its document changes, and how much of it the person has typed meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

from warmline.realtime import Applied, TextEdit, utf16_length


class PlaceTracker:
    """Follows one place in a document. Offsets are UTF-16 units.

    What is inserted exactly at the place counts as typed, and so does what goes on there or replaces it; a change
    that goes beyond, over what stood before the place, leaves it `lost`.

    Attributes:
        typed: what was inserted at the place.
        lost: the text before the place is no longer what it was.

    """

    def __init__(self, offset: int) -> None:
        self.typed = ""
        self.lost = False
        self._start = offset

    @property
    def offset(self) -> int:
        """The place: behind what was typed."""
        return self._start + utf16_length(self.typed)

    def remaining(self, text: str) -> str | None:
        """What is still to insert of a completion; None if it no longer fits."""
        return text[len(self.typed) :] if not self.lost and text.startswith(self.typed) else None

    def is_ahead(self, text: str) -> bool:
        """Whether what was typed is what a completion says so far, and more."""
        return not self.lost and self.typed.startswith(text)

    def changed(self, edits: Sequence[TextEdit], applied: Applied | None = None) -> None:
        """Take a change of the document."""
        for edit in edits:
            self._take(edit)

    def _take(self, edit: TextEdit) -> None:
        start, end = edit.start - self._start, edit.end - self._start
        if start >= 0:
            typed = self.typed.encode("utf-16-le")
            if 2 * start <= len(typed):
                kept = typed[: 2 * start], edit.text.encode("utf-16-le"), typed[2 * end :]
                self.typed = b"".join(kept).decode("utf-16-le")
        elif end < 0:
            self._start += utf16_length(edit.text) - (end - start)
        else:
            self.lost = True
