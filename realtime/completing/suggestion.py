"""Whether a completion can go on with what was generated for the one before, as the person typed just that.

The text stays what it was generated for, though the document around the place may have changed since: a model shown
the closers that an editor has put behind the cursor, or a new import above, would have been given another prompt. It
is still what was suggested, and the person is typing it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

import msgspec

from ..documents.text import utf16_length
from ..protocol import Complete, TextEdit
from .place import PlaceTracker, Typed

MAX_TYPED: Final = 4096
"""Characters put at a place with which no suggestion goes on any more: each edit in a large paste would copy it."""


class Suggestion:
    """What was generated for a completion, and what the person has put at its position since.

    Texts are in the document's line ends. One that goes on with another takes over its text, and its place: both
    begin where the first of them did.

    Attributes:
        replaces: UTF-16 units behind the position that the text takes the place of: what the editor closed there.

    """

    def __init__(self, message: Complete, before: Suggestion | None = None) -> None:
        """``before`` is what this one goes on with, as its `rest` said that it can."""
        self._message = message
        self._place = PlaceTracker(message.position, MAX_TYPED)
        self._awaited: tuple[Complete, Typed | None] | None = None
        self.replaces = 0
        if before is None:
            self._most = message.sampling.max_tokens  # that the sequence may generate
            self._replay = message.replay
            self._made = _Made()
            return
        self._most, self._replay, self._made = before._most, before._replay, before._made
        typed = before._typed_at(message) or Typed("", "")
        self._place.go_on_from(before._place, typed.text)
        self.replaces = utf16_length(typed.tail)

    def generated(self, text: str, tokens: int) -> None:
        """Take the next text, made of so many tokens."""
        self._made.new.append((text, tokens))

    def changed(self, edits: Sequence[TextEdit]) -> None:
        """Take a change of the document."""
        self._place.changed(edits)

    def replaced(self) -> None:
        """The document has another text now."""
        self._place.lost = True
        self._awaited = None

    def awaited(self, message: Complete) -> None:
        """A request that has just come waits for this text: what was typed is for it what is typed now.

        Without this, what is changed while it waits would count, and its position is one in the version it named.
        """
        self._awaited = message, self._place.at(message.position)

    def rest(self, message: Complete) -> str | None:
        """What is generated already of another request's text; None if that has to start afresh, or isn't there yet.

        It can go on if the person typed the beginning of what was generated, and stands behind it, and asks for the
        same sampling. What the editor has closed behind the cursor has to be closed by the rest, too, which then
        takes its place. ``max_tokens`` may be less by what was typed, since it is what is left that counts. Without
        anything typed a sampled text is asked for to get another one.
        """
        typed = self._typed_for(message)
        return None if typed is None else typed.rest(self._made.text) or None

    def may_reach(self, message: Complete) -> bool:
        """Whether what is still generated may make a `rest` for another request, and is worth waiting for.

        It is until it has said what was typed; for the closers of brackets, to the end of the line.
        """
        typed, text = self._typed_for(message), self._made.text
        if typed is None or not typed.may_fit(text):
            return False
        return "\n" not in text[len(typed.text) :] if typed.tail else typed.text.startswith(text)

    def _typed_at(self, message: Complete) -> Typed | None:
        if self._awaited is not None and self._awaited[0] is message:
            return self._awaited[1]
        return self._place.at(message.position)

    def _typed_for(self, message: Complete) -> Typed | None:
        """What was typed, if another request asks for the same behind it."""
        typed, old = self._typed_at(message), self._message
        if typed is None:
            return None
        if typed.text == self._place.passed and message.sampling.temperature > 0:
            return None
        if message.sampling.logprobs is not None:  # those of what is generated already are not kept
            return None
        if self._replay != (None if message.replay is None else typed.text + message.replay):
            return None
        if msgspec.structs.replace(message.sampling, max_tokens=old.sampling.max_tokens) != old.sampling:
            return None
        least = self._most - self._made.tokens_before(len(typed.text))
        return typed if least <= message.sampling.max_tokens <= self._most else None


class _Made:
    """What a sequence has generated. Each step's is only noted, and added up once somebody asks: mostly nobody does.

    Attributes:
        new: texts that were not added up yet, and how many tokens each is made of.
    """

    def __init__(self) -> None:
        self.new: list[tuple[str, int]] = []
        self._text = ""
        self._ends: list[int] = []  # characters after each step
        self._tokens: list[int] = []  # tokens after each step

    @property
    def text(self) -> str:
        """All of it."""
        self._add_up()
        return self._text

    def tokens_before(self, characters: int) -> int:
        """How many tokens were spent on so many characters, at least."""
        self._add_up()
        steps = bisect_right(self._ends, characters)
        return self._tokens[steps - 1] if steps else 0

    def _add_up(self) -> None:
        if not self.new:
            return
        end, count = (self._ends[-1], self._tokens[-1]) if self._ends else (0, 0)
        for text, tokens in self.new:
            end += len(text)
            count += tokens
            self._ends.append(end)
            self._tokens.append(count)
        self._text += "".join([text for text, _ in self.new])
        self.new.clear()
