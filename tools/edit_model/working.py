"""The floating-point type that training computes in: the one whose products this machine computes fastest."""

from __future__ import annotations

import time
from typing import Final

import torch
import torch.nn.functional as F

TYPES: Final = {"bfloat16": torch.bfloat16, "float32": torch.float32}
_ROWS, _COLUMNS, _OUTPUTS = 512, 576, 1536
_REPETITIONS: Final = 5


def fastest_type() -> str:
    """The name of the faster of `TYPES`, by timing a product of the model's size (0.9 GFLOP) a few times.

    Processors with matrix units (AMX) or dot products for bfloat16 compute it several times as fast as float32,
    others several times as slowly. What is computed is the same but for rounding: whole numbers up to 127 are exact
    in both, sums are formed in float32, and only float32 keeps all of a sum's digits.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return min(TYPES, key=lambda name: seconds_of_a_product(TYPES[name]))
    finally:
        torch.set_num_threads(threads)


def seconds_of_a_product(dtype: torch.dtype) -> float:
    """How long a product of the model's size takes, the shortest of some times."""
    x = torch.ones(_ROWS, _COLUMNS, dtype=dtype)
    weight = torch.ones(_OUTPUTS, _COLUMNS, dtype=dtype)
    times = []
    for _ in range(_REPETITIONS):
        began = time.perf_counter()
        F.linear(x, weight)
        times.append(time.perf_counter() - began)
    return min(times)
