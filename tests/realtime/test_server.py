"""Starting, stopping, and refusing to start."""

from __future__ import annotations

import asyncio
import gc
import itertools
import os
import signal
import socket
from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs
from warmline.realtime.protocol import Accepted, Complete, Delta, Error, ErrorCode, Hello, Ping, Pong, Welcome
from warmline.realtime.server import GatewayServer, ServerConfig, ServerError, check_address, serve_until_signal
from warmline.realtime.usage.ledger import read_usage


async def test_strangers_are_not_let_in_by_mistake(serve, engine, tokenizer, http):
    """Listening beyond this machine without a key must be asked for."""
    config = ServerConfig(host="0.0.0.0", port=0)
    with pytest.raises(ServerError, match="--api-key"):
        GatewayServer(engine, tokenizer, config)
    with pytest.raises(ServerError, match="--api-key"):
        check_address(config)
    with pytest.raises(ServerError, match="ASCII"):
        check_address(ServerConfig(port=0, api_keys=("two words",)))
    server = await serve(host="0.0.0.0", allow_anonymous=True)
    assert (await http(server, "/healthz"))[0] == 200
    assert (await http(server, "/metrics"))[0] == 401


async def test_a_taken_port_is_said_plainly(serve, engine, tokenizer):
    """Before anything is loaded, and when listening."""
    server = await serve()
    with pytest.raises(ServerError, match=f"127.0.0.1:{server.port} is in use"):
        check_address(ServerConfig(port=server.port))
    other = GatewayServer(engine, tokenizer, ServerConfig(port=server.port))
    with pytest.raises(ServerError, match="--port"):
        await other.start()


def test_an_address_that_is_not_ours_is_said_plainly(monkeypatch):
    """An address of another machine, or a name that doesn't resolve."""
    with pytest.raises(ServerError, match=r"can't listen on 192.0.2.1:1:"):
        check_address(ServerConfig(host="192.0.2.1", port=1, allow_anonymous=True))

    def fail(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(ServerError, match=r"can't listen on no.such.host:1: Name or service not known"):
        check_address(ServerConfig(host="no.such.host", port=1, allow_anonymous=True))


async def test_closing_sends_clients_away_to_come_again(serve, dial, engine):
    """1012, with everything of theirs cancelled, and no new connection."""
    engine.paused = True
    server = await serve()
    port = server.port
    wire = await dial(server)
    await wire.open("x")
    await wire.send(Complete(1, "file:///a", 1, 0), Ping(1))
    await wire.until(Pong)
    async with asyncio.timeout(10):
        await server.close()
    _, done = await wire.ended()
    assert (done.request, done.reason) == (1, "cancel")
    assert (await wire.closed())[0] == 1012
    assert len(engine.cancelled) == 1
    with pytest.raises(OSError, match=r"refused|Connect call failed"):
        await asyncio.open_connection("127.0.0.1", port)


@pytest.fixture
def collector() -> Iterator[None]:
    """The garbage collector as Python has it at its start, and again after the test."""
    thresholds = gc.get_threshold()
    gc.unfreeze()
    gc.set_threshold(700, 10, 10)
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)


async def test_a_running_service_collects_garbage_rarely_and_shortly(engine, tokenizer, collector):
    """What was made to serve is not searched any more, and it takes many new objects for a search."""
    ready: asyncio.Future[GatewayServer] = asyncio.get_running_loop().create_future()
    assert gc.get_freeze_count() == 0
    service = asyncio.create_task(
        serve_until_signal(engine, tokenizer, ServerConfig(port=free_port()), ready.set_result)
    )
    await ready
    assert gc.get_freeze_count() > 10_000
    assert gc.get_threshold() == (20_000, 10, 10)
    os.kill(os.getpid(), signal.SIGTERM)
    async with asyncio.timeout(10):
        await service


async def test_ctrl_c_ends_the_service(engine, tokenizer, dial):
    """Streams end with their last frame, clients are sent away, the engine is closed, the port is free at once."""
    engine.default = itertools.repeat("x")
    ready: asyncio.Future[GatewayServer] = asyncio.get_running_loop().create_future()
    config = ServerConfig(port=free_port())
    service = asyncio.create_task(serve_until_signal(engine, tokenizer, config, ready.set_result))
    wire = await dial(await ready)
    await wire.open("x")
    await wire.send(Complete(1, "file:///a", 1, 0))
    await wire.until(Delta)
    os.kill(os.getpid(), signal.SIGINT)
    async with asyncio.timeout(10):
        await service
    _, done = await wire.ended()
    assert (done.request, done.reason) == (1, "cancel")
    assert (await wire.closed())[0] == 1012
    assert engine.closed
    check_address(config)


async def test_a_closing_server_takes_nothing_new(serve, dial, engine, until, http, monkeypatch):
    """While an engine that doesn't answer is waited for: requests and connections are told to come again."""
    engine.paused = True
    monkeypatch.setattr(engine, "cancel", lambda _: None)
    server = await serve()
    wire, late = await dial(server), await dial(server, hello=False)
    await wire.open("x")
    await wire.send(Complete(1, "file:///a", 1, 0))
    await wire.until(Accepted)
    closing = asyncio.create_task(server.close())
    await until(lambda: server._draining_until is not None)
    await late.hello()
    await late.open("x")
    for client in (wire, late):
        await client.send(Complete(2, "file:///a", 1, 0))
        error = await client.until(Error)
        assert (error.request, error.code, error.retryable) == (2, ErrorCode.ENGINE_UNAVAILABLE, True)
    assert (await http(server, "/readyz")) == (503, "the server restarts; come again later\n")
    async with asyncio.timeout(10):
        await closing
    assert (await wire.closed())[0] == 1012


async def test_a_signal_while_the_engine_starts_ends_the_service(engine, tokenizer, monkeypatch):
    """Nobody waits for a model that isn't wanted any more."""
    starting = asyncio.Event()

    async def start() -> None:
        starting.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(engine, "start", start)
    service = asyncio.create_task(serve_until_signal(engine, tokenizer, ServerConfig(port=free_port()), print))
    await starting.wait()
    os.kill(os.getpid(), signal.SIGTERM)
    async with asyncio.timeout(10):
        await service
    assert engine.closed


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def test_log_lines_of_a_request_say_which_session_and_client_it_is_of(serve, dial):
    """Ids of requests count from the beginning in each."""
    server = await serve()
    with capture_logs() as lines:
        wires = []
        for name in ("editor 1.0", ""):
            wire = await dial(server, hello=False)
            await wire.send(Hello(client=name))
            wires.append((name, wire, await wire.until(Welcome)))
        for _, wire, _ in wires:
            await wire.open("x = 1\n")
            await wire.send(Complete(1, "file:///a", 1, 0))
            await wire.ended()
    said = [(line["session"], line.get("client", "")) for line in lines if line["event"] == "request ended"]
    assert said == [(welcome.session, name) for name, _, welcome in wires]


async def test_usage_is_in_the_ledger_once_the_service_has_ended(serve, dial, tmp_path):
    """By key, if there are any."""
    server = await serve(usage=tmp_path / "usage.db")
    wire = await dial(server)
    await wire.open("x")
    await wire.send(Complete(1, "file:///a", 1, 0))
    await wire.ended()
    await server.close()
    found = {
        (account.key, account.kind, account.model): used.requests
        for account, used in read_usage(tmp_path / "usage.db").items()
    }
    assert found[("anonymous", "complete", server.model.name)] == 1
