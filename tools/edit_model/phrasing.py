"""How people ask: one of many wordings of the same instruction."""

from __future__ import annotations

from random import Random
from typing import Final

_QUOTES: Final = (("", ""), ("", ""), ("`", "`"), ("`", "`"), ("'", "'"), ('"', '"'))

_NO_IMPERATIVES: Final = frozenset(
    {
        "the", "this", "that", "there", "it", "i", "i'd", "we", "let's", "let", "in", "at", "on", "for", "inside",
        "before", "after", "above", "below", "from", "when", "if", "with", "as", "should", "here", "nothing",
        "some", "new", "code", "wrong", "don't", "no", "right", "every", "one", "missing", "rename:", "typo",
        "typo:",
    }
)  # fmt: skip
"""First words of wordings that state or wish: 'can you the loop should ...?' is no courtesy."""


class Phrasing:
    """Words instructions for one edit.

    In all sets but the held-out one the last wording of each list is never used, so that held-out instructions are
    in part worded as nothing the model was trained on.
    """

    def __init__(self, random: Random, held_out: bool = False) -> None:
        self.random = random
        self._held_out = held_out
        self._open, self._close = random.choice(_QUOTES)

    def code(self, text: str) -> str:
        """A piece of code inside an instruction, quoted in the way this instruction quotes (perhaps not at all)."""
        if self._open and self._open in text:
            return f"`{text}`"
        return f"{self._open}{text}{self._close}"

    def pick(self, *wordings: str) -> str:
        """One of the wordings, as somebody would type it: with or without capital, full stop and courtesies.

        The first word of a wording must not be code.
        """
        choices = wordings if self._held_out or len(wordings) == 1 else wordings[:-1]
        text = self.random.choice(choices)
        roll = self.random.random()
        if 0.40 <= roll < 0.50 and text.split()[0].lower() in _NO_IMPERATIVES:
            roll = 0.0
        if roll < 0.40:
            text = text[0].lower() + text[1:]
        elif roll < 0.46:
            text = "Please " + text[0].lower() + text[1:]
        elif roll < 0.50:
            return "can you " + text[0].lower() + text[1:] + "?"
        else:
            text = text[0].upper() + text[1:]
        if self.random.random() < 0.25:
            text += "."
        return text
