"""Load a model and pick what runs it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import torch

from ..errors import ModelError
from ..loading.adapter import merge_adapter
from ..loading.model import load_model
from ..loading.tokenizer import Tokenizer, load_tokenizer
from ..models.config import ModelConfig
from ..options import EngineOptions
from .base import BLOCK_SIZE, Backend
from .calibration import CALIBRATION_TEXT
from .cpu import CpuBackend, unsupported
from .reference import ReferenceBackend

BYTES_OF_NUMBER: Final = {"reference": 4, "cpu": 2}
"""Bytes of one number of the KV cache."""


def available_threads() -> int:
    """The cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def create_backend(options: EngineOptions) -> tuple[Backend, Tokenizer]:
    """Load the model (with the adapter merged in) and build what runs it. Sets torch's thread count.

    Raises:
        ModelError: the model, its tokenizer or the adapter can't be read or run, or the KV memory is too small.
        EngineError: WARMLINE_KERNELS asks for what can't be had.

    """
    torch.set_num_threads(options.threads or available_threads())
    tokenizer = load_tokenizer(options.model)
    config, weights = load_model(options.model)
    if tokenizer.vocab_size > config.vocab_size:
        raise ModelError(
            f"{options.model}: the tokenizer has {tokenizer.vocab_size} tokens and the model {config.vocab_size}; "
            f"they don't belong together"
        )
    if options.adapter is not None:
        merge_adapter(config, weights, Path(options.adapter))
    problem = unsupported(config)
    choice = options.backend
    if choice == "auto":
        choice = "cpu" if problem is None else "reference"
    num_blocks = _num_blocks(config, options.kv_memory, BYTES_OF_NUMBER[choice])
    if choice == "cpu":
        return CpuBackend(config, weights, num_blocks, tokenizer.encode_template(CALIBRATION_TEXT)), tokenizer
    backend = ReferenceBackend(config, weights, num_blocks)
    if options.backend == "auto":
        backend.kernels += f" (slow; not cpu: {problem})"
    return backend, tokenizer


def _num_blocks(config: ModelConfig, kv_memory: int, number_bytes: int) -> int:
    block = 2 * config.num_layers * config.num_kv_heads * config.head_dim * number_bytes * BLOCK_SIZE
    if kv_memory < block:
        raise ModelError(f"a KV memory of {kv_memory} bytes holds no block of {BLOCK_SIZE} tokens ({block} bytes)")
    return kv_memory // block
