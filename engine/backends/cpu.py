"""The backend for people's own machines: int8 products, and fused kernels between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from ..batch import Batch
from ..errors import EngineError, ModelError
from ..kernels.cpu import KernelSetup, Linear, PassPlan, create_kernels, exact_levels
from ..models.config import ModelConfig
from ..models.llama import rotary_table
from .base import Backend, PassAborted
from .rounded import RoundedModel
from .rows import check_batch, max_positions
from .spread import ThreadSpread

LANES = 16
MAX_HEAD_DIM = 256


@dataclass(slots=True)
class _Layer:
    attention_norm: torch.Tensor
    qkv: Linear
    output: Linear
    ffn_norm: torch.Tensor
    gate_up: Linear
    down: Linear


class _Buffers:
    """The quantised rows of a pass, reused from pass to pass."""

    def __init__(self, config: ModelConfig, rows: int) -> None:
        self.rows = rows
        self.hidden = torch.empty(rows, config.hidden_size, dtype=torch.uint8)
        self.heads = torch.empty(rows, config.num_heads * config.head_dim, dtype=torch.uint8)
        self.ffn = torch.empty(rows, config.ffn_size, dtype=torch.uint8)
        self.hidden_scale, self.heads_scale, self.ffn_scale = torch.empty(3, rows).unbind()


def unsupported(config: ModelConfig) -> str | None:
    """Why the cpu backend can't run a model of this shape on this machine; None where it can."""
    for name in ("hidden_size", "ffn_size", "head_dim"):
        size = getattr(config, name)
        if size % LANES:
            return f"{name} {size} is not a multiple of {LANES}"
    if config.head_dim > MAX_HEAD_DIM:
        return f"head_dim {config.head_dim} is above {MAX_HEAD_DIM}"
    try:
        exact_levels()
    except EngineError as error:
        return str(error)
    return None


def cannot_run(problem: str) -> str:
    """What is told of a model that is `unsupported`."""
    return f"the cpu backend can't run this model: {problem}; use --backend reference"


class CpuBackend(Backend):
    """Int8 weights and activations, bfloat16 keys and values.

    A row's result does not depend on the rows beside it, on how they came in passes, or on the thread count.
    """

    name = "cpu"
    weight_bytes = 1
    kv_bytes = 2

    def __init__(self, config: ModelConfig, model: RoundedModel, num_blocks: int) -> None:
        """Pack a model for this machine.

        Args:
            config: its shape.
            model: its rounded weights.
            num_blocks: size of the cache.

        Raises:
            ModelError: the model can't be run here (`unsupported`).

        """
        problem = unsupported(config)
        if problem is not None:
            raise ModelError(cannot_run(problem))
        self.config = config
        self.num_blocks = num_blocks
        levels = exact_levels()
        cos, sin = rotary_table(config, max_positions(config, num_blocks))
        self._kernels = create_kernels(KernelSetup(config, num_blocks, levels, cos, sin))
        self.kernels = f"{self._kernels.description}, {levels.describe()}"
        self._embedding, self._final_norm = model.embedding, model.final_norm
        linear = self._kernels.linear
        self._layers = [
            _Layer(
                attention_norm=layer.attention_norm,
                qkv=linear(layer.qkv),
                output=linear(layer.output),
                ffn_norm=layer.ffn_norm,
                gate_up=linear(layer.gate_up),
                down=linear(layer.down),
            )
            for layer in model.layers
        ]
        self._head = linear(model.head)
        self._buffers = _Buffers(config, 1)
        self._spread = ThreadSpread()

    @torch.inference_mode()
    def forward(self, batch: Batch, should_abort: Callable[[], bool] | None = None) -> torch.Tensor:
        """See `Backend.forward`."""
        check_batch(batch, self.config, self.num_blocks)
        self._spread.begin()
        try:
            return self._forward(batch, should_abort)
        finally:
            self._spread.end()

    def _forward(self, batch: Batch, should_abort: Callable[[], bool] | None) -> torch.Tensor:
        kernels, rows = self._kernels, len(batch.token_ids)
        kernels.begin(PassPlan(batch.slices, rows))
        if self._buffers.rows < rows:
            self._buffers = _Buffers(self.config, rows)
        buffers = self._buffers
        hidden, hidden_scale = buffers.hidden[:rows], buffers.hidden_scale[:rows]
        heads, heads_scale = buffers.heads[:rows], buffers.heads_scale[:rows]
        ffn, ffn_scale = buffers.ffn[:rows], buffers.ffn_scale[:rows]
        x = self._embedding[batch.token_ids]
        update = None
        for index, layer in enumerate(self._layers):
            if should_abort is not None and should_abort():
                raise PassAborted
            kernels.add_norm_quantize(x, update, layer.attention_norm, hidden, hidden_scale)
            kernels.attention(index, layer.qkv(hidden), hidden_scale, heads, heads_scale)
            kernels.add_norm_quantize(x, (layer.output(heads), heads_scale), layer.ffn_norm, hidden, hidden_scale)
            kernels.silu_quantize(layer.gate_up(hidden), hidden_scale, ffn, ffn_scale)
            update = (layer.down(ffn), ffn_scale)
            self._spread.under_way()
        return self._logits(x, update, batch.logit_rows)

    def _logits(
        self, x: torch.Tensor, update: tuple[torch.Tensor, torch.Tensor] | None, wanted: list[int]
    ) -> torch.Tensor:
        rows = len(wanted)
        if not rows:
            return torch.empty(0, self.config.vocab_size)
        if rows < len(x):
            x = x[wanted]
            update = None if update is None else (update[0][wanted], update[1][wanted])
        hidden, scale = self._buffers.hidden[:rows], self._buffers.hidden_scale[:rows]
        self._kernels.add_norm_quantize(x, update, self._final_norm, hidden, scale)
        return self._head(hidden).mul_(scale[:, None])
