"""A row's logits are the same bits in whatever passes, blocks and company it is computed, on any thread count."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from warmline.engine.backends.base import Backend
from warmline.engine.backends.cpu import CpuBackend
from warmline.engine.backends.reference import ReferenceBackend
from warmline.engine.backends.rounded import round_model
from warmline.engine.batch import BLOCK_SIZE, Batch, SequenceSlice
from warmline.engine.loading.model import load_model
from warmline.engine.loading.tokenizer_loader import load_tokenizer

pytestmark = pytest.mark.lossless

Make = Callable[..., Any]
BLOCKS = 320


@pytest.fixture(autouse=True)
def restore_threads() -> Iterator[None]:
    """Tests here change torch's thread count."""
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module", params=["native", "torch", "reference"])
def tiny(request: pytest.FixtureRequest, make_tiny_model: Make) -> Backend:
    """A tiny model with each kind of kernels. Its heads are as uneven as the default model's (3 to a key head)."""
    config, weights = make_tiny_model(num_heads=6, num_kv_heads=2, head_dim=32, hidden_size=96, ffn_size=160)
    return build(request.param, config, weights)


def build(kind: str, config: Any, weights: Any, **arguments: Any) -> Backend:
    """A backend with the wished kernels."""
    if kind == "reference":
        return ReferenceBackend(config, weights, BLOCKS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WARMLINE_KERNELS", kind)
        return CpuBackend(config, round_model(config, weights, **arguments), BLOCKS)


def in_passes(backend: Backend, tokens: list[int], sizes: list[int], table: list[int]) -> torch.Tensor:
    """All logits of a sequence that is computed in passes of the given sizes, again and again."""
    parts, position = [], 0
    while position < len(tokens):
        rows = tokens[position : position + sizes[len(parts) % len(sizes)]]
        piece = SequenceSlice(0, len(rows), position, table)
        parts.append(backend.forward(Batch(rows, [piece], list(range(len(rows))))))
        position += len(rows)
    return torch.cat(parts)


def sequence(length: int, seed: int = 1) -> list[int]:
    """Token ids without a pattern."""
    return torch.randint(0, 320, (length,), generator=torch.Generator().manual_seed(seed)).tolist()


@pytest.mark.parametrize("size", [1, 7, 32])
def test_rows_do_not_depend_on_the_size_of_passes(tiny: Backend, size: int) -> None:
    """Passes of 1, 7 and 32 rows give the bits of one whole pass, past partitions of keys too."""
    # Four partitions of keys. Three may be joined in several orders; two in any, as long as no product is fused with
    # an addition, which is so without AVX-512.
    tokens = sequence(800)
    straight, scattered = list(range(50)), [(13 * i + 5) % BLOCKS for i in range(50)]
    whole = in_passes(tiny, tokens, [len(tokens)], straight)
    assert torch.equal(in_passes(tiny, tokens, [size], scattered), whole)


def test_rows_do_not_depend_on_the_thread_count(tiny: Backend) -> None:
    """One thread and two give the same bits."""
    tokens, table = sequence(120), list(range(8))
    results = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        results += [in_passes(tiny, tokens, [len(tokens)], table), in_passes(tiny, tokens, [50, 1, 9], table)]
    assert all(torch.equal(result, results[0]) for result in results)


@settings(max_examples=12, deadline=None)
@given(
    lengths=st.lists(st.one_of(st.integers(1, 60), st.integers(1, 900)), min_size=1, max_size=5),
    uncached=st.lists(st.one_of(st.just(1), st.integers(1, 60)), min_size=5, max_size=5),
    order=st.integers(0, 2**32),
)
@example(lengths=[400, 900, 700, 20], uncached=[60, 1, 60, 20, 1], order=0)  # of two, four, three and one partition
def test_rows_do_not_depend_on_the_sequences_beside_them(
    tiny: Backend, lengths: list[int], uncached: list[int], order: int
) -> None:
    """Sequences in one batch, each but for its last rows already in the cache, get the bits they get alone."""
    if isinstance(tiny, ReferenceBackend):  # it has no partitions, and takes long
        lengths = [min(length, 60) for length in lengths]
    alone, slices, rows, free = [], [], [], Random(order).sample(range(BLOCKS), BLOCKS)
    for seed, (length, last) in enumerate(zip(lengths, uncached, strict=False)):
        tokens, cached = sequence(length, seed), max(length - last, 0)
        table = [free.pop() for _ in range(-(-length // BLOCK_SIZE))]
        alone.append(in_passes(tiny, tokens, [length], table)[cached:])
        slices.append(SequenceSlice(len(rows), length - cached, cached, table))
        rows += tokens[cached:]
    together = tiny.forward(Batch(rows, slices, list(range(len(rows)))))
    assert torch.equal(together, torch.cat(alone))


def test_asking_for_fewer_logits_changes_none(tiny: Backend) -> None:
    """Logits of some rows are those of all rows at these places; asking for none gives none."""
    tokens, piece = sequence(40), SequenceSlice(0, 40, 0, [3, 1, 2])
    every = tiny.forward(Batch(tokens, [piece], list(range(40))))
    assert torch.equal(tiny.forward(Batch(tokens, [piece], [0, 17, 39])), every[[0, 17, 39]])
    assert tiny.forward(Batch(tokens, [piece], [])).shape == (0, 320)


def test_stale_cache_contents_do_not_show(tiny: Backend, make_tiny_model: Make) -> None:
    """What an earlier sequence left in a block, beyond the new one's end, changes nothing."""
    tokens, table = sequence(21), [8, 9]
    fresh = in_passes(tiny, tokens, [21], table)
    in_passes(tiny, sequence(32, seed=9), [32], table)
    assert torch.equal(in_passes(tiny, tokens, [21], table), fresh)


@pytest.mark.parametrize("kind", ["native", "torch"])
def test_the_default_model_is_invariant_too(default_model: Path, kind: str) -> None:
    """On the real model: passes of 1, 7, 32 and whole, one thread and two, alone and beside another."""
    text = Path(__file__).read_text()
    tokens = load_tokenizer(default_model).encode(text)[:100]
    backend = build(kind, *load_model(default_model), calibration=tokens)
    table = [40, 3, 17, 22, 9, 60, 1]
    whole = in_passes(backend, tokens, [100], table)
    for sizes in ([7], [32], [60, 1, 1, 1]):
        assert torch.equal(in_passes(backend, tokens, sizes, table), whole), sizes
    torch.set_num_threads(1)
    assert torch.equal(in_passes(backend, tokens, [33], table), whole)
    torch.set_num_threads(2)
    other = SequenceSlice(0, 30, 0, [50, 51])
    mine = SequenceSlice(30, 10, 90, table)
    both = backend.forward(Batch(tokens[:30] + tokens[90:], [other, mine], list(range(40))))
    assert torch.equal(both, torch.cat([whole[:30], whole[90:]]))
