"""LoRA adapters are merged exactly, or refused by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from warmline.engine.errors import ModelError
from warmline.engine.loading.adapter import merge_adapter, read_fill_marks

Make = Callable[..., Any]
QUERY = "base_model.model.model.layers.1.self_attn.q_proj"


def pair(name: str, rows: int = 64, columns: int = 64, rank: int = 4) -> dict[str, torch.Tensor]:
    """A and B of one module."""
    return {f"{name}.lora_A.weight": torch.randn(rank, columns), f"{name}.lora_B.weight": torch.randn(rows, rank)}


@pytest.mark.parametrize("where", ["metadata", "json metadata", "config"])
def test_the_update_is_added_where_it_belongs(tmp_path: Path, make_tiny_model: Make, where: str) -> None:
    """W becomes W + alpha / r * B @ A in the named layer only, wherever alpha is written."""
    config, weights = make_tiny_model()
    _, before = make_tiny_model()
    tensors = pair(QUERY) | pair("model.layers.0.mlp.down_proj", 64, 128)
    described = {"lora_alpha": 8, "r": 4}
    metadata = None
    if where == "metadata":
        metadata = {key: str(value) for key, value in described.items()}
    elif where == "json metadata":
        metadata = {"lora_adapter_metadata": json.dumps(described)}
    else:
        (tmp_path / "adapter_config.json").write_text(json.dumps(described))
    save_file(tensors, tmp_path / "a.safetensors", metadata=metadata)
    merge_adapter(config, weights, tmp_path / "a.safetensors")
    update = 2.0 * (tensors[f"{QUERY}.lora_B.weight"] @ tensors[f"{QUERY}.lora_A.weight"])
    torch.testing.assert_close(weights.layers[1].query, before.layers[1].query + update)
    assert not torch.equal(weights.layers[0].down, before.layers[0].down)
    assert torch.equal(weights.layers[0].query, before.layers[0].query)
    assert torch.equal(weights.layers[1].value, before.layers[1].value)


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        (pair(QUERY, columns=32), r"q_proj\.lora_A\.weight \[4, 32\].*the model's \[64, 64\]"),
        (pair("model.layers.7.self_attn.q_proj"), r"layers\.7.*only 2 layers"),
        (pair("model.layers.0.self_attn.qkv_proj"), "qkv_proj.lora_A.weight, which has no place"),
        ({f"{QUERY}.lora_A.weight": torch.ones(4, 64)}, "without its other half"),
        ({}, "holds no lora_A"),
    ],
)
def test_an_adapter_of_another_model_is_refused(
    tmp_path: Path, make_tiny_model: Make, tensors: dict[str, torch.Tensor], message: str
) -> None:
    """The error names the tensor and the shapes."""
    save_file(tensors, tmp_path / "a.safetensors", metadata={"lora_alpha": "8", "r": "4"})
    with pytest.raises(ModelError, match=message):
        merge_adapter(*make_tiny_model(), tmp_path / "a.safetensors")


def test_an_adapter_must_say_its_alpha(tmp_path: Path, make_tiny_model: Make) -> None:
    """Without alpha the strength would be a guess."""
    save_file(pair(QUERY), tmp_path / "a.safetensors")
    with pytest.raises(ModelError, match="lora_alpha"):
        merge_adapter(*make_tiny_model(), tmp_path / "a.safetensors")


def test_a_missing_or_damaged_adapter_is_named(tmp_path: Path, make_tiny_model: Make) -> None:
    """The error names the file."""
    with pytest.raises(ModelError, match="no adapter at"):
        merge_adapter(*make_tiny_model(), tmp_path / "a.safetensors")
    (tmp_path / "b.safetensors").write_bytes(b"garbage")
    with pytest.raises(ModelError, match=r"b\.safetensors can't be read"):
        merge_adapter(*make_tiny_model(), tmp_path / "b.safetensors")


def test_int8_matrices_are_multiplied_by_their_scales(tmp_path: Path, make_tiny_model: Make) -> None:
    """A has a scale for each row and B one for each column: both run along the rank."""
    config, weights = make_tiny_model()
    _, before = make_tiny_model()
    a, b = torch.randint(-127, 128, (4, 64), dtype=torch.int8), torch.randint(-127, 128, (64, 4), dtype=torch.int8)
    a_scale, b_scale = torch.tensor([0.5, 0.25, 0.125, 1.0]).half(), torch.tensor([0.01, 0.02, 0.5, 1.0]).half()
    tensors = {
        f"{QUERY}.lora_A.weight": a,
        f"{QUERY}.lora_A.scale": a_scale,
        f"{QUERY}.lora_B.weight": b,
        f"{QUERY}.lora_B.scale": b_scale,
    }
    save_file(tensors, tmp_path / "a.safetensors", metadata={"lora_alpha": "8", "r": "4"})
    merge_adapter(config, weights, tmp_path / "a.safetensors")
    update = 2.0 * ((b.float() * b_scale.float()) @ (a.float() * a_scale.float()[:, None]))
    torch.testing.assert_close(weights.layers[1].query, before.layers[1].query + update)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({f"{QUERY}.lora_A.scale": None}, "of whole numbers and has no scale"),
        ({f"{QUERY}.lora_A.scale": torch.ones(64)}, r"lora_A\.scale \[64\] doesn't fit"),
        ({"layers.0.mlp.up_proj.lora_B.scale": torch.ones(4)}, "lora_B.scale without its matrix"),
    ],
)
def test_scales_that_fit_nothing_are_refused(
    tmp_path: Path, make_tiny_model: Make, changes: dict[str, torch.Tensor | None], message: str
) -> None:
    """Whole numbers without a scale would change the model beyond recognition."""
    tensors: dict[str, torch.Tensor | None] = {
        **pair(QUERY),
        f"{QUERY}.lora_A.weight": torch.ones(4, 64, dtype=torch.int8),
        f"{QUERY}.lora_A.scale": torch.ones(4),
        **changes,
    }
    kept = {name: tensor for name, tensor in tensors.items() if tensor is not None}
    save_file(kept, tmp_path / "a.safetensors", metadata={"lora_alpha": "8", "r": "4"})
    with pytest.raises(ModelError, match=message):
        merge_adapter(*make_tiny_model(), tmp_path / "a.safetensors")


def test_an_adapter_names_what_it_fills_in_between(tmp_path: Path) -> None:
    """Two or three tokens of its metadata; an adapter without them was not taught to."""
    save_file(pair(QUERY), tmp_path / "a.safetensors", metadata={"fill_marks": "<after> <before>"})
    assert read_fill_marks(tmp_path / "a.safetensors") == ("<after>", "<before>")
    save_file(pair(QUERY), tmp_path / "a.safetensors", metadata={"fill_marks": "<far> <before> <near>"})
    assert read_fill_marks(tmp_path / "a.safetensors") == ("<far>", "<before>", "<near>")
    save_file(pair(QUERY), tmp_path / "b.safetensors", metadata={"lora_alpha": "8"})
    assert read_fill_marks(tmp_path / "b.safetensors") is None
    for wrong in ("<after>", "<a> <b> <c> <d>", "<a> <b> ", " <b>"):
        save_file(pair(QUERY), tmp_path / "c.safetensors", metadata={"fill_marks": wrong})
        with pytest.raises(ModelError, match="instead of two or three tokens"):
            read_fill_marks(tmp_path / "c.safetensors")
