"""Copying beside llama-server: every way answers every request, and what it said is compared."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from warmline.engine.benchmarks import copying
from warmline.engine.benchmarks.copy_request import Copying
from warmline.engine.benchmarks.generated import Generated
from warmline.engine.errors import EngineError
from warmline.engine.options import EngineOptions

PROMPT = [1, *range(100, 160)]


class Server:
    """Says what it was told to, at 100 tokens a second."""

    def __init__(self, tokens: list[int]) -> None:
        self.tokens = tokens

    def version(self) -> str:
        return "b1"

    def generate(self, prompt: list[int], max_tokens: int) -> Generated:
        assert prompt == PROMPT
        return Generated(self.tokens[:max_tokens], max_tokens / 100, proposed=4, accepted=3)


def test_each_way_is_measured_and_compared(
    default_model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Our text is the same in every way; llama-server's is compared with it token by token."""
    started: list[tuple[str, str | None]] = []

    @contextmanager
    def server(binary: Path, model: Path, context: int, threads: int, mode: str | None) -> Iterator[Server]:
        assert context >= len(PROMPT) + 12 and threads == 1
        started.append((model.stem, mode))
        yield Server([7] * 12)

    monkeypatch.setattr(copying, "llama_server", server)
    options = EngineOptions(model=str(default_model), backend="cpu", threads=1, kv_memory=1 << 24)
    request = Copying(PROMPT, PROMPT[1:], 12)
    report = copying.main(options, lambda tokenizer, most: [request], Path("llama-server"), 2)
    ways = report["ways"]
    assert len(started) == 2 * 2 * (1 + len(copying.NGRAM_MODES)) == 2 * (len(ways) - 3)
    for way in (copying.PLAIN, copying.NO_DRAFT, copying.OURS):
        assert ways[way]["same_text"] == 1 and ways[way]["same_tokens_share"] == 1
        assert ways[way]["every_round_the_same"] and ways[way]["tokens_per_second"] > 0
    assert ways[copying.PLAIN]["proposed"] == 0
    theirs = ways["llama-server Q8_0, ngram-mod"]
    assert theirs["tokens_per_second"] == pytest.approx(100)
    assert (theirs["proposed"], theirs["accepted"], theirs["same_text"]) == (4, 3, 0)
    assert "llama-server b1" in capsys.readouterr().out


def test_a_model_that_llama_server_cannot_read_is_refused(tmp_path: Path) -> None:
    """A folder of safetensors files, before anything is loaded."""
    with pytest.raises(EngineError, match="is no GGUF file"):
        copying.measure(EngineOptions(model=str(tmp_path)), lambda *_: [], Path("llama-server"), 1)


def test_nothing_to_compare_is_said(default_model: Path) -> None:
    """In place of a traceback."""
    options = EngineOptions(model=str(default_model), backend="cpu", threads=1, kv_memory=1 << 24)
    with pytest.raises(EngineError, match="give more edits"):
        copying.measure(options, lambda *_: [], Path("llama-server"), 1)
