"""Load a model and pick what runs it."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import torch

from ..batch import BLOCK_SIZE
from ..errors import ModelError
from ..loading.adapter import merge_adapter
from ..loading.model import load_model
from ..loading.tokenizer import Tokenizer
from ..loading.tokenizer_loader import load_tokenizer
from ..machine import available_cores
from ..models.config import ModelConfig
from ..options import EngineOptions
from .base import Backend
from .calibration import CALIBRATION_TEXT
from .cpu import CpuBackend, cannot_run, unsupported
from .reference import ReferenceBackend
from .rounded import round_model
from .rounded_cache import Found, cache_key, find_rounded, keep_rounded

logger = logging.getLogger(__name__)


def create_backend(options: EngineOptions) -> tuple[Backend, Tokenizer]:
    """Load the model (with the adapter merged in) and build what runs it. Sets torch's thread count.

    Raises:
        ModelError: the model, its tokenizer or the adapter can't be read or run, or the KV memory is too small.
        EngineError: WARMLINE_KERNELS asks for what can't be had.

    """
    torch.set_num_threads(options.threads or available_cores())
    began = time.monotonic()
    tokenizer = load_tokenizer(options.model)
    if options.backend != "reference" and (kept := _kept(options)) is not None:
        config, rounded = kept
        _check_vocabulary(options.model, tokenizer, config)
        logger.info("rounded model of an earlier start read in %.1f s", time.monotonic() - began)
        return CpuBackend(config, rounded, _num_blocks(config, options.kv_memory, CpuBackend.kv_bytes)), tokenizer
    config, weights = load_model(options.model)
    _check_vocabulary(options.model, tokenizer, config)
    if options.adapter is not None:
        merge_adapter(config, weights, Path(options.adapter))
    problem = unsupported(config)
    choice = options.backend
    if choice == "auto":
        choice = "cpu" if problem is None else "reference"
    chosen = CpuBackend if choice == "cpu" else ReferenceBackend
    num_blocks = _num_blocks(config, options.kv_memory, chosen.kv_bytes)
    logger.info("model read in %.1f s; now its weights are packed for this machine", time.monotonic() - began)
    if choice == "cpu":
        if problem is not None:
            raise ModelError(cannot_run(problem))
        rounded = round_model(config, weights, tokenizer.encode_template(CALIBRATION_TEXT))
        keep_rounded(_key(options), config, rounded)
        return CpuBackend(config, rounded, num_blocks), tokenizer
    backend = ReferenceBackend(config, weights, num_blocks)
    if options.backend == "auto":
        backend.kernels += f" (slow; not cpu: {problem})"
    return backend, tokenizer


def _kept(options: EngineOptions) -> Found | None:
    """The rounded model of an earlier start, if it can be run here."""
    try:
        found = find_rounded(_key(options))
    except OSError:  # loading says what is wrong with the files
        return None
    return found if found is not None and unsupported(found[0]) is None else None


def _key(options: EngineOptions) -> str:
    return cache_key(Path(options.model), None if options.adapter is None else Path(options.adapter))


def _check_vocabulary(model: str, tokenizer: Tokenizer, config: ModelConfig) -> None:
    if tokenizer.vocab_size > config.vocab_size:
        raise ModelError(
            f"{model}: the tokenizer has {tokenizer.vocab_size} tokens and the model {config.vocab_size}; "
            f"they don't belong together"
        )


def _num_blocks(config: ModelConfig, kv_memory: int, kv_bytes: int) -> int:
    block = config.kv_numbers * kv_bytes * BLOCK_SIZE
    if kv_memory < block:
        raise ModelError(f"a KV memory of {kv_memory} bytes holds no block of {BLOCK_SIZE} tokens ({block} bytes)")
    return kv_memory // block
