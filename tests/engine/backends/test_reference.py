"""The reference backend computes what Hugging Face transformers computes."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LlamaForCausalLM
from warmline.engine.backends.base import PassAborted
from warmline.engine.backends.reference import ReferenceBackend
from warmline.engine.batch import Batch, SequenceSlice
from warmline.engine.loading.model import load_model

Make = Callable[..., Any]


def whole_pass(backend: Any, tokens: list[int], blocks: list[int] | None = None) -> torch.Tensor:
    """Logits of all tokens of one sequence."""
    table = blocks or list(range(-(-len(tokens) // 16)))
    return backend.forward(Batch(tokens, [SequenceSlice(0, len(tokens), 0, table)], list(range(len(tokens)))))


@pytest.mark.parametrize("tie", [False, True])
def test_logits_equal_those_of_transformers(
    tmp_path: Path, make_tiny_model: Make, write_tiny_folder: Make, tie: bool
) -> None:
    """On a random model, loaded from its folder, the largest difference of logits is below 1e-3."""
    folder = write_tiny_folder(tmp_path, *make_tiny_model(seed=5, tie_embeddings=tie, rope_theta=500.0))
    tokens = [(7 * i * i) % 320 for i in range(100)]
    model = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32)
    with torch.inference_mode():
        expected = model(torch.tensor([tokens])).logits[0]
    found = whole_pass(ReferenceBackend(*load_model(folder), num_blocks=8), tokens, [6, 2, 5, 0, 7, 1, 3])
    assert expected.std() > 0.5, "a flat model would prove nothing"
    assert (found - expected).abs().max() < 1e-3


def test_abort_is_asked_between_layers(make_tiny_model: Make) -> None:
    """A pass is given up at the layer where it is told to."""
    backend = ReferenceBackend(*make_tiny_model(num_layers=3), num_blocks=2)
    answers = iter([False, False, True])
    batch = Batch([1, 2], [SequenceSlice(0, 2, 0, [1])], [1])
    with pytest.raises(PassAborted):
        backend.forward(batch, lambda: next(answers))
    assert next(answers, None) is None


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (Batch([1], [SequenceSlice(0, 1, 16, [0])]), "1 blocks don't hold 17"),
        (Batch([1], [SequenceSlice(0, 1, 0, [9])]), "block 9 is not one of 4"),
        (Batch([1], [SequenceSlice(0, 1, 0, array("i", [4]))]), "block 4 is not one of 4"),
        (Batch([1, 1], [SequenceSlice(0, 1, 0, [0]), SequenceSlice(1, 1, 0, [1, -1])]), "block -1 is not one of 4"),
        (Batch([1], [SequenceSlice(0, 1, 0, [2**40])]), "a block is not one of 4"),
        (Batch([1], [SequenceSlice(0, 1, 64, [0, 1, 2, 3, 0])]), "within 0 to 64"),
        (Batch([1], [SequenceSlice(0, 1, -1, [0])]), "positions -1"),
        (Batch([1, 2], [SequenceSlice(0, 1, 0, [0])]), "cover 1 rows of 2"),
        (Batch([320], [SequenceSlice(0, 1, 0, [0])]), "vocabulary of 320"),
        (Batch([1], [SequenceSlice(0, 1, 0, [0])], [1]), "a row beyond 1"),
        (Batch([], []), "0 rows"),
    ],
)
def test_a_batch_outside_the_cache_is_refused(make_tiny_model: Make, batch: Batch, message: str) -> None:
    """A batch that would read or write elsewhere raises before anything is computed."""
    with pytest.raises(ValueError, match=message):
        ReferenceBackend(*make_tiny_model(), num_blocks=4).forward(batch)
