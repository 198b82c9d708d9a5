"""The listener: uvicorn in this process and on this event loop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import Callable, Collection
from typing import Any, Final

import uvicorn

from ..access.gate import Gate
from ..access.keys import ApiKey
from ..service import Service
from .api import Api
from .connection import DoorConnection
from .guard import Guard

_KEEP_ALIVE: Final = 30
"""Seconds that a connection may be idle between requests."""
_CLOSE_TIMEOUT: Final = 1
"""Seconds that requests have for their last words."""


class HttpDoor:
    """Serves the API over HTTP. `start`, then `drain`, then `close`."""

    def __init__(
        self,
        service: Service,
        gate: Gate,
        server: str,
        allowed_hosts: Collection[str],
        allowed_origins: Collection[str],
        max_connections: int,
        health: Callable[[], str | None],
        socket_port: Callable[[], int],
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """``socket_port`` is where WebSockets are, once the server listens there; ``tls`` makes it HTTPS."""
        self._api = Api(service, server, health)
        self._ticking: asyncio.Task[None] | None = None
        self._sockets: list[socket.socket] = []
        bound = {"limits": service.limits, "gate": gate, "metrics": service.metrics, "most": max_connections}
        connection = type("BoundConnection", (DoorConnection,), bound)
        self._config = uvicorn.Config(
            Guard(
                self._api.application(),
                gate,
                allowed_hosts,
                allowed_origins,
                socket_port,
                service.metrics,
            ),
            http=connection,
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            log_level=logging.CRITICAL,  # what matters is logged here
            access_log=False,
            proxy_headers=False,
            server_header=False,
            headers=[("server", server)],
            timeout_keep_alive=_KEEP_ALIVE,
            timeout_graceful_shutdown=_CLOSE_TIMEOUT,
        )
        self._server = _Server(self._config, tls, service.limits.hello_timeout)

    @property
    def port(self) -> int:
        """The port listened on."""
        port: int = self._sockets[0].getsockname()[1]
        return port

    async def start(self, host: str, port: int) -> None:
        """Listen on all addresses of a host; port 0 takes a free one.

        Raises:
            OSError: they can't be listened on.

        """
        self._sockets = await _listening(host, port)
        config, server = self._config, self._server
        config.load()
        server.lifespan = config.lifespan_class(config)
        await server.startup(self._sockets)
        self._ticking = asyncio.get_running_loop().create_task(server.main_loop())

    def drain(self, seconds: float) -> None:
        """The server goes away in so many seconds: take no more requests."""
        self._api.drain(seconds)

    def stop_requests(self) -> None:
        """End all requests."""
        self._api.stop_requests()

    def revoke(self, revoked: Callable[[ApiKey], str | None]) -> None:
        """End the requests of keys that let nobody in any more; ``revoked`` says why a key doesn't."""
        self._api.revoke(revoked)

    @property
    def drained(self) -> bool:
        """Whether every request has ended and its answer was written, or can't be."""
        return self._api.drained and not self._unread

    @property
    def dead(self) -> bool:
        """Whether of all who have something to read nobody takes anything, for a while in which this was asked."""
        return all([self._api.dead, *(connection.is_dead() for connection in self._unread)])

    @property
    def _unread(self) -> list[DoorConnection]:
        """Connections of which not all is taken that was written."""
        connections = self._server.server_state.connections
        return [found for found in connections if isinstance(found, DoorConnection) and found.unsent]

    async def close(self) -> None:
        """Close every connection, those that don't read at once. Idempotent."""
        if self._ticking is None:
            return
        self._server.should_exit = True
        await self._ticking
        self._ticking = None
        cut = asyncio.get_running_loop().call_later(_CLOSE_TIMEOUT, self._cut)
        with contextlib.suppress(asyncio.CancelledError):
            await self._server.shutdown(sockets=self._sockets)
        cut.cancel()
        self._cut()

    def _cut(self) -> None:
        for connection in list(self._server.server_state.connections):
            connection.transport.abort()


class _Server(uvicorn.Server):
    """uvicorn's, but for a bound on how long a TLS handshake may take: asyncio's is a minute."""

    def __init__(self, config: uvicorn.Config, tls: ssl.SSLContext | None, handshake_seconds: float) -> None:
        super().__init__(config)
        self._options: dict[str, Any] = {}
        if tls is not None:
            self._options = {"ssl": tls, "ssl_handshake_timeout": handshake_seconds}

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen on these sockets."""
        loop, config = asyncio.get_running_loop(), self.config

        def connection() -> asyncio.Protocol:
            make: Any = config.http_protocol_class
            protocol: asyncio.Protocol = make(
                config=config, server_state=self.server_state, app_state=self.lifespan.state
            )
            return protocol

        self.servers = [
            await loop.create_server(connection, sock=sock, backlog=config.backlog, **self._options)
            for sock in sockets or ()
        ]
        self.started = True


async def _listening(host: str, port: int) -> list[socket.socket]:
    """A bound socket for each address of a host, all on one port."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    sockets: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in dict.fromkeys(found):
            sock = socket.socket(family, kind, protocol)
            sockets.append(sock)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            chosen = port or (sockets[0].getsockname()[1] if len(sockets) > 1 else 0)
            sock.bind((address[0], chosen, *address[2:]))
            sock.setblocking(False)
    except BaseException:
        for sock in sockets:
            sock.close()
        raise
    return sockets
