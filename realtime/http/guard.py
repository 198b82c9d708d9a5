"""Who is answered at all: hosts, origins and API keys, before anything of a request's body is read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..access.accounts import Usage
from ..access.gate import Gate
from ..access.over_limit import over_connections
from ..access.refusals import Reason
from ..auth import NotLetIn, bearer_token, host_allowed, origin_allowed
from ..protocol import ErrorCode
from ..telemetry.metrics import Metrics
from .lingering import Lingering
from .problems import HttpCode, Problem
from .responses import TOO_MANY

USAGE: Final = "warmline.usage"
"""Where a request's state has what its API key and its address use, if it has shown a key that is needed."""
OPEN_PATHS: Final = frozenset({"/healthz"})
"""What needs no key."""


class Guard:
    """Lets requests through to an application; `host_allowed` and `origin_allowed` say which.

    Pages on the list get the headers that let them read answers (https://fetch.spec.whatwg.org/#http-cors-protocol);
    there are none for others. Who comes for a WebSocket is told on which port that is: ``socket_port`` says it, once
    the server listens.
    """

    def __init__(
        self,
        app: ASGIApp,
        gate: Gate,
        allowed_hosts: Collection[str],
        allowed_origins: Collection[str],
        socket_port: Callable[[], int],
        metrics: Metrics,
    ) -> None:
        self._app = app
        self._gate = gate
        self._allowed_hosts = allowed_hosts
        self._allowed_origins = allowed_origins
        self._socket_port = socket_port
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one HTTP request."""
        channels = Lingering(scope, receive, send)
        receive, send = channels.receive, channels.send
        headers = Headers(scope=scope)
        origin = _single(headers, "origin")
        address = str((scope.get("client") or ("",))[0])
        try:
            self._check_source(headers, origin, address)
            self._check_connection(scope, address)
            if origin is not None:
                send = _readable_by(origin, send)
            if origin is not None and scope["method"] == "OPTIONS":
                await _answer_preflight(headers, send)
                return
            if _wants_websocket(headers):
                await self._show_the_way(send)
                return
            if scope["path"] not in OPEN_PATHS:
                scope["state"][USAGE] = self._identify(headers, address)
        except Problem as problem:
            self._metrics.http_refused(problem.code)
            await send_problem(problem, send)
            return
        await self._app(scope, receive, send)

    def _check_source(self, headers: Headers, origin: str | None, address: str) -> None:
        host = _single(headers, "host")
        if not host_allowed(host, self._allowed_hosts):
            self._gate.refusals.note("http", Reason.HOST, address, host=host)
            raise Problem(
                HttpCode.FORBIDDEN, "this host name is not allowed; the server's --allowed-host option adds one"
            )
        if not origin_allowed(origin, self._allowed_origins):
            self._gate.refusals.note("http", Reason.ORIGIN, address, origin=origin)
            raise Problem(
                HttpCode.FORBIDDEN, "this origin is not allowed; the server's --allowed-origin option adds one"
            )

    def _check_connection(self, scope: Scope, address: str) -> None:
        most = scope["state"].get(TOO_MANY)
        if most is not None:
            self._gate.refusals.note("http", Reason.CONNECTIONS, address)
            refusal = over_connections(self._metrics, "address", most)
            raise Problem(refusal.code, refusal.message, retry_after=refusal.retry_after)

    async def _show_the_way(self, send: Send) -> None:
        """Answer in plain text, which is what clients show of a handshake that failed."""
        port = self._socket_port()
        wrong_port = Problem(
            HttpCode.NOT_FOUND,
            "this port has the HTTP API (serve --http-port); "
            f"WebSocket clients connect to port {port} (serve --port)",
        )
        self._metrics.http_refused(wrong_port.code)
        await _answer(send, wrong_port.status, f"{wrong_port.message}\n".encode(), {"content-type": "text/plain"})

    def _identify(self, headers: Headers, address: str) -> Usage:
        gate = self._gate
        try:
            token = bearer_token(_single(headers, "authorization"), ())
        except ValueError as error:
            if gate.auth.required:
                gate.refusals.note("http", Reason.UNREADABLE_KEY, address)
                raise Problem(ErrorCode.UNAUTHORIZED, str(error)) from None
            token = None
        try:
            return gate.accounts.usage(gate.auth.identify(token), address, connection=False)
        except NotLetIn as problem:
            gate.refusals.note("http", problem.reason, address)
            raise Problem(ErrorCode.UNAUTHORIZED, str(problem)) from None


async def send_problem(problem: Problem, send: Send) -> None:
    """Answer with a problem."""
    await _answer(send, problem.status, problem.body(), problem.headers)


async def _answer(send: Send, status: int, body: bytes, headers: Mapping[str, str]) -> None:
    raw = [(name.encode(), value.encode()) for name, value in {**headers, "content-length": str(len(body))}.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})


def _wants_websocket(headers: Headers) -> bool:
    return any(name.strip().lower() == "websocket" for name in headers.get("upgrade", "").split(","))


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
