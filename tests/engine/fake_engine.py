"""A model without weights, and an engine process that runs it: ``python fake_engine.py FD OPTIONS``.

Its logits are a hash of all tokens up to a row, read back from the paged cache: a wrong block table, a block that
was freed too early or a rejected draft that stayed shows as a wrong token.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import numpy as np
import torch
from warmline.engine.backends.base import Backend, PassAborted
from warmline.engine.batch import BLOCK_SIZE, Batch
from warmline.engine.models.config import ModelConfig
from warmline.engine.options import EngineOptions

VOCABULARY = 64
END = 0
SPECIAL = 1


class FakeTokenizer:
    """Token n is the character n of a small alphabet, in which one emoji takes four tokens."""

    eos_ids = frozenset({END})

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes of a token."""
        if token_id in (END, SPECIAL):
            return b""
        if token_id < 6:
            return "🙂".encode()[token_id - 2 : token_id - 1]
        return bytes([(ord("A") + token_id - 6) % 128])

    def decode(self, tokens: Iterable[int]) -> str:
        """The text of tokens."""
        return b"".join(map(self.token_bytes, tokens)).decode("utf-8", "replace")


class FakeBackend(Backend):
    """Keeps a hash of (token, position) as key and value; attention is their sum.

    Attributes:
        passes: the number of rows of each pass that ran to its end.
        layers: how often ``should_abort`` is asked in a pass.
        layer_seconds: how long a layer takes.
        fail: raised by the next pass.
    """

    name = "fake"
    kernels = "none"

    def __init__(self, num_blocks: int = 64, context_length: int = 4096, layers: int = 1) -> None:
        self.config = ModelConfig("fake", VOCABULARY, 2, layers, 1, 1, 2, 2, context_length)
        self.num_blocks = num_blocks
        self.layer_seconds = 0.0
        self.fail: Exception | None = None
        self.passes: list[int] = []
        self._hashes = np.zeros(num_blocks * BLOCK_SIZE, dtype=np.uint64)

    def forward(self, batch: Batch, should_abort: Callable[[], bool] | None = None) -> torch.Tensor:
        """See `Backend.forward`."""
        if self.fail is not None:
            failure, self.fail = self.fail, None
            raise failure
        assert batch.token_ids and sorted(batch.logit_rows) == batch.logit_rows
        for part in batch.slices:  # garbage first: what a pass that is given up leaves
            self._hashes[self._slots(part.block_table, part.position, part.position + part.rows)] = 0xDEAD
        for _ in range(self.config.num_layers):
            if self.layer_seconds:
                time.sleep(self.layer_seconds)
            if should_abort is not None and should_abort():
                raise PassAborted
        wanted = set(batch.logit_rows)
        logits = []
        for part in batch.slices:
            rows = range(part.first_row, part.first_row + part.rows)
            slots = self._slots(part.block_table, part.position, part.position + part.rows)
            tokens = np.array(batch.token_ids[rows.start : rows.stop], dtype=np.uint64)
            positions = np.arange(part.position, part.position + part.rows, dtype=np.uint64)
            self._hashes[slots] = _mix(tokens * np.uint64(1 << 32) + positions)
            for row in rows:
                if row in wanted:
                    end = part.position + row - part.first_row + 1
                    logits.append(_logits(self._hashes[self._slots(part.block_table, 0, end)].sum()))
        self.passes.append(len(batch.token_ids))
        return torch.from_numpy(np.array(logits, dtype=np.float32).reshape(len(batch.logit_rows), VOCABULARY))

    def _slots(self, table: list[int], start: int, end: int) -> np.ndarray:
        positions = np.arange(start, end)
        return np.array(table, dtype=np.int64)[positions // BLOCK_SIZE] * BLOCK_SIZE + positions % BLOCK_SIZE


def _mix(x: np.ndarray) -> np.ndarray:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _logits(state: np.uint64) -> np.ndarray:
    row = _mix(np.arange(VOCABULARY, dtype=np.uint64) + _mix(np.full(1, state)))
    return (row >> np.uint64(40)).astype(np.float32) / np.float32(1 << 22)


def create(options: EngineOptions) -> tuple[Backend, FakeTokenizer]:
    """The backend that the model's name describes: ``slow`` takes 2 ms a layer."""
    if options.model == "broken":
        raise RuntimeError("this fake does not start")
    if options.model == "hanging":
        time.sleep(600)
    backend = FakeBackend(num_blocks=options.kv_memory // BLOCK_SIZE, context_length=1 << 20, layers=30)
    if options.model == "slow":
        backend.layer_seconds = 0.002
    return backend, FakeTokenizer()


if __name__ == "__main__":
    from warmline.engine.process import main

    main(create)
