"""The yardstick: a Llama pass in plain float32 torch, as close to the formulas as it can be written."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F

from ..batch import BLOCK_SIZE, Batch, SequenceSlice
from ..models.config import ModelConfig
from ..models.llama import LayerWeights, ModelWeights, rms_norm, rotary_table, rotate
from .base import Backend, PassAborted
from .rows import check_batch, max_positions

LINEAR_ROWS = 16
"""Rows in one matrix product. A BLAS picks its way to sum by the number of rows, so that number never changes."""


class ReferenceBackend(Backend):
    """Float32 weights, activations, keys and values.

    Each query attends on its own and matrix products have a fixed number of rows, so that a row's result does not
    depend on the rows beside it.
    """

    name = "reference"
    kernels = "torch float32"
    weight_bytes = 4
    kv_bytes = 4

    def __init__(self, config: ModelConfig, weights: ModelWeights, num_blocks: int) -> None:
        self.config = config
        self.num_blocks = num_blocks
        self._weights = weights
        self._cos, self._sin = rotary_table(config, max_positions(config, num_blocks))
        shape = (config.num_layers, num_blocks * BLOCK_SIZE, config.num_kv_heads, config.head_dim)
        self._keys = torch.zeros(shape)
        self._values = torch.zeros(shape)

    @torch.inference_mode()
    def forward(self, batch: Batch, should_abort: Callable[[], bool] | None = None) -> torch.Tensor:
        """See `Backend.forward`."""
        check_batch(batch, self.config, self.num_blocks)
        positions = [position for piece in batch.slices for position in piece.positions]
        cos, sin = self._cos[positions], self._sin[positions]
        slices = [(piece, torch.tensor(piece.slots())) for piece in batch.slices]
        x = self._weights.embedding[batch.token_ids]
        for index, layer in enumerate(self._weights.layers):
            if should_abort is not None and should_abort():
                raise PassAborted
            x = x + self._attention(index, layer, x, cos, sin, slices)
            x = x + self._feed_forward(layer, x)
        rows = rms_norm(x[batch.logit_rows], self._weights.final_norm, self.config.norm_eps)
        return _linear(rows, self._weights.head)

    def _attention(
        self,
        index: int,
        layer: LayerWeights,
        x: torch.Tensor,
        cos: torch.Tensor,
        sin: torch.Tensor,
        slices: list[tuple[SequenceSlice, torch.Tensor]],
    ) -> torch.Tensor:
        """Each slice comes with the cache slots of all its sequence's positions."""
        config, rows = self.config, len(x)
        normed = rms_norm(x, layer.attention_norm, config.norm_eps)
        query = rotate(_linear(normed, layer.query).view(rows, config.num_heads, config.head_dim), cos, sin)
        key = rotate(_linear(normed, layer.key).view(rows, config.num_kv_heads, config.head_dim), cos, sin)
        written = torch.cat([slots[piece.position :] for piece, slots in slices])
        self._keys[index, written] = key
        self._values[index, written] = _linear(normed, layer.value).view_as(key)
        attended = torch.empty_like(query)
        for piece, slots in slices:
            keys, values = self._keys[index, slots], self._values[index, slots]
            for row, position in enumerate(piece.positions, piece.first_row):
                attended[row] = self._attend(query[row], keys[: position + 1], values[: position + 1])
        return _linear(attended.view(rows, -1), layer.output)

    def _attend(self, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        """One token's heads [heads, head_dim] over the keys and values it may see [length, kv_heads, head_dim]."""
        grouped = query.view(self.config.num_kv_heads, -1, self.config.head_dim)
        scores = grouped @ keys.permute(1, 2, 0) * self.config.head_dim**-0.5
        attended: torch.Tensor = scores.softmax(-1) @ values.transpose(0, 1)
        return attended.view_as(query)

    def _feed_forward(self, layer: LayerWeights, x: torch.Tensor) -> torch.Tensor:
        normed = rms_norm(x, layer.ffn_norm, self.config.norm_eps)
        return _linear(F.silu(_linear(normed, layer.gate)) * _linear(normed, layer.up), layer.down)


def _linear(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """``x @ weight.T`` in products of `LINEAR_ROWS` rows each."""
    rows = len(x)
    padded = F.pad(x, (0, 0, 0, -rows % LINEAR_ROWS))
    return torch.cat([F.linear(part, weight) for part in torch.split(padded, LINEAR_ROWS)])[:rows]
