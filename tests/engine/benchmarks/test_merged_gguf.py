"""The file that llama-server is given holds the model that we run."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from warmline.engine import DEFAULT_MODEL, resolve_adapter
from warmline.engine.benchmarks.merged_gguf import write_merged
from warmline.engine.loading.adapter import merge_adapter
from warmline.engine.loading.gguf import load_gguf
from warmline.engine.loading.gguf_file import GgufFile


@pytest.mark.parametrize(("number_format", "rounding"), [("Q4_1", 0.1), ("Q8_0", 0.01)])
def test_it_loads_as_the_merged_model(
    default_model: Path, tmp_path: Path, number_format: str, rounding: float
) -> None:
    """Every matrix that the adapter changes is that of the merged model but for rounding; the rest is untouched."""
    adapter = resolve_adapter(DEFAULT_MODEL, None)
    assert adapter is not None
    write_merged(default_model, adapter, tmp_path / "merged.gguf", number_format)
    config, merged = load_gguf(default_model)
    merge_adapter(config, merged, adapter)
    _, loaded = load_gguf(tmp_path / "merged.gguf")
    assert torch.equal(loaded.embedding, merged.embedding)
    for theirs, ours in zip(loaded.layers, merged.layers, strict=True):
        assert torch.equal(theirs.attention_norm, ours.attention_norm)
        for field in ("query", "key", "value", "output", "gate", "up", "down"):
            written, right = getattr(theirs, field), getattr(ours, field)
            assert (written - right).norm() < rounding * right.norm(), field


def test_without_an_adapter_it_is_the_model_itself(default_model: Path, tmp_path: Path) -> None:
    """In the format it has, a matrix stays what it is; so does what the file says about itself."""
    write_merged(default_model, None, tmp_path / "copy.gguf", "Q4_1")
    _, released = load_gguf(default_model)
    _, loaded = load_gguf(tmp_path / "copy.gguf")
    assert torch.equal(loaded.head, released.head)
    torch.testing.assert_close(loaded.layers[3].down, released.layers[3].down, rtol=0, atol=2e-3)
    before, after = GgufFile(default_model).metadata, GgufFile(tmp_path / "copy.gguf").metadata
    assert after == before
