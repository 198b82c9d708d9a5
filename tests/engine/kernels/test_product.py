"""The products of quantised rows are the exact integers, by every implementation and whatever shares the call."""

from __future__ import annotations

import pytest
import torch
from warmline.engine.kernels.cpu import SEVEN_BIT, Int8Linear, round_weight
from warmline.engine.kernels.cpu.native import PackedLinear

from .test_kernels import KINDS, make_kernels


def whole(outputs: int, width: int, seed: int = 0) -> torch.Tensor:
    """A weight of whole numbers, each row's largest 127: rounding leaves it as it is."""
    weight = torch.randint(-127, 128, (outputs, width), generator=torch.Generator().manual_seed(seed)).float()
    weight[:, 0] = 127
    return weight


def bytes_of(rows: int, width: int, seed: int = 1) -> torch.Tensor:
    """Quantised rows; the first has the largest numbers that there are, the last the least."""
    low, high = SEVEN_BIT.zero - SEVEN_BIT.count, SEVEN_BIT.zero + SEVEN_BIT.count
    made = torch.randint(
        low, high + 1, (rows, width), generator=torch.Generator().manual_seed(seed), dtype=torch.uint8
    )
    made[0], made[-1] = high, low
    return made


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("outputs", [16, 50, 192])
@pytest.mark.parametrize("width", [16, 1536])
def test_products_equal_int64(kind: str, outputs: int, width: int) -> None:
    """With the largest sums, any number of rows, and outputs that fill no block."""
    weight = whole(outputs, width)
    weight[1], weight[2] = 127, -127
    linear = make_kernels(kind, SEVEN_BIT).linear(round_weight(weight))
    for rows in (1, 2, 3, 4, 5, 33):
        data = bytes_of(rows, width)
        expected = (data.long() - SEVEN_BIT.zero) @ weight.long().T
        assert torch.equal(linear(data), expected.float()), rows


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_has_the_same_product_in_any_company(kind: str) -> None:
    """Bit for bit, scales that are no whole numbers included."""
    linear = make_kernels(kind, SEVEN_BIT).linear(
        round_weight(torch.randn(80, 64, generator=torch.Generator().manual_seed(2)))
    )
    data = bytes_of(37, 64)
    together = linear(data)
    for count in (1, 2, 3, 4, 7):
        parts = [linear(part.contiguous()) for part in data.split(count)]
        assert torch.equal(torch.cat(parts), together), count


def test_a_processor_without_avx512_multiplies_by_itself() -> None:
    """oneDNN would pack the weight anew in each call there; the numbers are its."""
    kernels, weight, data = make_kernels("avx2", SEVEN_BIT), torch.randn(48, 32), bytes_of(6, 32)
    linear = kernels.linear(round_weight(weight))
    assert isinstance(linear, PackedLinear)
    torch.testing.assert_close(linear(data), Int8Linear(round_weight(weight), SEVEN_BIT)(data), rtol=1e-6, atol=0)
