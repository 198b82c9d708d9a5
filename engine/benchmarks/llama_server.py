"""llama.cpp's own server, started to be compared with: one sequence, greedy, one way to speculate."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from ..errors import EngineError
from .generated import Generated

NGRAM_MODES: Final = ("ngram-simple", "ngram-map-k", "ngram-map-k4v", "ngram-mod", "ngram-cache")
"""The values of its ``--spec-type`` that take no second model."""
_START_SECONDS: Final = 60.0
_ANSWER_SECONDS: Final = 600.0
_END_SECONDS: Final = 10.0


class LlamaServer:
    """A server that answers on a port of this machine."""

    def __init__(self, port: int) -> None:
        self._port = port

    def generate(self, prompt: Sequence[int], max_tokens: int) -> Generated:
        """Go on from a prompt of token ids, with the likeliest token each; timed by the server itself.

        Raises:
            EngineError: it answers with an error.

        """
        request = {
            "prompt": list(prompt),
            "n_predict": max_tokens,
            "temperature": 0,
            "samplers": ["top_k"],  # fewer filters, less time
            "top_k": 1,
            "cache_prompt": True,
            "return_tokens": True,
        }
        answer = self._ask("POST", "/completion", request)
        timings = answer["timings"]
        return Generated(
            answer["tokens"],
            seconds=timings["predicted_ms"] / 1e3,
            proposed=timings.get("draft_n", 0),
            accepted=timings.get("draft_n_accepted", 0),
        )

    def version(self) -> str:
        """How it names its build."""
        return str(self._ask("GET", "/props").get("build_info", "unknown"))

    def healthy(self) -> bool:
        """Whether the model is loaded."""
        try:
            self._ask("GET", "/health")
        except (EngineError, OSError):
            return False
        return True

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=_ANSWER_SECONDS)
        with contextlib.closing(connection):
            connection.request(method, path, None if body is None else json.dumps(body))
            answer = connection.getresponse()
            text = answer.read()
        if answer.status != http.client.OK:
            raise EngineError(f"llama-server answers {path} with {answer.status}: {text.decode(errors='replace')}")
        return json.loads(text)


@contextlib.contextmanager
def llama_server(binary: Path, model: Path, context: int, threads: int, mode: str | None) -> Iterator[LlamaServer]:
    """Run a server of one sequence of at most ``context`` tokens; ``mode`` is one of `NGRAM_MODES`, or None.

    Raises:
        EngineError: it doesn't start; the message has what it said last.

    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [str(binary), "--model", str(model), "--host", "127.0.0.1", "--port", str(port), "--parallel", "1"]
    command += ["--ctx-size", str(context), "--threads", str(threads)]
    command += ["--spec-type", mode] if mode is not None else []
    command += ["--offline"]
    with tempfile.TemporaryFile() as said:
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        except OSError as error:
            raise EngineError(f"{binary} can't be run: {error.strerror}") from None
        try:
            server = LlamaServer(port)
            patience = time.monotonic() + _START_SECONDS
            while not server.healthy():
                if process.poll() is not None or time.monotonic() > patience:
                    said.seek(0)
                    last = said.read().decode(errors="replace").strip().splitlines()[-5:]
                    raise EngineError(f"{binary} does not start with {mode or 'no'} speculation: {' / '.join(last)}")
                time.sleep(0.05)
            yield server
        finally:
            process.terminate()
            try:
                process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
