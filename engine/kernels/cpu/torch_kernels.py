"""The fused kernels in torch operations: for machines without a compiler.

Slower, and row-invariant by keeping to operations whose result for a row does not depend on the other rows:
elementwise ones, reductions of the last dimension, and batches of matrix products of one fixed shape.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

from ...batch import BLOCK_SIZE, SequenceSlice
from ...models.llama import rms_norm, rotate
from .interface import FusedKernels, KernelSetup, PassPlan
from .quantize import Int8Linear, Linear, RoundedWeight

QUERY_TILE = 16
"""Query rows in one attention product."""
KEY_TILE = 64
"""Keys in one attention product."""


class TorchKernels(FusedKernels):
    """The kernels in plain torch; keys and values are kept in bfloat16, [slot, kv_head, head_dim] a layer."""

    kind = "torch"

    def __init__(self, setup: KernelSetup, reason: str) -> None:
        self.description = f"torch ({reason})"
        config = self._config = setup.config
        self._levels = setup.levels
        self._cos, self._sin = setup.cos, setup.sin
        shape = (config.num_layers, setup.num_blocks * BLOCK_SIZE, config.num_kv_heads, config.head_dim)
        self._keys = torch.zeros(shape, dtype=torch.bfloat16)
        self._values = torch.zeros(shape, dtype=torch.bfloat16)

    def linear(self, weight: RoundedWeight) -> Linear:
        """See `FusedKernels.linear`."""
        return Int8Linear(weight, self._levels)

    def add_norm_quantize(
        self,
        x: torch.Tensor,
        update: tuple[torch.Tensor, torch.Tensor] | None,
        weight: torch.Tensor,
        out: torch.Tensor,
        out_scale: torch.Tensor,
    ) -> None:
        """See `FusedKernels.add_norm_quantize`."""
        if update is not None:
            product, scale = update
            x += product * scale[:, None]
        self._quantize(rms_norm(x, weight, self._config.norm_eps), out, out_scale)

    def begin(self, plan: PassPlan) -> None:
        """See `FusedKernels.begin`."""
        positions = [position for piece in plan.slices for position in piece.positions]
        self._row_cos, self._row_sin = self._cos[positions], self._sin[positions]
        self._slices = [(piece, torch.tensor(piece.slots())) for piece in plan.slices]

    def attention(
        self, layer: int, qkv: torch.Tensor, scale: torch.Tensor, out: torch.Tensor, out_scale: torch.Tensor
    ) -> None:
        """See `FusedKernels.attention`."""
        config, rows = self._config, len(qkv)
        qkv *= scale[:, None]
        heads = qkv.view(rows, -1, config.head_dim)
        turned = config.num_heads + config.num_kv_heads
        rotated = rotate(heads[:, :turned], self._row_cos, self._row_sin)
        attended = torch.empty(rows, config.num_heads, config.head_dim)
        for piece, slots in self._slices:
            mine = slice(piece.first_row, piece.first_row + piece.rows)
            written = slots[piece.position :]
            self._keys[layer, written] = rotated[mine, config.num_heads :].bfloat16()
            self._values[layer, written] = heads[mine, turned:].bfloat16()
            attended[mine] = self._attend(piece, rotated[mine, : config.num_heads], layer, slots)
        self._quantize(attended.view(rows, -1), out, out_scale)

    def _attend(self, piece: SequenceSlice, query: torch.Tensor, layer: int, slots: torch.Tensor) -> torch.Tensor:
        """One sequence's rows [rows, heads, head_dim] over its keys, in tiles of queries."""
        config = self._config
        tiles = -(-piece.length // KEY_TILE)
        keys, values = (self._tiles(pool[layer, slots], tiles) for pool in (self._keys, self._values))
        groups = config.num_heads // config.num_kv_heads
        # Queries of a kv head, row by row: [kv_heads, rows * groups, head_dim].
        queries = query.view(piece.rows, config.num_kv_heads, groups, config.head_dim).transpose(0, 1).flatten(1, 2)
        queries = (queries * config.head_dim**-0.5).bfloat16().float()
        lengths = torch.arange(piece.position + 1, piece.length + 1).repeat_interleave(groups)
        results = [
            self._attend_tile(
                queries[:, first : first + QUERY_TILE], lengths[first : first + QUERY_TILE], keys, values
            )
            for first in range(0, piece.rows * groups, QUERY_TILE)
        ]
        joined = torch.cat(results, dim=1).view(config.num_kv_heads, piece.rows, groups, config.head_dim)
        return joined.transpose(0, 1).reshape(piece.rows, config.num_heads, config.head_dim)

    def _tiles(self, rows: torch.Tensor, tiles: int) -> torch.Tensor:
        """Keys or values [slots, kv_heads, head_dim] as [kv_heads, tiles, KEY_TILE, head_dim], padded with zeros."""
        padded = F.pad(rows.float(), (0, 0, 0, 0, 0, tiles * KEY_TILE - len(rows)))
        return padded.view(tiles, KEY_TILE, *rows.shape[1:]).permute(2, 0, 1, 3).contiguous()

    def _attend_tile(
        self, queries: torch.Tensor, lengths: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
    ) -> torch.Tensor:
        """At most QUERY_TILE queries a kv head. All products have one shape; key tiles are summed in order."""
        count = queries.shape[1]
        tiles = -(-int(lengths[-1]) // KEY_TILE)
        keys, values = keys[:, :tiles], values[:, :tiles]
        padded = F.pad(queries, (0, 0, 0, QUERY_TILE - count))[:, None].expand(-1, tiles, -1, -1)
        scores = _product(padded, keys.transpose(2, 3))  # [kv_heads, tiles, QUERY_TILE, KEY_TILE]
        column = torch.arange(tiles * KEY_TILE).view(tiles, 1, KEY_TILE)
        limits = F.pad(lengths, (0, QUERY_TILE - count), value=1).view(1, QUERY_TILE, 1)
        scores = scores.masked_fill(column >= limits, -torch.inf)
        weights = (scores - scores.amax((1, 3), keepdim=True)).exp()
        sums = weights.sum(-1)  # [kv_heads, tiles, QUERY_TILE]
        parts = _product(weights, values)
        total, weight = parts[:, 0], sums[:, 0]
        for tile in range(1, tiles):
            total, weight = total + parts[:, tile], weight + sums[:, tile]
        return (total / weight[..., None])[:, :count]

    def silu_quantize(
        self, gate_up: torch.Tensor, scale: torch.Tensor, out: torch.Tensor, out_scale: torch.Tensor
    ) -> None:
        """See `FusedKernels.silu_quantize`."""
        gate, up = (gate_up * scale[:, None]).chunk(2, dim=1)
        self._quantize(gate / (1 + (-gate).exp()) * up, out, out_scale)

    def _quantize(self, rows: torch.Tensor, out: torch.Tensor, out_scale: torch.Tensor) -> None:
        magnitude = rows.abs().amax(1)
        torch.div(magnitude, self._levels.count, out=out_scale)
        inverse = self._levels.count / magnitude.clamp_min(1e-30)
        out.copy_((rows * inverse[:, None]).round_().add_(self._levels.zero))


def _product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Matrix products over two batch dimensions."""
    return torch.bmm(a.flatten(0, 1), b.flatten(0, 1)).view(*a.shape[:2], a.shape[2], b.shape[3])
