"""Smoothing changes what is rounded, not what is computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from warmline.engine.backends.reference import ReferenceBackend
from warmline.engine.batch import Batch, SequenceSlice
from warmline.engine.models.llama import ModelWeights
from warmline.engine.models.smoothing import measure_ranges, smooth_head, smooth_layer

Make = Callable[..., Any]
TOKENS = [(7 * i * i) % 320 for i in range(60)]


def logits(config: Any, weights: ModelWeights) -> torch.Tensor:
    """All logits of a text in float32."""
    batch = Batch(TOKENS, [SequenceSlice(0, len(TOKENS), 0, [0, 1, 2, 3])], list(range(len(TOKENS))))
    return ReferenceBackend(config, weights, 4).forward(batch)


def smoothed(config: Any, weights: ModelWeights) -> ModelWeights:
    """The whole model, smoothed."""
    ranges = measure_ranges(config, weights, TOKENS)
    layers = [smooth_layer(config, layer, found) for layer, found in zip(weights.layers, ranges.layers, strict=True)]
    return ModelWeights(weights.embedding, layers, *smooth_head(weights, ranges))


def with_outliers(weights: ModelWeights) -> ModelWeights:
    """Some channels of every norm and some rows of v and up are far larger than the others."""
    for layer in weights.layers:
        layer.attention_norm[::9] *= 40
        layer.ffn_norm[4::11] *= 40
        layer.value[::5] *= 20
        layer.up[::7] *= 20
    weights.final_norm[::8] *= 30
    return weights


@pytest.mark.parametrize("heads", [(4, 2), (4, 4), (6, 1)], ids=["grouped", "multi-head", "multi-query"])
def test_the_float32_model_stays_the_same(make_tiny_model: Make, heads: tuple[int, int]) -> None:
    """Every factor is taken back where its channel is used: logits agree to 1e-5 of their size."""
    config, weights = make_tiny_model(num_heads=heads[0], num_kv_heads=heads[1], tie_embeddings=True)
    weights = with_outliers(weights)
    changed = smoothed(config, weights)
    assert not torch.allclose(changed.layers[0].value, weights.layers[0].value, rtol=0.1), "nothing was moved"
    expected, found = logits(config, weights), logits(config, changed)
    assert expected.std() > 0.5, "a flat model would prove nothing"
    assert (found - expected).norm() / expected.norm() < 1e-5


def test_outliers_move_into_the_weights(make_tiny_model: Make) -> None:
    """The inputs of the products have more even channels afterwards."""
    config, weights = make_tiny_model()
    weights = with_outliers(weights)

    def unevenness(model: ModelWeights) -> torch.Tensor:
        ranges = measure_ranges(config, model, TOKENS)
        inputs = [getattr(layer, name) for layer in ranges.layers for name in ("attention", "output", "ffn", "down")]
        return torch.stack([channels.amax() / channels.median() for channels in [*inputs, ranges.head]])

    assert (unevenness(smoothed(config, weights)) < 0.6 * unevenness(weights)).all()


def test_measuring_leaves_the_thread_count_alone(make_tiny_model: Make) -> None:
    """It runs on one thread, so that two machines find the same ranges."""
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        measure_ranges(*make_tiny_model(), TOKENS)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)


def test_a_channel_of_zeros_stays_finite(make_tiny_model: Make) -> None:
    """A dead channel has no range to balance."""
    config, weights = make_tiny_model()
    weights.layers[0].attention_norm[3] = 0
    weights.layers[0].down[:, 5] = 0
    weights.layers[1].up[6] = 0
    expected, found = logits(config, weights), logits(config, smoothed(config, weights))
    assert (found - expected).norm() / expected.norm() < 1e-5
