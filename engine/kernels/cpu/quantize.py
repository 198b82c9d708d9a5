"""Integers instead of floats: how weights and activations are rounded, and which products are exact here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

import torch

from ...errors import EngineError


@dataclass(frozen=True, slots=True)
class Levels:
    """The range of activations: integers -count..count, stored as bytes around ``zero``."""

    count: int

    @property
    def zero(self) -> int:
        """The byte that stands for 0."""
        return self.count + 1

    def describe(self) -> str:
        """For people: the form of the activations."""
        return "8-bit activations" if self.count == 127 else "7-bit activations: no VNNI, less exact"


EIGHT_BIT: Final = Levels(127)
SEVEN_BIT: Final = Levels(63)


@dataclass(frozen=True, slots=True)
class RoundedWeight:
    """A weight [out, in] as int8 ``values``, with the float32 ``scale`` of each row [out]."""

    values: torch.Tensor
    scale: torch.Tensor


def round_weight(weight: torch.Tensor) -> RoundedWeight:
    """Round a float32 weight [out, in]."""
    scale = weight.abs().amax(1).clamp_min_(1e-30) / 127
    return RoundedWeight((weight / scale[:, None]).round_().to(torch.int8), scale)


class Linear(Protocol):
    """A matrix as int8 with one scale a row.

    ``linear(rows)`` gives the float32 products [rows, out] of uint8 rows [rows, in], still to be multiplied by each
    row's own scale. The integer sum is exact, so it is the same in any batch.
    """

    def __call__(self, rows: torch.Tensor) -> torch.Tensor:
        """Multiply."""


class Int8Linear(Linear):
    """A `Linear` by oneDNN. ``levels`` has to suit the machine, see `exact_levels`."""

    def __init__(self, weight: RoundedWeight, levels: Levels) -> None:
        """Pack a weight."""
        self._zero = levels.zero
        self._scale = weight.scale
        self._weight_zero = torch.zeros(len(weight.scale), dtype=torch.int64)
        self._packed = torch.ops.onednn.qlinear_prepack(weight.values, None)
        self._multiply = torch.ops.onednn.qlinear_pointwise.default

    def __call__(self, rows: torch.Tensor) -> torch.Tensor:
        """See `Linear`."""
        product: torch.Tensor = self._multiply(
            rows, 1.0, self._zero, self._packed, self._scale, self._weight_zero,
            None, 1.0, 0, torch.float32, "none", [], "",
        )  # fmt: skip
        return product


def exact_levels() -> Levels:
    """The widest activations whose integer products are exact here.

    Without VNNI the processor adds pairs of byte products in 16 bits, which 8-bit activations overflow. So the
    product is tried on the largest numbers, rather than the processor's flags read.

    Raises:
        EngineError: torch has no such product for this machine, or a wrong one.

    """
    try:
        for levels in (EIGHT_BIT, SEVEN_BIT):
            if all(_is_exact(levels, rows) for rows in (1, 4, 32)):
                return levels
    except (AttributeError, RuntimeError) as error:
        raise EngineError(f"torch has no int8 product for this machine ({error}); use --backend reference") from error
    raise EngineError("torch's int8 product is wrong on this machine; use --backend reference")


def _is_exact(levels: Levels, rows: int, width: int = 576, outputs: int = 192) -> bool:
    weight = torch.full((outputs, width), 127.0)
    weight[::2, 1::3] = -127.0
    linear = Int8Linear(round_weight(weight), levels)
    bytes_ = torch.full((rows, width), levels.zero + levels.count, dtype=torch.uint8)
    bytes_[1::2, ::5] = levels.zero - levels.count
    expected = (bytes_.long() - levels.zero) @ weight.long().T
    return torch.equal(linear(bytes_).double(), expected.double())
