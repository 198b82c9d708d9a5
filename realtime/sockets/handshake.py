"""What is decided before a WebSocket stands: plain GETs, and whether an upgrade is let in."""

from __future__ import annotations

from collections.abc import Callable, Collection
from http import HTTPStatus
from typing import Final

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from ..auth import Authenticator, bearer_token, host_allowed, origin_allowed
from ..protocol import SUBPROTOCOLS
from ..telemetry.metrics import Metrics
from ..web import Answer, Playground, api_sources
from .gateway_socket import GatewaySocket

SOCKET_PATH: Final = "/"


class Gatekeeper:
    """Answers every HTTP request of the listener that is not let in as a WebSocket.

    ``health`` and ``overload`` return what is wrong, or None; ``http_port`` where the HTTP API listens, or None.
    ``allowed_origins`` may grow until the server listens: those of its own page depend on the port.
    With ``metrics_need_key``, /metrics wants an API key.
    """

    def __init__(
        self,
        auth: Authenticator,
        metrics: Metrics,
        allowed_hosts: Collection[str],
        allowed_origins: Collection[str],
        metrics_need_key: bool,
        health: Callable[[], str | None],
        overload: Callable[[], str | None],
        http_port: Callable[[], int | None],
        playground: Playground,
    ) -> None:
        self._auth = auth
        self._metrics = metrics
        self._allowed_hosts = allowed_hosts
        self._allowed_origins = allowed_origins
        self._metrics_need_key = metrics_need_key
        self._health = health
        self._overload = overload
        self._http_port = http_port
        self._playground = playground

    def process_request(self, connection: ServerConnection, request: Request) -> Response | None:
        """Return the answer to a request, or None to go on with the WebSocket handshake."""
        response = self._answer(connection, request)
        if response is not None and request.method == "HEAD":
            response.body = b""  # its length stays announced
        return response

    def _answer(self, connection: ServerConnection, request: Request) -> Response | None:
        respond = connection.respond
        headers = request.headers
        if not host_allowed(_single(headers, "Host"), self._allowed_hosts):
            return respond(
                HTTPStatus.FORBIDDEN, "This host name is not allowed; the server's --allowed-host option adds one.\n"
            )
        if request.method not in ("GET", "HEAD"):
            return self._refuse_method(connection, self._where_http_is())
        path = request.path.partition("?")[0]
        if path == "/healthz":
            return _state(connection, self._health())
        if path == "/readyz":
            return _state(connection, self._health() or self._overload())
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
        if self._metrics_need_key and not self._has_key(headers):
            return _unauthorized(connection, "Metrics need an API key here (Authorization: Bearer KEY).\n")
        response = connection.respond(HTTPStatus.OK, self._metrics.render().decode())
        del response.headers["Content-Type"]
        response.headers["Content-Type"] = CONTENT_TYPE_PLAIN_0_0_4
        return response

    def _has_key(self, headers: Headers) -> bool:
        try:
            token = bearer_token(_single(headers, "Authorization"), ())
        except ValueError:
            return False
        return self._auth.required and self._auth.salt(token) is not None

    def _check_upgrade(self, connection: ServerConnection, headers: Headers) -> Response | None:
        if (problem := self._overload()) is not None:
            return _state(connection, problem)
        if not origin_allowed(_single(headers, "Origin"), self._allowed_origins):
            return connection.respond(
                HTTPStatus.FORBIDDEN, "This origin is not allowed; the server's --allowed-origin option adds one.\n"
            )
        offered = [
            subprotocol.strip()
            for value in headers.get_all("Sec-WebSocket-Protocol")
            for subprotocol in value.split(",")
        ]
        if not any(subprotocol in SUBPROTOCOLS for subprotocol in offered):
            return connection.respond(
                HTTPStatus.BAD_REQUEST, f"Offer a subprotocol (Sec-WebSocket-Protocol): {' or '.join(SUBPROTOCOLS)}\n"
            )
        try:
            token = bearer_token(_single(headers, "Authorization"), offered)
        except ValueError as error:
            return _unauthorized(connection, f"{error}\n")
        if token is not None:
            salt = self._auth.salt(token)
            if salt is None:
                return _unauthorized(connection, "This API key is not known.\n")
            assert isinstance(connection, GatewaySocket)
            connection.salt = salt
        return None


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


def _unauthorized(connection: ServerConnection, text: str) -> Response:
    response = connection.respond(HTTPStatus.UNAUTHORIZED, text)
    response.headers["WWW-Authenticate"] = "Bearer"
    return response
