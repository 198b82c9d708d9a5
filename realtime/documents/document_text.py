"""What prompts are made of: a document's text as it is at one time, and what is known of its tokens."""

from __future__ import annotations

from typing import Literal

from .tokens import DocumentTokens


class DocumentText:
    """The text of a document in some version. It costs nothing to keep: nothing is counted, and strings are shared.

    Attributes:
        language: as the client names it; may be empty.
        tokens: what is known of the text's tokens.
    """

    __slots__ = ("language", "text", "tokens")

    def __init__(self, text: str, language: str) -> None:
        self.text = text
        self.language = language
        self.tokens = DocumentTokens(len(text))

    @property
    def newline(self) -> Literal["\n", "\r\n"]:
        """The line end of the first line; LF for a text of one line."""
        at = self.text.find("\n")
        return "\r\n" if at > 0 and self.text[at - 1] == "\r" else "\n"
