"""A model as the cpu backend computes with it: smoothed, and its matrices rounded to int8."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from ..kernels.cpu import RoundedWeight, round_weight
from ..models.config import ModelConfig
from ..models.llama import ModelWeights
from ..models.smoothing import measure_ranges, smooth_head, smooth_layer
from .calibration import CALIBRATION_TOKENS


@dataclass(frozen=True, slots=True)
class RoundedLayer:
    """One layer: norms float32, matrices that share an input as one."""

    attention_norm: torch.Tensor  # [hidden]
    qkv: RoundedWeight  # [(num_heads + 2 * num_kv_heads) * head_dim, hidden]
    output: RoundedWeight  # [hidden, num_heads * head_dim]
    ffn_norm: torch.Tensor  # [hidden]
    gate_up: RoundedWeight  # [2 * ffn, hidden]
    down: RoundedWeight  # [hidden, ffn]


@dataclass(frozen=True, slots=True)
class RoundedModel:
    """A whole model."""

    embedding: torch.Tensor  # [vocab, hidden], float32
    layers: list[RoundedLayer]
    final_norm: torch.Tensor  # [hidden], float32
    head: RoundedWeight  # [vocab, hidden]


def round_model(config: ModelConfig, weights: ModelWeights, calibration: Sequence[int] | None = None) -> RoundedModel:
    """Smooth and round a model; its float32 weights stay as they are.

    Args:
        config: its shape.
        weights: float32 weights.
        calibration: tokens of a typical text, to find the activations' ranges with; without it, arbitrary ones.

    """
    tokens = list(calibration or range(0, config.vocab_size, 97))[:CALIBRATION_TOKENS]
    ranges = measure_ranges(config, weights, tokens)
    layers = []
    for layer, layer_ranges in zip(weights.layers, ranges.layers, strict=True):
        smooth = smooth_layer(config, layer, layer_ranges)
        layers.append(
            RoundedLayer(
                attention_norm=smooth.attention_norm,
                qkv=round_weight(torch.cat([smooth.query, smooth.key, smooth.value])),
                output=round_weight(smooth.output),
                ffn_norm=smooth.ffn_norm,
                gate_up=round_weight(torch.cat([smooth.gate, smooth.up])),
                down=round_weight(smooth.down),
            )
        )
    final_norm, head = smooth_head(weights, ranges)
    return RoundedModel(weights.embedding, layers, final_norm, round_weight(head))
