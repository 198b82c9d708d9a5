"""Why a message was refused."""

from __future__ import annotations

from typing import Final

from .protocol import ErrorCode

FAULT: Final = "the server failed; its log has the details"
"""What a client is told of a fault of ours."""


class Refused(Exception):
    """A message that can't be carried out; it changed nothing.

    ``retryable`` says that the same message may succeed later.
    """

    def __init__(self, code: ErrorCode, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retryable = retryable


def shown(document: str) -> str:
    """A document's id for an error text: of a long one its two ends."""
    return repr(document if len(document) <= 80 else f"{document[:40]}…{document[-39:]}")
