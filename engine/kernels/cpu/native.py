"""The fused kernels in C++, called through ctypes."""

from __future__ import annotations

import ctypes
from array import array

import torch

from .build import NativeLibrary
from .interface import FusedKernels, KernelSetup, PassPlan

POINTER, INT, FLOAT = ctypes.c_void_p, ctypes.c_int, ctypes.c_float


class NativeKernels(FusedKernels):
    """The kernels of a compiled library (the C++ files of this folder)."""

    def __init__(self, library: NativeLibrary, setup: KernelSetup) -> None:
        loaded = ctypes.CDLL(str(library.path))
        loaded.warmline_instructions.restype = ctypes.c_char_p
        self.description = f"native ({loaded.warmline_instructions().decode()}; {library.compiler})"
        config = setup.config
        self._config = config
        self._levels = setup.levels.count
        self._cos, self._sin = setup.cos, setup.sin
        per_block = 2 * config.num_kv_heads * config.head_dim * setup.block_size
        self._cache = torch.zeros(config.num_layers, setup.num_blocks * per_block, dtype=torch.bfloat16)
        self._layers = [layer.data_ptr() for layer in self._cache]
        self._workspace = torch.empty(0)
        self._add_norm = loaded.warmline_add_norm_quantize
        self._add_norm.argtypes = [POINTER, POINTER, POINTER, POINTER, FLOAT, INT, INT, INT, POINTER, POINTER]
        self._silu = loaded.warmline_silu_quantize
        self._silu.argtypes = [POINTER, POINTER, INT, INT, INT, POINTER, POINTER]
        self._workspace_size = loaded.warmline_attention_workspace
        self._workspace_size.argtypes = [INT, INT, INT, INT]
        self._workspace_size.restype = ctypes.c_size_t
        self._attention = loaded.warmline_attention
        self._attention.argtypes = [*[POINTER] * 5, INT, POINTER, *[INT] * 5, *[POINTER] * 4]
        for function in (self._add_norm, self._silu, self._attention):
            function.restype = None

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
        slices, tables = array("i"), array("i")
        for piece in plan.slices:
            slices.extend((piece.first_row, piece.rows, piece.position, len(tables)))
            tables.extend(piece.block_table)
        self._slices, self._tables = slices, tables
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
