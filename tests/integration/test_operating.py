"""The service as its operator runs it: draining, keys that change, TLS, and logs that have nobody's text."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import trustme
import websockets
from warmline.client import (
    ConnectionFailed,
    ConnectionLost,
    EngineUnavailable,
    RequestError,
    Unauthorized,
    connect,
)
from warmline.realtime.access.keys import entry_of

CANARY = "xCANARYx"
"""Stands in everything that a client sends and that no log or metric may have."""


async def test_sigterm_lets_a_request_end(serve, default_model):
    """It gets all of its text, a new one is told to come later, /readyz says 503, and the exit code is 0."""
    with serve("--model", str(default_model)) as server:
        async with connect(server.url, reconnect=False) as session:
            document = await session.open("file:///a.py", "def numbers():\n    return [1, 2, 3,")
            running = session.complete(document, len(document.text), max_tokens=250, seed=1, temperature=1.0)
            await anext(running)
            server.process.send_signal(signal.SIGTERM)

            def not_ready() -> bool:
                try:
                    server.get("/readyz")
                except urllib.error.HTTPError as error:
                    return error.code == 503
                return False

            give_up = time.monotonic() + 10
            while not await asyncio.to_thread(not_ready):
                assert time.monotonic() < give_up
            assert await asyncio.to_thread(server.get, "/healthz") == "ok\n"
            with pytest.raises(EngineUnavailable) as refused:
                await session.complete(document, 0, max_tokens=1, parallel=True).result()
            assert refused.value.retryable and refused.value.retry_after >= 1
            with pytest.raises(ConnectionFailed, match="takes no new sessions at the moment: the server restarts"):
                await connect(server.url)
            result = await running.result()
            assert result.reason in ("stop", "length")
            with pytest.raises(ConnectionLost) as lost:
                while True:
                    await session.ping()
            assert (lost.value.code, lost.value.retryable) == (1012, True)
        assert await asyncio.to_thread(server.process.wait, 20) == 0
        assert "Traceback" not in server.output()


def test_keys_change_under_a_running_service(serve, tiny_model, tmp_path):
    """A key that `warmline keys new` adds lets in, and one whose entry goes doesn't; without a restart."""
    file = tmp_path / "keys.toml"

    def new(name: str) -> str:
        command = [sys.executable, "-m", "warmline.realtime.main", "keys", "new", name, "--add-to", str(file)]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()

    async def ping(url: str, key: str) -> None:
        async with connect(url, token=key) as session:
            await session.ping()

    alice = new("alice")
    with serve("--model", str(tiny_model), "--threads", "1", "--keys", str(file)) as server:
        asyncio.run(ping(server.url, alice))
        bob = new("bob")
        server.process.send_signal(signal.SIGHUP)
        while server.metric("warmline_api_keys") < 2:
            time.sleep(0.05)
        asyncio.run(ping(server.url, bob))
        file.write_text(entry_of("bob", bob))
        while server.metric("warmline_api_keys") > 1:
            time.sleep(0.05)
        with pytest.raises(Unauthorized):
            asyncio.run(ping(server.url, alice))
        asyncio.run(ping(server.url, bob))


async def test_the_service_over_tls(start_server, tiny_model, tmp_path, default_model):
    """`serve --tls-cert` by the SDK, and by `warmline complete` with SSL_CERT_FILE."""
    authority = trustme.CA(key_type=trustme.KeyType.ECDSA)
    issued = authority.issue_cert("127.0.0.1", key_type=trustme.KeyType.ECDSA)
    files = {"ca": authority.cert_pem, "cert": issued.cert_chain_pems[0], "key": issued.private_key_pem}
    for name, blob in files.items():
        blob.write_to_path(tmp_path / name)
    server = start_server(
        "--model", str(tiny_model), "--threads", "1", "--tls-cert", str(tmp_path / "cert"), "--tls-key",
        str(tmp_path / "key"),
    )  # fmt: skip
    url = server.url.replace("ws://", "wss://")
    try:
        context = ssl.create_default_context(cafile=str(tmp_path / "ca"))
        give_up = time.monotonic() + 120
        while True:
            try:
                session = await connect(url, ssl=context)
                break
            except ConnectionFailed:
                assert server.process.poll() is None and time.monotonic() < give_up
                await asyncio.sleep(0.1)
        await session.ping()
        await session.close()
        source = tmp_path / "a.py"
        source.write_text("x = 1\n")
        asked = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-m", "warmline.realtime.main", "complete", f"{source}:1:1", "--url", url],
            capture_output=True, text=True, timeout=60,
            env={"PATH": "", "SSL_CERT_FILE": str(tmp_path / "ca")},
        )  # fmt: skip
        assert asked.returncode == 0, asked.stderr
    finally:
        server.close()


async def session_of(url: str, key: str) -> None:
    """A whole session whose every text has the canary: what goes well, and what is refused."""
    async with connect(url, token=key, client="an editor") as session:
        document = await session.open(f"file:///{CANARY}.py", f"# {CANARY}\ndef f():\n    return 1\n", "python")
        await document.change(0, 0, f"# {CANARY}\n")
        end = len(document.text)
        await session.complete(document, end, max_tokens=4, stop=[CANARY]).result()
        edit = session.edit(document, (0, end), f"rename f to {CANARY}", max_tokens=8)
        with contextlib.suppress(RequestError):  # it may have ended
            await edit.steer(f"and say {CANARY}")
        await edit.result()
        talk = session.conversation(CANARY)
        await talk.say(f"what is {CANARY}?", documents=[document], max_tokens=4).result()
        await document.warm(end)
        for refused in (
            session.edit(document, (0, end), CANARY, max_tokens=8, replay=CANARY),
            session.complete(document, end, max_tokens=8, replay=CANARY),
        ):
            with pytest.raises(RequestError):
                await refused.result()
        await document.close()
    headers = {"Authorization": f"Bearer {key}"}
    protocols = [websockets.Subprotocol("warmline.v1.json")]
    async with websockets.connect(url, subprotocols=protocols, additional_headers=headers, proxy=None) as raw:
        await raw.send('[1, null, "raw"]')
        for frame in (
            f'{{"{CANARY}": 1}}',
            f'[99, "{CANARY}"]',
            f'[6, 1, "{CANARY}", "{CANARY}"]',
            f'[3, "{CANARY}", 1, 2, [[0, 0, "{CANARY}"]]]',
            f'[2, "{CANARY}", 1, "{CANARY * 20}", ""]',
            f'[6, 2, "{CANARY}", 1, 0]',
            f'[14, "{CANARY}"]',
        ):
            await raw.send(frame)
        await raw.send(f"[13, 1] {CANARY}")
        await raw.send("[13, 1]")
        while not str(await raw.recv()).startswith("[8,"):
            pass
        await raw.send(CANARY.encode())  # of the wrong type, so that the socket is closed
        with pytest.raises(websockets.ConnectionClosed):
            while True:
                await raw.recv()
    for wrong in (f"{CANARY}-wrong", f"{CANARY} two words"):
        with pytest.raises((Unauthorized, ValueError, ConnectionFailed)):
            await connect(url, token=wrong)
    with pytest.raises(websockets.InvalidStatus):
        await websockets.connect(
            f"{url}/?token={CANARY}", subprotocols=protocols, proxy=None, origin="https://evil.example"
        )


def http_requests(port: int, key: str) -> None:
    """The same over HTTP."""
    bodies = [
        ("/v1/completions", {"prompt": CANARY, "max_tokens": 4}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": CANARY}], "max_tokens": 4}),
        ("/v1/completions", {"prompt": CANARY, "n": 5}),
        ("/v1/completions", {"prompt": CANARY, "max_tokens": CANARY}),
        (f"/v1/{CANARY}", {"prompt": CANARY}),
    ]
    for token in (key, f"{CANARY}-wrong"):
        for path, body in bodies:
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}{path}",
                json.dumps(body).encode(),
                {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
            )
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
                    answer.read()
            except urllib.error.HTTPError as error:
                error.read()


@pytest.mark.parametrize("level", ["info", "debug"])
def test_nobodys_text_and_no_key_is_in_the_log_or_in_metrics(start_server, tiny_model, tmp_path: Path, level: str):
    """A whole session through both doors, with all that can be refused; the key's name is there, and the editor's."""
    key = f"key-with-{CANARY}"
    keys = tmp_path / "keys.toml"
    keys.write_text(f'[keys.alice]\nkey = "{key}"\n')
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        http_port = probe.getsockname()[1]
    server = start_server(
        "--model", str(tiny_model), "--threads", "1", "--keys", str(keys), "--log-level", level, "--http-port",
        str(http_port),
    )  # fmt: skip
    try:
        server.wait_until_ready()
        asyncio.run(session_of(server.url, key))
        http_requests(http_port, key)
        keys.write_text(f'[keys.alice]\nkey = "{key}"\nsha256 = "{CANARY}"\n')
        server.process.send_signal(signal.SIGHUP)
        while 'warmline_reloads_total{outcome="failed",what="keys"} 1.0' not in (metrics := server.get("/metrics")):
            time.sleep(0.05)
    finally:
        server.process.terminate()
        output = server.process.communicate(timeout=30)[0]
        server.close()
    assert CANARY not in metrics
    assert 'warmline_key_tokens_total{key="alice",kind="output"}' in metrics
    assert CANARY not in output
    assert "turned away" in output and "could not be read again" in output
    assert ("request ended" in output and "an editor" in output and "alice" in output) is (level == "debug")
