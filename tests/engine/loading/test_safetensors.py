"""Model folders: one file or shards, tied or not, and what a foreign or damaged one gets."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from warmline.engine.errors import ModelError
from warmline.engine.loading.safetensors import load_safetensors

Make = Callable[..., Any]


def rewrite_config(folder: Path, **changes: Any) -> None:
    """Change keys of config.json."""
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.fixture
def folder(tmp_path: Path, make_tiny_model: Make, write_tiny_folder: Make) -> Path:
    """A folder that a test may spoil."""
    return write_tiny_folder(tmp_path / "model", *make_tiny_model())


@pytest.mark.parametrize("tie", [False, True])
def test_a_written_model_comes_back(
    tmp_path: Path, make_tiny_model: Make, write_tiny_folder: Make, tie: bool
) -> None:
    """Shape and weights survive."""
    config, weights = make_tiny_model(tie_embeddings=tie, rope_theta=5000.0, norm_eps=1e-6)
    found_config, found = load_safetensors(write_tiny_folder(tmp_path, config, weights))
    assert found_config == config
    assert torch.equal(found.head, weights.head)
    assert torch.equal(found.layers[1].key, weights.layers[1].key)


def test_shards_and_16_bit_weights_are_read(folder: Path) -> None:
    """An index says which file has which tensor; bfloat16 becomes float32."""
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(tensors)
    shards = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
    for file, members in shards.items():
        save_file({name: tensors[name].bfloat16() for name in members}, folder / file)
    index = {"weight_map": {name: file for file, members in shards.items() for name in members}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    _, found = load_safetensors(folder)
    assert torch.equal(found.embedding, tensors["model.embed_tokens.weight"].bfloat16().float())


def test_newer_configs_keep_rotary_settings_together(folder: Path) -> None:
    """rope_parameters, as transformers 5 writes it, gives the base too."""
    rewrite_config(folder, rope_parameters={"rope_type": "default", "rope_theta": 77.0}, rope_theta=None)
    assert load_safetensors(folder)[0].rope_theta == 77.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"architectures": ["Qwen3ForCausalLM"]}, "architecture Qwen3ForCausalLM"),
        ({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}, "llama3 rope scaling"),
        ({"attention_bias": True}, "attention_bias"),
        ({"hidden_act": "gelu"}, "activation gelu"),
        ({"quantization_config": {"quant_method": "awq"}}, "quantised with awq"),
        ({"hidden_size": "wide"}, "config.json is incomplete or damaged"),
        ({"intermediate_size": 96}, r"mlp\.gate_proj\.weight has shape \[128, 64\], not \[96, 64\]"),
        ({"num_hidden_layers": 3}, r"no tensor model\.layers\.2"),
    ],
)
def test_what_would_be_computed_wrongly_is_refused(folder: Path, changes: dict[str, Any], message: str) -> None:
    """The error names the architecture, the setting or the tensor."""
    rewrite_config(folder, **changes)
    with pytest.raises(ModelError, match=message):
        load_safetensors(folder)


@pytest.mark.parametrize(
    "content", [b"", b"\x00" * 64, b"\xff" * 64, b"version https://git-lfs.github.com/spec/v1\n"]
)
def test_a_damaged_file_is_named(folder: Path, content: bytes) -> None:
    """An empty, cut or foreign weights file is an error that names it."""
    (folder / "model.safetensors").write_bytes(content)
    with pytest.raises(ModelError, match=r"model\.safetensors"):
        load_safetensors(folder)


def test_a_cut_file_is_named(folder: Path) -> None:
    """A file that lacks its end is an error that names it."""
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ModelError, match=r"model\.safetensors is cut short"):
        load_safetensors(folder)


def test_a_missing_part_is_named(folder: Path, tmp_path: Path) -> None:
    """An empty folder and a folder without weights say what is missing."""
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelError, match=r"lacks model\.safetensors"):
        load_safetensors(folder)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelError, match=r"no config\.json"):
        load_safetensors(tmp_path / "empty")
