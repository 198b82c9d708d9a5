"""The integer product is exact, on this machine and on lesser ones."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch
from warmline.engine.kernels.cpu import EIGHT_BIT, SEVEN_BIT, Int8Linear, Levels, exact_levels, round_weight

CHECK = """
import torch
from warmline.engine.kernels.cpu import EIGHT_BIT, SEVEN_BIT, Int8Linear, exact_levels, round_weight

levels = exact_levels()
generator = torch.Generator().manual_seed(0)
for rows, width, outputs in ((1, 576, 960), (5, 1536, 576), (32, 576, 3072), (33, 64, 320), (64, 1536, 576)):
    weight = torch.randint(-127, 128, (outputs, width), generator=generator).float()
    weight[:, 0] = 127
    weight[: outputs // 2] = weight[: outputs // 2].sign() * 127
    data = torch.randint(1, levels.zero + levels.count + 1, (rows, width), generator=generator).to(torch.uint8)
    data[0] = levels.zero + levels.count
    expected = (data.long() - levels.zero) @ weight.long().T
    found = Int8Linear(round_weight(weight), levels)(data)
    assert torch.equal(found.double(), expected.float().double()), (rows, width, outputs)
print(levels.count)
"""


@pytest.mark.parametrize("isa", [None, "AVX512_CORE_VNNI", "AVX512_CORE", "AVX2"])
def test_products_equal_int64_under_each_instruction_set(isa: str | None) -> None:
    """The chosen form's products equal int64 ones; without VNNI the 7-bit form is chosen."""
    environment = {key: value for key, value in os.environ.items() if key != "ONEDNN_MAX_CPU_ISA"}
    if isa is not None:
        environment["ONEDNN_MAX_CPU_ISA"] = isa
    done = subprocess.run([sys.executable, "-c", CHECK], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    if isa in ("AVX512_CORE", "AVX2"):
        assert int(done.stdout) == SEVEN_BIT.count


@pytest.mark.parametrize("levels", {EIGHT_BIT, SEVEN_BIT} if exact_levels() == EIGHT_BIT else {SEVEN_BIT})
def test_a_rounded_product_is_close_to_the_float_one(levels: Levels) -> None:
    """Weights are scaled by row; a row of zeros stays zeros."""
    generator = torch.Generator().manual_seed(1)
    weight = torch.randn(96, 128, generator=generator) * torch.logspace(-3, 3, 96)[:, None]
    weight[7] = 0
    data = torch.randint(1, 2 * levels.count + 2, (9, 128), generator=generator).to(torch.uint8)
    expected = (data.float() - levels.zero) @ weight.T
    found = Int8Linear(round_weight(weight), levels)(data)
    assert torch.equal(found[:, 7], torch.zeros(9))
    assert ((found - expected).norm(dim=0) <= 0.02 * expected.norm(dim=0)).all()
