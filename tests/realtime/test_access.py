"""Named keys, limits and refusals, as clients of a whole server meet them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import socket
import struct
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from warmline.realtime import server as server_module
from warmline.realtime.access import reloading
from warmline.realtime.access.keys import digest_of, entry_of
from warmline.realtime.access.quotas import Quota, Quotas, parse_quotas
from warmline.realtime.limits import Limits
from warmline.realtime.protocol import (
    Accepted,
    Change,
    Chat,
    Close,
    Complete,
    Delta,
    Done,
    Error,
    ErrorCode,
    Hello,
    Nack,
    Ping,
    Pong,
    Resume,
    TextEdit,
)
from warmline.realtime.server import ConfigError, GatewayServer, ServerConfig, check_address, serve_until_signal
from warmline.realtime.usage.ledger import read_usage
from websockets.exceptions import InvalidStatus

URI = "file:///a"
ALICE, BOB = "alice-has-this-key", "bob-has-that-key"


def bearer(key: str) -> dict[str, dict[str, str]]:
    return {"additional_headers": {"Authorization": f"Bearer {key}"}}


def metric(server: GatewayServer, name: str, **labels: str) -> float:
    """A counter or gauge of a server, 0 while there is none."""
    return server._metrics.registry.get_sample_value(name, labels) or 0.0


@pytest.fixture
def keys_file(tmp_path: Path, monkeypatch) -> Path:
    """A file that lets Alice and Bob in, and is looked at often."""
    monkeypatch.setattr(reloading, "_POLL_SECONDS", 0.02)
    file = tmp_path / "keys.toml"
    file.write_text(entry_of("alice", ALICE) + entry_of("bob", BOB))
    return file


# Keys that come and go -----------------------------------------------------------------------------------------


async def test_a_key_that_is_removed_closes_its_sessions(serve, dial, engine, keys_file, until):
    """With an error and 4401, and everything of theirs is freed; others, and who comes with a new key, go on."""
    engine.paused = True
    server = await serve(keys_file=keys_file)
    alice, bob = await dial(server, **bearer(ALICE)), await dial(server, **bearer(BOB))
    await alice.open("x")
    await alice.send(Complete(1, URI, 1, 0))
    await alice.until(Accepted)
    keys_file.write_text(entry_of("bob", BOB) + entry_of("carol", "carols-key"))
    error = await alice.until(Error)
    assert (error.request, error.code, error.message) == (None, ErrorCode.UNAUTHORIZED, "the API key was removed")
    assert await alice.closed() == (4401, "the API key was removed")
    await until(lambda: len(engine.cancelled) == 1)
    await bob.send(Ping(1))
    assert isinstance(await bob.receive(), Pong)
    await dial(server, **bearer("carols-key"))
    with pytest.raises(InvalidStatus, match="401"):
        await dial(server, **bearer(ALICE))
    assert metric(server, "warmline_refused_connections_total", listener="websocket", reason="revoked_key") == 1
    assert metric(server, "warmline_key_sessions", key="alice") == 0
    assert metric(server, "warmline_key_sessions", key="bob") == 1


async def test_a_key_that_expires_closes_its_sessions(serve, dial, keys_file):
    """At the moment, without anybody's doing."""
    soon = time.time() + 1.0
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(soon)) + f".{int(soon % 1 * 1e6):06}Z"
    keys_file.write_text(entry_of("alice", ALICE) + f"expires = {moment}\n")
    server = await serve(keys_file=keys_file)
    wire = await dial(server, hello=False)
    await wire.hello(ALICE)
    assert await wire.closed() == (4401, "the API key has expired")
    late = await dial(server, hello=False)
    await late.send(Hello(ALICE))
    assert (await late.receive()).message == "this API key has expired; this server needs an API key"
    assert await late.closed() == (4401, "this API key has expired")


async def test_a_broken_file_keeps_the_old_keys(serve, dial, keys_file, until):
    """And says so, without what it has; the sessions go on."""
    server = await serve(keys_file=keys_file)
    wire = await dial(server, **bearer(ALICE))
    with capture_logs() as lines:
        keys_file.write_text(f"[keys.alice]\nkey = '{ALICE}'\nsha256 = 'x'")
        await until(lambda: metric(server, "warmline_reloads_total", what="keys", outcome="failed") == 1)
    assert ALICE not in str(lines)
    assert "keys.toml: keys.alice needs sha256" in str(lines)
    await wire.send(Ping(1))
    assert isinstance(await wire.receive(), Pong)
    await dial(server, **bearer(BOB))
    assert metric(server, "warmline_api_keys") == 2


async def test_an_emptied_file_lets_nobody_in(serve, dial, keys_file):
    """It doesn't open the door to everybody."""
    server = await serve(keys_file=keys_file)
    wire = await dial(server, **bearer(ALICE))
    keys_file.write_text("")
    assert (await wire.closed())[0] == 4401
    anybody = await dial(server, hello=False)
    await anybody.send(Hello())
    assert (await anybody.closed())[0] == 4401


async def test_a_reload_keeps_what_is_warm(serve, dial, engine, keys_file, until):
    """The salt of the prefix cache is that of the key, whatever its name is and wherever it stands."""
    server = await serve(keys_file=keys_file)
    wire = await dial(server, **bearer(ALICE))
    await wire.open("x")
    await wire.send(Complete(1, URI, 1, 0))
    await wire.ended()
    keys_file.write_text(f'[keys.new]\nkey = "{ALICE}"\nlimits.requests = 5\n')
    await until(lambda: metric(server, "warmline_reloads_total", what="keys", outcome="read") == 1)
    await wire.send(Complete(2, URI, 1, 0))
    await wire.ended()
    other = await dial(server, **bearer(ALICE))
    await other.open("x")
    await other.send(Complete(1, URI, 1, 0))
    await other.ended()
    assert len({request.salt for request in engine.requests}) == 1


async def test_sighup_reads_keys_again(engine, tokenizer, dial, keys_file, until, monkeypatch):
    """At once, however seldom the file is looked at."""
    monkeypatch.setattr(reloading, "_POLL_SECONDS", 600)
    ready: asyncio.Future[GatewayServer] = asyncio.get_running_loop().create_future()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = ServerConfig(port=port, keys_file=keys_file)
    service = asyncio.create_task(serve_until_signal(engine, tokenizer, config, ready.set_result))
    server = await ready
    wire = await dial(server, **bearer(ALICE))
    keys_file.write_text(entry_of("bob", BOB))
    os.kill(os.getpid(), signal.SIGHUP)
    assert (await wire.closed())[0] == 4401
    os.kill(os.getpid(), signal.SIGTERM)
    async with asyncio.timeout(10):
        await service


def test_keys_may_come_from_several_places(keys_file, tmp_path):
    """A file, the environment and the command line; what contradicts itself is said before anything is loaded."""
    check_address(ServerConfig(host="0.0.0.0", port=0, keys_file=keys_file, keys_text=entry_of("carol", "c")))
    for config, said in (
        (ServerConfig(port=0, keys_file=keys_file, keys_text=entry_of("bob", "c")), "two API keys are called bob"),
        (ServerConfig(port=0, keys_file=keys_file, api_keys=(ALICE,)), "key-1 and alice are the same"),
        (ServerConfig(port=0, keys_file=tmp_path / "none"), "can't be read"),
        (ServerConfig(port=0, keys_text="keys = 5"), "WARMLINE_KEYS: keys is a table"),
    ):
        with pytest.raises(ConfigError, match=said):
            check_address(config)


async def test_a_key_is_called_by_its_name(serve, dial, keys_file, tmp_path):
    """In the log, in metrics and in the ledger, by the session and its requests."""
    ledger = tmp_path / "usage.db"
    server = await serve(keys_file=keys_file, http_port=0, usage=ledger)
    with capture_logs() as lines:
        wire = await dial(server, **bearer(ALICE))
        await wire.open("x")
        await wire.send(Complete(1, URI, 1, 0))
        await wire.ended()
        await ask(server, BOB)
    assert [line["key"] for line in lines if line["event"] == "request ended"] == ["alice", "bob"]
    assert metric(server, "warmline_key_tokens_total", key="alice", kind="computed") == 3
    assert metric(server, "warmline_key_tokens_total", key="alice", kind="output") == 2
    assert metric(server, "warmline_key_tokens_total", key="bob", kind="output") == 2
    text = server._metrics.render().decode()
    await server.close()
    assert {account.key: used.output_tokens for account, used in read_usage(ledger).items()} == {"alice": 2, "bob": 2}
    for secret in (ALICE, BOB, digest_of(ALICE).hex()):
        assert secret.encode() not in ledger.read_bytes()
        assert secret not in text
        assert secret not in str(lines)


async def ask(server: GatewayServer, key: str | None = None) -> tuple[int, str, str]:
    """Send a completion over HTTP; the status, the headers and the body of the answer."""
    assert server.http_url is not None
    port = int(server.http_url.removesuffix("/v1").rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = '{"prompt": "x"}'
    auth = "" if key is None else f"Authorization: Bearer {key}\r\n"
    writer.write(
        f"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n{auth}Connection: close\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
    )
    async with asyncio.timeout(10):
        answer = (await reader.read()).decode()
    writer.close()
    head, _, content = answer.partition("\r\n\r\n")
    return int(head.split()[1]), head.lower(), content


async def test_a_session_that_waits_for_its_client_ends_with_its_key(serve, dial, engine, keys_file, until):
    """Its requests are freed and nothing of it is counted; its client is not let in to resume it. Others' wait on."""
    engine.paused = True
    server = await serve(keys_file=keys_file, quotas=Quotas(key=Quota(requests=5)))
    welcomes = []
    for key in (ALICE, BOB):
        wire = await dial(server, hello=False)
        await wire.send(Hello(key, resumable=True))
        welcomes.append(await wire.receive())
        await wire.open("x")
        await wire.send(Complete(1, URI, 1, 0))
        await wire.until(Accepted)
        wire.connection.transport.abort()
    await until(lambda: server._parking.waiting == 2)
    assert engine.cancelled == []
    alices = server._gate.accounts._keys[digest_of(ALICE)]
    assert alices.requests == 1
    keys_file.write_text(entry_of("bob", BOB))
    await until(lambda: server._parking.waiting == 1)
    await until(lambda: len(engine.cancelled) == 1 and not alices.open)
    for key, welcome, resumed in ((ALICE, welcomes[0], False), (BOB, welcomes[1], True)):
        wire = await dial(server, hello=False)
        await wire.send(Hello(key, resume=Resume(welcome.session, welcome.secret)))
        answer = await wire.receive()
        assert (getattr(answer, "session", None) == welcome.session) is resumed
        if not resumed:
            assert answer.code == ErrorCode.UNAUTHORIZED


async def test_a_session_is_not_resumed_with_another_key(serve, dial, keys_file, until):
    """Also by one who has found out its name and its secret; whoever tries gets a new session."""
    server = await serve(keys_file=keys_file)
    wire = await dial(server, hello=False)
    await wire.send(Hello(ALICE, resumable=True))
    welcome = await wire.receive()
    wire.connection.transport.abort()
    await until(lambda: server._parking.waiting == 1)
    thief = await dial(server, hello=False)
    await thief.send(Hello(BOB, resume=Resume(welcome.session, welcome.secret)))
    answer = await thief.receive()
    assert answer.session != welcome.session
    assert answer.resumed is None
    assert server._parking.waiting == 1


async def test_an_http_request_ends_with_its_key(serve, engine, keys_file, until):
    """With 401, once the key is removed."""
    engine.paused = True
    server = await serve(keys_file=keys_file, http_port=0)
    asking = asyncio.create_task(ask(server, ALICE))
    await until(lambda: engine.running == 1)
    keys_file.write_text(entry_of("bob", BOB))
    status, _, body = await asking
    assert status == 401
    assert "the API key was removed" in body
    assert len(engine.cancelled) == 1


# Limits --------------------------------------------------------------------------------------------------------


async def test_requests_of_a_key_are_limited_over_all_doors(serve, dial, engine, until):
    """The refusal names the limit and says when to come again; so does HTTP's. Superseding needs no room."""
    engine.paused = True
    server = await serve(api_keys=(ALICE,), http_port=0, quotas=Quotas(key=Quota(requests=1)))
    one, other = await dial(server, **bearer(ALICE)), await dial(server, **bearer(ALICE))
    for wire in (one, other):
        await wire.open("x")
    await one.send(Complete(1, URI, 1, 0))
    await one.until(Accepted)
    await other.send(Complete(1, URI, 1, 0))
    error = await other.until(Error)
    assert (error.request, error.code, error.retryable) == (1, ErrorCode.TOO_MANY_REQUESTS, True)
    assert error.retry_after_ms == 1000
    assert "key.requests" in error.message
    status, head, body = await ask(server, ALICE)
    assert (status, "retry-after: 1" in head, "key.requests" in body) == (429, True, True)
    await one.send(Complete(2, URI, 1, 0))  # in place of the first
    assert (await one.until(Accepted)).request == 2
    engine.paused = False
    assert (await one.until(Done)).request == 1
    assert (await one.until(Done)).reason == "stop"
    await other.send(Complete(2, URI, 1, 0))
    assert (await other.ended())[1].reason == "stop"
    assert (await ask(server, ALICE))[0] == 200
    assert metric(server, "warmline_limited_total", scope="key", limit="requests") == 2


async def test_tokens_a_minute_are_limited_over_all_doors(serve, dial, engine):
    """What a request cost is counted at its end; the next is told how long it takes until there are more."""
    server = await serve(api_keys=(ALICE, BOB), http_port=0, quotas=Quotas(key=Quota(tokens_per_minute=6)))
    wire = await dial(server, **bearer(ALICE))
    await wire.open("x")
    for request in (1, 2):  # of 5 tokens each: 3 computed, 2 generated
        await wire.send(Complete(request, URI, 1, 0))
        assert (await wire.ended())[1].reason == "stop"
    await wire.send(Complete(3, URI, 1, 0))
    error = await wire.until(Error)
    assert (error.request, error.code, error.retryable) == (3, ErrorCode.RATE_LIMITED, True)
    assert 30_000 < error.retry_after_ms <= 50_000
    assert "key.tokens_per_minute" in error.message
    status, head, _ = await ask(server, ALICE)
    (after,) = (line for line in head.split("\r\n") if line.startswith("retry-after: "))
    assert status == 429
    assert 30 < int(after.partition(": ")[2]) <= 50
    assert [(await ask(server, BOB))[0] for _ in range(3)] == [200, 200, 429]


async def test_sockets_of_a_key_are_limited(serve, dial):
    """By an error and 1013 once `hello` says that none is taken over; one that closes makes room."""
    server = await serve(api_keys=(ALICE, BOB), quotas=Quotas(key=Quota(connections=1)))
    first = await dial(server, **bearer(ALICE))
    for shown, hello in ((bearer(ALICE), Hello()), ({}, Hello(ALICE))):
        late = await dial(server, hello=False, **shown)
        await late.send(hello)
        error = await late.receive()
        assert (error.code, error.retryable, error.retry_after_ms) == (ErrorCode.TOO_MANY_CONNECTIONS, True, 5000)
        assert "key.connections" in error.message
        assert (await late.closed())[0] == 1013
    await dial(server, **bearer(BOB))
    await first.connection.close()
    await dial(server, **bearer(ALICE))


async def test_sockets_of_an_address_are_limited(serve, dial, until):
    """Those that have not said who they are, too, and those of HTTP; health is answered all the same."""
    server = await serve(http_port=0, quotas=Quotas(address=Quota(connections=2)))
    assert server.http_url is not None
    first = await dial(server, hello=False)
    reader, writer = await asyncio.open_connection("127.0.0.1", int(server.http_url.split(":")[2].split("/")[0]))
    await until(lambda: next(iter(server._gate.accounts._addresses.values())).connections == 2)
    with pytest.raises(InvalidStatus) as refused:
        await dial(server)
    assert refused.value.response.status_code == 429
    assert b"address.connections" in refused.value.response.body
    status, head, body = await ask(server)
    assert status == 429
    assert "retry-after: 5" in head and "connection: close" in head
    assert "too_many_connections" in body and "address.connections" in body
    assert metric(server, "warmline_limited_total", scope="address", limit="connections") == 2
    writer.close()
    await first.connection.close()
    del reader
    await until(lambda: next(iter(server._gate.accounts._addresses.values())).connections == 0)
    await dial(server)
    await dial(server)


async def test_documents_of_a_key_are_limited_in_number_and_size(serve, dial, tmp_path):
    """Over its connections; the welcome says how large one may be."""
    file = tmp_path / "keys.toml"
    file.write_text(entry_of("alice", ALICE) + "limits = { documents = 2, document_bytes = 10 }\n")
    server = await serve(keys_file=file)
    one, other = await dial(server, **bearer(ALICE)), await dial(server, hello=False)
    assert (await other.hello(ALICE)).max_document_bytes == 10
    await one.open("x", "file:///1")
    await one.open("x", "file:///2")
    await one.send(Ping(1))
    await one.until(Pong)
    await other.open("x", "file:///3")
    nack = await other.until(Nack)
    assert nack.code == ErrorCode.TOO_MANY_DOCUMENTS
    assert "key.documents" in nack.message
    await one.send(Close("file:///2"))
    await one.open("x" * 11, "file:///4")
    assert (await one.until(Nack)).code == ErrorCode.DOCUMENT_TOO_LARGE
    await other.open("x" * 10, "file:///3")
    await other.send(Change("file:///3", 1, 2, [TextEdit(0, 0, "y")]))
    assert (await other.until(Nack)).code == ErrorCode.DOCUMENT_TOO_LARGE
    await one.connection.close()
    await other.open("x", "file:///5")
    await other.send(Complete(1, "file:///5", 1, 0))
    assert (await other.ended())[1].reason == "stop"


Dial = Callable[..., Awaitable[Any]]


async def over_documents(server: GatewayServer, dial: Dial) -> str:
    wire = await dial(server, **bearer(ALICE))
    await wire.open("x")
    await wire.open("x", "file:///b")
    return (await wire.until(Nack)).message


async def over_document_bytes(server: GatewayServer, dial: Dial) -> str:
    wire = await dial(server, **bearer(ALICE))
    await wire.open("x")
    await wire.send(Change(URI, 1, 2, [TextEdit(0, 0, "y")]))
    return (await wire.until(Nack)).message


async def over_requests(server: GatewayServer, dial: Dial) -> str:
    wire = await dial(server, **bearer(ALICE))
    await wire.open("x")
    await wire.send(Chat(1, "talk", "x"), Chat(2, "another", "x"))
    error = await wire.until(Error)
    assert (error.request, error.retry_after_ms) == (2, 1000)
    return error.message


async def over_tokens(server: GatewayServer, dial: Dial) -> str:
    wire = await dial(server, **bearer(ALICE))
    await wire.open("x")
    await wire.send(Complete(1, URI, 1, 0))
    await wire.ended()
    await wire.send(Complete(2, URI, 1, 0))
    return (await wire.until(Error)).message


async def over_sessions(server: GatewayServer, dial: Dial) -> str:
    await dial(server, **bearer(ALICE))
    wire = await dial(server, hello=False, **bearer(ALICE))
    await wire.send(Hello())
    return (await wire.until(Error)).message


async def over_sockets(server: GatewayServer, dial: Dial) -> str:
    await dial(server, **bearer(ALICE))
    with pytest.raises(InvalidStatus) as refused:
        await dial(server, **bearer(ALICE))
    return refused.value.response.body.decode()


async def over_http_requests(server: GatewayServer, dial: Dial) -> str:
    running = asyncio.create_task(ask(server, ALICE))
    async with asyncio.timeout(10):
        while not server._service.engine.running:
            await asyncio.sleep(0.002)
    status, _, body = await ask(server, ALICE)
    assert status == 429
    server._service.engine.paused = False
    assert (await running)[0] == 200
    return body


async def over_http_tokens(server: GatewayServer, dial: Dial) -> str:
    assert (await ask(server, ALICE))[0] == 200
    status, _, body = await ask(server, ALICE)
    assert status == 429
    return body


async def over_http_sockets(server: GatewayServer, dial: Dial) -> str:
    await dial(server, **bearer(ALICE))
    return (await ask(server, ALICE))[2]


REACHED: dict[str, list[Callable[[GatewayServer, Dial], Awaitable[str]]]] = {
    "connection.documents": [over_documents],
    "connection.document_bytes": [over_document_bytes],
    "connection.requests": [over_requests, over_http_requests],
    "connection.tokens_per_minute": [over_tokens],
    "key.connections": [over_sessions],
    "key.documents": [over_documents],
    "key.document_bytes": [over_document_bytes],
    "key.requests": [over_requests, over_http_requests],
    "key.tokens_per_minute": [over_tokens, over_http_tokens],
    "address.connections": [over_sockets, over_http_sockets],
    "address.documents": [over_documents],
    "address.requests": [over_requests, over_http_requests],
    "address.tokens_per_minute": [over_tokens, over_http_tokens],
}
"""What reaches each limit of 1, and gives what is said of it."""


def test_there_is_no_limit_that_is_not_tried():
    """Those that an operator is shown."""
    with pytest.raises(ValueError) as refused:
        parse_quotas(["none=1"])
    assert set(re.findall(r"\w+\.\w+", str(refused.value).rpartition("there are")[2])) == REACHED.keys()


@pytest.mark.parametrize(
    ("limit", "reach"),
    [pytest.param(limit, way, id=f"{limit} {way.__name__}") for limit, ways in REACHED.items() for way in ways],
)
async def test_each_refusal_names_its_limit_and_is_counted_by_it(serve, dial, engine, limit, reach):
    """Once, whichever limit it is and whatever the client came through."""
    engine.paused = reach in (over_requests, over_http_requests)
    quotas = parse_quotas([f"{limit}=1"])
    server = await serve(api_keys=(ALICE,), http_port=0, quotas=quotas, limits=Limits().within(quotas.connection))
    assert f"(the limit {limit})" in await reach(server, dial)
    scope, _, name = limit.partition(".")
    assert metric(server, "warmline_limited_total", scope=scope, limit=name) == 1
    assert server._metrics.render().count(b"\nwarmline_limited_total{") == 1


async def test_who_is_turned_away_for_another_reason_is_counted_by_no_limit(serve, dial):
    """Though the address that it comes from has all its connections."""
    server = await serve(http_port=0, quotas=parse_quotas(["address.connections=1"]))
    assert server.http_url is not None
    await dial(server)
    port = int(server.http_url.removesuffix("/v1").rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /v1/models HTTP/1.1\r\nHost: elsewhere.example\r\nConnection: close\r\n\r\n")
    async with asyncio.timeout(10):
        assert b" 403 " in await reader.read()
    writer.close()
    assert metric(server, "warmline_limited_total", scope="address", limit="connections") == 0


async def test_nothing_is_counted_of_sessions_that_ended(serve, dial, engine, until):
    """However they did: the account of a key is what is open now."""
    engine.paused = True
    server = await serve(api_keys=(ALICE,), quotas=Quotas(key=Quota(connections=5), address=Quota(requests=5)))
    for abort in (True, False):
        wire = await dial(server, **bearer(ALICE))
        await wire.open("x")
        await wire.send(Complete(1, URI, 1, 0))
        await wire.until(Accepted)
        if abort:
            wire.connection.transport.abort()
        else:
            await wire.connection.close()
    engine.paused = False
    (key,) = server._gate.accounts._keys.values()
    (address,) = server._gate.accounts._addresses.values()
    await until(lambda: not key.open and not address.open)


# Turned away ---------------------------------------------------------------------------------------------------


async def test_who_is_turned_away_is_counted_and_logged_without_secrets(serve, dial, http):
    """A wrong and an expired key, a foreign page, a name that was rebound, no subprotocol, metrics without a key."""
    entries = entry_of("alice", ALICE) + f'[keys.old]\nkey = "{BOB}"\nexpires = 2020-01-01\n'
    server = await serve(host="0.0.0.0", keys_text=entries, http_port=0)
    with capture_logs() as lines:
        for credential in ("Bearer stolen-key", f"Bearer {BOB}", "Basic c3RvbGVu"):
            with pytest.raises(InvalidStatus, match="401"):
                await dial(server, additional_headers={"Authorization": credential})
        with pytest.raises(InvalidStatus, match="403"):
            await dial(server, origin="https://evil.example")
        for token in ("stolen-key", None):
            wire = await dial(server, hello=False)
            await wire.send(Hello(token))
            assert (await wire.closed())[0] == 4401
        assert (await http(server, "/?token=stolen-key", host="evil.example"))[0] == 403
        assert (await http(server, "/metrics"))[0] == 401
        for key in ("stolen-key", BOB, None):
            assert (await ask(server, key))[0] == 401
    for listener, reason, count in (
        ("websocket", "wrong_key", 2),
        ("websocket", "expired_key", 1),
        ("websocket", "unreadable_key", 1),
        ("websocket", "origin", 1),
        ("websocket", "no_key", 2),
        ("websocket", "host", 1),
        ("http", "wrong_key", 1),
        ("http", "expired_key", 1),
        ("http", "no_key", 1),
    ):
        found = metric(server, "warmline_refused_connections_total", listener=listener, reason=reason)
        assert found == count, (listener, reason)
    told = [line for line in lines if line["event"] == "turned away"]
    assert len(told) == 11
    assert all(line["address"] == "127.0.0.1" for line in told)
    assert {line["origin"] for line in told if line["reason"] == "origin"} == {"https://evil.example"}
    for secret in ("stolen-key", BOB, "c3RvbGVu"):
        assert secret not in str(lines)
        assert secret not in server._metrics.render().decode()


async def test_a_slow_handshake_is_cut_and_counted(serve, until, monkeypatch):
    """On both listeners, however a stranger drags it out."""
    monkeypatch.setattr(server_module, "_OPEN_TIMEOUT", 0.2)
    server = await serve(http_port=0, limits=Limits(hello_timeout=0.2))
    assert server.http_url is not None
    for port in (server.port, int(server.http_url.split(":")[2].split("/")[0])):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: localh")
        async with asyncio.timeout(10):
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
        writer.close()
    for listener in ("websocket", "http"):
        await until(
            lambda listener=listener: (
                metric(server, "warmline_refused_connections_total", listener=listener, reason="slow_handshake") == 1
            )
        )


async def test_a_socket_that_goes_by_itself_is_not_counted(serve, until):
    """As those of a load balancer's checks, which send nothing."""
    server = await serve()
    for data in (b"", b"GET / HT"):
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(data)
        await asyncio.sleep(0.05)
        writer.close()
    await until(lambda: not server._server.connections)
    assert metric(server, "warmline_refused_connections_total", listener="websocket", reason="slow_handshake") == 0


@pytest.mark.parametrize(
    ("request_line", "headers", "status"),
    [("GET /" + "x" * 9000, 0, 414), ("GET /", 200, 431)],
    ids=["a line of 9 kB", "200 headers"],
)
async def test_an_oversized_handshake_is_refused_and_counted(serve, request_line, headers, status):
    """With its own status, and nothing of it is kept."""
    server = await serve()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    lines = [f"{request_line} HTTP/1.1", "Host: localhost", *(f"X-{number}: y" for number in range(headers)), "", ""]
    writer.write("\r\n".join(lines).encode())
    async with asyncio.timeout(10):
        answer = await reader.read()
    writer.close()
    assert f" {status} ".encode() in answer.partition(b"\r\n")[0]
    assert metric(server, "warmline_refused_connections_total", listener="websocket", reason="oversized_request") == 1


@pytest.mark.parametrize("hello", [True, False], ids=["after hello", "before hello"])
async def test_an_oversized_frame_is_refused_and_counted(serve, dial, until, hello):
    """When it is announced, whoever sends it."""
    server = await serve()
    wire = await dial(server, hello=hello)
    wire.connection.transport.write(struct.pack(">BBQ", 0x82, 0x80 | 127, 100_000_000) + bytes(1000))
    assert (await wire.closed())[0] == 1009
    labels = {"listener": "websocket", "reason": "oversized_frame"}
    await until(lambda: metric(server, "warmline_refused_connections_total", **labels) == 1)


async def test_who_says_no_hello_is_counted(serve, dial):
    """And closed with 4408."""
    server = await serve(limits=Limits(hello_timeout=0.2))
    wire = await dial(server, hello=False)
    assert (await wire.closed())[0] == 4408
    assert metric(server, "warmline_refused_connections_total", listener="websocket", reason="no_hello") == 1


async def test_text_goes_on_under_a_reload(serve, dial, engine, keys_file, until):
    """Nobody whose key stays notices anything."""
    server = await serve(keys_file=keys_file)
    wire = await dial(server, **bearer(ALICE))
    engine.scripts.append(["x"] * 2000)
    await wire.open("x")
    await wire.send(Complete(1, URI, 1, 0))
    await wire.until(Delta)
    keys_file.write_text(entry_of("bob", BOB) + entry_of("alice", ALICE))
    await until(lambda: metric(server, "warmline_reloads_total", what="keys", outcome="read") == 1)
    texts, done = await wire.ended()
    assert (len("".join(texts)), done.reason) == (1999, "stop")
