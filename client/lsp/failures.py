"""How a command says that it can't be done: a message for people, and a stable code for programs."""

from __future__ import annotations

from typing import Final

from pygls.exceptions import JsonRpcException

from ..errors import (
    Conflict,
    ConnectionFailed,
    ConnectionLost,
    InvalidArgument,
    RequestError,
    Unauthorized,
    WarmlineError,
)
from .documents import Excluded

REQUEST_FAILED: Final = -32803
REQUEST_CANCELLED: Final = -32800
INVALID_PARAMS: Final = -32602


class CommandFailure(JsonRpcException):
    """What an editor is answered. It shows the message; ``data.code`` is for who writes commands of an editor.

    The number is ``RequestFailed`` also where LSP has a closer one: editors keep those (``ContentModified``) to
    themselves, and a person has asked.
    """

    def __init__(self, code: str, message: str, number: int = REQUEST_FAILED) -> None:
        super().__init__(message, number, {"code": code})


def failure_of(error: WarmlineError) -> CommandFailure:
    """The answer for what went wrong in the SDK."""
    match error:
        case Conflict():
            return CommandFailure(
                "conflict",
                "What was typed while the edit ran and what it does exclude each other, so nothing was changed. "
                "Ask again for the text as it is.",
            )
        case Excluded():
            return CommandFailure("excluded", f"Nothing was sent: {error}.")
        case RequestError():
            return CommandFailure(error.code, str(error))
        case InvalidArgument():
            return CommandFailure("invalid_parameter", str(error), INVALID_PARAMS)
        case Unauthorized():
            return CommandFailure("unauthorized", f"{error}. {HOW_TO_SET_A_KEY}")
        case ConnectionFailed() | ConnectionLost():
            return CommandFailure("disconnected", f"Nothing was changed: {error}")
        case _:
            return CommandFailure("failed", f"Nothing was changed: {error}")


HOW_TO_SET_A_KEY: Final = "Set WARMLINE_API_KEY in the environment that the editor is started in."
