"""A program that stands in for llama-server is started, asked, timed and ended."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest
from warmline.engine.benchmarks.generated import Generated
from warmline.engine.benchmarks.llama_server import llama_server
from warmline.engine.errors import EngineError

PROGRAM = """\
    import http.server, json, sys
    arguments = dict(zip(sys.argv[1::2], sys.argv[2::2]))
    if arguments.get("--spec-type") == "unknown":
        sys.exit("unknown speculation")
    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self, body, status=200):
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())
        def do_GET(self):
            self.answer({"status": "ok", "build_info": "b1-fake"})
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if not asked["prompt"]:
                return self.answer({"error": "empty"}, 400)
            assert asked["temperature"] == 0 and asked["return_tokens"]
            timings = {"predicted_ms": 500.0, "draft_n": 7, "draft_n_accepted": 5}
            tokens = [asked["prompt"][-1] + 1 + number for number in range(asked["n_predict"])]
            self.answer({"tokens": tokens, "timings": timings})
        def log_message(self, *_):
            pass
    http.server.ThreadingHTTPServer(("127.0.0.1", int(arguments["--port"])), Handler).serve_forever()
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """An executable file that takes llama-server's arguments."""
    path = tmp_path / "llama-server"
    path.write_text(f"#!{sys.executable}\n{textwrap.dedent(PROGRAM)}")
    path.chmod(0o755)
    return path


def test_it_generates_and_times_itself(program: Path, tmp_path: Path) -> None:
    """Tokens, seconds and drafts are those that it reports."""
    with llama_server(program, tmp_path / "model.gguf", 512, 2, "ngram-mod") as server:
        assert server.version() == "b1-fake"
        assert server.generate([5, 6], 3) == Generated([7, 8, 9], 0.5, proposed=7, accepted=5)
        with pytest.raises(EngineError, match=r"answers /completion with 400: .*empty"):
            server.generate([], 1)
    assert not server.healthy()


def test_one_that_does_not_start_is_an_error(program: Path, tmp_path: Path) -> None:
    """The message has what it said, or why there was nothing to run."""
    with (
        pytest.raises(EngineError, match="does not start with unknown speculation: unknown speculation"),
        llama_server(program, tmp_path / "model.gguf", 512, 2, "unknown"),
    ):
        pass
    with (
        pytest.raises(EngineError, match=r"nowhere can't be run: No such file"),
        llama_server(tmp_path / "nowhere", tmp_path / "model.gguf", 512, 2, None),
    ):
        pass


def test_what_two_answers_share_is_counted() -> None:
    """From the beginning on, up to the first token that differs or the end of the shorter one."""
    one, other = Generated([1, 2, 3, 4], 1.0), Generated([1, 2, 5], 1.0)
    assert one.agrees_for(other) == other.agrees_for(one) == 2
    assert one.agrees_for(Generated([1, 2], 1.0)) == 2
    assert one.agrees_for(one) == 4
