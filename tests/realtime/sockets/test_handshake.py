"""What is answered and who is let in before a WebSocket stands."""

from __future__ import annotations

import asyncio
import base64

import pytest
from warmline.realtime.protocol import JSON, MSGPACK, Complete, ErrorCode, Hello
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Subprotocol


def upgrade(*, subprotocol: str | None = MSGPACK, origin: str | None = None) -> list[str]:
    """The headers of a WebSocket handshake."""
    headers = ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
    headers.append("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
    if subprotocol is not None:
        headers.append(f"Sec-WebSocket-Protocol: {subprotocol}")
    if origin is not None:
        headers.append(f"Origin: {origin}")
    return headers


async def status_of(dial, *args, **options) -> int:
    """The HTTP status with which a handshake is refused."""
    with pytest.raises(InvalidStatus) as refusal:
        await dial(*args, **options)
    return refusal.value.response.status_code


async def test_health_is_that_of_the_engine(serve, engine, http):
    """200 while it gives signs of life, 503 when it is stuck or gone."""
    server = await serve()
    assert await http(server, "/healthz") == (200, "ok\n")
    assert await http(server, "/readyz?verbose=1") == (200, "ok\n")
    engine.beat = 60.0
    assert await http(server, "/healthz") == (503, "the engine has given no sign of life for 60 seconds\n")
    engine.fail("it died")
    for path in ("/healthz", "/readyz"):
        assert await http(server, path) == (503, "the engine is gone\n")


async def test_metrics_are_there(serve, dial, engine, http):
    """In Prometheus' format, the engine's own included."""
    engine.stats = type(engine.stats)(running=3, blocks_used=4, blocks_cached=5, blocks_total=10, forward_passes=9)
    server = await serve()
    await dial(server)
    status, body = await http(server, "/metrics")
    assert status == 200
    lines = body.splitlines()
    for line in (
        "warmline_sessions 1.0",
        "warmline_engine_sequences_running 3.0",
        'warmline_engine_kv_blocks{state="free"} 1.0',
        "warmline_engine_forward_passes_total 9.0",
    ):
        assert line in lines


async def test_other_paths_and_methods_are_refused(serve, http):
    """404 says what there is, 405 what is answered."""
    server = await serve()
    status, body = await http(server, "/v1/completions")
    assert status == 404
    assert "/healthz" in body
    assert (await http(server, "/healthz", "Content-Length: 0", method="POST"))[0] == 405
    assert "The HTTP API is not started: `warmline serve --http-port PORT` starts it" in body
    assert (await http(server, "/nothing", *upgrade()))[0] == 404
    assert (await http(server, "/playground.js", "Content-Length: 0", method="POST"))[0] == 405


async def test_a_browser_gets_the_playground(serve, http):
    """At the address of the WebSocket, whatever a query says, and its files beside it."""
    server = await serve()
    for path in ("/", "/?key=1"):
        status, body = await http(server, path)
        assert (status, "<title>Warmline playground</title>" in body) == (200, True)
    assert 'data-http-port=""' in body
    assert "<title>Warmline playground</title>" in (await http(server, "/", "Upgrade: h2c", "Connection: Upgrade"))[1]
    assert (await http(server, "/playground.js"))[0] == 200
    assert (await http(server, "/index.html"))[0] == 404


async def test_the_page_is_told_where_the_http_api_is(serve, http):
    """And its policy lets it ask there."""
    server = await serve(http_port=0)
    _, body = await http(server, "/")
    assert f'data-http-port="{server.http_url.rpartition(":")[2].partition("/")[0]}"' in body


@pytest.mark.parametrize("path", ["/", "/playground.js", "/healthz", "/metrics", "/nothing"])
async def test_head_is_what_get_is_without_a_body(serve, path):
    """The length that is announced is that of the body."""
    server = await serve()
    answers = {}
    for method in ("GET", "HEAD"):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        async with asyncio.timeout(10):
            head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
        answers[method] = head.split("\r\n"), body
        writer.close()
    lines, body = answers["GET"]
    assert answers["HEAD"][0][0] == lines[0]
    assert answers["HEAD"][1] == ""
    if path != "/metrics":  # which counts
        lengths = [line for line in answers["HEAD"][0] if line.startswith("Content-Length")]
        assert lengths == [f"Content-Length: {len(body.encode())}"]


async def test_a_file_that_has_not_changed_is_not_sent_again(serve):
    """A browser that has it is told so."""
    server = await serve()
    tag = ""
    for status in (b"200", b"304"):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(f"GET /playground.css HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: {tag}\r\n\r\n".encode())
        async with asyncio.timeout(10):
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        assert head.split()[1] == status
        assert (body == b"") is (status == b"304")
        assert b"Content-Length: 0" not in head
        tag = next(line[6:] for line in head.decode().split("\r\n") if line.startswith("ETag: "))
        writer.close()


async def test_who_reads_slowly_gets_a_whole_file(serve):
    """Though it is larger than what the kernel holds for a client."""
    server = await serve()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=4096)
    writer.write(b"GET /playground.js HTTP/1.1\r\nHost: localhost\r\n\r\n")
    answer = b""
    async with asyncio.timeout(30):
        await asyncio.sleep(3)  # longer than the closing handshake of a WebSocket may take
        while piece := await reader.read(4096):
            answer += piece
    head, _, body = answer.partition(b"\r\n\r\n")
    assert f"Content-Length: {len(body)}".encode() in head
    writer.close()


async def test_the_page_that_is_served_may_connect(serve, dial):
    """By the names that the configuration gives, and the port that is listened on."""
    server = await serve(allowed_hosts=("box.example",))
    for name in ("localhost", "127.0.0.1", "box.example"):
        await dial(server, origin=f"http://{name}:{server.port}")
    for origin in (
        f"http://localhost:{server.port + 1}",
        "http://localhost",
        f"https://localhost:{server.port}",
        f"http://evil.example:{server.port}",
        f"http://192.0.2.1:{server.port}",
    ):
        assert await status_of(dial, server, origin=origin) == 403


@pytest.mark.parametrize("length", ["Content-Length: 2\r\n\r\n{}", "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0"])
async def test_a_request_with_a_body_is_told_where_the_http_api_is(serve, http, length):
    """The port of the WebSocket takes none; the answer comes however the body is sent.

    Which port it is, is told to those only who name this server.
    """
    server = await serve(http_port=0)
    api = server.http_url.rpartition(":")[2].partition("/")[0]
    for method, path in (("POST", "/v1/chat/completions"), ("GET", "/")):
        status, body = await http(server, path, length, method=method)
        assert (status, body) == (
            405,
            "Only GET, without a body, is answered here. "
            "The HTTP API is on a port of its own (`warmline serve --http-port`).\n",
        )
    status, body = await http(server, "/v1/models", "Content-Length: 0", method="POST")
    assert (status, api in body) == (405, True)
    assert f"port {api}" in (await http(server, "/v1/models"))[1]
    assert (await http(server, "/", method="POST", host="evil.example"))[0] == 403


async def test_a_request_line_that_says_request_body_has_none(serve):
    """What is no HTTP is not answered, whatever it says."""
    server = await serve()
    for said in (b"nonsense request body x\r\n\r\n", b"GET /request body HTTP/9\r\n\r\n"):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(said)
        async with asyncio.timeout(10):
            assert await reader.read() == b""
        writer.close()


@pytest.mark.parametrize("path", ["/", "/healthz", "/readyz", "/metrics"])
@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", ""])
async def test_a_foreign_host_name_is_refused(serve, path, host, http):
    """A page whose name resolves to this machine gets nothing, upgrade included."""
    server = await serve()
    assert (await http(server, path, *(upgrade() if path == "/" else ()), host=host))[0] == 403
    status, _ = await http(server, path, "Host: localhost", host="evil.example")
    assert status == 403


async def test_a_configured_host_name_is_answered(serve, http):
    """As it is behind a reverse proxy."""
    server = await serve(allowed_hosts=("code.example",))
    assert (await http(server, "/healthz", host="code.example:443"))[0] == 200


@pytest.mark.parametrize("subprotocol", [None, "", "other", "warmline.v2.msgpack, other", "bearer.a2V5"])
async def test_a_handshake_without_a_subprotocol_of_ours_is_refused(serve, subprotocol, http):
    """The answer names the two."""
    status, body = await http(await serve(), "/", *upgrade(subprotocol=subprotocol))
    assert status == 400
    assert MSGPACK in body
    assert JSON in body


async def test_no_compression_is_negotiated(serve):
    """Whatever is offered: a frame is as large as it says, and its length tells nothing of what stands beside it."""
    server = await serve()
    async with connect(server.url, subprotocols=[Subprotocol(MSGPACK)], compression="deflate", proxy=None) as ws:
        assert "Sec-WebSocket-Extensions" in ws.request.headers
        assert ws.protocol.extensions == []


async def test_a_foreign_origin_is_refused(serve, dial, http):
    """A browser's page must be on the list; a client that is no browser sends no origin."""
    server = await serve(allowed_origins=("https://code.example",))
    for origin in ("https://evil.example", "null", "http://127.0.0.1:1", "https://code.example:8443"):
        assert await status_of(dial, server, origin=origin) == 403
    await dial(server, origin="https://code.example")
    await dial(server)
    status, _ = await http(server, "/", *upgrade(origin="https://code.example"), "Origin: https://evil.example")
    assert status == 403


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/nothing"])
async def test_a_foreign_page_is_told_nothing(serve, path, http):
    """Nor what a plain GET would say; a page on the list is."""
    server = await serve(allowed_origins=("https://code.example",))
    assert (await http(server, path, "Origin: https://evil.example"))[0] == 403
    assert (await http(server, path, "Origin: https://code.example"))[0] == (404 if path == "/nothing" else 200)


async def test_a_key_is_needed_where_there_are_keys(serve, dial, engine):
    """It may come in the header, as a subprotocol, or in hello; its owner has a salt of his own."""
    server = await serve(api_keys=("one", "two"))
    encoded = base64.urlsafe_b64encode(b"two").decode().rstrip("=")
    wires = [
        await dial(server, additional_headers={"Authorization": "Bearer one"}),
        await dial(server, additional_headers={"Sec-WebSocket-Protocol": f"bearer.{encoded}"}),
        await dial(server, hello=False),
    ]
    await wires[2].hello("one")
    for number, wire in enumerate(wires):
        assert wire.connection.subprotocol == MSGPACK
        await wire.open("x")
        await wire.send(Complete(number, "file:///a", 1, 0))
        await wire.ended()
    first, second, third = (request.salt for request in engine.requests)
    assert first == third != second
    assert "" not in (first, second)


async def test_a_wrong_key_is_refused(serve, dial):
    """With HTTP 401 on the upgrade, with an error and 4401 in hello."""
    server = await serve(api_keys=("one",))
    for headers in (
        {"Authorization": "Bearer two"},
        {"Authorization": "Basic b25l"},
        {"Sec-WebSocket-Protocol": "bearer.dHdv"},
        {"Sec-WebSocket-Protocol": "bearer.!"},
    ):
        assert await status_of(dial, server, additional_headers=headers) == 401
    for token, reason in (("two", "the token is wrong"), (None, "hello has no token")):
        wire = await dial(server, hello=False)
        await wire.send(Hello(token))
        assert (await wire.receive()).code == ErrorCode.UNAUTHORIZED
        assert await wire.closed() == (4401, reason)


async def test_metrics_need_a_key_beyond_this_machine(serve, http):
    """On a listener that others reach; health needs none."""
    server = await serve(host="0.0.0.0", api_keys=("one",))
    assert (await http(server, "/metrics"))[0] == 401
    assert (await http(server, "/metrics", "Authorization: Bearer two"))[0] == 401
    assert (await http(server, "/metrics", "Authorization: Nonsense"))[0] == 401
    assert (await http(server, "/metrics", "Authorization: Bearer one"))[0] == 200
    assert (await http(server, "/healthz"))[0] == 200


async def test_a_full_server_says_so(serve, dial, http):
    """Further connections get 503, as does /readyz, until one has gone."""
    server = await serve(max_connections=1)
    wire = await dial(server)
    assert (await http(server, "/readyz"))[0] == 503
    assert (await http(server, "/healthz"))[0] == 200
    assert await status_of(dial, server) == 503
    await wire.connection.close()
    await dial(server)


async def test_the_page_s_script_is_for_every_page_and_nothing_else_is(serve, http):
    """A browser names the page when it loads the page's own script, so one that isn't let in could not say so."""
    server = await serve()
    origin = "Origin: http://0.0.0.0:1"
    assert (await http(server, "/playground.js", origin))[0] == 200
    for path in ("/", "/readyz", "/metrics"):
        assert (await http(server, path, origin))[0] == 403
