"""The adapter's file says what was trained, as the engine reads it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from warmline.engine.loading.adapter import merge_adapter, read_fill_marks

from tools.edit_model.lora import MODULES, Lora

Make = Callable[..., Any]


def trained(config: Any, seed: int = 3) -> Lora:
    """An adapter whose B is not zero."""
    lora = Lora(config, rank=4, alpha=8.0, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    for parameter in lora.parameters():
        parameter.copy_(torch.randn(parameter.shape, generator=generator) / 20)
    return lora


def test_a_new_adapter_changes_nothing(make_tiny_model: Make) -> None:
    """B is zero at first, in every matrix of every layer."""
    config, _ = make_tiny_model()
    lora = Lora(config, rank=4, alpha=8.0, seed=0)
    assert all(not lora.delta(layer, field).any() for layer in range(config.num_layers) for field in MODULES)


def test_the_engine_merges_what_was_saved(tmp_path: Path, make_tiny_model: Make) -> None:
    """Saved in int8, the change of each matrix is off by about a percent at most."""
    config, weights = make_tiny_model()
    _, before = make_tiny_model()
    lora = trained(config)
    lora.save(tmp_path / "a.safetensors", ("<s>", "<p>"))
    merge_adapter(config, weights, tmp_path / "a.safetensors")
    for index, (layer, old) in enumerate(zip(weights.layers, before.layers, strict=True)):
        for field in MODULES:
            wanted = lora.delta(index, field)
            change = getattr(layer, field) - getattr(old, field)
            assert (change - wanted).norm() < 0.015 * wanted.norm()
    assert read_fill_marks(tmp_path / "a.safetensors") == ("<s>", "<p>")


def test_a_saved_adapter_can_be_trained_on(tmp_path: Path, make_tiny_model: Make) -> None:
    """Loading gives the saved numbers, which saving gives again to the bit."""
    config, _ = make_tiny_model()
    trained(config).save(tmp_path / "a.safetensors", ("<s>", "<p>"))
    loaded = Lora(config, rank=4, alpha=1.0, seed=0)
    loaded.load(tmp_path / "a.safetensors")
    assert loaded.alpha == 8.0
    loaded.save(tmp_path / "b.safetensors", ("<s>", "<p>"))
    first, second = (load_file(tmp_path / name) for name in ("a.safetensors", "b.safetensors"))
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_an_adapter_of_another_rank_is_refused(tmp_path: Path, make_tiny_model: Make) -> None:
    """The message says which ranks."""
    config, _ = make_tiny_model()
    trained(config).save(tmp_path / "a.safetensors", ("<s>", "<p>"))
    with pytest.raises(ValueError, match="has rank 4, not 8"):
        Lora(config, rank=8, alpha=8.0, seed=0).load(tmp_path / "a.safetensors")


def test_a_matrix_of_zeros_is_saved_as_zeros(tmp_path: Path, make_tiny_model: Make) -> None:
    """Its scale is not zero, which would make it nothing to divide by."""
    config, weights = make_tiny_model()
    _, before = make_tiny_model()
    Lora(config, rank=4, alpha=8.0, seed=0).save(tmp_path / "a.safetensors", ("<s>", "<p>"))
    merge_adapter(config, weights, tmp_path / "a.safetensors")
    assert torch.equal(weights.layers[0].query, before.layers[0].query)
