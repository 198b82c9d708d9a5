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
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import structlog
from warmline.engine import EngineHandle, EngineOptions, ModelInfo
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.typing import Subprotocol

from .access.accounts import Accounts
from .access.gate import Gate
from .access.keys import ApiKey, KeysError, joined, parse_keys, plain_keys, read_keys
from .access.quotas import Quotas
from .access.refusals import Reason, Refusals
from .access.reloading import Reloader, Source
from .access.tls import Certificate, TlsError
from .auth import Authenticator, is_loopback, served_origins
from .drain import close_in_waves, drain
from .limits import Limits
from .prompting.chat_prompts import ChatPrompts, ChatTokenizer
from .prompting.fill_in_middle import FillMode, choose_form
from .prompting.prompts import PromptBuilder
from .protocol import SUBPROTOCOLS, CloseCode
from .resuming.parking import Parking
from .session import Service
from .sockets.connection import Connection
from .sockets.gateway_socket import GatewaySocket
from .sockets.handshake import Gatekeeper, Overload
from .sockets.open_files import allow_sockets
from .telemetry.loop_lag import LagMonitor
from .telemetry.metrics import Metrics
from .telemetry.request_end import Observer
from .telemetry.spans import RequestSpans
from .usage.ledger import UsageLedger
from .web import committed

if TYPE_CHECKING:
    from .http import HttpDoor

logger = structlog.get_logger("warmline.server")

_T = TypeVar("_T")

_OPEN_TIMEOUT: Final = 5.0
_CLOSE_TIMEOUT: Final = 2.0
_FULL_RETRY: Final = 5.0
"""Seconds after which a full server may have room."""
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
        api_keys: one of them, or of ``keys_file`` or ``keys_text``, is needed to connect; without any of the three,
            everybody who reaches the port is let in. They are called ``key-1`` and so on.
        keys_file: named keys, see `parse_keys`; read again when it changes.
        keys_text: the same, as it would be in the file.
        tls_certificate: a PEM file; both listeners speak TLS then. Read again when it changes.
        tls_key: the PEM file of its key; None if ``tls_certificate`` has that, too.
        allow_anonymous: permits listening beyond this machine without API keys.
        allowed_hosts: names in the Host header that are answered, beside ``localhost`` and plain addresses.
        allowed_origins: pages that may connect, such as ``https://editor.example``, beside the one that this server
            serves; clients that are no browser send no origin and need no entry.
        allow_replay: permits replay mode (benchmarks and tests).
        fim: how the model takes the text on both sides of a cursor, see `choose_form`.
        max_connections: sockets open at once; further ones are answered with HTTP 503.
        usage: the file that usage is summed in, see `UsageLedger`; None keeps no ledger.
        quotas: bounds of what each key and each address use. Those of a connection are in ``limits``, but for
            its tokens a minute.
        drain_seconds: what running requests have to end after SIGTERM.
        max_parked_sessions: sessions that wait for another socket, for `Limits.resume_seconds` each; above it the
            one that has waited longest ends.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    http_port: int | None = None
    api_keys: tuple[str, ...] = field(default=(), repr=False)
    keys_file: Path | None = None
    keys_text: str | None = field(default=None, repr=False)
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    allow_anonymous: bool = False
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    allow_replay: bool = False
    fim: FillMode = "auto"
    max_connections: int = 10_000
    usage: Path | None = None
    max_parked_sessions: int = 1_000
    limits: Limits = field(default_factory=Limits)
    quotas: Quotas = field(default_factory=Quotas)
    drain_seconds: float = 30.0


class GatewayServer:
    """Serves an engine that has been started. ``async with``, or `start` and `close`.

    Attributes:
        model: what the engine runs.

    Raises:
        ServerError: the configuration would let strangers in, or an API key or a certificate can't be used.
        LedgerError: the usage ledger can't be used.
        ValueError: the chat template of the model can't be used, or it can't fill in as asked.

    """

    def __init__(self, engine: EngineHandle, tokenizer: ChatTokenizer, config: ServerConfig) -> None:
        self._auth = _check_access(config)
        self._certificate = _certificate(config)
        self.model = engine.model
        self._engine = engine
        self._config = config
        self._connections: set[Connection] = set()
        self._parking: Parking | None = None
        self._draining_until: float | None = None  # by the event loop's clock
        self._hurry = asyncio.Event()
        self._closed = False
        self._expiry: asyncio.TimerHandle | None = None
        self._server: Server | None = None
        self._ledger = None if config.usage is None else UsageLedger(config.usage, engine.model.name)
        self._origins = set(config.allowed_origins)
        fill = choose_form(config.fim, engine.model.name, tokenizer, engine.model.fill_marks)
        metrics = Metrics(lambda: engine.stats, lambda: engine.heartbeat_age, _about(engine.model))
        self._metrics = metrics
        self._lag = LagMonitor(metrics)
        self._gate = Gate(self._auth, Accounts(config.quotas, metrics), Refusals(metrics))
        self._reloader = Reloader(self._sources(), metrics)
        self._service = Service(
            engine=engine,
            prompts=PromptBuilder(tokenizer, engine.model.max_sequence_tokens, fill),
            chat=ChatPrompts(tokenizer, engine.model.max_sequence_tokens),
            metrics=metrics,
            limits=config.limits,
            allow_replay=config.allow_replay,
            observers=_observers(engine.model.name, self._ledger),
        )
        self._gatekeeper = Gatekeeper(
            gate=self._gate,
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
        self._doors = () if self._door is None else (self._door,)

    @property
    def port(self) -> int:
        """The port listened on."""
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def url(self) -> str:
        """Where clients on this machine connect."""
        return f"{'ws' if self._certificate is None else 'wss'}://{self._local_host}:{self.port}"

    @property
    def page_url(self) -> str:
        """Where a browser on this machine finds the playground."""
        return f"{'http' if self._certificate is None else 'https'}://{self._local_host}:{self.port}/"

    @property
    def http_url(self) -> str | None:
        """The base of the HTTP API for clients on this machine; None without one."""
        scheme = "http" if self._certificate is None else "https"
        return None if self._door is None else f"{scheme}://{self._local_host}:{self._door.port}/v1"

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
        if config.limits.resume_seconds > 0:
            metrics = self._service.metrics
            self._parking = Parking(config.limits.resume_seconds, config.max_parked_sessions, metrics)
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
                create_connection=functools.partial(GatewaySocket, self._gatekeeper),  # type: ignore[arg-type]
                ssl=None if self._certificate is None else self._certificate.context,
            )
        except OSError as error:
            raise ServerError(_explain(error, config.host, config.port)) from None
        tls = self._certificate is not None
        self._origins |= served_origins(config.host, self.port, config.allowed_hosts, tls=tls)
        if self._door is not None and config.http_port is not None:
            try:
                await self._door.start(config.host, config.http_port)
            except OSError as error:
                self._server.close()
                await self._server.wait_closed()
                raise ServerError(_explain(error, config.host, config.http_port, "--http-port")) from None
        self._lag.start(asyncio.get_running_loop())
        self._reloader.start()
        self._keys_changed()

    def reload(self) -> None:
        """Read keys and certificates again, soon. Those that can't be read stay as they are."""
        self._reloader.ask()

    async def drain(self, seconds: float) -> None:
        """Take no more requests and sessions, and give those requests that run so many seconds to end.

        Every client is told. `hurry` ends it before.
        """
        self._draining_until = asyncio.get_running_loop().time() + seconds
        if self._parking is not None:  # nobody can come for them any more
            self._parking.close()
        await drain(lambda: (*self._connections, *self._doors), seconds, self._hurry)

    def hurry(self) -> None:
        """Wait for nobody any more."""
        self._hurry.set()

    async def close(self) -> None:
        """End every request, then close every connection with 1012, so that clients come again. Idempotent.

        Clients get the last frames of their requests if the engine ends them within a second.
        """
        if self._server is not None and not self._closed:
            self._closed = True
            await self.drain(0)
            await self._reloader.stop()
            if self._expiry is not None:
                self._expiry.cancel()
            await close_in_waves(list(self._connections), self._hurry)
            self._server.close(code=CloseCode.SERVICE_RESTART, reason="the server restarts")
            self._gatekeeper.cut_unasked()
            await self._server.wait_closed()
            if self._door is not None:
                await self._door.close()
            self._lag.stop()
            for threads in (self._service.threads, self._service.warm_threads):
                threads.shutdown(wait=False, cancel_futures=True)
            if self._ledger is not None:
                await asyncio.to_thread(self._ledger.close)

    async def __aenter__(self) -> GatewayServer:
        await self.start()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def _serve(self, ws: ServerConnection) -> None:
        assert isinstance(ws, GatewaySocket)
        name = secrets.token_hex(8)
        connection = Connection(ws, self._service, self._gate, self._name, name, self._parking)
        self._connections.add(connection)
        if self._draining_until is not None:
            connection.drain(max(0.0, self._draining_until - asyncio.get_running_loop().time()))
        try:
            await connection.run()
        finally:
            self._connections.discard(connection)

    def _make_door(self) -> HttpDoor:
        from .http import HttpDoor

        config = self._config
        return HttpDoor(
            service=self._service,
            gate=self._gate,
            server=self._name,
            allowed_hosts=(config.host, *config.allowed_hosts),
            allowed_origins=self._origins,
            max_connections=config.max_connections,
            health=self._health,
            socket_port=lambda: self.port,
            tls=None if self._certificate is None else self._certificate.context,
        )

    def _health(self) -> str | None:
        age = self._engine.heartbeat_age
        if age == float("inf"):
            return "the engine is gone"
        return f"the engine has given no sign of life for {age:.0f} seconds" if age > _HEARTBEAT_TIMEOUT else None

    def _overload(self) -> Overload | None:
        if self._draining_until is not None:
            left = self._draining_until - asyncio.get_running_loop().time()
            return Overload(Reason.DRAINING, "the server restarts; come again later", max(1.0, left))
        most = self._config.max_connections
        if len(self._connections) >= most:
            message = f"the server has all its {most} connections; come again later"
            return Overload(Reason.FULL, message, _FULL_RETRY)
        return None

    # Keys and certificates that change --------------------------------------------------------------------------

    def _sources(self) -> list[Source]:
        sources = []
        if self._config.keys_file is not None:
            sources.append(Source("keys", (self._config.keys_file,), self._read_keys))
        if self._certificate is not None:
            sources.append(Source("certificate", self._certificate.files, self._read_certificate))
        return sources

    def _read_keys(self) -> Callable[[], None]:
        keys = _keys(self._config)

        def take() -> None:
            self._auth.keys = keys
            self._keys_changed()

        return take

    def _read_certificate(self) -> Callable[[], None]:
        assert self._certificate is not None
        self._certificate.reload()
        return lambda: None

    def _keys_changed(self) -> None:
        """End the sessions of keys that let nobody in any more, now and whenever one expires."""
        self._metrics.api_keys.value = len(self._auth.keys)
        self._gate.accounts.keys_changed(self._auth.keys)
        for connection in list(self._connections):
            if connection.key is not None and (why := self._auth.revoked(connection.key)) is not None:
                connection.revoke(why)
        if self._parking is not None:
            self._parking.revoke(self._auth.revoked)
        if self._door is not None:
            self._door.revoke(self._auth.revoked)
        if self._expiry is not None:
            self._expiry.cancel()
        left = self._auth.next_expiry
        loop = asyncio.get_running_loop()
        # Not all at once: the clock on the wall may be set, and a loop's timer has its limits.
        self._expiry = None if left is None else loop.call_later(min(left + 0.01, 60.0), self._keys_changed)


async def serve_until_signal(
    engine: EngineHandle,
    tokenizer: ChatTokenizer,
    config: ServerConfig,
    on_ready: Callable[[GatewayServer], None],
) -> None:
    """Start an engine, serve it until SIGINT or SIGTERM, and close everything.

    After SIGTERM, running requests have ``config.drain_seconds`` to end; after SIGINT, or a second signal, they are
    ended at once. SIGHUP has keys and certificates read again. ``on_ready`` is called when the port listens.

    Raises:
        EngineError, ServerError: it can't start.

    """
    check_address(config)  # before the engine takes its seconds to load
    stop, hurry = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    serving: list[GatewayServer] = []

    def end(at_once: bool) -> None:
        if at_once or stop.is_set():
            hurry.set()
            for server in serving:
                server.hurry()
        stop.set()

    def reload() -> None:
        for server in serving:
            server.reload()

    loop.add_signal_handler(signal.SIGINT, end, True)
    loop.add_signal_handler(signal.SIGTERM, end, False)
    if hasattr(signal, "SIGHUP"):
        loop.add_signal_handler(signal.SIGHUP, reload)
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
            serving.append(server)
            settle_garbage_collection()
            on_ready(server)
            await stop.wait()
            if not hurry.is_set():
                logger.info("draining", seconds=config.drain_seconds)
                await server.drain(config.drain_seconds)
            logger.info("closing")
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

    allowed = allow_sockets(config.max_connections)
    if allowed < config.max_connections:
        logger.warning("the system allows fewer sockets than are configured (ulimit -n)", sockets=allowed)
    tokenizer = load_tokenizer(options.model)
    run(serve_until_signal(LocalEngine(options), tokenizer, config, on_ready))


def check_address(config: ServerConfig) -> None:
    """Find out whether the address can be listened on.

    Raises:
        ConfigError: it would let strangers in, or the configuration contradicts itself.
        ServerError: it can't.

    """
    _check_access(config)
    _certificate(config)
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


def _about(model: ModelInfo) -> dict[str, str]:
    return {
        "version": importlib.metadata.version("warmline"),
        "model": model.name,
        "adapter": model.adapter,
        "backend": model.backend,
        "threads": str(model.threads),
    }


def _observers(model: str, *others: Observer | None) -> tuple[Observer, ...]:
    """Who is told of each request's end beside metrics and the log; with OpenTelemetry, where its API is there."""
    wanted = tuple(other for other in others if other is not None)
    try:
        return (RequestSpans(model), *wanted)
    except ImportError:
        return wanted


def _check_access(config: ServerConfig) -> Authenticator:
    try:
        keys = _keys(config)
    except KeysError as error:
        raise ConfigError(str(error)) from None
    auth = Authenticator(keys, required=config.keys_file is not None or config.keys_text is not None)
    if not is_loopback(config.host) and not auth.required and not config.allow_anonymous:
        raise ConfigError(
            f"listening on {config.host} without an API key would let everybody on the network in: "
            "add --api-key KEY or --keys FILE, listen on 127.0.0.1, or say --allow-anonymous"
        )
    return auth


def _keys(config: ServerConfig) -> tuple[ApiKey, ...]:
    groups = [plain_keys(config.api_keys)]
    if config.keys_text is not None:
        groups.append(parse_keys(config.keys_text, "WARMLINE_KEYS"))
    if config.keys_file is not None:
        groups.append(read_keys(config.keys_file))
    return joined(groups)


def _certificate(config: ServerConfig) -> Certificate | None:
    if config.tls_certificate is None:
        if config.tls_key is not None:
            raise ConfigError("--tls-key needs --tls-cert, the certificate that it belongs to")
        return None
    try:
        return Certificate(config.tls_certificate, config.tls_key)
    except TlsError as error:
        raise ConfigError(str(error)) from None


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
