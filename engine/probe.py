"""What the cpu backend would compute with on this machine, found out without a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .batch import BLOCK_SIZE
from .models.config import ModelConfig


@dataclass(frozen=True, slots=True)
class CpuProbe:
    """The kernels that the cpu backend uses here, and in words which they are and why.

    ``kept`` is whether the next start has them without compiling.
    """

    kernels: Literal["native", "torch"]
    kept: bool
    description: str


def probe_cpu_backend() -> CpuProbe:
    """Create the kernels as for a real model. Compiles them if they are not in the cache.

    Raises:
        EngineError: those asked for by WARMLINE_KERNELS can't be had, or no kernels work here.
        ImportError: torch is missing or broken.

    """
    import torch

    from .kernels.cpu import KernelSetup, create_kernels, exact_levels

    smallest = ModelConfig(
        architecture="llama",
        vocab_size=32,
        hidden_size=32,
        num_layers=1,
        num_heads=1,
        num_kv_heads=1,
        head_dim=32,
        ffn_size=32,
        context_length=BLOCK_SIZE,
    )
    levels = exact_levels()
    angles = torch.zeros(BLOCK_SIZE, smallest.head_dim // 2)
    kernels = create_kernels(KernelSetup(config=smallest, num_blocks=1, levels=levels, cos=angles, sin=angles))
    return CpuProbe(kernels.kind, kernels.kept, f"{kernels.description}, {levels.describe()}")
