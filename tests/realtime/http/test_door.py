"""The HTTP listener: framing, readers that go or don't read, strangers, and ends of all kinds."""

from __future__ import annotations

import asyncio
import http.client
import itertools
import json
import socket

import openai
import pytest
import structlog
from warmline.client import ConnectionFailed, connect
from warmline.realtime.http import lingering
from warmline.realtime.limits import Limits
from warmline.realtime.server import GatewayServer, ServerConfig, ServerError, check_address

from .conftest import port

CHAT = "/v1/chat/completions"
HELLO = {"messages": [{"role": "user", "content": "Hello"}]}
STREAM = {**HELLO, "stream": True}
PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


# What is written -----------------------------------------------------------------------------------------------


async def test_events_are_framed_as_clients_read_them(serve_http, bare, engine):
    """One `data:` line each, JSON without line ends, then [DONE]; the connection goes on."""
    engine.scripts.append(["two\nlines", "\r\x85\u2028é"])
    client = await bare(await serve_http())
    client.send(CHAT, {**STREAM, "stream_options": {"include_usage": True}})
    answer = await client.answer()
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    *events, end = answer.events
    assert end == "[DONE]"
    chunks = [json.loads(event) for event in events]
    assert [chunk["choices"][0]["delta"] for chunk in chunks[:3]] == [
        {"role": "assistant", "content": "two\nlines"},
        {"content": "\r\x85\u2028é"},
        {},
    ]
    assert [chunk["usage"] for chunk in chunks[:3]] == [None] * 3
    assert chunks[3]["usage"]["total_tokens"] == 9
    assert answer.headers["x-request-id"] == chunks[0]["id"]
    client.send("/healthz", method="GET")
    assert (await client.answer()).body == b"ok\n"


async def test_the_kernel_holds_as_little_as_for_a_websocket(serve_http, bare):
    """What is unsent is bounded on every accepted socket, and what isn't acknowledged."""
    server = await serve_http()
    client = await bare(server)
    client.send("/healthz", method="GET")
    await client.answer()
    (connection,) = server._door._server.server_state.connections
    sock = connection.transport.get_extra_info("socket")
    assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT) == 16 << 10
    assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) <= 2 * (128 << 10)


async def test_an_empty_answer_is_an_answer(serve_http, bare, engine):
    """A stream then has the event that ends it; a body has empty content."""
    engine.default = ()
    client = await bare(await serve_http())
    client.send(CHAT, STREAM)
    (end, done) = (await client.answer()).events
    assert json.loads(end)["choices"][0] == {
        "delta": {"role": "assistant"}, "finish_reason": "stop", "index": 0, "logprobs": None,
    }  # fmt: skip
    assert done == "[DONE]"
    client.send(CHAT, HELLO)
    assert json.loads((await client.answer()).body)["choices"][0]["message"]["content"] == ""


async def test_the_metrics_count_http_requests(serve_http, bare, http):
    """By kind and outcome, with their tokens; none is left running."""
    server = await serve_http()
    client = await bare(server)
    client.send(CHAT, STREAM)
    await client.answer()
    client.send("/v1/completions", {"prompt": "x", "n": 3})
    await client.answer()
    _, metrics = await http(server, "/metrics")
    assert 'warmline_requests_total{kind="http_chat",outcome="stop"} 1.0' in metrics
    assert "warmline_requests_running 0.0" in metrics


async def test_the_metrics_count_refused_http_requests(serve_http, bare, http, engine):
    """By code, whoever refused them: the guard, the routes, the bodies, or the engine, before the text and in it."""
    server = await serve_http(api_keys=("key",))
    client, key = await bare(server), "Authorization: Bearer key"
    client.send(CHAT, HELLO)
    await client.answer()
    client.send(CHAT, HELLO, key, host="elsewhere.example")
    await client.answer()
    client.send("/v2", None, key)
    await client.answer()
    client.send("/v1/completions", {"prompt": "x", "n": 3}, key)
    await client.answer()
    engine.reason = "error"
    for pieces in ((), ("text",)):
        engine.default = pieces
        client.send(CHAT, STREAM, key)
        await client.answer()
    _, metrics = await http(server, "/metrics")
    found = {code: f'warmline_refused_http_requests_total{{code="{code}"}} {count}.0' in metrics for code, count in (
        ("unauthorized", 1), ("forbidden", 1), ("not_found", 1), ("invalid_parameter", 1), ("internal_error", 2),
    )}  # fmt: skip
    assert all(found.values()), found
    assert "warmline_refused_messages_total{" not in metrics


async def test_a_websocket_is_shown_the_port_it_belongs_to(serve_http, http):
    """Instead of an error in the form of another API; with or without a key."""
    server = await serve_http(api_keys=("key",))
    url = f"ws://127.0.0.1:{port(server)}"
    for token in ("key", None):
        with pytest.raises(ConnectionFailed) as failure:
            await connect(url, token=token, transport="websockets")
        assert str(failure.value) == (
            f"{url} refused the connection with HTTP 404: this port has the HTTP API (serve --http-port); "
            f"WebSocket clients connect to port {server.port} (serve --port)"
        )
    _, metrics = await http(server, "/metrics")
    assert 'warmline_refused_http_requests_total{code="not_found"} 2.0' in metrics


async def test_the_sdk_knows_the_wrong_port_without_the_answer_s_body():
    """Which may come after the head, when that is all that was read."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as other:
        with pytest.raises(ConnectionFailed, match=r"HTTP 404: if it is the HTTP API's port \(serve --http-port\)"):
            await connect(f"ws://127.0.0.1:{other.sockets[0].getsockname()[1]}")


# Bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        (b"{", "malformed_message", None),
        (b'{"messages": [{"role": "user", "content": "\xff"}]}', "malformed_message", None),
        (b'{"x": ' + b"[" * 100_000, "malformed_message", None),
        (b"[]", "invalid_message", None),
        (b"{}", "invalid_message", "messages"),
        ({"messages": []}, "invalid_message", "messages"),
        ({**HELLO, "temperature": "hot"}, "invalid_message", "temperature"),
        ({**HELLO, "max_tokens": 0}, "invalid_message", "max_tokens"),
        ({**HELLO, "stop": ["a"] * 17}, "invalid_message", "stop"),
        ({"messages": [{"role": "user", "content": 5}]}, "invalid_message", "messages[0].content"),
        *((json.dumps(HELLO)[:-1].encode() + b', "%b": 1e400}' % field, "invalid_message", field.decode())
          for field in (b"tools", b"functions", b"response_format", b"modalities", b"audio", b"web_search_options",
                        b"max_tokens", b"temperature", b"stop", b"seed", b"logit_bias")),
    ],
)  # fmt: skip
async def test_a_body_that_is_none_is_explained(serve_http, bare, body, code, param):
    """With a stable code and the field, and the connection goes on."""
    client = await bare(await serve_http())
    client.send(CHAT, body)
    answer = await client.answer()
    assert answer.status == 400
    assert (answer.error["code"], answer.error["param"]) == (code, param)
    assert answer.error["type"] == "invalid_request_error"
    client.send(CHAT, HELLO)
    assert (await client.answer()).status == 200


@pytest.mark.parametrize(
    "said",
    [
        b"nonsense\r\n\r\n",
        b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
    ],
    ids=["garbage", "negative", "twice", "both", "chunk"],
)
async def test_what_is_no_http_is_answered_in_the_envelope(serve_http, bare, http, said):
    """And counted, and the connection ends."""
    server = await serve_http()
    client = await bare(server)
    client.writer.write(said)
    answer = await client.answer()
    assert (answer.status, answer.error["code"], answer.error["param"]) == (400, "malformed_request", None)
    assert answer.headers["connection"] == "close"
    assert await client.closed() == b""
    assert 'warmline_refused_http_requests_total{code="malformed_request"} 1.0' in (await http(server, "/metrics"))[1]


async def test_what_is_no_http_takes_no_other_request_s_answer(serve_http, bare, engine, until):
    """Behind one that is not answered yet it cuts the connection."""
    engine.paused = True
    client = await bare(await serve_http())
    client.send(CHAT, HELLO)
    client.writer.write(b"nonsense\r\n\r\n")
    assert await client.closed() == b""
    engine.paused = False
    await until(lambda: engine.running == 0)


@pytest.mark.parametrize("headers", [["Content-Length: 999999999"], ["Transfer-Encoding: chunked"]])
async def test_a_body_that_is_too_large_is_refused(serve_http, bare, headers):
    """Where its length is known, before it is read, and else as soon as it is too long."""
    server = await serve_http(limits=Limits(max_document_bytes=1000))
    client = await bare(server)
    head = [f"POST {CHAT} HTTP/1.1", "Host: localhost", *headers, "", ""]
    client.writer.write("\r\n".join(head).encode())
    if "chunked" in headers[0]:
        client.writer.write(b"1000\r\n" + b"x" * 4096 + b"\r\n")
        client.writer.write(b"ffff\r\n" + b"x" * 65535 + b"\r\n")
    answer = await client.answer()
    assert answer.status == 413
    assert answer.error["code"] == "request_too_large"


@pytest.mark.parametrize("length", [True, False], ids=["length", "chunked"])
@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        (CHAT, {"Authorization": "Bearer k"}, 413),
        (CHAT, {}, 401),
        (CHAT, {"Authorization": "Bearer k", "Host": "elsewhere.example"}, 403),
        ("/v1/embeddings", {"Authorization": "Bearer k"}, 404),
    ],
)
async def test_an_answer_to_a_large_body_is_read(serve_http, path, headers, status, length):
    """Also by clients that send all of it first, as most do, and close the connection behind the answer."""
    server = await serve_http(api_keys=("k",), limits=Limits(max_document_bytes=1000))

    def send() -> tuple[int, bytes]:
        body = b"x" * (8 << 20)
        client = http.client.HTTPConnection("127.0.0.1", port(server), timeout=10)
        try:
            client.request("POST", path, body if length else iter([body]), {**headers, "Connection": "close"})
            answer = client.getresponse()
            return answer.status, answer.read()
        finally:
            client.close()

    found, body = await asyncio.to_thread(send)
    assert found == status
    assert json.loads(body)["error"]["message"]


async def test_a_connection_goes_on_behind_a_body_that_nobody_read(serve_http, bare):
    """What is left of it is no request."""
    client = await bare(await serve_http(limits=Limits(max_document_bytes=1000)))
    for path, status in ((CHAT, 413), ("/v1/embeddings", 404)):
        client.send(path, b"GET /healthz HTTP/1.1\r\n\r\n" * 100_000)
        assert (await client.answer()).status == status
    client.send("/healthz", method="GET")
    assert (await client.answer()).body == b"ok\n"


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_that_nobody_reads_is_not_taken_without_end(serve_http, bare, monkeypatch, chunked):
    """Neither so much of it nor for so long."""
    monkeypatch.setattr(lingering, "_LINGER_SECONDS", 0.2)
    monkeypatch.setattr(lingering, "LINGER_BYTES", 1 << 20)
    server = await serve_http(limits=Limits(max_document_bytes=1000))
    length = "Transfer-Encoding: chunked" if chunked else "Content-Length: 1000000000"

    async def refused():
        client = await bare(server)
        client.writer.write(f"POST /v2 HTTP/1.1\r\nHost: localhost\r\n{length}\r\n\r\n".encode())
        assert (await client.answer()).status == 404
        return client

    assert await (await refused()).closed() == b""
    monkeypatch.setattr(lingering, "_LINGER_SECONDS", 3600.0)
    much = await refused()
    much.writer.write((b"200000\r\n" if chunked else b"") + b"x" * (2 << 20) + b"\r\n")
    assert await much.closed() == b""


async def test_what_is_not_there_is_said(serve_http, bare):
    """A wrong path, a wrong method, and no redirects that trust the Host header."""
    client = await bare(await serve_http())
    for method, path, status in (
        ("POST", "/v1/embeddings", 404),
        ("GET", CHAT, 405),
        ("GET", "/v1/models/", 200),
        ("POST", CHAT + "/", 404),
    ):
        client.send(path, method=method)
        answer = await client.answer()
        assert answer.status == status, path
        if status != 200:
            assert answer.error["type"] == "invalid_request_error"


async def test_there_are_so_many_requests_for_a_key(serve_http, bare, engine):
    """Another key has its own; an end makes room."""
    engine.paused = True
    server = await serve_http(api_keys=("a", "b"), limits=Limits(max_requests=1))
    first, second = await bare(server), await bare(server)
    first.send(CHAT, HELLO, "Authorization: Bearer a")
    async with asyncio.timeout(10):
        while not engine.requests:
            await asyncio.sleep(0.002)
    second.send(CHAT, HELLO, "Authorization: Bearer a")
    answer = await second.answer()
    assert (answer.status, answer.error["code"]) == (429, "too_many_requests")
    assert answer.headers["retry-after"] == "1"
    second.send(CHAT, HELLO, "Authorization: Bearer b")
    engine.paused = False
    assert (await second.answer()).status == 200
    assert (await first.answer()).status == 200
    first.send(CHAT, HELLO, "Authorization: Bearer a")
    assert (await first.answer()).status == 200


async def test_refused_bodies_take_no_room(serve_http, bare):
    """However many of them a key sends, and whether its fields, its suffix or its prompt is refused."""
    client = await bare(await serve_http(limits=Limits(max_requests=2)))
    for refused in [{"prompt": [1 << 40]}, {"prompt": "a", "suffix": "b"}] * 4:
        client.send("/v1/completions", refused)
        assert (await client.answer()).status == 400
    client.send(CHAT, HELLO)
    assert (await client.answer()).status == 200


# Clients that go, and that don't read --------------------------------------------------------------------------


@pytest.mark.parametrize("body", [HELLO, STREAM], ids=["whole", "stream"])
@pytest.mark.parametrize("said", [[], ["some "]], ids=["before", "during"])
async def test_a_client_that_goes_frees_its_sequence(serve_http, bare, engine, until, body, said):
    """At once, before its first token and while it streams."""
    engine.scripts.append(itertools.chain(said, held(engine)))
    client = await bare(await serve_http())
    client.send(CHAT, body)
    await until(lambda: engine.requests and (engine.paused or not said))
    await client.close()
    await until(lambda: engine.running == 0)
    assert len(engine.cancelled) == 1


def held(engine):
    """A script that says nothing more until it is cancelled."""
    engine.paused = True
    yield "never"


@pytest.mark.parametrize("body", [HELLO, STREAM], ids=["whole", "stream"])
@pytest.mark.parametrize("said", [[], ["some "]], ids=["before", "during"])
@pytest.mark.parametrize("together", [True, False])
async def test_a_client_that_goes_frees_its_sequence_with_requests_behind_it(
    serve_http, bare, engine, until, body, said, together
):
    """Those are never begun, and nothing of it is a fault."""
    engine.scripts.append(itertools.chain(said, held(engine)))
    server = await serve_http()
    client = await bare(server)
    with structlog.testing.capture_logs() as logs:
        client.send(CHAT, body)
        if not together:
            await until(lambda: engine.requests and (engine.paused or not said))
        client.send(CHAT, {**body, "user": "x" * 100_000})
        client.send(CHAT, body)
        await until(lambda: engine.requests and (engine.paused or not said))
        (connection,) = server._door._server.server_state.connections
        await until(lambda: len(connection.pipeline) == 2)
        await client.close()
        await until(lambda: engine.running == 0 and server._door.drained)
        await until(lambda: not server._door._server.server_state.tasks)
    assert (len(engine.cancelled), len(engine.requests)) == (1, 1)
    assert [entry for entry in logs if entry["log_level"] == "error"] == []


async def test_a_client_that_shuts_down_its_sending_side_is_gone(serve_http, bare, engine, until):
    """One that goes looks the same, and its sequence must not go on."""
    engine.scripts.append(held(engine))
    client = await bare(await serve_http())
    client.send(CHAT, HELLO)
    await until(lambda: bool(engine.requests))
    client.writer.write_eof()
    await until(lambda: engine.running == 0)
    assert await client.closed() == b""


async def test_requests_sent_together_are_answered_in_order(serve_http, bare, engine):
    """One after the other, over one connection, and again."""
    client = await bare(await serve_http())
    for _ in range(3):
        engine.scripts += [[f"{number}"] for number in range(30)]
        for _ in range(30):
            client.send(CHAT, HELLO)
        answers = [json.loads((await client.answer()).body) for _ in range(30)]
        said = [answer["choices"][0]["message"]["content"] for answer in answers]
        assert said == [f"{number}" for number in range(30)]


async def test_so_many_requests_wait_on_a_connection(serve_http, bare, engine, until):
    """And so many bytes of them."""
    engine.paused = True
    server = await serve_http(limits=Limits(max_document_bytes=1000))
    many, much = await bare(server), await bare(server)
    for _ in range(65):
        many.send("/v1/completions", {"prompt": "x"})
    assert await many.closed() == b""
    much.send("/v1/completions", {"prompt": "x"})
    for _ in range(4):
        much.send("/v1/completions", b"x" * (server._config.limits.max_frame_bytes - 1))
    assert await much.closed() == b""
    await until(lambda: engine.running == 0)


async def test_leaving_a_stream_early_frees_its_sequence(serve_http, openai_client, engine, until):
    """As people do with OpenAI's client."""
    engine.scripts.append(itertools.repeat("word "))
    client = openai_client(await serve_http())
    async with await client.chat.completions.create(model="scripted", **STREAM) as stream:
        async for _ in stream:
            break
    await until(lambda: engine.running == 0)
    assert len(engine.cancelled) == 1


async def test_clients_that_come_and_go_leave_nothing(serve_http, bare, engine, until):
    """Sixty at once, a third of which leave before, during or after their answer: no sequence, task or socket."""
    server = await serve_http()
    before = len(asyncio.all_tasks())

    async def client(number: int) -> None:
        socket = await bare(server)
        socket.send(CHAT, [HELLO, STREAM][number % 2])
        if number % 3:
            assert (await socket.answer()).status == 200
        else:
            for _ in range(number):
                await asyncio.sleep(0)
        await socket.close()

    await asyncio.gather(*map(client, range(60)))
    await until(lambda: engine.running == 0 and not server._door._server.server_state.connections)
    await until(lambda: len(asyncio.all_tasks()) <= before)
    assert server._door.drained


async def test_a_traceparent_is_logged_with_the_request(serve_http, bare):
    """So that the log can be joined with the client's."""
    client = await bare(await serve_http())
    with structlog.testing.capture_logs() as logs:
        client.send(CHAT, HELLO, f"traceparent: {PARENT}")
        answer = await client.answer()
        client.send(CHAT, HELLO, "traceparent: none")
        await client.answer()
    ended = [entry for entry in logs if entry["event"] == "request ended"]
    assert ended[0]["traceparent"] == PARENT
    assert ended[0]["request"] == answer.headers["x-request-id"]
    assert "traceparent" not in ended[1]


async def test_a_slow_reader_pauses_its_sequence(serve_http, bare, engine, until):
    """What waits for it is bounded; when it reads, all comes, and others are not held up."""
    pieces = [f"{number:06} " + "x" * 1000 for number in range(600)]
    engine.scripts.append(pieces)
    limits = Limits(write_high_water=4096, pause_unsent_bytes=8192)
    server = await serve_http(limits=limits)
    slow, other = await bare(server, limit=1024), await bare(server)
    slow.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    slow.send(CHAT, STREAM)
    await until(lambda: bool(engine.held))
    other.send(CHAT, HELLO)
    assert (await other.answer()).status == 200
    body = b""
    async with asyncio.timeout(30):
        while b"[DONE]" not in body:
            body += await slow.reader.read(65536)
    assert not engine.held
    assert all(f"{number:06} ".encode() in body for number in range(600))


async def test_a_reader_that_stands_still_is_cut(serve_http, bare, http, engine, until):
    """Its sequence is freed, and the metrics count it."""
    engine.scripts.append(itertools.repeat("x" * 1000))
    limits = Limits(write_high_water=4096, pause_unsent_bytes=8192, stall_timeout=0.2)
    server = await serve_http(limits=limits)
    client = await bare(server, limit=1024)
    with structlog.testing.capture_logs() as logs:
        client.send(CHAT, STREAM, f"traceparent: {PARENT}")
        await until(lambda: bool(engine.requests) and engine.running == 0)
    (warned,) = [entry for entry in logs if entry["event"] == "client reads too slowly"]
    assert (warned["kind"], warned["traceparent"]) == ("http_chat", PARENT)
    assert len(engine.cancelled) == 1
    assert b"[DONE]" not in await client.closed()
    assert "warmline_slow_readers_total 1.0" in (await http(server, "/metrics"))[1]


async def test_a_connection_without_a_request_is_cut(serve_http, bare):
    """Whether nothing comes or half a head."""
    server = await serve_http(limits=Limits(hello_timeout=0.1))
    silent, half = await bare(server), await bare(server)
    half.writer.write(b"GET /healthz HTTP/1.1\r\n")
    assert await silent.closed() == b""
    assert await half.closed() == b""


async def test_a_head_without_end_is_cut(serve_http, bare):
    """However fast it comes."""
    client = await bare(await serve_http())
    client.writer.write(b"GET /healthz HTTP/1.1\r\n" + b"X: y\r\n" * 20_000)
    assert await client.closed() == b""


async def test_there_are_so_many_connections(serve_http, bare):
    """Those that are served go on."""
    server = await serve_http(max_connections=1)
    client = await bare(server)
    client.send("/healthz", method="GET")
    assert (await client.answer()).status == 200
    assert await (await bare(server)).closed() == b""
    client.send("/healthz", method="GET")
    assert (await client.answer()).status == 200


# Strangers -----------------------------------------------------------------------------------------------------


async def test_hosts_and_origins_are_those_of_the_websocket_listener(serve_http, bare, engine):
    """Names must be on the list, and so must pages; those may read the answers, others get no CORS headers."""
    page = "https://editor.example"
    server = await serve_http(allowed_hosts=("box.lan",), allowed_origins=(page,))
    client = await bare(server)
    client.send(CHAT, HELLO, host="evil.example")
    answer = await client.answer()
    assert (answer.status, answer.error["code"]) == (403, "forbidden")
    client.send(CHAT, HELLO, "Origin: https://evil.example")
    answer = await client.answer()
    assert (answer.status, answer.error["type"]) == (403, "permission_error")
    assert "access-control-allow-origin" not in answer.headers
    assert engine.requests == []
    client.send(CHAT, HELLO, f"Origin: {page}", host="box.lan:9")
    answer = await client.answer()
    assert (answer.status, answer.headers["access-control-allow-origin"]) == (200, page)
    assert answer.headers["vary"] == "origin"
    client.send(
        CHAT, None, f"Origin: {page}", "Access-Control-Request-Method: POST",
        "Access-Control-Request-Headers: authorization", method="OPTIONS",
    )  # fmt: skip
    answer = await client.answer()
    assert answer.status == 204
    assert answer.headers["access-control-allow-headers"] == "authorization"


@pytest.mark.parametrize("path", ["/v1/models", "/v1/completions", "/healthz", "/nothing"])
async def test_a_name_that_was_rebound_is_answered_nowhere(serve_http, bare, path):
    """A page whose name resolves to this machine sends that name; so does one that is on no list its origin."""
    server = await serve_http()
    client = await bare(server)
    for headers, host in (((), "evil.example"), ((f"Origin: {server.http_url}",), "localhost")):
        client.send(path, None, *headers, method="GET", host=host)
        answer = await client.answer()
        assert (answer.status, answer.error["code"]) == (403, "forbidden")
    reasons = {"host": 1, "origin": 1}
    for reason, count in reasons.items():
        labels = {"listener": "http", "reason": reason}
        assert server._metrics.registry.get_sample_value("warmline_refused_connections_total", labels) == count


async def test_an_oversized_head_is_cut_and_counted(serve_http, bare, until):
    """Whoever it is from, and however slowly it comes."""
    server = await serve_http()
    client = await bare(server)
    client.writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"X: " + b"y" * (70 << 10))
    await client.closed()
    labels = {"listener": "http", "reason": "oversized_request"}
    await until(lambda: server._metrics.registry.get_sample_value("warmline_refused_connections_total", labels) == 1)


async def test_the_playground_may_ask_here(serve_http, bare):
    """The page that the other port serves, by its own port; what this port would serve is no page of ours."""
    server = await serve_http()
    client = await bare(server)
    page = f"http://localhost:{server.port}"
    client.send(CHAT, HELLO, f"Origin: {page}")
    answer = await client.answer()
    assert (answer.status, answer.headers["access-control-allow-origin"]) == (200, page)
    door = server.http_url.rpartition(":")[2].partition("/")[0]
    client.send(CHAT, HELLO, f"Origin: http://localhost:{door}")
    assert (await client.answer()).status == 403


async def test_headers_that_come_twice_are_nobodys(serve_http, bare):
    """A proxy may have checked the other one."""
    client = await bare(await serve_http(api_keys=("k",)))
    client.send("/healthz", None, "Host: localhost", method="GET")
    assert (await client.answer()).status == 403
    client.send("/v1/models", None, "Authorization: Bearer k", "Authorization: Bearer x", method="GET")
    assert (await client.answer()).status == 401


async def test_a_key_is_asked_for_before_the_body_is_read(serve_http, bare):
    """Health needs none."""
    client = await bare(await serve_http(api_keys=("k",)))
    client.send("/healthz", method="GET")
    assert (await client.answer()).status == 200
    client.writer.write(f"POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n".encode())
    answer = await client.answer()
    assert (answer.status, answer.headers["www-authenticate"]) == (401, "bearer")
    assert "Bearer" in answer.error["message"]


def test_strangers_are_not_let_in_by_mistake():
    """Off loopback the HTTP listener needs a key, too."""
    with pytest.raises(ServerError, match="--api-key"):
        check_address(ServerConfig(host="0.0.0.0", port=0, http_port=0))


# Starting and ending -------------------------------------------------------------------------------------------


async def test_a_taken_port_is_said_plainly(serve_http, engine, tokenizer):
    """With the option that changes it, before anything is loaded and when listening."""
    server = await serve_http()
    taken = int(server.http_url.rpartition(":")[2].removesuffix("/v1"))
    with pytest.raises(ServerError, match=f"127.0.0.1:{taken} is in use.*--http-port"):
        check_address(ServerConfig(port=0, http_port=taken))
    with pytest.raises(ServerError, match="--http-port"):
        await GatewayServer(engine, tokenizer, ServerConfig(port=0, http_port=taken)).start()
    with pytest.raises(ServerError, match="--port and --http-port are both 5000"):
        check_address(ServerConfig(port=5000, http_port=5000))


async def test_every_address_of_a_host_is_listened_on(serve_http):
    """On one port, where a host has several."""
    server = await serve_http(host="localhost")
    reached = {info[4][0] for info in socket.getaddrinfo("localhost", None, type=socket.SOCK_STREAM)}
    for address in reached:
        _, writer = await asyncio.open_connection(address, int(server.http_url.rsplit(":", 1)[1].removesuffix("/v1")))
        writer.close()
        await writer.wait_closed()


async def test_there_is_no_http_api_unless_asked(serve):
    """Nothing else listens."""
    assert (await serve()).http_url is None


async def test_closing_ends_requests_with_an_error(serve_http, openai_client, bare, engine, until):
    """A stream gets an event that clients raise, a whole answer 503, and nothing is left."""
    engine.scripts.append(itertools.chain(["so "], held(engine)))
    server = await serve_http()
    stream = await openai_client(server).chat.completions.create(model="scripted", **STREAM)
    whole = await bare(server)
    whole.send(CHAT, HELLO)
    await until(lambda: len(engine.requests) == 2)
    async with asyncio.timeout(10):
        closing = asyncio.ensure_future(server.close())
        with pytest.raises(openai.APIError, match="restarts") as error:
            async for _ in stream:
                pass
        assert error.value.code == "engine_unavailable"
        answer = await whole.answer()
        await closing
    assert (answer.status, answer.headers["retry-after"]) == (503, "1")
    assert engine.running == 0


async def test_an_engine_that_dies_is_an_error(serve_http, openai_client, bare, engine, until):
    """In the stream, as the status of whole answers, which say when to try again, and in /healthz."""
    engine.retry_after = 2.2
    engine.scripts.append(itertools.chain(["so "], held(engine)))
    server = await serve_http()
    stream = await openai_client(server).chat.completions.create(model="scripted", **STREAM)
    client = await bare(server)
    client.send(CHAT, HELLO)
    await until(lambda: len(engine.requests) == 2)
    engine.fail("the engine died")
    with pytest.raises(openai.APIError, match="the engine died") as error:
        async for _ in stream:
            pass
    assert error.value.code == "engine_unavailable"
    answer = await client.answer()
    assert (answer.status, answer.error["code"]) == (503, "engine_unavailable")
    assert answer.headers["retry-after"] == "3"
    client.send("/healthz", method="GET")
    assert (await client.answer()).status == 503


@pytest.mark.parametrize("stream", [False, True])
async def test_a_failure_of_the_engine_before_any_text_is_a_status(serve_http, bare, engine, stream):
    """So that clients see it without reading a stream."""
    engine.default, engine.reason = (), "error"
    client = await bare(await serve_http())
    client.send(CHAT, {**HELLO, "stream": stream})
    answer = await client.answer()
    assert (answer.status, answer.error["code"], answer.error["message"]) == (500, "internal_error", "it broke")


@pytest.mark.parametrize("body", [HELLO, STREAM], ids=["whole", "stream"])
async def test_a_fault_of_ours_is_an_error(serve_http, bare, engine, monkeypatch, body):
    """The client is told, and the sequence is freed."""
    monkeypatch.setattr("warmline.realtime.http.answers._encode", None)
    client = await bare(await serve_http())
    with structlog.testing.capture_logs() as logs:
        client.send(CHAT, body, f"traceparent: {PARENT}")
        answer = await client.answer()
    (logged,) = [entry for entry in logs if entry["log_level"] == "error"]
    assert logged["traceparent"] == PARENT
    if "stream" in body:
        (event,) = answer.events
        assert json.loads(event)["error"]["code"] == "internal_error"
    else:
        assert (answer.status, answer.error["code"]) == (500, "internal_error")
    assert engine.running == 0
