"""The fused kernels and the product in C++, called through ctypes."""

from __future__ import annotations

from array import array

import torch

from ...batch import BLOCK_SIZE, join_tables
from .interface import FusedKernels, KernelSetup, PassPlan
from .library import NativeLibrary
from .quantize import SEVEN_BIT, Int8Linear, Levels, Linear, RoundedWeight

_OUTPUTS = 16
"""Outputs of a block of a packed weight (product.cpp)."""


class PackedLinear(Linear):
    """A `Linear` by the library's own product (product.cpp), for 7-bit activations."""

    def __init__(self, library: NativeLibrary, weight: RoundedWeight, levels: Levels) -> None:
        """Pack a weight [out, in]; in is a multiple of 4."""
        self._scale = weight.scale
        self._outputs, self._width = weight.values.shape
        self._zero = levels.zero
        self._packed = torch.empty(-(-self._outputs // _OUTPUTS) * _OUTPUTS * self._width, dtype=torch.int8)
        self._totals = torch.empty(self._outputs, dtype=torch.int32)
        library.functions.warmline_pack_product(
            weight.values.data_ptr(), self._outputs, self._width, self._packed.data_ptr(), self._totals.data_ptr()
        )
        self._multiply = library.functions.warmline_product
        self._weight = self._packed.data_ptr(), self._totals.data_ptr(), self._scale.data_ptr(), self._outputs

    def __call__(self, rows: torch.Tensor) -> torch.Tensor:
        """See `Linear`."""
        product = torch.empty(len(rows), self._outputs)
        self._multiply(rows.data_ptr(), len(rows), self._width, self._zero, *self._weight, product.data_ptr())
        return product


class NativeKernels(FusedKernels):
    """The kernels of a compiled library (the C++ files of this folder)."""

    kind = "native"

    def __init__(self, library: NativeLibrary, setup: KernelSetup) -> None:
        functions = library.functions
        self.description = f"native ({functions.warmline_instructions().decode()}; {library.origin})"
        self.kept = library.kept
        config = setup.config
        self._config = config
        self._library, self._form = library, setup.levels
        self._levels = setup.levels.count
        self._cos, self._sin = setup.cos, setup.sin
        per_block = 2 * config.num_kv_heads * config.head_dim * BLOCK_SIZE
        self._cache = torch.zeros(config.num_layers, setup.num_blocks * per_block, dtype=torch.bfloat16)
        self._layers = [layer.data_ptr() for layer in self._cache]
        self._workspace = torch.empty(0)
        self._add_norm = functions.warmline_add_norm_quantize
        self._silu = functions.warmline_silu_quantize
        self._workspace_size = functions.warmline_attention_workspace
        self._attention = functions.warmline_attention

    def linear(self, weight: RoundedWeight) -> Linear:
        """See `FusedKernels.linear`."""
        if self._form == SEVEN_BIT and self._library.functions.warmline_has_product():
            return PackedLinear(self._library, weight, self._form)
        return Int8Linear(weight, self._form)

    def add_norm_quantize(
        self,
        x: torch.Tensor,
        update: tuple[torch.Tensor, torch.Tensor] | None,
        weight: torch.Tensor,
        out: torch.Tensor,
        out_scale: torch.Tensor,
    ) -> None:
        """See `FusedKernels.add_norm_quantize`."""
        rows, width = x.shape
        product, scale = (None, None) if update is None else (update[0].data_ptr(), update[1].data_ptr())
        self._add_norm(
            x.data_ptr(), product, scale, weight.data_ptr(), self._config.norm_eps,
            rows, width, self._levels, out.data_ptr(), out_scale.data_ptr(),
        )  # fmt: skip

    def begin(self, plan: PassPlan) -> None:
        """See `FusedKernels.begin`."""
        slices, table_start = array("i"), 0
        for piece in plan.slices:
            slices.extend((piece.first_row, piece.rows, piece.position, table_start))
            table_start += len(piece.block_table)
        self._slices, self._tables = slices, join_tables(plan.slices)
        self._num_slices, self._longest = len(plan.slices), plan.longest
        needed = self._workspace_size(plan.rows, self._config.num_heads, self._config.head_dim, self._longest)
        if len(self._workspace) < needed:
            self._workspace = torch.empty(needed)

    def attention(
        self, layer: int, qkv: torch.Tensor, scale: torch.Tensor, out: torch.Tensor, out_scale: torch.Tensor
    ) -> None:
        """See `FusedKernels.attention`."""
        config = self._config
        self._attention(
            qkv.data_ptr(), scale.data_ptr(), self._cos.data_ptr(), self._sin.data_ptr(),
            self._slices.buffer_info()[0], self._num_slices, self._tables.buffer_info()[0],
            config.num_heads, config.num_kv_heads, config.head_dim, self._longest, self._levels,
            self._layers[layer], self._workspace.data_ptr(), out.data_ptr(), out_scale.data_ptr(),
        )  # fmt: skip

    def silu_quantize(
        self, gate_up: torch.Tensor, scale: torch.Tensor, out: torch.Tensor, out_scale: torch.Tensor
    ) -> None:
        """See `FusedKernels.silu_quantize`."""
        rows, width = out.shape
        self._silu(
            gate_up.data_ptr(), scale.data_ptr(), rows, width, self._levels, out.data_ptr(), out_scale.data_ptr()
        )
