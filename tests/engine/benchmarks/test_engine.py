"""`warmline bench engine` measures the depths there is room for, and says what it needs if there is none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from warmline.engine.benchmarks import engine as benchmark
from warmline.engine.errors import EngineError
from warmline.engine.options import EngineOptions

Make = Callable[..., Any]

TOKEN = 2 * 2 * 2 * 16 * 2
"""Bytes of a token in the cache of the tiny model: k and v, layers, kv heads, head_dim, bfloat16."""


@pytest.fixture
def folder(tmp_path: Path, make_tiny_model: Make, write_tiny_folder: Make) -> Callable[[int], Path]:
    """Writes a tiny model with the context length given."""
    return lambda context: write_tiny_folder(tmp_path / "tiny", *make_tiny_model(context_length=context))


@pytest.mark.parametrize(("context", "tokens"), [(577, 4096), (8192, 592)], ids=["context", "KV memory"])
def test_only_depths_that_fit_are_measured(
    folder: Callable[[int], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, context: int, tokens: int
) -> None:
    """Where 512 tokens and what follows them just fit, 4,000 are left out; the file holds what was measured."""
    monkeypatch.setattr(benchmark, "memory_bandwidth", lambda: 1e9)
    options = EngineOptions(model=str(folder(context)), backend="cpu", kv_memory=tokens * TOKEN)
    benchmark.main(options, tmp_path / "figures.json", repeats=2)
    figures = msgspec.json.decode((tmp_path / "figures.json").read_bytes())
    assert list(figures["depths"]) == ["512"]
    assert set(figures["pass_tokens_per_second"]) == {str(size) for size in benchmark.PASS_SIZES}
    assert figures["decode_tokens_per_second"] > 0
    assert figures["machine"]["processor"]


def test_a_short_context_is_an_error(folder: Callable[[int], Path]) -> None:
    """It names both numbers."""
    options = EngineOptions(model=str(folder(576)), backend="cpu", kv_memory=4096 * TOKEN)
    with pytest.raises(EngineError, match=r"needs a context of 577 tokens.* 576"):
        benchmark.measure(options, 2)


def test_too_little_memory_is_an_error_with_what_would_do(folder: Callable[[int], Path]) -> None:
    """The memory that the error asks for is just enough."""
    options = EngineOptions(model=str(folder(8192)), backend="cpu", kv_memory=592 * TOKEN - 1)
    with pytest.raises(EngineError, match=rf"577 tokens.*has it for 576.*--kv-memory {592 * TOKEN // 1024}KiB"):
        benchmark.measure(options, 2)


@pytest.mark.parametrize(("backend", "weight", "kv"), [("cpu", 1, 2), ("reference", 4, 4)])
def test_the_bytes_of_a_pass_follow_from_the_backend(
    folder: Callable[[int], Path], backend: Any, weight: int, kv: int
) -> None:
    """Every weight once, and the keys and values of the context."""
    built, _ = benchmark.create_backend(EngineOptions(str(folder(600)), backend=backend, kv_memory=1 << 20))
    matrices = 2 * (64 * 64 * 2 + 64 * 32 * 2 + 3 * 64 * 128) + 320 * 64
    assert benchmark.pass_bytes(built, 100) == matrices * weight + 100 * TOKEN // 2 * kv
