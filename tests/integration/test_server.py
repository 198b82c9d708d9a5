"""The service as a person starts, uses, breaks and stops it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from warmline.client import EngineUnavailable, PromptTooLong, RequestError, connect
from websockets.sync.client import connect as websocket_connect


def processes_of(group: int) -> list[str]:
    """The command lines of the processes of a process group."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[2]) == group and fields[0] != "Z":
                found.append((stat.parent / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue  # it ended meanwhile
    return found


def test_ctrl_c_ends_everything(serve, tiny_model):
    """After Ctrl-C no process is left, the output has no traceback, and the port is free at once."""
    with serve("--model", str(tiny_model)) as server:
        server.interrupt()
        assert processes_of(server.process.pid) == []
        assert "Traceback" not in server.output()
        with socket.socket() as again:
            again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            again.bind(("127.0.0.1", server.port))


def test_the_playground_is_where_the_server_says(serve, tiny_model):
    """The page, its script and a socket that a browser may open from there; what it prints names the address."""
    with serve("--model", str(tiny_model)) as server:
        page = f"http://127.0.0.1:{server.port}"
        assert 'src="playground.js"' in server.get("/")
        assert len(server.get("/playground.js")) > 100_000
        with websocket_connect(server.url, subprotocols=["warmline.v1.json"], origin=page) as socket_of_page:
            socket_of_page.send('[1, null, "a page"]')
            assert json.loads(socket_of_page.recv(timeout=30))[0] == 1
        server.interrupt()
        assert f"playground at {page}/\n" in server.output()


def test_ctrl_c_while_kernels_compile_leaves_no_compiler(start_server, tiny_model, tmp_path):
    """The compiler that the engine started ends with it."""
    pid_file = tmp_path / "pid"
    compiler = tmp_path / "bin" / "g++"
    compiler.parent.mkdir()
    compiler.write_text(
        f'#!/bin/sh\n[ "$1" = -dumpfullversion ] && echo 12 && exit\necho $$ > {pid_file}.new\n'
        f"mv {pid_file}.new {pid_file}\nexec sleep 600\n"
    )
    compiler.chmod(0o755)
    environment = {"PATH": f"{compiler.parent}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(tmp_path)}
    server = start_server("--model", str(tiny_model), environment=environment)
    try:
        deadline = time.monotonic() + 60
        while not pid_file.exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        server.interrupt()
        process = Path("/proc") / pid_file.read_text().strip()
        while process.exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert "compiling" in server.output()
    finally:
        server.close()


def test_the_engine_does_not_outlive_a_killed_gateway(serve, tiny_model):
    """The engine ends by itself when the gateway is gone."""
    with serve("--model", str(tiny_model)) as server:
        engine = server.engine_process()
        server.process.kill()
        server.process.wait()
        deadline = time.monotonic() + 10
        while Path(f"/proc/{engine}").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not Path(f"/proc/{engine}").exists()


def test_a_taken_port_is_said_plainly(scripted_server, tiny_model):
    """Starting a second server on the same port fails with one clear line."""
    result = subprocess.run(
        [sys.executable, "-m", "warmline.realtime.main", "serve", "--model", str(tiny_model)]
        + ["--port", str(scripted_server.port)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode != 0
    assert str(scripted_server.port) in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("content", [b"", b"GGUF", bytes(range(256)) * 20], ids=["empty", "truncated", "garbage"])
def test_a_file_that_is_no_model_is_said_plainly(tmp_path, content):
    """`serve` with a broken model file ends with one clear line."""
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    result = subprocess.run(
        [sys.executable, "-m", "warmline.realtime.main", "serve", "--model", str(path), "--port", "0"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode != 0
    assert "model.gguf" in result.stderr
    assert "Traceback" not in result.stderr


async def test_an_engine_that_dies_ends_its_requests_and_comes_back(serve, tiny_model):
    """Each running request gets one error; once the engine is back, requests are taken again."""
    with serve("--model", str(tiny_model)) as server:
        async with connect(server.url) as session:
            document = await session.open("file:///a", "x = 1\n" * 50)
            running = [
                session.complete(document, 6, max_tokens=4000, temperature=1.0, seed=n, parallel=True)
                for n in range(3)
            ]
            await asyncio.gather(*(anext(stream) for stream in running))
            os.kill(server.engine_process(), signal.SIGKILL)
            for stream in running:
                with pytest.raises(EngineUnavailable):
                    await stream.result()

            async def works_again():
                try:
                    return await session.complete(document, 6, max_tokens=2).result()
                except EngineUnavailable:
                    return None

            give_up = time.monotonic() + 60
            while await works_again() is None:
                assert time.monotonic() < give_up
                await asyncio.sleep(0.2)


VICTIM = """
import asyncio, sys
from warmline.client import connect

async def main():
    async with connect(sys.argv[1]) as session:
        document = await session.open("file:///b", "def f():\\n")
        sampling = {"max_tokens": 5000, "temperature": 1.0, "parallel": True}
        streams = [session.complete(document, 9, seed=n, **sampling) for n in range(3)]
        for stream in streams:
            await anext(stream)
        print("streaming", flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


@contextlib.contextmanager
def streaming_client(url: str) -> Iterator[subprocess.Popen[str]]:
    """A client process with three running requests."""
    process = subprocess.Popen([sys.executable, "-c", VICTIM, url], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "streaming\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_killed_client_frees_its_sequences(serve, default_model):
    """Each is cancelled once, and nothing is computed for them any more: at once, where no session is kept."""
    with serve("--model", str(default_model), "--resume-seconds", "0") as server:
        with streaming_client(server.url) as client:
            while server.metric("warmline_engine_sequences_running") < 3:
                time.sleep(0.05)
            client.kill()
            while server.metric("warmline_engine_cancel_free_seconds_count") < 3:
                time.sleep(0.05)
        passes = server.metric("warmline_engine_forward_passes_total")
        assert server.metric("warmline_engine_sequences_running") == 0
        assert server.metric("warmline_requests_running") == 0
        time.sleep(1.5)  # more than a heartbeat: the engine has told all
        assert server.metric("warmline_engine_forward_passes_total") == passes
        assert server.metric("warmline_engine_cancel_free_seconds_count") == 3


async def test_a_killed_client_does_not_disturb_others(server, edit_records):
    """Another client's stream goes on as if nothing had happened."""
    async with connect(server.url) as session:
        document = await session.open("file:///a", edit_records[0].context)
        expected = await session.complete(document, len(document.text), max_tokens=150, seed=1).result()
        with streaming_client(server.url) as client:
            mine = session.complete(document, len(document.text), max_tokens=150, seed=1)
            await anext(mine)
            client.kill()
            assert (await mine.result()).text == expected.text


async def test_thousands_of_tokens_of_context_complete(serve, default_model, edit_records):
    """Without the short window of an adapter that fills in, a long document is used up to the context's size."""
    text = "".join(record.context + record.before for record in edit_records)
    with serve("--model", str(default_model), "--fim", "off") as server:
        async with connect(server.url) as session:
            document = await session.open("file:///long", text)
            result = await session.complete(document, len(text), max_tokens=8).result()
            assert result.receipt.prompt_tokens >= 5000
            assert result.receipt.output_tokens > 0
            again = await session.complete(document, len(text), max_tokens=8).result()
            assert again.text == result.text
            assert again.receipt.cached_tokens + again.receipt.warmed_tokens >= result.receipt.prompt_tokens - 100


async def test_an_edit_that_cannot_fit_names_both_numbers(server):
    """A range larger than the context is refused with what it needs and what there is."""
    text = "value = compute(1, 2, 3)\n" * 4000
    async with connect(server.url) as session:
        document = await session.open("file:///huge", text)
        with pytest.raises(PromptTooLong) as error:
            await session.edit(document, (0, len(text)), "rename value").result()
        numbers = [int(word.strip(",.")) for word in str(error.value).split() if word.strip(",.").isdigit()]
        assert len(numbers) >= 2
        assert max(numbers) > session.context_length >= min(numbers)
        assert (await session.complete(document, 10, max_tokens=2).result()).receipt.output_tokens > 0


async def test_hops_sum_to_the_end_to_end_time(server):
    """Each hop of a result is measured, none is negative, and their sum is the time it took."""
    async with connect(server.url) as session:
        document = await session.open("file:///t", "def add(a, b):\n    return ")
        result = await session.complete(document, len(document.text), max_tokens=16).result()
        hops = result.timing.hops
        assert min(hops.values()) >= 0
        assert sum(hops.values()) == result.timing.end_to_end
        assert result.timing.engine_step > 0
        assert result.ttft is not None
        assert 0 < result.ttft <= result.timing.end_to_end


async def test_replay_needs_the_servers_leave(serve, tiny_model):
    """A server that was not started with --allow-replay refuses it."""
    with serve("--model", str(tiny_model)) as server:
        async with connect(server.url) as session:
            document = await session.open("file:///a", "x\n")
            with pytest.raises(RequestError, match="replay"):
                await session.complete(document, 0, replay="y").result()


async def test_other_api_keys_do_not_see_what_is_cached(serve, tiny_model):
    """Prefix reuse is per API key: another key's receipt shows no cached tokens."""
    with serve("--model", str(tiny_model), "--api-key", "one", "--api-key", "two") as server:
        text = "def f(a, b):\n    return a + b\n" * 30
        cached = []
        for key in ("one", "one", "two"):
            async with connect(server.url, token=key) as session:
                document = await session.open("file:///a", text)
                result = await session.complete(document, len(text), max_tokens=2).result()
                cached.append(result.receipt.cached_tokens)
        assert cached[0] == 0
        assert cached[1] > 0
        assert cached[2] == 0


def test_bench_engine_writes_its_figures(tiny_model, tmp_path):
    """`warmline bench engine --json` writes the keys that others read."""
    path = tmp_path / "bench.json"
    subprocess.run(
        [sys.executable, "-m", "warmline.realtime.main", "bench", "engine", "--model", str(tiny_model)]
        + ["--json", str(path), "--repeats", "2"],
        check=True,
        capture_output=True,
        timeout=120,
    )
    figures = json.loads(path.read_text())
    assert figures["model_path"] == str(tiny_model)
    assert figures["threads"] >= 1
    assert figures["prefill_tokens_per_second"]["512"] > 0
    assert figures["decode_tokens_per_second"] > 0
    assert set(figures["pass_tokens_per_second"]) == {"1", "2", "4", "8", "16", "32", "64"}
    assert set(figures["depths"]) == {"512", "4000"}
