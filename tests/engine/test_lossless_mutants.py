"""The property of test_lossless_scenarios.py is worth something: it fails when any of what it rests on is broken.

The scenarios here are the first of those there, which show no difference when nothing is broken.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from warmline.engine import BLOCK_SIZE
from warmline.engine.kernels.cpu import NativeKernels, TorchKernels, build, library
from warmline.engine.machine import find_compiler

from tools.invariance.play import Stage, thread_count
from tools.invariance.worlds import tiny_world

pytestmark = pytest.mark.lossless

WORLDS = (0, 1, 2)
LONG = (14, 24, 34)
"""Worlds in which sequences of three partitions of keys are beside others of four."""
SCENARIOS = 40
Kernels = NativeKernels | TorchKernels


def differs(kernels: str = "auto", worlds: Sequence[int] = WORLDS) -> bool:
    """Whether some request comes out otherwise than alone, in at most so many scenarios a world."""
    with thread_count(1):
        for seed in worlds:
            stage = Stage(tiny_world(seed, kernels), seed, 12, threaded=0)
            if any(stage.play(number).differences for number in range(SCENARIOS)):
                return True
    return False


def accepting_everything(draft: list[int], target: Callable[[int], int]) -> list[int]:
    """The whole draft is emitted."""
    return [*draft, target(len(draft))]


def accepting_the_wrong_token(draft: list[int], target: Callable[[int], int]) -> list[int]:
    """The first wrong draft token is emitted in place of the target's."""
    for index, guess in enumerate(draft):
        if target(index) != guess:
            return draft[: index + 1]
    return [*draft, target(len(draft))]


def going_on_behind_a_wrong_token(draft: list[int], target: Callable[[int], int]) -> list[int]:
    """Behind a rejected token it goes on with the next row, which was computed from that token."""
    emitted: list[int] = []
    for index, guess in enumerate(draft):
        emitted.append(target(index))
        if emitted[-1] != guess:
            return [*emitted, target(index + 1)]
    return [*emitted, target(len(draft))]


@pytest.mark.parametrize("broken", [accepting_everything, accepting_the_wrong_token, going_on_behind_a_wrong_token])
def test_a_broken_verification_is_noticed(monkeypatch: pytest.MonkeyPatch, broken: Callable[..., list[int]]) -> None:
    """A draft token that is not the model's stands."""
    monkeypatch.setattr("warmline.engine.core.verify", broken)
    assert differs()


@pytest.mark.parametrize("part", [slice(0, 8), slice(8, 16)], ids=["first half", "second half"])
def test_a_prefix_cache_that_looks_at_half_a_block_is_noticed(monkeypatch: pytest.MonkeyPatch, part: slice) -> None:
    """Blocks that are alike in part are taken for each other."""

    def half(tokens: Sequence[int], index: int) -> tuple[int, ...]:
        return tuple(tokens[index * BLOCK_SIZE : (index + 1) * BLOCK_SIZE][part])

    monkeypatch.setattr("warmline.engine.kv_cache._key", half)
    monkeypatch.setattr("warmline.engine.kv_cache.KVCache.check_integrity", lambda *_: None)  # it notices, too
    assert differs()


def requantize(out: torch.Tensor, scale: torch.Tensor, zero: int) -> None:
    """Quantised rows with one scale for all of them, the largest."""
    values = (out.float() - zero) * scale[:, None]
    scale[:] = scale.max()
    out.copy_((values / scale.clamp_min(1e-30)[:, None]).round_() + zero)


@pytest.mark.parametrize("place", ["add_norm_quantize", "attention", "silu_quantize"])
@pytest.mark.parametrize("kernels", ["auto", "torch"])
def test_activation_scales_of_the_batch_are_noticed(
    monkeypatch: pytest.MonkeyPatch, place: str, kernels: str
) -> None:
    """The activations before one of the products have a scale for the pass in place of one for each row."""
    for kind in (NativeKernels, TorchKernels):
        original = getattr(kind, place)

        def broken(self: Kernels, *arguments: Any, original: Any = original) -> None:
            original(self, *arguments)
            levels = self._levels
            requantize(*arguments[-2:], zero=(levels if isinstance(levels, int) else levels.count) + 1)

        monkeypatch.setattr(kind, place, broken)
    assert differs(kernels)


def test_an_order_of_attention_that_depends_on_the_pass_is_noticed_in_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Key tiles are summed from the last to the first where few rows share the pass."""
    original = TorchKernels._attend_tile

    def backwards(
        self: TorchKernels, queries: torch.Tensor, lengths: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
    ) -> torch.Tensor:
        tiles = -(-int(lengths[-1]) // 64)
        if queries.shape[1] >= 16 or int(lengths[0]) <= (tiles - 1) * 64:
            return original(self, queries, lengths, keys, values)
        whole = keys[:, :tiles], values[:, :tiles]
        # Whole tiles may come in any order; the last one has masked keys, and stays.
        order = [*reversed(range(tiles - 1)), tiles - 1]
        return original(self, queries, lengths, *(part[:, order] for part in whole))

    monkeypatch.setattr(TorchKernels, "_attend_tile", backwards)
    assert differs("torch")


SHORT_PARTITIONS = ("attention.h", "constexpr int PARTITION = 256;", "constexpr int PARTITION = 64;")
JOINED_BACKWARDS = (
    "attention.cpp",
    "const float* partial = work.partial(row, head, part);",
    "const float* partial = work.partial(row, head, work.parts > parts ? parts - 1 - part : part);",
)
SUMMED_BACKWARDS = (
    "attend.cpp",
    "for (int j = 0; j < columns; j += 2) {\n        const Bf16* from_pair",
    "for (int k = 0; k < columns; k += 2) {\n        const int j = COUNT < TILE ? columns - 2 - k : k;\n"
    "        const Bf16* from_pair",
)


@pytest.fixture
def native_differs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., bool]:
    """`differs` for kernels compiled from sources with some lines replaced."""
    if find_compiler() is None:
        pytest.skip("there is no compiler")

    def run(*replacements: tuple[str, str, str], worlds: Sequence[int] = WORLDS) -> bool:
        sources = tmp_path / "sources"
        shutil.copytree(build.SOURCES, sources, ignore=shutil.ignore_patterns("__pycache__"))
        for name, line, replacement in replacements:
            text = (sources / name).read_text()
            assert text.count(line) == 1
            (sources / name).write_text(text.replace(line, replacement))
        monkeypatch.setattr(build, "SOURCES", sources)
        functions = library._open(build.find_recipe().compile(tmp_path / "kernels.so"))
        mutant = library.NativeLibrary(functions, "a mutant", kept=False)
        monkeypatch.setattr("warmline.engine.kernels.cpu.load_library", lambda: mutant)
        return differs("native", worlds)

    return run


def test_values_in_an_order_that_depends_on_the_tile_are_noticed(native_differs: Callable[..., bool]) -> None:
    """Where few queries share a tile, values are summed from the last key to the first."""
    assert native_differs(SUMMED_BACKWARDS)


@pytest.mark.parametrize(
    ("replaced", "worlds"),
    [((JOINED_BACKWARDS,), LONG), ((SHORT_PARTITIONS, JOINED_BACKWARDS), WORLDS)],
    ids=["of 256 keys", "of 64 keys"],
)
def test_partitions_in_an_order_that_depends_on_the_pass_are_noticed(
    native_differs: Callable[..., bool], replaced: Sequence[tuple[str, str, str]], worlds: Sequence[int]
) -> None:
    """Partitions of keys are joined from the last to the first beside a longer sequence."""
    assert native_differs(*replaced, worlds=worlds)


def test_another_order_that_is_always_the_same_is_no_difference(native_differs: Callable[..., bool]) -> None:
    """The two above are noticed because their order depends on the pass: shorter partitions alone are not."""
    assert not native_differs(SHORT_PARTITIONS, worlds=(*WORLDS, LONG[0]))
