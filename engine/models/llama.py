"""The weights of a Llama model in one canonical form, and what follows from its shape alone."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from .config import ModelConfig


@dataclass(slots=True)
class LayerWeights:
    """One layer, float32. Matrices are [out, in].

    Rows of ``query`` and ``key`` are in half-split rotary order: dimension i of a head turns with i + head_dim / 2.
    """

    attention_norm: torch.Tensor  # [hidden]
    query: torch.Tensor  # [num_heads * head_dim, hidden]
    key: torch.Tensor  # [num_kv_heads * head_dim, hidden]
    value: torch.Tensor  # [num_kv_heads * head_dim, hidden]
    output: torch.Tensor  # [hidden, num_heads * head_dim]
    ffn_norm: torch.Tensor  # [hidden]
    gate: torch.Tensor  # [ffn, hidden]
    up: torch.Tensor  # [ffn, hidden]
    down: torch.Tensor  # [hidden, ffn]


@dataclass(slots=True)
class ModelWeights:
    """A whole model, float32. ``head`` is the same tensor as ``embedding`` where they are tied."""

    embedding: torch.Tensor  # [vocab, hidden]
    layers: list[LayerWeights]
    final_norm: torch.Tensor  # [hidden]
    head: torch.Tensor  # [vocab, hidden]


def layer_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """The shape of each field of `LayerWeights`."""
    attention = config.num_heads * config.head_dim
    keys = config.num_kv_heads * config.head_dim
    return {
        "attention_norm": (config.hidden_size,),
        "query": (attention, config.hidden_size),
        "key": (keys, config.hidden_size),
        "value": (keys, config.hidden_size),
        "output": (config.hidden_size, attention),
        "ffn_norm": (config.hidden_size,),
        "gate": (config.ffn_size, config.hidden_size),
        "up": (config.ffn_size, config.hidden_size),
        "down": (config.hidden_size, config.ffn_size),
    }


def rotary_table(config: ModelConfig, length: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines of the rotary angles of ``length`` positions, each float32 [length, head_dim / 2].

    Angles are computed in float64, so that those of late positions are exact to float32.
    """
    half = torch.arange(0, config.head_dim, 2, dtype=torch.float64) / config.head_dim
    frequency = config.rope_theta**-half
    angle = torch.arange(length, dtype=torch.float64)[:, None] * frequency
    return angle.cos().float(), angle.sin().float()


def rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    """Root-mean-square normalisation of the last dimension, in x's precision."""
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight


def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotary embedding in half-split order: x [rows, heads, head_dim], cos and sin [rows, head_dim / 2]."""
    first, second = x.chunk(2, dim=-1)
    cos, sin = cos[:, None], sin[:, None]
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
