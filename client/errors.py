"""What can go wrong for a caller, typed. Everything derives from `WarmlineError`."""

from __future__ import annotations

import math

from warmline.realtime import CloseCode, Error, ErrorCode, Nack


class WarmlineError(Exception):
    """The base of all errors of this package."""


class ConnectionFailed(WarmlineError):
    """No session came about; the message names the url and says what to do.

    Attributes:
        retryable: whether connecting again may help.
        retry_after: seconds to wait before that, if the server said so.
    """

    def __init__(self, message: str, *, retryable: bool = True, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.retry_after = retry_after


class Unauthorized(WarmlineError):
    """The server wants a credential, or another one."""


class ConnectionLost(WarmlineError):
    """The connection ended while it was needed.

    Attributes:
        code: the WebSocket close code (1006 when the connection broke without one).
        retryable: whether connecting again makes sense.
    """

    def __init__(self, message: str, code: int = 1006, *, retryable: bool = True) -> None:
        super().__init__(message)
        self.code = code
        self.retryable = retryable


class SessionClosed(ConnectionLost):
    """The session was closed by this program."""

    def __init__(self, message: str = "the session was closed") -> None:
        super().__init__(message, 1000, retryable=False)


class SessionLost(ConnectionLost):
    """The connection broke, and the server doesn't know the session any more: it has restarted, or it took too long.

    What ran then ends with this, and has what came until then. The session itself goes on.
    """


class ServerMisbehaved(ConnectionLost):
    """The server sent something that is not in the protocol, so the connection was given up."""

    def __init__(self, message: str) -> None:
        super().__init__(message, 1002, retryable=False)


class DocumentClosed(WarmlineError):
    """The document was closed by this program."""


class InvalidArgument(WarmlineError, ValueError):
    """A value that can't be meant, such as a URL that is none or a parameter out of its range; nothing was sent."""


class WrongType(WarmlineError, TypeError):
    """A value of another type than the one that is taken, or a parameter that there is not; nothing was sent."""


class InvalidRange(InvalidArgument):
    """A position or a range that is not within a document's text; nothing was sent.

    Attributes:
        code: ``invalid_range``, as the server calls it where a program speaks to it without this package.
        message: what was wrong and what there is, for people.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.code = ErrorCode.INVALID_RANGE
        self.message = message

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"


class Conflict(WarmlineError):
    """What a person changed in the document and what is to be applied to it exclude each other.

    Attributes:
        operations: how many operations of the edit stand and are in the document; 0 for a completion.
    """

    def __init__(self, message: str, operations: int = 0) -> None:
        super().__init__(message)
        self.operations = operations


class RequestError(WarmlineError):
    """The server refused or failed a request.

    Attributes:
        code: one of `ErrorCode`, or the code of a newer server as it came.
        message: what was wrong, for people.
        retryable: whether the same request may succeed later.
        retry_after: seconds to wait before that, if the server said so.
    """

    def __init__(self, code: str, message: str, *, retryable: bool = False, retry_after: float | None = None) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.retryable = retryable
        self.retry_after = retry_after

    def __str__(self) -> str:
        after = "" if self.retry_after is None else f"; try again in {math.ceil(self.retry_after)} s"
        return f"{self.message}{after} ({self.code})"


class OutOfSync(RequestError):
    """The server doesn't hold the version the request was made for. The document was or will be handed over anew."""


class PromptTooLong(RequestError):
    """The request can't fit in the model's context or the KV memory; the message has both numbers."""


class TooManyRequests(RequestError):
    """More requests at once than the server takes from one session, key or address."""


class RateLimited(RequestError):
    """More tokens a minute than the server gives this key, address or connection; ``retry_after`` says when again."""


class EngineUnavailable(RequestError):
    """The engine ended or is starting; ``retry_after`` says when it is probably back, where the server can tell."""


_BY_CODE: dict[str, type[RequestError]] = {
    ErrorCode.UNKNOWN_DOCUMENT: OutOfSync,
    ErrorCode.STALE_VERSION: OutOfSync,
    ErrorCode.HASH_MISMATCH: OutOfSync,
    ErrorCode.PROMPT_TOO_LONG: PromptTooLong,
    ErrorCode.TOO_MANY_REQUESTS: TooManyRequests,
    ErrorCode.RATE_LIMITED: RateLimited,
    ErrorCode.ENGINE_UNAVAILABLE: EngineUnavailable,
}


def request_error(frame: Error | Nack) -> WarmlineError:
    """The exception for an ``error`` or ``nack`` frame."""
    if frame.code == ErrorCode.UNAUTHORIZED:
        return Unauthorized(frame.message)
    error = _BY_CODE.get(frame.code, RequestError)
    if isinstance(frame, Nack):
        return error(frame.code, frame.message)
    after = None if frame.retry_after_ms is None else frame.retry_after_ms / 1000
    return error(frame.code, frame.message, retryable=frame.retryable, retry_after=after)


def connection_error(code: int, reason: str) -> WarmlineError:
    """The exception for a connection that the other side or the network ended."""
    said = f" ({reason})" if reason else ""
    match code:
        case CloseCode.UNAUTHORIZED:
            return Unauthorized(f"the server closed the connection: unauthorised{said}; pass token= with a valid key")
        case CloseCode.FORBIDDEN:
            return ConnectionLost(f"the server closed the connection: forbidden{said}", code, retryable=False)
        case CloseCode.HELLO_TIMEOUT:
            return ConnectionLost(f"the server got no hello in time{said}", code)
        case CloseCode.SESSION_TAKEN:
            return ConnectionLost(f"another connection took over this session{said}", code, retryable=False)
        case CloseCode.SERVICE_RESTART:
            return ConnectionLost(f"the server is restarting{said}; connect again", code)
        case CloseCode.TRY_AGAIN_LATER:
            return ConnectionLost(f"the server is overloaded or this client reads too slowly{said}", code)
        case 1006:
            return ConnectionLost(f"the connection broke{said}", code)
        case 1002 | 1003 | 1007 | 1008 | 1009 | 1010:  # it would end like this again
            return ConnectionLost(f"the server closed the connection with code {code}{said}", code, retryable=False)
        case _:
            return ConnectionLost(f"the server closed the connection with code {code}{said}", code)
