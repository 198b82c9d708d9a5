"""The arithmetic of a pass as an interface: a native and a torch implementation meet it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import torch

from ...batch import SequenceSlice
from ...models.config import ModelConfig
from .quantize import Levels, Linear, RoundedWeight


@dataclass(slots=True)
class PassPlan:
    """Where the rows of a pass stand: made once, used by every layer."""

    slices: list[SequenceSlice]
    rows: int

    @property
    def longest(self) -> int:
        """Keys that the longest sequence holds after the pass."""
        return max(piece.length for piece in self.slices)


class FusedKernels(ABC):
    """The arithmetic of a pass: the products, and what lies around them.

    Each row's result is independent of the rows beside it.

    Quantised rows are uint8 with one float32 scale a row: value = (byte - levels.zero) * scale.

    Attributes:
        kind: which implementation this is.
        kept: nothing has to be compiled for them at the next start.
        description: it and why it was chosen, for people.
    """

    kind: Literal["native", "torch"]
    kept: bool = True
    description: str

    @abstractmethod
    def linear(self, weight: RoundedWeight) -> Linear:
        """A weight [out, in] for products with quantised rows."""

    @abstractmethod
    def add_norm_quantize(
        self,
        x: torch.Tensor,
        update: tuple[torch.Tensor, torch.Tensor] | None,
        weight: torch.Tensor,
        out: torch.Tensor,
        out_scale: torch.Tensor,
    ) -> None:
        """Add an update (product [rows, width], scale [rows]) to x in place; quantise RMSNorm(x) * weight."""

    @abstractmethod
    def begin(self, plan: PassPlan) -> None:
        """Prepare for the attention of a pass."""

    @abstractmethod
    def attention(
        self, layer: int, qkv: torch.Tensor, scale: torch.Tensor, out: torch.Tensor, out_scale: torch.Tensor
    ) -> None:
        """Rotate, write keys and values to the cache, attend, quantise the heads into out. Overwrites qkv."""

    @abstractmethod
    def silu_quantize(
        self, gate_up: torch.Tensor, scale: torch.Tensor, out: torch.Tensor, out_scale: torch.Tensor
    ) -> None:
        """Quantise SiLU(gate) * up of [rows, 2 * ffn] into out. Overwrites gate_up."""


@dataclass(frozen=True, slots=True)
class KernelSetup:
    """What kernels need to know of the model and its cache."""

    config: ModelConfig
    num_blocks: int
    levels: Levels
    cos: torch.Tensor  # [longest sequence, head_dim / 2]
    sin: torch.Tensor
