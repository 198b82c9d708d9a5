"""The cpu backend is close to the reference on the real model, and both kinds of kernels are close to each other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from warmline.engine.backends import create_backend
from warmline.engine.backends.base import PassAborted
from warmline.engine.backends.cpu import CpuBackend
from warmline.engine.backends.reference import ReferenceBackend
from warmline.engine.backends.rounded import round_model
from warmline.engine.batch import Batch, SequenceSlice
from warmline.engine.errors import EngineError, ModelError
from warmline.engine.loading.model import load_model
from warmline.engine.options import EngineOptions

Make = Callable[..., Any]


def logits(backend: Any, tokens: list[int], position: int = 0) -> torch.Tensor:
    """All logits of one sequence."""
    table = list(range(-(-(position + len(tokens)) // 16)))
    piece = SequenceSlice(0, len(tokens), position, table)
    return backend.forward(Batch(tokens, [piece], list(range(len(tokens)))))


def divergence(reference: torch.Tensor, other: torch.Tensor) -> float:
    """Mean KL(reference || other) in nats."""
    expected = reference.log_softmax(-1)
    return float((expected.exp() * (expected - other.log_softmax(-1))).sum(-1).mean())


def test_the_default_model_is_close_to_float32_on_code(default_model: Path, edit_records: list) -> None:
    """Over 2,000 positions of real code the mean KL divergence is at most 0.02 nats; top-1 agreement is printed.

    Without VNNI activations have 7 bits, as the kernels say, and it is 0.053: half the levels, four times the error.
    """
    cpu, tokenizer = create_backend(EngineOptions(model=str(default_model), backend="cpu", kv_memory=1 << 24))
    reference = ReferenceBackend(*load_model(default_model), num_blocks=20)
    total, agreed, positions = 0.0, 0.0, 0
    for record in edit_records[:: max(1, len(edit_records) // 40)]:
        tokens = tokenizer.encode(record.context + record.before)[:200]
        expected, found = logits(reference, tokens), logits(cpu, tokens)
        total += divergence(expected, found) * len(tokens)
        agreed += float((expected.argmax(-1) == found.argmax(-1)).sum())
        positions += len(tokens)
        if positions >= 2000:
            break
    print(f"{positions} positions: mean KL {total / positions:.4f}, top-1 agreement {agreed / positions:.1%}")
    assert positions >= 2000
    assert total / positions <= (0.08 if "7-bit" in cpu.kernels else 0.02)


@pytest.mark.parametrize("kind", ["native", "torch"])
def test_tiny_models_are_close_to_float32(make_tiny_model: Make, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Both kinds of kernels compute the model, over several partitions of keys and each kind of head size."""
    monkeypatch.setenv("WARMLINE_KERNELS", kind)
    for shape in ({}, {"num_heads": 6, "head_dim": 80}, {"num_heads": 2, "num_kv_heads": 1, "head_dim": 128}):
        config, weights = make_tiny_model(hidden_size=128, ffn_size=256, **shape)
        tokens = torch.randint(0, 320, (300,), generator=torch.Generator().manual_seed(3)).tolist()
        expected = logits(ReferenceBackend(config, weights, 20), tokens)
        backend = CpuBackend(config, round_model(config, weights, tokens[:200]), 20)
        assert backend.kernels.startswith(kind)
        found = logits(backend, tokens)
        assert expected.std() > 0.5, "a flat model would prove nothing"
        assert (found - expected).norm() / expected.norm() < 0.15


def test_6000_tokens_of_context_work(make_tiny_model: Make) -> None:
    """A prefill to 6,000 tokens in passes of 500 stays close to float32 at its end."""
    config, weights = make_tiny_model(context_length=8192)
    tokens = torch.randint(0, 320, (6000,), generator=torch.Generator().manual_seed(3)).tolist()
    backend, reference = CpuBackend(config, round_model(config, weights), 400), ReferenceBackend(config, weights, 400)
    for position in range(0, 6000, 500):
        found = logits(backend, tokens[position : position + 500], position) if position < 5500 else None
    found = logits(backend, tokens[5500:], 5500)[-1]
    for position in range(0, 6000, 2000):
        expected = logits(reference, tokens[position : position + 2000], position)[-1]
    assert (found - expected).norm() / expected.norm() < 0.15


@pytest.mark.parametrize("kind", ["native", "torch"])
def test_abort_is_asked_between_layers(make_tiny_model: Make, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """A pass is given up at the layer where it is told to, and the next pass is not affected."""
    monkeypatch.setenv("WARMLINE_KERNELS", kind)
    config, weights = make_tiny_model(num_layers=3)
    backend = CpuBackend(config, round_model(config, weights), 4)
    tokens = [5, 6, 7]
    expected = logits(backend, tokens)
    answers = iter([False, False, True])
    batch = Batch(tokens, [SequenceSlice(0, 3, 0, [0])], [2])
    with pytest.raises(PassAborted):
        backend.forward(batch, lambda: next(answers))
    assert next(answers, None) is None
    assert torch.equal(logits(backend, tokens), expected)


def test_loading_leaves_the_weights_as_they_were(make_tiny_model: Make) -> None:
    """Quantising works on copies, so that a reference can be built from the same weights."""
    config, weights = make_tiny_model()
    _, before = make_tiny_model()
    CpuBackend(config, round_model(config, weights), 4)
    for layer, expected in zip(weights.layers, before.layers, strict=True):
        assert all(torch.equal(getattr(layer, name), getattr(expected, name)) for name in layer.__slots__)


def test_two_loads_give_the_same_bits_whatever_the_thread_count(make_tiny_model: Make) -> None:
    """Calibration and rounding are deterministic: two servers on one machine agree."""
    config, weights = make_tiny_model()
    threads = torch.get_num_threads()
    results = []
    for count in (1, 2):
        torch.set_num_threads(count)
        backend = CpuBackend(config, round_model(config, weights), 4)
        results.append(logits(backend, list(range(40))))
    torch.set_num_threads(threads)
    assert torch.equal(*results)


def test_a_shape_that_does_not_fit_goes_to_the_reference(
    tmp_path: Path, make_tiny_model: Make, write_tiny_folder: Make
) -> None:
    """ "auto" falls back and says why; asking for cpu is an error that says the same."""
    folder = write_tiny_folder(tmp_path, *make_tiny_model(head_dim=8))
    backend, _ = create_backend(EngineOptions(model=str(folder), kv_memory=1 << 20))
    assert backend.name == "reference"
    assert "head_dim 8 is not a multiple of 16" in backend.kernels
    with pytest.raises(ModelError, match="head_dim 8 is not a multiple of 16"):
        create_backend(EngineOptions(model=str(folder), backend="cpu", kv_memory=1 << 20))


def test_kv_memory_is_what_the_cache_takes(tiny_folder: Path) -> None:
    """The number of blocks follows from the memory; too little is an error with both numbers."""
    for name, bytes_ in (("cpu", 2), ("reference", 4)):
        block = 2 * 2 * 2 * 16 * 16 * bytes_  # k and v, layers, kv heads, head_dim, tokens
        options = EngineOptions(model=str(tiny_folder), backend=name, kv_memory=10 * block + 5)  # type: ignore[arg-type]
        assert create_backend(options)[0].num_blocks == 10
        with pytest.raises(ModelError, match=rf"{block - 1} bytes holds no block.*{block} bytes"):
            create_backend(EngineOptions(model=str(tiny_folder), backend=name, kv_memory=block - 1))  # type: ignore[arg-type]


def test_a_wrong_wish_for_kernels_is_an_error(make_tiny_model: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """WARMLINE_KERNELS lists its choices when it is none of them."""
    monkeypatch.setenv("WARMLINE_KERNELS", "fast")
    config, weights = make_tiny_model()
    with pytest.raises(EngineError, match="auto, native, torch"):
        CpuBackend(config, round_model(config, weights), 4)
