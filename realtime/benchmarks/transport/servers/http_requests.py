"""HTTP/1.1 requests found in what a connection brings (RFC 9112), as far as a JSON service needs them."""

from __future__ import annotations

from typing import Final

_END_OF_HEAD: Final = b"\r\n\r\n"
_MAX_HEAD: Final = 16 << 10
_MAX_BODY: Final = 1 << 20


class BadRequest(Exception):
    """What came is no request that is taken here.

    Attributes:
        status: to answer with, as the status line has it.
    """

    def __init__(self, status: str) -> None:
        super().__init__(status)
        self.status = status


class Request:
    """One request; header names are in lower case.

    Attributes:
        line: method, target and version.
    """

    __slots__ = ("body", "headers", "line")

    def __init__(self, line: bytes, headers: dict[bytes, bytes], body: bytes) -> None:
        self.line = line
        self.headers = headers
        self.body = body


def take_request(received: bytearray) -> Request | None:
    """Cut the first request off what was received; None if it isn't whole yet.

    Raises:
        BadRequest: it never will be.

    """
    end = received.find(_END_OF_HEAD)
    if end < 0:
        if len(received) > _MAX_HEAD:
            raise BadRequest("431 Request Header Fields Too Large")
        return None
    line, *fields = bytes(received[:end]).split(b"\r\n")
    if not line.endswith(b" HTTP/1.1"):
        raise BadRequest("505 HTTP Version Not Supported")
    headers = {}
    for field in fields:
        name, colon, value = field.partition(b":")
        if not colon:
            raise BadRequest("400 Bad Request")
        headers[name.lower()] = value.strip()
    if b"transfer-encoding" in headers:
        raise BadRequest("411 Length Required")
    size = headers.get(b"content-length", b"0")
    if not size.isdigit():
        raise BadRequest("400 Bad Request")
    begin = end + len(_END_OF_HEAD)
    stop = begin + int(size)
    if stop - begin > _MAX_BODY:
        raise BadRequest("413 Content Too Large")
    if len(received) < stop:
        return None
    body = bytes(received[begin:stop])
    del received[:stop]
    return Request(line, headers, body)
