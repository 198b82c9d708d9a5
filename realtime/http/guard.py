"""Who is answered at all: hosts, origins and API keys, before anything of a request's body is read."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..auth import Authenticator, bearer_token, host_allowed, origin_allowed
from ..protocol import ErrorCode
from .problems import HttpCode, Problem

SALT: Final = "warmline.salt"
"""Where a request's state has the prefix-cache salt of its API key."""
OPEN_PATHS: Final = frozenset({"/healthz"})
"""What needs no key."""


class Guard:
    """Lets requests through to an application; `host_allowed` and `origin_allowed` say which.

    Pages on the list get the headers that let them read answers (https://fetch.spec.whatwg.org/#http-cors-protocol);
    there are none for others.
    """

    def __init__(
        self,
        app: ASGIApp,
        auth: Authenticator,
        allowed_hosts: Collection[str],
        allowed_origins: Collection[str],
    ) -> None:
        self._app = app
        self._auth = auth
        self._allowed_hosts = allowed_hosts
        self._allowed_origins = allowed_origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one HTTP request."""
        headers = Headers(scope=scope)
        origin = _single(headers, "origin")
        try:
            self._check_source(headers, origin)
            if origin is not None:
                send = _readable_by(origin, send)
            if origin is not None and scope["method"] == "OPTIONS":
                await _answer_preflight(headers, send)
                return
            scope["state"][SALT] = self._salt(headers) if scope["path"] not in OPEN_PATHS else ""
        except Problem as problem:
            await send_problem(problem, send)
            return
        await self._app(scope, receive, send)

    def _check_source(self, headers: Headers, origin: str | None) -> None:
        if not host_allowed(_single(headers, "host"), self._allowed_hosts):
            raise Problem(
                HttpCode.FORBIDDEN, "this host name is not allowed; the server's --allowed-host option adds one"
            )
        if not origin_allowed(origin, self._allowed_origins):
            raise Problem(
                HttpCode.FORBIDDEN, "this origin is not allowed; the server's --allowed-origin option adds one"
            )

    def _salt(self, headers: Headers) -> str:
        try:
            token = bearer_token(_single(headers, "authorization"), ())
        except ValueError as error:
            if not self._auth.required:
                return ""
            raise Problem(ErrorCode.UNAUTHORIZED, str(error)) from None
        salt = self._auth.salt(token)
        if salt is None:
            problem = "this API key is not known" if token else "an API key is needed: Authorization: Bearer KEY"
            raise Problem(ErrorCode.UNAUTHORIZED, problem)
        return salt


async def send_problem(problem: Problem, send: Send) -> None:
    """Answer with a problem."""
    body = problem.body()
    headers = {**problem.headers, "content-length": str(len(body))}
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": problem.status, "headers": raw})
    await send({"type": "http.response.body", "body": body})


def _single(headers: Headers, name: str) -> str | None:
    """A header's value; None without one, and "", which nothing accepts, if it comes several times."""
    values = headers.getlist(name)
    if len(values) > 1:
        return ""
    return values[0] if values else None


async def _answer_preflight(headers: Headers, send: Send) -> None:
    answer = [
        (b"access-control-allow-methods", b"GET, POST"),
        (b"access-control-allow-headers", headers.get("access-control-request-headers", "").encode("latin-1")),
        (b"access-control-max-age", b"600"),
    ]
    await send({"type": "http.response.start", "status": 204, "headers": answer})
    await send({"type": "http.response.body", "body": b""})


def _readable_by(origin: str, send: Send) -> Send:
    async def readable(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=message.setdefault("headers", []))
            headers["access-control-allow-origin"] = origin
            headers.add_vary_header("Origin")
        await send(message)

    return readable
