"""`warmline lsp` as an editor runs it: a process that speaks LSP on its pipes, and the real service behind it."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from warmline.client import connect

COMMAND = [sys.executable, "-m", "warmline.realtime.main", "lsp"]
URI = "file:///nowhere/shop.py"
COMPLETED = 'gen_ai_server_request_duration_seconds_count{gen_ai_operation_name="text_completion",kind="complete"}'
CODE = """\
LIMIT = 3


def total(items):
    amount = 0
    for item in items:
        amount += item
    return amount
"""


class EditorProcess:
    """An editor, and the language server that it has started."""

    def __init__(self, editor, process: asyncio.subprocess.Process, reading: asyncio.Task[None]) -> None:
        self.editor = editor
        self.process = process
        self.reading = reading

    async def ended(self) -> tuple[int, str]:
        """The exit code, and what was logged; all that came on standard output was LSP."""
        await self.reading
        assert self.process.stderr is not None
        return await self.process.wait(), (await self.process.stderr.read()).decode()


@contextlib.asynccontextmanager
async def running(*arguments: str, **environment: str) -> AsyncIterator[EditorProcess]:
    path = Path(__file__).parents[1] / "client" / "lsp" / "editor.py"
    spec = importlib.util.spec_from_file_location("lsp_editor", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *COMMAND, *arguments, stdin=pipe, stdout=pipe, stderr=pipe, env={**os.environ, **environment}
    )
    assert process.stdin is not None and process.stdout is not None
    editor = module.Editor(process.stdin.write)
    reading = asyncio.create_task(editor.read(process.stdout))
    try:
        async with asyncio.timeout(300):
            yield EditorProcess(editor, process, reading)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        process._transport.close()  # type: ignore[attr-defined]  # or its pipes are, when it is collected
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


async def test_an_editor_is_served_from_the_first_message_to_the_last(server) -> None:
    """It gets what a program gets from the SDK for the same text, and its edits by one change each."""
    at = CODE.index("    for item")
    async with connect(server.url) as session:
        document = await session.open(URI, CODE, "python")
        await document.change(at, at + 7, "    # 😀\n    for")
        completion = await session.complete(document, at + 8, max_tokens=64).result()
        start = document.text.index("def")
        result = await session.edit(document, (start, len(document.text)), "rename amount to subtotal").result()
        await document.apply(result)
        expected = document.text
    assert result.reason == "stop" and expected != CODE
    async with running("--url", server.url) as run:
        editor = run.editor
        capabilities = await editor.initialize({}, ["utf-8", "utf-16"], window={"workDoneProgress": True})
        assert (capabilities["positionEncoding"], capabilities["inlineCompletionProvider"]) == ("utf-8", {})
        await editor.hear("window/logMessage")
        buffer = editor.open(URI, CODE)
        editor.type(URI, at, at + 7, "    # 😀\n    for")
        suggestion = await editor.suggested(URI, at + 8, explicit=True)
        assert suggestion is None or suggestion.partition("[")[2].partition("]")[0] in completion.text
        start = buffer.text.index("def")
        answer = await editor.edit(URI, start, len(buffer.text), "rename amount to subtotal")
        assert answer["applied"] and answer["reason"] == "stop" and answer["tokensPerSecond"] > 0
        assert buffer.text == expected
        assert buffer.version == 3
        kinds = [params["value"]["kind"] for params in await editor.hear("$/progress", 2)]
        assert (kinds[0], kinds[-1]) == ("begin", "end")
        await editor.ask("shutdown")
        editor.notify("exit")
        assert await run.ended() == (0, "")


async def test_a_suggestion_is_what_the_sdk_says_at_that_place(server) -> None:
    """At the end of a document nothing has to be left out of it."""
    text = 'def is_even(number):\n    """Whether a number is even."""\n    return '
    async with connect(server.url) as session:
        document = await session.open(URI, text, "python")
        completion = await session.complete(document, len(text), max_tokens=16).result()
    async with running("--url", server.url) as run:
        await run.editor.initialize({"completions": {"maxTokens": 16}})
        await run.editor.hear("window/logMessage")
        run.editor.open(URI, text)
        suggested = await run.editor.suggested(URI, len(text))
        assert completion.text.strip()
        assert suggested is not None and suggested.startswith(f"{text}[")
        assert completion.text.startswith(suggested[len(text) + 1 : -1])


async def test_a_cancelled_completion_is_gone_from_the_engine(server) -> None:
    """As soon as the editor has said so, and with it whatever it would have computed."""
    async with running("--url", server.url) as run:
        editor = run.editor
        await editor.initialize({"completions": {"maxTokens": 2000}})
        await editor.hear("window/logMessage")
        editor.open(URI, "# Counts from one to a thousand, a number a line.\n1\n2\n3\n4\n5\n")
        freed = server.metric("warmline_engine_cancel_free_seconds_count")
        asked = editor.complete(URI, len(editor.buffers[URI].text), explicit=True)
        while server.metric("warmline_engine_sequences_running") < 1:
            assert not asked.done(), "it ended before it could be cancelled"
            await asyncio.sleep(0.01)
        editor.cancel()
        with pytest.raises(Exception, match="cancel"):
            await asked
        while server.metric("warmline_engine_cancel_free_seconds_count") == freed:
            await asyncio.sleep(0.01)
        assert server.metric("warmline_engine_sequences_running") == server.metric("warmline_requests_running") == 0


async def test_typing_where_an_edit_is_still_to_write_is_a_conflict_in_words(server) -> None:
    """What was typed stays, and nothing else is changed."""
    text = "".join(f"def value_{number}(x):\n    return x + {number}\n\n\n" for number in range(60))
    async with running("--url", server.url) as run:
        editor = run.editor
        await editor.initialize()
        await editor.hear("window/logMessage")
        buffer = editor.open(URI, text)
        edited = editor.edit(URI, 0, len(text), "rename x to y", workDoneToken="edit")
        await editor.hear("$/progress")
        editor.type(URI, len(text) - 4, len(text) - 4, "0")
        with pytest.raises(Exception, match="exclude each other, so nothing was changed") as refused:
            await edited
        assert refused.value.code == "conflict"
        assert buffer.text == text[:-4] + "0" + text[-4:]


async def test_the_server_dies_and_comes_back_and_nothing_needs_a_hand(start_server, tiny_model) -> None:
    """The editor is told once; its documents are there again, as they are by then, when the server is."""
    arguments = ("--model", str(tiny_model), "--threads", "1")
    server = start_server(*arguments)
    try:
        server.wait_until_ready()
        async with running("--url", server.url) as run:
            editor = run.editor
            await editor.initialize({"completions": {"maxTokens": 4}})
            (said,) = await editor.hear("window/logMessage")
            assert server.url in said["message"]
            editor.open(URI, "x = 1\n")
            server.process.kill()
            server.process.wait()
            (said,) = await editor.hear("window/showMessage")
            assert "nothing listens there" in said["message"]
            editor.type(URI, 0, 0, "# typed while nobody was there\n")
            assert (await editor.complete(URI, 3, explicit=True))["items"] == []
            again = start_server("--port", str(server.port), *arguments)
            again.port = server.port
            try:
                await asyncio.to_thread(again.wait_until_ready)
                await editor.hear("window/logMessage", 2)
                assert (await editor.command("warmline.status"))["connected"]
                await editor.complete(URI, len(editor.buffers[URI].text), explicit=True)
                assert again.metric(COMPLETED) == 1
                assert len(await editor.hear("window/showMessage")) == 1
            finally:
                again.close()
    finally:
        server.close()


@pytest.mark.parametrize(("ending", "status"), [("shutdown and exit", 0), ("exit", 1), ("end of input", 1)])
async def test_its_exit_code_says_whether_the_editor_took_leave(ending, status) -> None:
    """As LSP has it; without a server, too."""
    async with running("--url", "ws://127.0.0.1:9") as run:
        await run.editor.initialize()
        if ending.startswith("shutdown"):
            await run.editor.ask("shutdown")
        if ending.endswith("exit"):
            run.editor.notify("exit")
        else:
            assert run.process.stdin is not None
            run.process.stdin.close()
        assert await run.ended() == (status, "")


async def test_a_log_for_debugging_has_no_key_no_text_and_no_instruction(scripted_server) -> None:
    """Neither as it is, nor as the bytes of a frame; nor does what is no message come into it."""
    async with running("--url", scripted_server.url, "--log-level", "debug", WARMLINE_API_KEY="sekrit-key") as run:
        editor = run.editor
        await editor.initialize({"completions": {"maxTokens": 4}})
        await editor.hear("window/logMessage")
        text = "# DOCUMENTWORDS\nx = 1\n"
        editor.open(URI, text)
        editor.type(URI, 0, 0, "# TYPEDWORDS\n")
        await editor.suggested(URI, len(editor.buffers[URI].text), explicit=True)
        with contextlib.suppress(Exception):  # whether this model changes anything is not what it is about
            await editor.edit(URI, 0, len(text), "rename x to INSTRUCTIONWORDS")
        editor.send_body(b'{"UNREADWORDS')
        with pytest.raises(Exception, match="not as LSP has them"):
            await editor.ask("textDocument/inlineCompletion", {"textDocument": "UNREADWORDS"})
        await editor.ask("shutdown")
        editor.notify("exit")
        status, log = await run.ended()
    assert status == 0
    assert "DEBUG warmline" in log or "INFO warmline" in log, "nothing was logged for debugging"
    for secret in ("sekrit-key", "DOCUMENTWORDS", "TYPEDWORDS", "INSTRUCTIONWORDS", "UNREADWORDS"):
        assert secret not in log
        assert secret.encode()[:5].hex(" ") not in log


@pytest.mark.parametrize(
    ("said", "status", "answers"),
    [
        (b"", 1, 0),
        (b'Content-Length: 46\r\n\r\n{"jsonrpc":"2.0","id":1,"method":"initialize"}', 1, 1),
    ],
)
def test_what_is_no_pipe_is_read_to_its_end(tmp_path: Path, said: bytes, status: int, answers: int) -> None:
    """A file, and the empty one, as it is where something starts it without an editor."""
    path = tmp_path / "said" if said else Path(os.devnull)
    if said:
        path.write_bytes(said)
    with path.open("rb") as source:
        result = subprocess.run(COMMAND, stdin=source, capture_output=True, timeout=60)
    assert (result.returncode, result.stderr) == (status, b"")
    assert result.stdout.count(b"Content-Length") == answers


def test_a_person_who_calls_it_is_told_that_editors_do() -> None:
    """It would wait for ever for what nobody types."""
    controller, terminal = os.openpty()
    try:
        result = subprocess.run(COMMAND, stdin=terminal, capture_output=True, text=True, timeout=60)
    finally:
        os.close(terminal)
        os.close(controller)
    assert (result.returncode, result.stdout) == (2, "")
    assert "started by an editor" in result.stderr
    closed = subprocess.run(["sh", "-c", '"$@" <&-', "sh", *COMMAND], capture_output=True, text=True, timeout=60)
    assert closed.returncode == 2
    assert "started by an editor" in closed.stderr


def test_it_needs_neither_torch_nor_the_engine() -> None:
    """An editor starts one for each project."""
    program = (
        "import sys, warmline.client.lsp.stdio, warmline.realtime.cli.app\n"
        "print([name for name in ('torch', 'numpy', 'tokenizers', 'warmline.engine') if name in sys.modules])"
    )
    began = time.monotonic()
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
    assert time.monotonic() - began < 60
