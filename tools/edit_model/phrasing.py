"""How people ask: one of many wordings of the same instruction."""

from __future__ import annotations

from random import Random
from typing import Final

_QUOTES: Final = (("", ""), ("", ""), ("`", "`"), ("`", "`"), ("'", "'"), ('"', '"'))


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
