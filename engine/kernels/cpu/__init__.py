"""Kernels of the cpu backend: `create_kernels` picks the native ones, or torch ones where nothing can be compiled."""

from __future__ import annotations

import os
from typing import Final

from ...errors import EngineError
from .build import BuildError
from .interface import FusedKernels, KernelSetup, PassPlan
from .library import load_library
from .native import NativeKernels
from .quantize import EIGHT_BIT, SEVEN_BIT, Int8Linear, Levels, Linear, RoundedWeight, exact_levels, round_weight
from .torch_kernels import TorchKernels

__all__ = [
    "EIGHT_BIT",
    "SEVEN_BIT",
    "FusedKernels",
    "Int8Linear",
    "KernelSetup",
    "Levels",
    "Linear",
    "PassPlan",
    "RoundedWeight",
    "create_kernels",
    "exact_levels",
    "round_weight",
]

CHOICES: Final = ("auto", "native", "torch")


def create_kernels(setup: KernelSetup) -> FusedKernels:
    """The fastest kernels that work here; WARMLINE_KERNELS (native, torch, auto) overrides the choice.

    Raises:
        EngineError: WARMLINE_KERNELS is none of these, or asks for native kernels that can't be built.

    """
    wish = os.environ.get("WARMLINE_KERNELS") or "auto"
    if wish not in CHOICES:
        raise EngineError(f"WARMLINE_KERNELS={wish} should be one of {', '.join(CHOICES)}")
    if wish == "torch":
        return TorchKernels(setup, "WARMLINE_KERNELS=torch")
    try:
        return NativeKernels(load_library(), setup)
    except BuildError as error:
        if wish == "native":
            raise EngineError(f"WARMLINE_KERNELS=native can't be had: {error}") from error
        return TorchKernels(setup, f"{error}; slower")
