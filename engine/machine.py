"""This machine as the engine sees it: processor, memory, and what will compute on it and why."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_INSTRUCTIONS: Final = {
    "avx2": "AVX2",
    "avx512f": "AVX-512",
    "avx_vnni": "AVX-VNNI",
    "avx512_vnni": "AVX-512 VNNI",
    "avx512_bf16": "AVX-512 BF16",
    "amx_int8": "AMX int8",
    "asimd": "NEON",
    "asimddp": "NEON dot product",
    "i8mm": "NEON int8",
}


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine. ``cores`` are those this process may use; ``memory`` is in bytes, 0 where it can't be told."""

    system: str
    processor: str
    cores: int
    instructions: list[str]
    memory: int


def this_machine() -> Machine:
    """The machine this runs on."""
    processor, flags = _cpuinfo()
    return Machine(
        system=f"{platform.system()} {platform.machine()}",
        processor=processor or platform.processor() or platform.machine(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        instructions=[name for flag, name in _INSTRUCTIONS.items() if flag in flags],
        memory=_memory(),
    )


def describe_cpu_backend() -> str:
    """The cpu backend with the kernels it will use here and why. Compiles them if they are not in the cache.

    Raises:
        EngineError: those asked for by WARMLINE_KERNELS can't be had.
        ImportError: torch is missing or broken.

    """
    import torch

    from .backends.base import BLOCK_SIZE
    from .kernels.cpu import KernelSetup, create_kernels, exact_levels
    from .models.config import ModelConfig

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
    setup = KernelSetup(config=smallest, num_blocks=1, block_size=BLOCK_SIZE, levels=levels, cos=angles, sin=angles)
    return f"cpu: {create_kernels(setup).description}, {levels.describe()}"


def _cpuinfo() -> tuple[str, set[str]]:
    """Name and flags of the first processor; empty where the system doesn't say."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return "", set()
    fields = {name.strip(): value.strip() for name, colon, value in (line.partition(":") for line in lines) if colon}
    return fields.get("model name", ""), set((fields.get("flags") or fields.get("Features") or "").split())


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0
