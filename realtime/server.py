"""The listener: binds, serves, drains. `run_server` is the whole service with its engine."""

from __future__ import annotations

import asyncio
import errno
import functools
import gc
import importlib.metadata
import logging
import secrets
import signal
import socket
import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

import structlog
from warmline.engine import EngineHandle, EngineOptions
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.typing import Subprotocol

from .auth import Authenticator, is_loopback, served_origins
from .limits import Limits
from .prompting.chat_prompts import ChatPrompts, ChatTokenizer
from .prompting.fill_in_middle import FillMode, choose_form
from .prompting.prompts import PromptBuilder
from .protocol import SUBPROTOCOLS, CloseCode
from .session import Service
from .sockets.connection import Connection
from .sockets.gateway_socket import GatewaySocket
from .sockets.handshake import Gatekeeper
from .telemetry.loop_lag import LagMonitor
from .telemetry.metrics import Metrics
from .web import committed

if TYPE_CHECKING:
    from .http import HttpDoor

logger = structlog.get_logger("warmline.server")

_T = TypeVar("_T")

_OPEN_TIMEOUT: Final = 5.0
_CLOSE_TIMEOUT: Final = 2.0
_DRAIN_TIMEOUT: Final = 1.0
"""Seconds that requests have to end when the server closes."""
_DRAIN_POLL: Final = 0.01
_PING_INTERVAL: Final = 20.0
_PONG_SECONDS: Final = 120.0
"""A ping waits behind what a slow reader has not read yet: up to 200 kB with what its own kernel holds."""
_YOUNG_OBJECTS: Final = 20_000
"""New objects after which a garbage collection runs. Python's 700 would have one every few requests."""
_HEARTBEAT_TIMEOUT: Final = 10.0
"""Seconds without a sign of life after which the engine counts as stuck."""


class ServerError(Exception):
    """The service can't start as configured; the message says why and what to do."""


class ConfigError(ServerError):
    """What was configured is wrong on any machine."""


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """How to listen and whom to let in.

    Attributes:
        port: 0 takes a free one.
        http_port: where the HTTP API listens, on the same host; None leaves it out, 0 takes a free one.
        api_keys: one of them is needed to connect; with none, everybody who reaches the port is let in.
        allow_anonymous: permits listening beyond this machine without API keys.
        allowed_hosts: names in the Host header that are answered, beside ``localhost`` and plain addresses.
        allowed_origins: pages that may connect, such as ``https://editor.example``, beside the one that this server
            serves; clients that are no browser send no origin and need no entry.
        allow_replay: permits replay mode (benchmarks and tests).
        fim: how the model takes the text on both sides of a cursor, see `choose_form`.
        max_connections: sockets open at once; further ones are answered with HTTP 503.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    http_port: int | None = None
    api_keys: tuple[str, ...] = field(default=(), repr=False)
    allow_anonymous: bool = False
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    allow_replay: bool = False
    fim: FillMode = "auto"
    max_connections: int = 10_000
    limits: Limits = field(default_factory=Limits)


class GatewayServer:
    """Serves an engine that has been started. ``async with``, or `start` and `close`.

    Attributes:
        model: what the engine runs.

    Raises:
        ServerError: the configuration would let strangers in, or an API key can't be sent.
        ValueError: the chat template of the model can't be used, or it can't fill in as asked.

    """

    def __init__(self, engine: EngineHandle, tokenizer: ChatTokenizer, config: ServerConfig) -> None:
        self._auth = _check_access(config)
        self.model = engine.model
        self._engine = engine
        self._config = config
        self._connections: set[Connection] = set()
        self._draining = False
        self._server: Server | None = None
        self._origins = set(config.allowed_origins)
        fill = choose_form(config.fim, engine.model.name, tokenizer, engine.model.fill_marks)
        metrics = Metrics(lambda: engine.stats, lambda: engine.heartbeat_age)
        self._lag = LagMonitor(metrics)
        self._service = Service(
            engine=engine,
            prompts=PromptBuilder(tokenizer, engine.model.max_sequence_tokens, fill),
            chat=ChatPrompts(tokenizer, engine.model.max_sequence_tokens),
            metrics=metrics,
            limits=config.limits,
            allow_replay=config.allow_replay,
        )
        self._gatekeeper = Gatekeeper(
            auth=self._auth,
            metrics=metrics,
            allowed_hosts=(config.host, *config.allowed_hosts),
            allowed_origins=self._origins,
            metrics_need_key=not is_loopback(config.host),
            health=self._health,
            overload=self._overload,
            http_port=lambda: None if self._door is None else self._door.port,
            playground=committed(),
        )
        self._name = f"warmline/{importlib.metadata.version('warmline')}"
        self._door = None if config.http_port is None else self._make_door()

    @property
    def port(self) -> int:
        """The port listened on."""
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def url(self) -> str:
        """Where clients on this machine connect."""
        return f"ws://{self._local_host}:{self.port}"

    @property
    def page_url(self) -> str:
        """Where a browser on this machine finds the playground."""
        return f"http://{self._local_host}:{self.port}/"

    @property
    def http_url(self) -> str | None:
        """The base of the HTTP API for clients on this machine; None without one."""
        return None if self._door is None else f"http://{self._local_host}:{self._door.port}/v1"

    @property
    def _local_host(self) -> str:
        host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(self._config.host, self._config.host)
        return f"[{host}]" if ":" in host else host

    async def start(self) -> None:
        """Listen.

        Raises:
            ServerError: the address can't be listened on.

        """
        config = self._config
        high = config.limits.write_high_water
        try:
            self._server = await serve(
                self._serve,
                config.host,
                config.port,
                subprotocols=[Subprotocol(name) for name in SUBPROTOCOLS],
                compression=None,
                process_request=self._gatekeeper.process_request,
                server_header=self._name,
                open_timeout=_OPEN_TIMEOUT,
                ping_interval=_PING_INTERVAL,
                ping_timeout=_PONG_SECONDS,
                close_timeout=_CLOSE_TIMEOUT,
                max_size=config.limits.max_frame_bytes,
                write_limit=(high, high // 4),
                logger=_silent_logger(),
                create_connection=functools.partial(GatewaySocket, self._gatekeeper.refuse_body),  # type: ignore[arg-type]
            )
        except OSError as error:
            raise ServerError(_explain(error, config.host, config.port)) from None
        self._origins |= served_origins(config.host, self.port, config.allowed_hosts)
        if self._door is not None and config.http_port is not None:
            try:
                await self._door.start(config.host, config.http_port)
            except OSError as error:
                self._server.close()
                await self._server.wait_closed()
                raise ServerError(_explain(error, config.host, config.http_port, "--http-port")) from None
        self._lag.start(asyncio.get_running_loop())

    async def close(self) -> None:
        """End every request, then close every connection with 1012, so that clients come again. Idempotent.

        Clients get the last frames of their requests if the engine ends them within a second.
        """
        if self._server is not None:
            await self._drain()
            self._server.close(code=CloseCode.SERVICE_RESTART, reason="the server restarts")
            await self._server.wait_closed()
            if self._door is not None:
                await self._door.close()
            self._lag.stop()
            for threads in (self._service.threads, self._service.warm_threads):
                threads.shutdown(wait=False, cancel_futures=True)

    async def _drain(self) -> None:
        self._draining = True
        for connection in self._connections:
            connection.drain()
        if self._door is not None:
            self._door.drain()
        until = asyncio.get_running_loop().time() + _DRAIN_TIMEOUT
        while (left := until - asyncio.get_running_loop().time()) > 0:
            doors = () if self._door is None else (self._door,)
            if all(client.drained for client in (*self._connections, *doors)):
                break
            await asyncio.sleep(min(left, _DRAIN_POLL))

    async def __aenter__(self) -> GatewayServer:
        await self.start()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def _serve(self, ws: ServerConnection) -> None:
        assert isinstance(ws, GatewaySocket)
        connection = Connection(ws, self._service, self._auth, self._name, secrets.token_hex(8))
        self._connections.add(connection)
        if self._draining:
            connection.drain()
        try:
            await connection.run()
        finally:
            self._connections.discard(connection)

    def _make_door(self) -> HttpDoor:
        from .http import HttpDoor

        config = self._config
        return HttpDoor(
            service=self._service,
            auth=self._auth,
            server=self._name,
            allowed_hosts=(config.host, *config.allowed_hosts),
            allowed_origins=self._origins,
            max_connections=config.max_connections,
            health=self._health,
            socket_port=lambda: self.port,
        )

    def _health(self) -> str | None:
        age = self._engine.heartbeat_age
        if age == float("inf"):
            return "the engine is gone"
        return f"the engine has given no sign of life for {age:.0f} seconds" if age > _HEARTBEAT_TIMEOUT else None

    def _overload(self) -> str | None:
        if self._draining:
            return "the server restarts; come again later"
        most = self._config.max_connections
        if len(self._connections) >= most:
            return f"the server has all its {most} connections; come again later"
        return None


async def serve_until_signal(
    engine: EngineHandle,
    tokenizer: ChatTokenizer,
    config: ServerConfig,
    on_ready: Callable[[GatewayServer], None],
) -> None:
    """Start an engine, serve it until SIGINT or SIGTERM, and close everything.

    ``on_ready`` is called when the port listens.

    Raises:
        EngineError, ServerError: it can't start.

    """
    check_address(config)  # before the engine takes its seconds to load
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for signum in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signum, stop.set)
    try:
        starting = asyncio.ensure_future(engine.start())
        stopped = asyncio.ensure_future(stop.wait())
        await asyncio.wait((starting, stopped), return_when=asyncio.FIRST_COMPLETED)
        if not starting.done():
            starting.cancel()
            await asyncio.wait((starting,))
            return
        starting.result()
        async with GatewayServer(engine, tokenizer, config) as server:
            settle_garbage_collection()
            on_ready(server)
            await stop.wait()
            logger.info("draining")
    finally:
        stopped.cancel()
        await engine.close()


def settle_garbage_collection() -> None:
    """Make collections rare and short: what lives as long as the service is never searched again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS, *gc.get_threshold()[1:])


def run_server(config: ServerConfig, options: EngineOptions, on_ready: Callable[[GatewayServer], None]) -> None:
    """Run the service: an engine in a process of its own, and the gateway in this one, until SIGINT or SIGTERM.

    Raises:
        EngineError, ServerError: it can't start; the message says what to do.

    """
    from warmline.engine import LocalEngine, load_tokenizer

    tokenizer = load_tokenizer(options.model)
    run(serve_until_signal(LocalEngine(options), tokenizer, config, on_ready))


def check_address(config: ServerConfig) -> None:
    """Find out whether the address can be listened on.

    Raises:
        ConfigError: it would let strangers in, or the configuration contradicts itself.
        ServerError: it can't.

    """
    _check_access(config)
    if config.http_port and config.http_port == config.port:
        raise ConfigError(f"--port and --http-port are both {config.port}: choose two")
    _check_free(config.host, config.port, "--port")
    if config.http_port is not None:
        _check_free(config.host, config.http_port, "--http-port")


def _check_free(host: str, port: int, option: str) -> None:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in found:
            with socket.socket(family, kind, protocol) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                probe.bind(address)
    except OSError as error:
        raise ServerError(_explain(error, host, port, option)) from None


def _check_access(config: ServerConfig) -> Authenticator:
    try:
        auth = Authenticator(config.api_keys)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    if not is_loopback(config.host) and not auth.required and not config.allow_anonymous:
        raise ConfigError(
            f"listening on {config.host} without an API key would let everybody on the network in: "
            "add --api-key KEY, listen on 127.0.0.1, or say --allow-anonymous"
        )
    return auth


def run(main: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine on uvloop, or on asyncio's own loop where there is none."""
    factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    if sys.platform != "win32":
        try:
            import uvloop
        except ImportError:
            pass
        else:
            factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(main)


@functools.cache
def _silent_logger() -> logging.Logger:
    """For the library: what matters is logged here, and a client that goes away is no error."""
    library = logging.getLogger("warmline.websockets")
    library.setLevel(logging.CRITICAL + 1)
    return library


def _explain(error: OSError, host: str, port: int, option: str = "--port") -> str:
    address = f"{host}:{port}"
    if error.errno == errno.EADDRINUSE:
        return f"{address} is in use already: stop the other server, or choose another port with {option}"
    if error.errno in (errno.EACCES, errno.EPERM):
        return (
            f"listening on {address} is not permitted: ports below 1024 need privileges; choose another with {option}"
        )
    return f"can't listen on {address}: {error.strerror or error}"
