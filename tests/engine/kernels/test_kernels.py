"""Native and torch kernels compute their formulas, to within the rounding they are meant to do."""

from __future__ import annotations

import platform

import pytest
import torch
from warmline.engine.batch import SequenceSlice
from warmline.engine.kernels.cpu import (
    EIGHT_BIT,
    SEVEN_BIT,
    FusedKernels,
    KernelSetup,
    Levels,
    PassPlan,
    build,
    create_kernels,
)
from warmline.engine.models.config import ModelConfig
from warmline.engine.models.llama import rms_norm, rotary_table, rotate

BLOCKS = 80
KINDS = ("native", "avx2", "torch")


def make_kernels(
    kind: str, levels: Levels = EIGHT_BIT, heads: int = 6, kv_heads: int = 2, dim: int = 64
) -> FusedKernels:
    """Kernels for one layer of the given shape. Kind "avx2" is what a processor without AVX-512 compiles."""
    if kind == "avx2" and platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("needs an x86 processor")
    config = ModelConfig("llama", 64, 96, 1, heads, kv_heads, dim, 160, 1280)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WARMLINE_KERNELS", "torch" if kind == "torch" else "native")
        if kind == "avx2":
            flags = ["-march=x86-64-v3" if flag == "-march=native" else flag for flag in build.FLAGS]
            patch.setattr(build, "FLAGS", tuple(flags))
        return create_kernels(KernelSetup(config, BLOCKS, levels, *rotary_table(config, 1280)))


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    """Normal numbers."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def assert_rounded(out: torch.Tensor, scale: torch.Tensor, exact: torch.Tensor, levels: Levels, slack: float) -> None:
    """Bytes and scales stand for ``exact``, to half a step and ``slack`` times each row's largest magnitude."""
    magnitude = exact.abs().amax(1, keepdim=True)
    torch.testing.assert_close(scale[:, None] * levels.count, magnitude, rtol=2 * slack + 1e-5, atol=1e-6)
    found = (out.float() - levels.zero) * scale[:, None]
    assert (found - exact).abs().le(0.501 * scale[:, None] + slack * magnitude + 1e-6).all()
    assert (out.long() - levels.zero).abs().max() <= levels.count


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("levels", [EIGHT_BIT, SEVEN_BIT], ids=["8-bit", "7-bit"])
@pytest.mark.parametrize("rows", [1, 13])
def test_add_norm_quantize(kind: str, levels: Levels, rows: int) -> None:
    """x += y * scale; RMSNorm; round. A row of zeros stays zeros."""
    kernels = make_kernels(kind, levels)
    x, y, y_scale, weight = random(rows, 96), random(rows, 96, seed=1), random(rows, seed=2).abs(), random(96, seed=3)
    x[rows // 2] = y[rows // 2] = 0
    out, scale = torch.empty(rows, 96, dtype=torch.uint8), torch.empty(rows)
    expected = x.clone()
    kernels.add_norm_quantize(x, None, weight, out, scale)
    assert torch.equal(x, expected)
    assert_rounded(out, scale, rms_norm(expected, weight, 1e-5), levels, 1e-6)
    expected += y * y_scale[:, None]
    kernels.add_norm_quantize(x, (y, y_scale), weight, out, scale)
    torch.testing.assert_close(x, expected)
    assert_rounded(out, scale, rms_norm(expected, weight, 1e-5), levels, 1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("levels", [EIGHT_BIT, SEVEN_BIT], ids=["8-bit", "7-bit"])
@pytest.mark.parametrize("size", [1.0, 60.0])
def test_silu_quantize(kind: str, levels: Levels, size: float) -> None:
    """SiLU(gate) * up; round. Large magnitudes neither overflow nor vanish wrongly."""
    kernels = make_kernels(kind, levels)
    gate_up, scale = random(9, 320) * size, random(9, seed=1).abs() + 0.1
    gate, up = (gate_up * scale[:, None]).chunk(2, 1)
    exact = torch.nn.functional.silu(gate) * up
    out, out_scale = torch.empty(9, 160, dtype=torch.uint8), torch.empty(9)
    kernels.silu_quantize(gate_up, scale, out, out_scale)
    assert_rounded(out, out_scale, exact, levels, 1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("heads", "kv_heads", "dim"), [(6, 2, 64), (4, 4, 16), (4, 1, 80), (7, 1, 128), (2, 1, 256)])
def test_attention(kind: str, heads: int, kv_heads: int, dim: int) -> None:
    """Rotary, paging, grouped heads and softmax equal a float32 computation, in passes over two sequences at once."""
    kernels = make_kernels(kind, EIGHT_BIT, heads, kv_heads, dim)
    config = ModelConfig("llama", 64, 96, 1, heads, kv_heads, dim, 160, 1280)
    width = (heads + 2 * kv_heads) * dim
    lengths, passes = (531, 18), ((300, 1), (1, 16), (230, 1))
    order = torch.randperm(BLOCKS, generator=torch.Generator().manual_seed(5)).tolist()
    tables = [order[:34], order[34:36]]
    rows = [random(length, width, seed=i) for i, length in enumerate(lengths)]
    expected = [attention(config, values) for values in rows]
    done = [0, 0]
    for counts in passes:
        slices, parts, exact = [], [], []
        for s, count in enumerate(counts):
            slices.append(SequenceSlice(sum(len(part) for part in parts), count, done[s], tables[s]))
            parts.append(rows[s][done[s] : done[s] + count])
            exact.append(expected[s][done[s] : done[s] + count])
            done[s] += count
        qkv = torch.cat(parts)
        scale = torch.linspace(0.5, 2.0, len(qkv))
        out, out_scale = torch.empty(len(qkv), heads * dim, dtype=torch.uint8), torch.empty(len(qkv))
        kernels.begin(PassPlan(slices, len(qkv)))
        kernels.attention(0, qkv / scale[:, None], scale, out, out_scale)
        assert_rounded(out, out_scale, torch.cat(exact), EIGHT_BIT, 0.02)


def attention(config: ModelConfig, qkv: torch.Tensor) -> torch.Tensor:
    """Causal attention of one whole sequence in float32."""
    rows = len(qkv)
    cos, sin = rotary_table(config, rows)
    heads = qkv.view(rows, -1, config.head_dim)
    query, key, value = heads.split([config.num_heads, config.num_kv_heads, config.num_kv_heads], dim=1)
    sides = [tensor.transpose(0, 1)[None] for tensor in (rotate(query, cos, sin), rotate(key, cos, sin), value)]
    result = torch.nn.functional.scaled_dot_product_attention(*sides, is_causal=True, enable_gqa=True)
    return result[0].transpose(0, 1).reshape(rows, -1)


@pytest.mark.parametrize("kind", KINDS)
def test_attention_of_a_row_does_not_depend_on_its_pass(kind: str) -> None:
    """Each row alone gives the bytes that all rows together give, over three partitions of keys."""
    rows = random(600, 640)
    results = []
    for size in (600, 1, 9):
        kernels = make_kernels(kind)
        outs, scales = [], []
        for start in range(0, 600, size):
            qkv = rows[start : start + size].clone()
            out, scale = torch.empty(len(qkv), 384, dtype=torch.uint8), torch.empty(len(qkv))
            kernels.begin(PassPlan([SequenceSlice(0, len(qkv), start, list(range(38)))], len(qkv)))
            kernels.attention(0, qkv, torch.ones(len(qkv)), out, scale)
            outs.append(out)
            scales.append(scale)
        results.append((torch.cat(outs), torch.cat(scales)))
    for out, scale in results[1:]:
        assert torch.equal(out, results[0][0])
        assert torch.equal(scale, results[0][1])
