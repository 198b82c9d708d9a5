"""TLS on both listeners, by real handshakes; what can't be used is said plainly."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
import trustme
from cryptography.hazmat.primitives import serialization
from warmline.realtime import server as server_module
from warmline.realtime.access import reloading
from warmline.realtime.access.tls import Certificate, TlsError
from warmline.realtime.limits import Limits
from warmline.realtime.protocol import Accepted, Complete, Ping, Pong
from warmline.realtime.server import GatewayServer, ServerConfig, ServerError, check_address


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA(key_type=trustme.KeyType.ECDSA)


@pytest.fixture
def trusting(authority: trustme.CA) -> ssl.SSLContext:
    """What a client needs that trusts the authority."""
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


Issue = Callable[..., tuple[Path, Path]]


@pytest.fixture
def issue(authority: trustme.CA, tmp_path: Path) -> Issue:
    """Write a new certificate and its key to two files."""

    def issue(name: str = "server") -> tuple[Path, Path]:
        issued = authority.issue_cert("localhost", "127.0.0.1", key_type=trustme.KeyType.ECDSA)
        certificate, key = tmp_path / f"{name}.pem", tmp_path / f"{name}.key"
        certificate.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
        key.write_bytes(issued.private_key_pem.bytes())
        return certificate, key

    return issue


async def serial_of(server: GatewayServer, context: ssl.SSLContext, name: str | None = None) -> Any:
    """The serial number of the certificate that a new connection is shown."""
    _, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=context, server_hostname=name)
    serial = writer.get_extra_info("peercert")["serialNumber"]
    writer.transport.abort()
    return serial


async def test_a_websocket_and_http_speak_tls(serve, dial, issue, trusting, monkeypatch):
    """With a certificate that the client checks; the addresses that are told say so."""
    certificate, key = issue()
    server = await serve(http_port=0, tls_certificate=certificate, tls_key=key)
    assert server.url.startswith("wss://")
    assert server.http_url.startswith("https://")
    wire = await dial(server, ssl=trusting)
    assert wire.connection.transport.get_extra_info("ssl_object").version() == "TLSv1.3"
    await wire.open("x")
    await wire.send(Complete(1, "file:///a", 1, 0))
    assert (await wire.ended())[0] == ["hello", " world"]
    async with openai.AsyncOpenAI(
        api_key="none",
        base_url=server.http_url,
        max_retries=0,
        http_client=httpx.AsyncClient(verify=trusting, trust_env=False),
    ) as client:
        answer = await client.completions.create(model="scripted", prompt="x")
        assert answer.choices[0].text == "hello world"


async def test_without_trust_or_without_tls_nobody_gets_in(serve, dial, issue, until):
    """A client that doesn't know the authority breaks off; one that speaks no TLS gets nothing to read."""
    certificate, key = issue()
    server = await serve(tls_certificate=certificate, tls_key=key)
    with pytest.raises(ssl.SSLCertVerificationError):
        await dial(server, ssl=ssl.create_default_context())
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    with pytest.warns(DeprecationWarning, match=r"TLSv1_1 is deprecated"):
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await asyncio.open_connection("127.0.0.1", server.port, ssl=old)
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    async with asyncio.timeout(10):
        assert b"HTTP" not in await reader.read()
    writer.close()
    assert not server._connections


async def test_a_slow_reader_pauses_its_requests_over_tls_too(serve, dial, engine, issue, trusting, until):
    """What TLS holds for it is bounded as well, and all of it comes once it reads."""
    certificate, key = issue()
    engine.scripts.append(["x" * 1000] * 1000)
    server = await serve(tls_certificate=certificate, tls_key=key)
    wire = await dial(server, ssl=trusting)
    await wire.open("x")
    await wire.send(Complete(1, "file:///a", 1, 0))
    await wire.until(Accepted)
    wire.connection.transport.pause_reading()
    (connection,) = server._connections
    await until(lambda: connection._paused and bool(engine.held))
    wire.connection.transport.resume_reading()
    texts, done = await wire.ended()
    assert (sum(map(len, texts)), done.reason) == (1_000_000, "stop")


async def test_a_slow_tls_handshake_is_cut(serve, issue, monkeypatch):
    """As a slow HTTP one is."""
    monkeypatch.setattr(server_module, "_OPEN_TIMEOUT", 0.2)
    certificate, key = issue()
    server = await serve(tls_certificate=certificate, tls_key=key, http_port=0, limits=Limits(hello_timeout=0.2))
    for port in (server.port, int(server.http_url.rpartition(":")[2].partition("/")[0])):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"\x16\x03\x01")
        async with asyncio.timeout(10):
            assert await reader.read() == b""
        writer.close()


async def test_a_new_certificate_is_taken_without_a_restart(serve, dial, issue, trusting, until, monkeypatch):
    """By new connections, with or without a name; those that stand go on. Broken files change nothing."""
    monkeypatch.setattr(reloading, "_POLL_SECONDS", 0.02)
    certificate, key = issue()
    server = await serve(tls_certificate=certificate, tls_key=key)
    wire = await dial(server, ssl=trusting)
    first = await serial_of(server, trusting)

    def reloads(outcome: str) -> int:
        return server._metrics._reloads.of("certificate", outcome).value

    issue()  # to the same files
    await until(lambda: reloads("read") > 0)
    second = await serial_of(server, trusting)
    assert second == await serial_of(server, trusting, "localhost") != first
    certificate.write_text("nonsense")
    await until(lambda: reloads("failed") > 0)
    assert await serial_of(server, trusting) == second
    await wire.send(Ping(1))
    assert isinstance(await wire.receive(), Pong)


def test_what_can_not_be_used_is_said_plainly(issue, tmp_path):
    """Which file it is, and what to do."""
    certificate, key = issue()
    _, other_key = issue("other")
    nothing, empty = tmp_path / "none.pem", tmp_path / "empty.pem"
    empty.write_text("")
    encrypted = tmp_path / "encrypted.key"
    plain = serialization.load_pem_private_key(key.read_bytes(), None)
    locked = serialization.BestAvailableEncryption(b"secret")
    encrypted.write_bytes(plain.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, locked))
    for files, said in (
        ((nothing, key), f"the TLS certificate {nothing} can't be read: No such file"),
        ((certificate, nothing), f"the TLS key {nothing} can't be read: No such file"),
        ((certificate, tmp_path), "can't be read: Is a directory"),
        ((certificate, other_key), f"the TLS key in {other_key} is not that of the certificate in {certificate}"),
        ((certificate, encrypted), f"the TLS key in {encrypted} is encrypted; write one that is not (openssl pkey"),
        ((empty, key), f"{empty} is no certificate in PEM format"),
        ((key, key), f"{key} is no certificate in PEM format"),
        ((certificate, empty), f"{empty} is no private key in PEM format"),
        ((certificate, None), "name the key's file with --tls-key"),
    ):
        with pytest.raises(TlsError) as error:
            Certificate(*files)
        assert said in str(error.value)


def test_one_file_may_have_both(issue, tmp_path):
    """As some tools write it."""
    certificate, key = issue()
    both = tmp_path / "both.pem"
    both.write_bytes(certificate.read_bytes() + key.read_bytes())
    assert Certificate(both).files == (both,)


def test_a_server_does_not_start_without_a_certificate_that_works(tmp_path):
    """It is found out before anything is loaded; a key alone is a mistake, too."""
    with pytest.raises(ServerError, match="can't be read"):
        check_address(ServerConfig(port=0, tls_certificate=tmp_path / "none.pem"))
    with pytest.raises(ServerError, match="--tls-key needs --tls-cert"):
        check_address(ServerConfig(port=0, tls_key=tmp_path / "none.pem"))
