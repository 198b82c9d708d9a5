"""The seam between the engine and what computes: one forward pass over rows of several sequences."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from ..models.config import ModelConfig

BLOCK_SIZE = 16
"""Tokens in a block of the paged KV cache."""


@dataclass(slots=True)
class SequenceSlice:
    """Consecutive rows of a batch that belong to one sequence.

    Row ``first_row + i`` is the token at ``position + i``. It attends to all positions up to its own; their keys
    and values lie in the blocks of ``block_table`` (position p in block ``block_table[p // BLOCK_SIZE]``), which
    already has room for the new rows.
    """

    first_row: int
    rows: int
    position: int
    block_table: list[int]


@dataclass(slots=True)
class Batch:
    """The input of one pass: ``token_ids`` of all rows, and the rows whose logits are wanted, ascending."""

    token_ids: list[int]
    slices: list[SequenceSlice]
    logit_rows: list[int] = field(default_factory=list)


class PassAborted(Exception):
    """The pass was given up between layers. The keys and values of its rows are undefined."""


class Backend(ABC):
    """Runs a model over paged keys and values that it owns.

    Attributes:
        name: "reference" or "cpu".
        kernels: which implementation was chosen and why, for people.
        config: the model's shape.
        num_blocks: how many blocks of `BLOCK_SIZE` tokens it holds.
    """

    name: str
    kernels: str
    config: ModelConfig
    num_blocks: int

    @abstractmethod
    def forward(self, batch: Batch, should_abort: Callable[[], bool] | None = None) -> torch.Tensor:
        """Compute one pass; write the rows' keys and values.

        ``should_abort`` is asked between layers.

        Returns: float32 logits, [len(batch.logit_rows), vocab_size].

        Raises: PassAborted.
        """
