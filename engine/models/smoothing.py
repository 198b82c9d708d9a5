"""Move the outliers of activations into the weights before both become int8 (SmoothQuant, arXiv 2211.10438).

Channel j of a product's input is divided by a factor and column j of its weight multiplied by it. The division is
folded into what makes the input: the norm before it, the rows of v, the rows of up.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F

from .config import ModelConfig
from .llama import LayerWeights, ModelWeights, rms_norm, rotary_table, rotate


@dataclass(slots=True)
class LayerRanges:
    """The largest magnitude seen in each channel of the inputs of a layer's products."""

    attention: torch.Tensor  # [hidden], into q, k and v
    output: torch.Tensor  # [num_heads * head_dim]
    ffn: torch.Tensor  # [hidden], into gate and up
    down: torch.Tensor  # [ffn]


@dataclass(slots=True)
class ActivationRanges:
    """The ranges of a whole model."""

    layers: list[LayerRanges]
    head: torch.Tensor  # [hidden]


@torch.inference_mode()
def measure_ranges(config: ModelConfig, weights: ModelWeights, token_ids: list[int]) -> ActivationRanges:
    """Run a text through the float32 model and note how large its activations get.

    On one thread, so that the result doesn't depend on the thread count.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return _measure(config, weights, token_ids[: config.context_length])
    finally:
        torch.set_num_threads(threads)


def _measure(config: ModelConfig, weights: ModelWeights, token_ids: list[int]) -> ActivationRanges:
    rows = len(token_ids)
    cos, sin = rotary_table(config, rows)
    x = weights.embedding[token_ids]
    ranges = []
    for layer in weights.layers:
        normed = rms_norm(x, layer.attention_norm, config.norm_eps)
        query = rotate(F.linear(normed, layer.query).view(rows, config.num_heads, -1), cos, sin)
        key = rotate(F.linear(normed, layer.key).view(rows, config.num_kv_heads, -1), cos, sin)
        value = F.linear(normed, layer.value).view(rows, config.num_kv_heads, -1)
        query, key, value = (tensor.transpose(0, 1)[None] for tensor in (query, key, value))
        heads = F.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)
        attended = heads[0].transpose(0, 1).reshape(rows, -1)
        x = x + F.linear(attended, layer.output)
        ffn = rms_norm(x, layer.ffn_norm, config.norm_eps)
        inner = F.silu(F.linear(ffn, layer.gate)) * F.linear(ffn, layer.up)
        x = x + F.linear(inner, layer.down)
        ranges.append(LayerRanges(*(tensor.abs().amax(0) for tensor in (normed, attended, ffn, inner))))
    final = rms_norm(x, weights.final_norm, config.norm_eps)
    return ActivationRanges(ranges, final.abs().amax(0))


def product_factors(
    config: ModelConfig, layer: LayerWeights, ranges: LayerRanges
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """What the inputs of a layer's products are divided by: into q, k and v; output; gate and up; down."""
    attention = _factors(ranges.attention, layer.query, layer.key, layer.value)
    ffn = _factors(ranges.ffn, layer.gate, layer.up)
    down = _factors(ranges.down, layer.down)
    # A value head feeds all query heads of its group: they share one factor a dimension.
    groups = config.num_heads // config.num_kv_heads
    by_value = ranges.output.view(config.num_kv_heads, groups, config.head_dim).amax(1).flatten()
    grouped = layer.output.view(-1, config.num_kv_heads, groups, config.head_dim).abs().amax((0, 2)).flatten()
    value = _balance(by_value, grouped)
    by_head = value.view(config.num_kv_heads, 1, -1).expand(-1, groups, -1).reshape(-1)
    return attention, by_head, ffn, down


def smooth_layer(config: ModelConfig, layer: LayerWeights, ranges: LayerRanges) -> LayerWeights:
    """An equivalent layer whose activations are easier to round."""
    attention, by_head, ffn, down = product_factors(config, layer, ranges)
    groups = config.num_heads // config.num_kv_heads
    value = by_head.view(config.num_kv_heads, groups, -1)[:, 0].reshape(-1)
    return LayerWeights(
        attention_norm=layer.attention_norm / attention,
        query=layer.query * attention,
        key=layer.key * attention,
        value=layer.value * attention / value[:, None],
        output=layer.output * by_head,
        ffn_norm=layer.ffn_norm / ffn,
        gate=layer.gate * ffn,
        up=layer.up * ffn / down[:, None],
        down=layer.down * down,
    )


def smooth_head(weights: ModelWeights, ranges: ActivationRanges) -> tuple[torch.Tensor, torch.Tensor]:
    """The final norm and the head, made easier to round."""
    factors = _factors(ranges.head, weights.head)
    return weights.final_norm / factors, weights.head * factors


def _factors(activation: torch.Tensor, *matrices: torch.Tensor) -> torch.Tensor:
    largest = torch.stack([matrix.abs().amax(0) for matrix in matrices]).amax(0)
    return _balance(activation, largest)


def _balance(activation: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Factors that leave activation and weight of a channel with ranges of about the same size (alpha 0.5)."""
    return (activation.clamp_min(1e-5) / weight.clamp_min(1e-5)).sqrt()
