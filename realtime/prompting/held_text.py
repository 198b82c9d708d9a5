"""The end of an accepted text that the model says itself, so that it meets what it knows from its training.

Many vocabularies have a line end and the indentation behind it in one token. From a prompt that ends with a bare line
end, a model concludes that the next line has no indentation. So white space at the end of a text that is to be gone
on from may have to be left to the model, which will say it first.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_SPACE: Final = " \t\n"
_TAIL_CHARS: Final = 64
_REST_OF_LINE: Final = re.compile(r"[^\n]*\n(?:[ \t]*\n)*")
_TEXT: Final = re.compile(r"[^ \t\n]")


def text_to_hold(encode: Callable[[str], list[int]], text: str) -> str:
    """The white space at the end of a text (LF line ends) whose tokens depend on what follows; often none."""
    held = text[len(text.rstrip(_SPACE)) :]
    if not held:
        return ""
    tail = text[-(len(held) + _TAIL_CHARS) :]
    tokens = encode(tail)
    followed = encode(f"{tail}    x" if "\n" in held else f"{tail}x")
    return "" if followed[: len(tokens)] == tokens else held


class HeldText:
    """Takes off a model's text what it says again.

    Nearly always that is the held text. If it says something else, it doesn't go on from there: what it adds to a
    line that was accepted to its end is left out, and white space counts as that which was accepted.
    """

    def __init__(self, held: str) -> None:
        self._held = held
        self._said: str | None = "" if held else None

    def feed(self, text: str) -> str:
        """Take the next text; returns what of all text so far is new and can be told."""
        if self._said is None:
            return text
        said = self._said = self._said + text
        if said.startswith(self._held):
            self._said = None
            return said[len(self._held) :]
        if self._held.startswith(said):
            return ""
        if "\n" not in self._held:
            return self._without_space(said)
        line = _REST_OF_LINE.match(said)
        if line is None or _TEXT.search(said, line.end()) is None:
            return ""
        return self._without_space(said[line.end() :])

    def finish(self, text: str) -> str:
        """Take the last text; returns what remains to be told."""
        told = self.feed(text)
        line = None if self._said is None else _REST_OF_LINE.match(self._said)
        return told if line is None or self._said is None else self._without_space(self._said[line.end() :])

    def _without_space(self, text: str) -> str:
        self._said = None
        return text if self._held.endswith("\n") else text.lstrip(" \t")
