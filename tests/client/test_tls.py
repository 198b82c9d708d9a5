"""Servers that speak TLS, over both transports."""

from __future__ import annotations

import ssl

import pytest
import trustme
from warmline.client import ConnectionFailed, RateLimited, RequestError, connect
from warmline.client.errors import request_error
from warmline.realtime.protocol import Complete, Done, Error, ErrorCode, Notice


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA(key_type=trustme.KeyType.ECDSA)


@pytest.fixture
def server_side(authority: trustme.CA) -> ssl.SSLContext:
    """What a server at 127.0.0.1 shows."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", key_type=trustme.KeyType.ECDSA).configure_cert(context)
    return context


@pytest.fixture
def trusting(authority: trustme.CA) -> ssl.SSLContext:
    """What a client needs that trusts it."""
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


async def one_completion(peer) -> None:
    await peer.greet()
    request = await peer.accept(Complete)
    await peer.send(Done(request.request, "stop"))
    await peer.idle()


async def test_a_session_over_tls(scripted, server_side, trusting) -> None:
    """With a context that trusts the server's authority."""
    async with scripted(one_completion, server_side) as url, connect(url, ssl=trusting) as session:
        assert url.startswith("wss://")
        result = await session.complete(await session.open("a", "x"), 0).result()
        assert result.reason == "stop"


async def test_a_certificate_that_is_not_trusted(scripted, server_side) -> None:
    """The error says what to do about it."""
    async with scripted(one_completion, server_side) as url:
        with pytest.raises(ConnectionFailed, match=r"certificate of wss://.* is not trusted: .*Pass ssl= a context"):
            await connect(url)


async def test_a_certificate_of_another_host(scripted, server_side, trusting) -> None:
    """It has to be that of the host in the URL."""
    async with scripted(one_completion, server_side) as url:
        with pytest.raises(ConnectionFailed, match=r"(?i)not trusted: .*hostname mismatch.*the host that it is for"):
            await connect(url.replace("127.0.0.1", "localhost"), ssl=trusting)


async def test_a_server_without_tls(scripted, trusting) -> None:
    """The error says how its URL begins."""
    async with scripted(one_completion) as url:
        with pytest.raises(ConnectionFailed, match="begins with ws://"):
            await connect(url.replace("ws://", "wss://"), ssl=trusting)


def test_a_context_is_for_tls(trusting) -> None:
    """With another URL it can't be meant."""
    with pytest.raises(ValueError, match="ssl= is for wss:// URLs"):
        connect("ws://127.0.0.1:1", ssl=trusting)


async def test_a_notice_disturbs_nothing(scripted) -> None:
    """The server is about to restart, or says something that this version doesn't know."""

    async def script(peer) -> None:
        await peer.greet()
        request = await peer.accept(Complete)
        await peer.send(Notice("draining", 30_000), Notice("later"), Done(request.request, "stop"))
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        result = await session.complete(await session.open("a", "x"), 0).result()
        assert result.reason == "stop"


def test_a_rate_limit_says_when_there_is_more() -> None:
    """As an error of its own kind."""
    error = request_error(Error(1, ErrorCode.RATE_LIMITED, "enough", True, 41_200))
    assert isinstance(error, RateLimited) and isinstance(error, RequestError)
    assert (error.retryable, error.retry_after) == (True, 41.2)
    assert str(error) == "enough; try again in 42 s (rate_limited)"
