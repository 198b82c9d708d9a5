"""Whether a backend can run a batch."""

from __future__ import annotations

import numpy as np

from ..batch import BLOCK_SIZE, Batch, join_tables
from ..models.config import ModelConfig


def max_positions(config: ModelConfig, num_blocks: int) -> int:
    """Tokens that one sequence can have at most."""
    return min(config.context_length, num_blocks * BLOCK_SIZE)


def check_batch(batch: Batch, config: ModelConfig, num_blocks: int) -> None:
    """Refuse a batch that would read or write outside the cache: the kernels themselves don't look.

    Raises:
        ValueError: slices don't cover the rows in order, or a token, position or block is out of range.

    """
    row, most = 0, max_positions(config, num_blocks)
    for piece in batch.slices:
        end = piece.length
        if piece.first_row != row or piece.rows < 1:
            raise ValueError(f"slice at row {piece.first_row} with {piece.rows} rows should start at row {row}")
        if piece.position < 0 or end > most:
            raise ValueError(f"positions {piece.position} to {end} are not all within 0 to {most}")
        if len(piece.block_table) * BLOCK_SIZE < end:
            raise ValueError(f"{len(piece.block_table)} blocks don't hold {end} tokens")
        row += piece.rows
    if row != len(batch.token_ids) or not row:
        raise ValueError(f"slices cover {row} rows of {len(batch.token_ids)}")
    _check_blocks(batch, num_blocks)
    if min(batch.token_ids) < 0 or max(batch.token_ids) >= config.vocab_size:
        raise ValueError(f"a token id is outside the vocabulary of {config.vocab_size}")
    if batch.logit_rows and not 0 <= min(batch.logit_rows) <= max(batch.logit_rows) < row:
        raise ValueError(f"logits are asked for a row beyond {row}")


def _check_blocks(batch: Batch, num_blocks: int) -> None:
    try:
        blocks = np.frombuffer(join_tables(batch.slices), np.intc)  # all at once: tables of long contexts are long
    except OverflowError as error:
        raise ValueError(f"a block is not one of {num_blocks}") from error
    for block in (int(blocks.min()), int(blocks.max())):
        if not 0 <= block < num_blocks:
            raise ValueError(f"block {block} is not one of {num_blocks}")
