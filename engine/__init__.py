"""Warmline's engine: paged KV, continuous batching and lossless speculation behind `EngineHandle`.

Importing this package does not import torch; only the engine process does.
"""

from .errors import EngineError, ModelError
from .handle import EngineHandle, OnEvent
from .loading.catalog import CATALOG, DEFAULT_MODEL, fetch_model, resolve_model
from .loading.tokenizer import Tokenizer, load_tokenizer
from .local import LocalEngine
from .messages import (
    CancelRequest,
    DraftCount,
    EngineStats,
    Finished,
    FinishReason,
    GenerationRequest,
    ModelInfo,
    SamplingParams,
    SequenceEvent,
    pack_tokens,
    unpack_tokens,
)
from .options import EngineOptions

__all__ = [
    "CATALOG",
    "DEFAULT_MODEL",
    "CancelRequest",
    "DraftCount",
    "EngineError",
    "EngineHandle",
    "EngineOptions",
    "EngineStats",
    "FinishReason",
    "Finished",
    "GenerationRequest",
    "LocalEngine",
    "ModelError",
    "ModelInfo",
    "OnEvent",
    "SamplingParams",
    "SequenceEvent",
    "Tokenizer",
    "fetch_model",
    "load_tokenizer",
    "pack_tokens",
    "resolve_model",
    "unpack_tokens",
]
