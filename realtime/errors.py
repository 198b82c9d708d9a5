"""Why a message was refused."""

from __future__ import annotations

import math
from typing import Final

from .protocol import ErrorCode

FAULT: Final = "the server failed; its log has the details"
"""What a client is told of a fault of ours."""


class Refused(Exception):
    """A message that can't be carried out; it changed nothing.

    ``retryable`` says that the same message may succeed later, ``retry_after`` in how many seconds, where that is
    known.
    """

    def __init__(
        self, code: ErrorCode, message: str, *, retryable: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retryable = retryable
        self.retry_after = retry_after

    @property
    def retry_after_ms(self) -> int | None:
        """The same in whole milliseconds, as the wire has it."""
        return None if self.retry_after is None else math.ceil(self.retry_after * 1000)


def shown(document: str) -> str:
    """A document's id for an error text: of a long one its two ends."""
    return repr(document if len(document) <= 80 else f"{document[:40]}…{document[-39:]}")
