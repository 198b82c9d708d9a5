"""The seam between the engine and what computes: one forward pass over rows of several sequences."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import torch

from ..batch import Batch
from ..models.config import ModelConfig


class PassAborted(Exception):
    """The pass was given up between layers. The keys and values of its rows are undefined."""


class Backend(ABC):
    """Runs a model over paged keys and values that it owns.

    Attributes:
        name: "reference" or "cpu".
        kernels: which implementation was chosen and why, for people.
        config: the model's shape.
        num_blocks: how many blocks of `BLOCK_SIZE` tokens it holds.
        weight_bytes, kv_bytes: the size of one number of its weights, and of its keys and values.
    """

    name: str
    weight_bytes: ClassVar[int]
    kv_bytes: ClassVar[int]
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
