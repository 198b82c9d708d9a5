"""What is decided before a WebSocket stands: plain GETs, and whether an upgrade is let in."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from ..access.accounts import Account
from ..access.gate import Gate
from ..access.over_limit import RETRY_CONNECTION_SECONDS, over_connections
from ..access.refusals import Reason
from ..auth import NotLetIn, bearer_token, host_allowed, origin_allowed
from ..protocol import SUBPROTOCOLS
from ..telemetry.metrics import Metrics
from ..web import Answer, Playground, api_sources
from .gateway_socket import GatewaySocket

SOCKET_PATH: Final = "/"


@dataclass(frozen=True, slots=True)
class Overload:
    """Why no new sessions are taken: a text for whoever asks, and in how many seconds it may be otherwise."""

    reason: Reason
    message: str
    retry_after: float


class Gatekeeper:
    """Answers every HTTP request of the listener that is not let in as a WebSocket.

    ``health`` returns what is wrong, or None; ``overload`` why no sessions are taken, or None; ``http_port`` where
    the HTTP API listens, or None. ``allowed_origins`` may grow until the server listens: those of its own page depend
    on the port. With ``metrics_need_key``, /metrics wants an API key.
    """

    def __init__(
        self,
        gate: Gate,
        metrics: Metrics,
        allowed_hosts: Collection[str],
        allowed_origins: Collection[str],
        metrics_need_key: bool,
        health: Callable[[], str | None],
        overload: Callable[[], Overload | None],
        http_port: Callable[[], int | None],
        playground: Playground,
    ) -> None:
        self._auth, self._accounts, self._refusals = gate.auth, gate.accounts, gate.refusals
        self._metrics = metrics
        self._allowed_hosts = allowed_hosts
        self._allowed_origins = allowed_origins
        self._metrics_need_key = metrics_need_key
        self._health = health
        self._overload = overload
        self._http_port = http_port
        self._playground = playground
        self._sockets: set[GatewaySocket] = set()
        self._closing = False

    def process_request(self, connection: ServerConnection, request: Request) -> Response | None:
        """Return the answer to a request, or None to go on with the WebSocket handshake."""
        response = self._answer(connection, request)
        if response is not None and request.method == "HEAD":
            response.body = b""  # its length stays announced
        return response

    def _answer(self, connection: ServerConnection, request: Request) -> Response | None:
        respond = connection.respond
        headers = request.headers
        host = _single(headers, "Host")
        if not host_allowed(host, self._allowed_hosts):
            self._turned_away(connection, Reason.HOST, host=host)
            return respond(
                HTTPStatus.FORBIDDEN, "This host name is not allowed; the server's --allowed-host option adds one.\n"
            )
        origin, path = _single(headers, "Origin"), request.path.partition("?")[0]
        # Browsers name the page also when it loads its own script: one that isn't let in has to say so.
        if not origin_allowed(origin, self._allowed_origins) and not self._playground.has_file(path):
            self._turned_away(connection, Reason.ORIGIN, origin=origin)
            return respond(
                HTTPStatus.FORBIDDEN, "This origin is not allowed; the server's --allowed-origin option adds one.\n"
            )
        if request.method not in ("GET", "HEAD"):
            return self._refuse_method(connection, self._where_http_is())
        if path == "/healthz":
            return _state(connection, self._health())
        if path == "/readyz":
            overload = self._overload()
            return _state(connection, self._health() or (None if overload is None else overload.message))
        if path == "/metrics":
            return self._answer_metrics(connection, headers)
        if path == SOCKET_PATH and request.method == "GET" and _wants_websocket(headers):
            return self._check_upgrade(connection, headers)
        answer = self._answer_browser(path, headers)
        if answer is None:
            return respond(
                HTTPStatus.NOT_FOUND,
                f"There are /, a WebSocket and the playground, and /healthz, /readyz and /metrics. "
                f"{self._where_http_is()}\n",
            )
        return _with_answer(respond(answer.status, ""), answer)

    def _answer_browser(self, path: str, headers: Headers) -> Answer | None:
        port = self._http_port()
        return self._playground.answer(
            path,
            accept_encoding=",".join(headers.get_all("Accept-Encoding")),
            if_none_match=",".join(headers.get_all("If-None-Match")),
            http_port=port,
            sources=api_sources(self._allowed_origins, port),
        )

    def refuse_body(self, connection: ServerConnection) -> Response:
        """The answer to what has a body. For which host it came is not known, so it says nothing of this server."""
        return self._refuse_method(connection, "The HTTP API is on a port of its own (`warmline serve --http-port`).")

    def _refuse_method(self, connection: ServerConnection, where: str) -> Response:
        response = connection.respond(
            HTTPStatus.METHOD_NOT_ALLOWED, f"Only GET, without a body, is answered here. {where}\n"
        )
        response.headers["Allow"] = "GET, HEAD"
        return response

    def _where_http_is(self) -> str:
        port = self._http_port()
        if port is None:
            return "The HTTP API is not started: `warmline serve --http-port PORT` starts it."
        return f"The HTTP API is on port {port} (--http-port)."

    def _answer_metrics(self, connection: ServerConnection, headers: Headers) -> Response:
        if self._metrics_need_key and (reason := self._has_no_key(headers)) is not None:
            self._turned_away(connection, reason, path="/metrics")
            return _unauthorized(connection, "Metrics need an API key here (Authorization: Bearer KEY).\n")
        response = connection.respond(HTTPStatus.OK, self._metrics.render().decode())
        del response.headers["Content-Type"]
        response.headers["Content-Type"] = CONTENT_TYPE_PLAIN_0_0_4
        return response

    def _has_no_key(self, headers: Headers) -> Reason | None:
        """Why a request has no key; also where nobody needs one, since then nobody has."""
        if not self._auth.required:
            return Reason.NO_KEY
        try:
            self._auth.identify(bearer_token(_single(headers, "Authorization"), ()))
        except ValueError:
            return Reason.UNREADABLE_KEY
        except NotLetIn as problem:
            return problem.reason
        return None

    def _check_upgrade(self, connection: ServerConnection, headers: Headers) -> Response | None:
        assert isinstance(connection, GatewaySocket)
        if (overload := self._overload()) is not None:
            self._turned_away(connection, overload.reason)
            return _retry_later(
                connection.respond(HTTPStatus.SERVICE_UNAVAILABLE, f"{overload.message}\n"), overload.retry_after
            )
        account = connection.account
        if account is not None and account.has_too_many_connections:
            refusal = over_connections(self._metrics, "address", account.quota.connections)
            self._turned_away(connection, Reason.CONNECTIONS)
            answer = connection.respond(HTTPStatus.TOO_MANY_REQUESTS, f"{refusal.message}\n")
            return _retry_later(answer, RETRY_CONNECTION_SECONDS)
        offered = [
            subprotocol.strip()
            for value in headers.get_all("Sec-WebSocket-Protocol")
            for subprotocol in value.split(",")
        ]
        if not any(subprotocol in SUBPROTOCOLS for subprotocol in offered):
            self._turned_away(connection, Reason.SUBPROTOCOL)
            return connection.respond(
                HTTPStatus.BAD_REQUEST, f"Offer a subprotocol (Sec-WebSocket-Protocol): {' or '.join(SUBPROTOCOLS)}\n"
            )
        return self._check_credential(connection, headers, offered)

    def _check_credential(
        self, connection: GatewaySocket, headers: Headers, offered: Collection[str]
    ) -> Response | None:
        """Look at the upgrade's key. One that has none may still show it in `hello`."""
        try:
            token = bearer_token(_single(headers, "Authorization"), offered)
            if token is None:
                return None
            key = self._auth.identify(token)
        except ValueError as error:
            self._turned_away(connection, Reason.UNREADABLE_KEY)
            return _unauthorized(connection, f"{error}\n")
        except NotLetIn as problem:
            self._turned_away(connection, problem.reason)
            return _unauthorized(connection, f"{problem}\n")
        connection.key = key  # how many connections it has is looked at when `hello` says whether it takes one over
        return None

    def _turned_away(self, connection: ServerConnection, reason: Reason, **said: str | None) -> None:
        assert isinstance(connection, GatewaySocket)
        self._refusals.note("websocket", reason, connection.address, **said)

    # Sockets that come and go, see `Watch` ----------------------------------------------------------------------

    def arrived(self, socket: GatewaySocket) -> Account | None:
        """Count a socket in the account of its address."""
        self._sockets.add(socket)
        return self._accounts.arrived(socket.address)

    def left(self, socket: GatewaySocket) -> None:
        """Count it no more."""
        self._sockets.discard(socket)
        if socket.account is not None:
            socket.account.connections -= 1

    def no_request(self, socket: GatewaySocket) -> None:
        """A socket was cut since its request did not come in time."""
        if not self._closing:
            self._turned_away(socket, Reason.SLOW_HANDSHAKE)

    def oversized_request(self, socket: GatewaySocket) -> None:
        """A request was refused for the length of its line or its headers."""
        self._turned_away(socket, Reason.OVERSIZED_REQUEST)

    def cut_unasked(self) -> None:
        """The server closes: cut the sockets whose request has not come yet."""
        self._closing = True
        for socket in list(self._sockets):
            if socket.request is None:
                socket.transport.abort()


def _wants_websocket(headers: Headers) -> bool:
    """Whether it asks for an upgrade, and not for another one: some clients offer HTTP/2 so, by the way."""
    return any("websocket" in value.lower() for value in headers.get_all("Upgrade"))


def _single(headers: Headers, name: str) -> str | None:
    """A header's value; None without one, and "", which nothing accepts, if it comes several times."""
    values = headers.get_all(name)
    if len(values) > 1:
        return ""
    return values[0] if values else None


def _with_answer(response: Response, answer: Answer) -> Response:
    """Put an answer into a response of the library's, which has the headers that each one has."""
    for name in ("Content-Type", "Content-Length"):
        del response.headers[name]
    for name, value in answer.headers:
        response.headers[name] = value
    if answer.status is not HTTPStatus.NOT_MODIFIED:
        response.headers["Content-Length"] = str(len(answer.body))
    response.body = answer.body
    return response


def _state(connection: ServerConnection, problem: str | None) -> Response:
    if problem is None:
        return connection.respond(HTTPStatus.OK, "ok\n")
    return connection.respond(HTTPStatus.SERVICE_UNAVAILABLE, f"{problem}\n")


def _retry_later(response: Response, seconds: float) -> Response:
    response.headers["Retry-After"] = str(max(1, math.ceil(seconds)))  # RFC 9110, 10.2.3: whole seconds
    return response


def _unauthorized(connection: ServerConnection, text: str) -> Response:
    response = connection.respond(HTTPStatus.UNAUTHORIZED, text)
    response.headers["WWW-Authenticate"] = "Bearer"
    return response
