"""Whether a completion can go on with what was generated for the one before, as the person typed just that."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import msgspec

from .protocol import Complete, TextEdit
from .text import string_index, utf16_length


class Suggestion:
    """What was generated for a completion, and what the person has put at its position since.

    Texts are in the document's line ends.
    """

    def __init__(self, message: Complete, before: Suggestion | None = None) -> None:
        """``before`` is what this one goes on with."""
        self._message = message
        self._typed: str | None = ""  # None: something else was changed
        self._most = message.sampling.max_tokens  # that the sequence may generate
        self._passed = 0  # characters that were typed before this request
        self._generated: list[str] = []
        self._ends: list[int] = []  # characters after each piece
        self._tokens: list[int] = []  # tokens after each piece
        if before is not None:
            self._most, self._passed = before._most, before._passed + len(before._typed or "")
            self._generated, self._ends, self._tokens = before._generated, before._ends, before._tokens

    def generated(self, text: str, tokens: int) -> None:
        """Take the next text, made of so many tokens."""
        self._generated.append(text)
        self._ends.append((self._ends[-1] if self._ends else 0) + len(text))
        self._tokens.append((self._tokens[-1] if self._tokens else 0) + tokens)

    def changed(self, edits: Sequence[TextEdit]) -> None:
        """Take a change of the document. All of it has to happen within what was typed at the position so far."""
        for edit in edits:
            if self._typed is None:
                return
            start, end = edit.start - self._message.position, edit.end - self._message.position
            if start < 0:
                self._typed = None
                return
            try:
                first, last = string_index(self._typed, start), string_index(self._typed, end)
            except ValueError:
                self._typed = None
                return
            self._typed = self._typed[:first] + edit.text + self._typed[last:]

    def replaced(self) -> None:
        """The document has another text now."""
        self._typed = None

    def rest(self, message: Complete) -> str | None:
        """What is generated already of another request's text; None if that has to start afresh, or isn't there yet.

        It can go on if the person typed the beginning of what was generated, and stands behind it, and asks for the
        same sampling. ``max_tokens`` may be less by what was typed, since it is what is left that counts. Without
        anything typed a sampled text is asked for to get another one.
        """
        typed, ahead = self._typed_for(message), self._ahead
        return ahead[len(typed) :] if typed is not None and ahead.startswith(typed) and ahead != typed else None

    def may_reach(self, message: Complete) -> bool:
        """Whether what is still generated may make a `rest` for another request."""
        typed = self._typed_for(message)
        return typed is not None and typed.startswith(self._ahead)

    @property
    def _ahead(self) -> str:
        """What was generated behind the position."""
        return "".join(self._generated)[self._passed :]

    def _typed_for(self, message: Complete) -> str | None:
        """What was typed, if another request stands right behind it and asks for the same."""
        typed, old = self._typed, self._message
        if typed is None or message.position != old.position + utf16_length(typed):
            return None
        if not typed and message.sampling.temperature > 0:
            return None
        if old.replay != (None if message.replay is None else typed + message.replay):
            return None
        if msgspec.structs.replace(message.sampling, max_tokens=old.sampling.max_tokens) != old.sampling:
            return None
        least = self._most - self._tokens_before(self._passed + len(typed))
        return typed if least <= message.sampling.max_tokens <= self._most else None

    def _tokens_before(self, characters: int) -> int:
        """How many tokens were spent on so many characters, at least."""
        pieces = bisect_right(self._ends, characters)
        return self._tokens[pieces - 1] if pieces else 0
