"""Real servers for end-to-end tests: the command line in a subprocess, on a free port."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFReader, GGUFWriter

START_DEADLINE = 120.0


class RunningServer:
    """`warmline serve` in a process of its own."""

    def __init__(self, *arguments: str, environment: dict[str, str] | None = None) -> None:
        self.port = free_port()
        self.url = f"ws://127.0.0.1:{self.port}"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "warmline.realtime.main", "serve", "--port", str(self.port), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            env={**os.environ, **(environment or {})},
        )

    def wait_until_ready(self) -> None:
        """Wait for /readyz to say 200."""
        deadline = time.monotonic() + START_DEADLINE
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended: {self.output()}")
            with contextlib.suppress(OSError):
                self.get("/readyz")
                return
            time.sleep(0.05)
        raise AssertionError(f"not ready after {START_DEADLINE} s")

    def get(self, path: str) -> str:
        """The body of a plain GET; raises `urllib.error.HTTPError` unless the answer is 200."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as response:
            return response.read().decode()

    def metric(self, name: str) -> float:
        """The value of an unlabelled metric."""
        for line in self.get("/metrics").splitlines():
            if line.startswith(f"{name} "):
                return float(line.split()[1])
        raise AssertionError(f"no metric {name}")

    def engine_process(self) -> int:
        """The process id of the engine."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        for child in children:
            if b"warmline.engine" in Path(f"/proc/{child}/cmdline").read_bytes():
                return int(child)
        raise AssertionError("there is no engine process")

    def interrupt(self) -> int:
        """Press Ctrl-C: the whole process group gets SIGINT. Returns the exit code."""
        os.killpg(self.process.pid, signal.SIGINT)
        return self.process.wait(20)

    def output(self) -> str:
        """What it printed, once it has ended."""
        assert self.process.stdout is not None
        return self.process.stdout.read()

    def close(self) -> None:
        """End it, whatever its state."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextlib.contextmanager
def serving(*arguments: str) -> Iterator[RunningServer]:
    """A server for one test."""
    server = RunningServer(*arguments)
    try:
        server.wait_until_ready()
        yield server
    finally:
        server.close()


@pytest.fixture(scope="session")
def start_server():  # type: ignore[no-untyped-def]
    """Start a server without waiting for it."""
    return RunningServer


@pytest.fixture(scope="session")
def serve():  # type: ignore[no-untyped-def]
    """Start a server with given arguments, as a context manager."""
    return serving


@pytest.fixture(scope="session")
def server(default_model: Path) -> Iterator[RunningServer]:
    """One server with the default model for all tests that do it no harm."""
    with serving("--model", str(default_model), "--allow-replay") as running:
        yield running


@pytest.fixture(scope="session")
def scripted_server(tiny_model: Path) -> Iterator[RunningServer]:
    """A server whose passes cost next to nothing; with replay it says what it is told."""
    with serving("--model", str(tiny_model), "--threads", "1", "--allow-replay") as running:
        yield running


@pytest.fixture(scope="session")
def tiny_model(default_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A one-layer random model with the default model's tokenizer, as a GGUF file."""
    path = tmp_path_factory.mktemp("tiny") / "tiny.gguf"
    source = GGUFReader(default_model)
    width, ffn, heads, vocabulary = 32, 64, 2, len(source.fields["tokenizer.ggml.tokens"].data)
    writer = GGUFWriter(path, "llama")
    writer.add_context_length(16384)
    writer.add_embedding_length(width)
    writer.add_block_count(1)
    writer.add_feed_forward_length(ffn)
    writer.add_head_count(heads)
    writer.add_head_count_kv(1)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(vocabulary)
    for name, field in source.fields.items():
        if name.startswith("tokenizer."):
            main = field.types[0]
            writer.add_key_value(name, field.contents(), main, field.types[-1] if len(field.types) > 1 else None)
    random = np.random.default_rng(7)
    shapes = {
        "token_embd.weight": (vocabulary, width),
        "output_norm.weight": (width,),
        "blk.0.attn_norm.weight": (width,),
        "blk.0.ffn_norm.weight": (width,),
        "blk.0.attn_q.weight": (width, width),
        "blk.0.attn_k.weight": (width // heads, width),
        "blk.0.attn_v.weight": (width // heads, width),
        "blk.0.attn_output.weight": (width, width),
        "blk.0.ffn_gate.weight": (ffn, width),
        "blk.0.ffn_up.weight": (ffn, width),
        "blk.0.ffn_down.weight": (width, ffn),
    }
    for name, shape in shapes.items():
        tensor = random.normal(0, 0.2, shape).astype(np.float32) + (len(shape) == 1)
        writer.add_tensor(name, tensor.astype(np.float32), raw_dtype=GGMLQuantizationType.F32)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
