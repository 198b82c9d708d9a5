"""The network that is trained is the model the engine runs, and its gradients are right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from warmline.engine.backends.cpu import CpuBackend
from warmline.engine.backends.rounded import round_model
from warmline.engine.batch import BLOCK_SIZE, Batch, SequenceSlice
from warmline.engine.loading.adapter import merge_adapter
from warmline.engine.models.llama import ModelWeights, rms_norm, rotary_table, rotate

from tools.edit_model.lora import MODULES, Lora
from tools.edit_model.network import Network, Packed, Tree, round_matrix, round_rows

Make = Callable[..., Any]
CALIBRATION = list(range(0, 320, 3))
SIZES: dict[str, Any] = {"hidden_size": 128, "head_dim": 32, "ffn_size": 256}


def trained(config: Any) -> Lora:
    """An adapter that changes the model a little."""
    lora = Lora(config, rank=4, alpha=8.0, seed=1)
    generator = torch.Generator().manual_seed(1)
    for parameter in lora.parameters():
        parameter.copy_(torch.randn(parameter.shape, generator=generator) / 25)
    return lora


def packed(*lengths: int) -> Packed:
    """Random sequences of these lengths, the second half of each to be learnt."""
    generator = torch.Generator().manual_seed(5)
    token_ids = torch.randint(0, 320, (sum(lengths),), generator=generator)
    rows: list[int] = []
    start = 0
    for length in lengths:
        rows += range(start + length // 2, start + length - 1)
        start += length
    index = torch.tensor(rows)
    return Packed(
        token_ids,
        [Tree(length) for length in lengths],
        index,
        token_ids[index + 1],
        torch.full((len(rows),), 1 / len(rows)),
    )


def plain_loss(config: Any, weights: ModelWeights, lora: Lora, batch: Packed) -> torch.Tensor:
    """The loss in float32, with nothing rounded."""
    losses = []
    start = 0
    for tree in batch.trees:
        length = tree.rows
        ids = batch.token_ids[start : start + length]
        cos, sin = rotary_table(config, length)
        x = weights.embedding[ids]
        for index, layer in enumerate(weights.layers):
            matrix = {
                field: getattr(layer, field) + lora.scale * (pair[1] @ pair[0])
                for field, pair in lora.layers[index].items()
            }
            normed = rms_norm(x, layer.attention_norm, config.norm_eps)
            query = rotate(F.linear(normed, matrix["query"]).view(length, config.num_heads, -1), cos, sin)
            key = rotate(F.linear(normed, matrix["key"]).view(length, config.num_kv_heads, -1), cos, sin)
            value = F.linear(normed, matrix["value"]).view(length, config.num_kv_heads, -1)
            groups = config.num_heads // config.num_kv_heads
            key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
            heads = F.scaled_dot_product_attention(
                *(tensor.transpose(0, 1)[None] for tensor in (query, key, value)), is_causal=True
            )
            x = x + F.linear(heads[0].transpose(0, 1).reshape(length, -1), matrix["output"])
            normed = rms_norm(x, layer.ffn_norm, config.norm_eps)
            inner = F.silu(F.linear(normed, matrix["gate"])) * F.linear(normed, matrix["up"])
            x = x + F.linear(inner, matrix["down"])
        logits = F.linear(rms_norm(x, weights.final_norm, config.norm_eps), weights.head)
        wanted = (batch.rows >= start) & (batch.rows < start + length)
        losses.append(F.cross_entropy(logits[batch.rows[wanted] - start], batch.targets[wanted], reduction="none"))
        start += length
    return (torch.cat(losses) * batch.weights).sum()


@pytest.mark.usefixtures("uncompiled")
def test_gradients_are_those_of_the_unrounded_model(make_tiny_model: Make) -> None:
    """A step along them is a step down: they point where float32 autograd points, but for the rounding."""
    config, weights = make_tiny_model(**SIZES)
    lora, batch = trained(config), packed(64, 192, 128)
    network = Network(config, weights, lora, CALIBRATION)
    loss, every, _ = network.loss(batch)
    loss.backward()  # type: ignore[no-untyped-call]
    found = [gradient.clone() for gradient in network.parameter_gradients()]
    parameters = [parameter.requires_grad_() for parameter in lora.parameters()]
    plain = plain_loss(config, weights, lora, batch)
    wanted = torch.autograd.grad(plain, parameters)
    assert loss.item() == pytest.approx(plain.item(), rel=0.02)
    assert every.mean().item() == pytest.approx(loss.item(), rel=1e-4)
    for ours, right in zip(found, wanted, strict=True):
        assert F.cosine_similarity(ours.flatten(), right.flatten(), dim=0) > 0.95
        assert ours.norm().item() == pytest.approx(right.norm().item(), rel=0.1)


@pytest.mark.usefixtures("uncompiled")
def test_both_working_types_train_the_same(make_tiny_model: Make) -> None:
    """Losses and gradients in float32 and in bfloat16 differ by rounding alone."""
    config, weights = make_tiny_model(**SIZES)
    lora, batch = trained(config), packed(64, 96)
    found = []
    for dtype in (torch.float32, torch.bfloat16):
        network = Network(config, weights, lora, CALIBRATION, dtype=dtype)
        loss, _, _ = network.loss(batch)
        loss.backward()  # type: ignore[no-untyped-call]
        found.append((loss.item(), [gradient.clone() for gradient in network.parameter_gradients()]))
    (exact, exact_gradients), (rounded, rounded_gradients) = found
    assert rounded == pytest.approx(exact, rel=0.01)
    for ours, right in zip(rounded_gradients, exact_gradients, strict=True):
        assert ours.dtype == right.dtype == torch.float32
        assert F.cosine_similarity(ours.flatten(), right.flatten(), dim=0) > 0.98


@pytest.mark.usefixtures("uncompiled")
def test_what_is_trained_is_what_the_cpu_backend_runs(tmp_path: Path, make_tiny_model: Make) -> None:
    """With the adapter merged, the backend finds the targets as likely as the network does.

    Random weights make losses of about 9, and what either rounds a little apart is not damped as in a trained model.
    """
    config, weights = make_tiny_model(**SIZES)
    lora, batch = trained(config), packed(64)
    lora.save(tmp_path / "a.safetensors", ("<s>", "<p>"))
    lora.load(tmp_path / "a.safetensors")
    network = Network(config, weights, lora, CALIBRATION)
    with torch.no_grad():
        _, every, _ = network.loss(batch, train=False)
    merge_adapter(config, weights, tmp_path / "a.safetensors")
    backend = CpuBackend(config, round_model(config, weights, CALIBRATION), 8)
    blocks = list(range(64 // BLOCK_SIZE))
    logits = backend.forward(Batch(batch.token_ids.tolist(), [SequenceSlice(0, 64, 0, blocks)], batch.rows.tolist()))
    losses = F.cross_entropy(logits, batch.targets, reduction="none")
    assert (losses - every).abs().mean() < 0.25
    assert losses.mean().item() == pytest.approx(every.mean().item(), rel=0.02)


@pytest.mark.usefixtures("uncompiled")
def test_sequences_of_a_pack_do_not_see_each_other(make_tiny_model: Make) -> None:
    """A sequence's losses are the same alone and beside another."""
    config, weights = make_tiny_model(**SIZES)
    network = Network(config, weights, trained(config), CALIBRATION)
    both = packed(64, 128)
    first = Packed(both.token_ids[:64], [Tree(64)], both.rows[:31], both.targets[:31], both.weights[:31])
    with torch.no_grad():
        _, together, _ = network.loss(both, train=False)
        _, alone, _ = network.loss(first, train=False)
    torch.testing.assert_close(together[:31], alone, rtol=0.02, atol=0.02)


@pytest.mark.usefixtures("uncompiled")
def test_branches_are_as_sequences_of_their_own(make_tiny_model: Make) -> None:
    """Losses and gradients of a trunk with two branches are those of the two whole sequences, beside another."""
    config, weights = make_tiny_model(**SIZES)
    lora = trained(config)
    generator = torch.Generator().manual_seed(9)
    trunk, first, second, other = (torch.randint(0, 320, (n,), generator=generator) for n in (32, 48, 16, 64))

    def run(token_ids: torch.Tensor, trees: list[Tree], rows: list[int]) -> tuple[torch.Tensor, list[torch.Tensor]]:
        network = Network(config, weights, lora, CALIBRATION)
        index = torch.tensor(rows)
        batch = Packed(token_ids, trees, index, torch.arange(len(rows)), torch.full((len(rows),), 0.1))
        loss, every, _ = network.loss(batch)
        loss.backward()  # type: ignore[no-untyped-call]
        return every, network.parameter_gradients()

    shared, shared_gradients = run(
        torch.cat([other, trunk, first, second]),
        [Tree(64), Tree(32, (48, 16))],
        [63, 64 + 32 + 47, 64 + 32 + 48 + 15],
    )
    apart, apart_gradients = run(
        torch.cat([other, trunk, first, trunk, second]), [Tree(64), Tree(80), Tree(48)], [63, 64 + 79, 64 + 80 + 47]
    )
    torch.testing.assert_close(shared, apart, rtol=0.02, atol=0.05)
    for ours, right in zip(shared_gradients, apart_gradients, strict=True):
        assert F.cosine_similarity(ours.flatten(), right.flatten(), dim=0) > 0.99


def test_rows_and_matrices_become_whole_numbers() -> None:
    """The largest of each row is 127 of its scale's units."""
    x = torch.tensor([[1.0, -2.0, 0.5], [0.0, 0.0, 0.0]])
    integers, scale = round_rows(x, torch.bfloat16)
    assert integers.tolist() == [[64.0, -127.0, 32.0], [0.0, 0.0, 0.0]]
    torch.testing.assert_close(integers.float() * scale, x, atol=2 / 127, rtol=0)
    integers, scale = round_matrix(torch.tensor([[1.27, -0.64]]), torch.float32)
    assert integers.tolist() == [[127.0, -64.0]]
    torch.testing.assert_close(scale, torch.tensor([0.01]))


def test_every_matrix_of_a_layer_is_trained() -> None:
    """The groups hold each of the adapter's matrices once."""
    from tools.edit_model.network import GROUPS

    assert sorted(field for group in GROUPS for field in group) == sorted(MODULES)
