"""Why an HTTP request was not answered, in the envelope that clients of OpenAI's API read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum
from http import HTTPStatus
from typing import Final

import msgspec
from warmline.engine import Finished

from ..errors import FAULT
from ..protocol import ErrorCode


class HttpCode(StrEnum):
    """The stable codes of what only HTTP knows; the others are `ErrorCode`."""

    FORBIDDEN = "forbidden"  # the Host or the Origin is not on the list
    MALFORMED_REQUEST = "malformed_request"  # no HTTP
    NOT_FOUND = "not_found"
    MODEL_NOT_FOUND = "model_not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    REQUEST_TIMEOUT = "request_timeout"  # the body did not come
    REQUEST_TOO_LARGE = "request_too_large"


_STATUS: Final[Mapping[str, HTTPStatus]] = {
    ErrorCode.UNAUTHORIZED: HTTPStatus.UNAUTHORIZED,
    ErrorCode.TOO_MANY_REQUESTS: HTTPStatus.TOO_MANY_REQUESTS,
    ErrorCode.TOO_MANY_CONNECTIONS: HTTPStatus.TOO_MANY_REQUESTS,
    ErrorCode.RATE_LIMITED: HTTPStatus.TOO_MANY_REQUESTS,
    ErrorCode.ENGINE_UNAVAILABLE: HTTPStatus.SERVICE_UNAVAILABLE,
    ErrorCode.INTERNAL_ERROR: HTTPStatus.INTERNAL_SERVER_ERROR,
    HttpCode.FORBIDDEN: HTTPStatus.FORBIDDEN,
    HttpCode.NOT_FOUND: HTTPStatus.NOT_FOUND,
    HttpCode.MODEL_NOT_FOUND: HTTPStatus.NOT_FOUND,
    HttpCode.METHOD_NOT_ALLOWED: HTTPStatus.METHOD_NOT_ALLOWED,
    HttpCode.REQUEST_TIMEOUT: HTTPStatus.REQUEST_TIMEOUT,
    HttpCode.REQUEST_TOO_LARGE: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
}
_TYPE: Final[Mapping[HTTPStatus, str]] = {
    HTTPStatus.UNAUTHORIZED: "authentication_error",
    HTTPStatus.FORBIDDEN: "permission_error",
    HTTPStatus.REQUEST_TIMEOUT: "timeout_error",
    HTTPStatus.TOO_MANY_REQUESTS: "rate_limit_error",
    HTTPStatus.INTERNAL_SERVER_ERROR: "server_error",
    HTTPStatus.SERVICE_UNAVAILABLE: "server_error",
}
_CODES: Final = frozenset(ErrorCode)


class _Error(msgspec.Struct, frozen=True):
    message: str
    type: str
    param: str | None
    code: str


class _Envelope(msgspec.Struct, frozen=True):
    error: _Error


class Problem(Exception):
    """A request that is not answered as it asks.

    ``param`` names the field that is wrong. ``retry_after`` is when the same request may succeed, in seconds, where
    that is known.
    """

    def __init__(
        self, code: ErrorCode | HttpCode, message: str, param: str | None = None, *, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.param = param
        self.retry_after = retry_after
        self.status = _STATUS.get(code, HTTPStatus.BAD_REQUEST)

    @classmethod
    def of_engine(cls, finished: Finished, retry_after: float | None) -> Problem:
        """What the engine could not do; one that is gone is back after ``retry_after`` seconds."""
        known = finished.error_code in _CODES
        code = ErrorCode(finished.error_code) if known else ErrorCode.INTERNAL_ERROR
        return cls(code, finished.error or FAULT, retry_after=retry_after)

    @property
    def headers(self) -> dict[str, str]:
        """What goes with it."""
        headers = {"content-type": "application/json"}
        if self.status == HTTPStatus.UNAUTHORIZED:
            headers["www-authenticate"] = "Bearer"
        if self.status == HTTPStatus.REQUEST_TIMEOUT or self.code == ErrorCode.TOO_MANY_CONNECTIONS:
            headers["connection"] = "close"
        if self.status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE):
            headers["retry-after"] = str(math.ceil(self.retry_after or 1))  # RFC 9110, 10.2.3: whole seconds
        return headers

    def body(self) -> bytes:
        """The envelope, as JSON."""
        kind = _TYPE.get(self.status, "invalid_request_error")
        return msgspec.json.encode(_Envelope(_Error(self.message, kind, self.param, str(self.code))))
