"""What is no LSP, or comes out of turn, is answered as LSP has it, and ends nothing."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.client.lsp.messages import read_message
from warmline.client.lsp.server import WarmlineServer
from warmline.client.lsp.stdio import serve_streams

URL = "ws://127.0.0.1:1"
URI = "file:///nowhere/a.py"
PLACE = {"textDocument": {"uri": URI}, "position": {"line": 0, "character": 0}, "context": {"triggerKind": 1}}


async def answer(editor, method: str, params: object = None) -> tuple[int, str, str]:
    """The error that a request is answered with."""
    with pytest.raises(Exception) as refused:
        await editor.ask(method, params)
    return refused.value.number, refused.value.code, str(refused.value)


@pytest.mark.parametrize(
    ("method", "params", "said"),
    [
        ("textDocument/inlineCompletion", None, "at params"),
        ("textDocument/inlineCompletion", {**PLACE, "position": {"line": -1, "character": 0}}, "params.position"),
        ("textDocument/inlineCompletion", {**PLACE, "position": {"line": "x", "character": 0}}, "params.position"),
        ("textDocument/inlineCompletion", {**PLACE, "context": None}, "params.context"),
        ("workspace/executeCommand", {}, "required field missing at params.command"),
        ("workspace/executeCommand", [], "at params"),
    ],
)
async def test_parameters_that_are_none_are_refused_by_the_requests_id(editing, method, params, said) -> None:
    """The message says which and where."""
    async with editing(URL) as editor:
        number, code, message = await answer(editor, method, params)
        assert (number, code) == (-32602, "invalid_parameter")
        assert method in message and said in message
        assert (await editor.command("warmline.status"))["connected"] is False


async def test_a_request_without_parameters_or_of_no_known_method_is_refused(editing) -> None:
    """Where the member is missing, too."""
    async with editing(URL) as editor:
        for method, code in (("textDocument/inlineCompletion", -32602), ("textDocument/dance", -32601)):
            asked = editor.ask(method)
            with pytest.raises(Exception) as refused:
                await asked
            assert refused.value.number == code
        editor.asked += 1
        asked = editor._waiting[editor.asked] = asyncio.get_running_loop().create_future()
        editor.send_body(
            json.dumps({"jsonrpc": "2.0", "id": editor.asked, "method": "workspace/executeCommand"}).encode()
        )
        with pytest.raises(Exception) as refused:
            await asked
        assert refused.value.number == -32602


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{not json", -32700),
        (b"", -32700),
        (b"\xff\xfe", -32700),
        (b"[" * 100_000, -32700),
        (b"[]", -32600),
        (b"3", -32600),
        (b"{}", -32600),
        (b'{"jsonrpc": "2.0"}', -32600),
        (b'{"jsonrpc": "1.0", "method": "initialized"}', -32600),
        (b'{"jsonrpc": "2.0", "method": 3}', -32600),
        (b'{"jsonrpc": "2.0", "id": null, "method": "shutdown"}', -32600),
        (b'{"jsonrpc": "2.0", "id": true, "method": "shutdown"}', -32600),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "shutdown"}', -32600),
    ],
)
async def test_what_is_no_message_is_answered_without_an_id(editing, body, code) -> None:
    """And what comes behind it is understood."""
    async with editing(URL) as editor:
        editor.send_body(body)
        assert await editor.refused(1) == [code]
        assert (await editor.command("warmline.status"))["connected"] is False


async def test_answers_and_notifications_are_never_answered_whatever_they_are(editing) -> None:
    """Two sides that each complain of the other's complaints would never end."""
    async with editing(URL) as editor:
        for body in (
            {"id": None, "error": {"code": -32700, "message": "what?"}},
            {"id": 7, "error": {"code": -32700, "message": "what?"}},
            {"id": {}, "result": 1},
            {"id": "nobody", "error": 3},
            {"method": "textDocument/didChange", "params": {}},
            {"method": "textDocument/didOpen"},
            {"method": "$/cancelRequest", "params": {"id": {}}},
            {"method": "$/whatever", "more": 1},
        ):
            editor.send_body(json.dumps({"jsonrpc": "2.0", **body}).encode())
        assert (await editor.command("warmline.status"))["connected"] is False
        assert editor.unread == []


async def test_nothing_is_done_before_the_handshake_and_none_is_made_twice(editing) -> None:
    """A handshake that failed was none."""
    async with editing(URL, handshake=False) as editor:
        for method in ("workspace/executeCommand", "shutdown", "textDocument/dance"):
            assert (await answer(editor, method))[:2] == (-32002, "not_initialized")
        editor.open(URI, "x = 1\n")
        with pytest.raises(Exception, match="exlude"):
            await editor.initialize({"exlude": []})
        assert (await answer(editor, "workspace/executeCommand"))[0] == -32002
        await editor.initialize()
        with pytest.raises(Exception, match="made already") as refused:
            await editor.initialize({"enabled": False})
        assert (refused.value.number, refused.value.code) == (-32600, "initialized_already")
        with pytest.raises(Exception, match="not open"):  # what was opened before was no document
            await editor.edit(URI, 0, 1, "change it")


async def test_after_shutdown_everything_is_refused(editing) -> None:
    """Also what comes before that is answered; exit ends it."""
    async with editing(URL) as editor:
        first, second = editor.ask("shutdown"), editor.ask("shutdown")
        with pytest.raises(Exception, match="shut down") as refused:
            await second
        assert refused.value.number == -32600
        assert await first is None
        for method in ("workspace/executeCommand", "initialize", "textDocument/inlineCompletion"):
            assert (await answer(editor, method, {}))[:2] == (-32600, "shut_down")
        editor.notify("exit")


async def test_an_editors_answer_that_is_none_ends_the_wait_for_it() -> None:
    """Whoever asked hears of it."""
    server = WarmlineServer(URL, None)
    server.protocol.set_writer(type("Nowhere", (), {"write": lambda self, data: None})())
    asked = server.protocol.send_request_async("window/showDocument", None, "1")
    server.protocol.take(b'{"jsonrpc": "2.0", "id": "1", "error": 3}')
    with pytest.raises(Exception, match="not as LSP has it"):
        await asked


async def read_all(data: bytes) -> list[bytes]:
    reader = asyncio.StreamReader()
    reader.feed_data(data)
    reader.feed_eof()
    found = []
    while (body := await read_message(reader)) is not None:
        found.append(body)
    return found


@given(
    st.lists(st.tuples(st.binary(max_size=40), st.sampled_from([b"", b"Content-Type: x\r\n", b"nonsense\r\n\r\n"])))
)
def test_messages_are_read_as_they_were_written(messages) -> None:
    """With other headers, in either case of letters, and behind what is no header."""
    data = b"".join(
        before + (b"Content-Length: %d\r\n\r\n" if at % 2 else b"content-length:%d\r\n\r\n") % len(body) + body
        for at, (body, before) in enumerate(messages)
    )
    assert asyncio.run(read_all(data)) == [body for body, _ in messages]


@pytest.mark.parametrize("data", [b"x" * 100_000, b"Content-Length: 10\r\n\r\n{}", b"Content-Length: 1"])
async def test_an_end_in_the_middle_or_a_line_without_an_end_ends_it(data) -> None:
    """Without a shutdown that is no success."""
    reader = asyncio.StreamReader()
    reader.feed_data(data)
    reader.feed_eof()
    server = WarmlineServer(URL, None)
    assert await serve_streams(server, reader, None) == 1  # type: ignore[arg-type]  # nothing is written
