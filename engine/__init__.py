"""Warmline's engine: paged KV, continuous batching and lossless speculation behind `EngineHandle`.

Importing this package does not import torch; only the engine process does.
"""

from .batch import BLOCK_SIZE
from .benchmarks import (
    PLAYER_COMMAND,
    PLAYER_PARTS,
    Copying,
    EditReplay,
    PlanCopies,
    PlayerReadings,
    Progress,
    about_machine,
    recorded_tokens,
    run_edits_benchmark,
    run_engine_benchmark,
    run_fresh_benchmark,
    run_sampling_benchmark,
)
from .errors import EngineError, ModelError
from .handle import EngineHandle, OnEvent
from .loading.catalog import CATALOG, DEFAULT_MODEL, fetch_model, resolve_adapter, resolve_model
from .loading.tokenizer import Tokenizer
from .loading.tokenizer_loader import load_tokenizer
from .local import LocalEngine
from .machine import Machine, find_compiler, this_machine
from .messages import (
    FREE_SECONDS,
    GAP_SECONDS,
    CancelRequest,
    DraftCount,
    EngineStats,
    Finished,
    FinishReason,
    GenerationRequest,
    ModelInfo,
    PauseRequest,
    SamplingParams,
    SequenceEvent,
    TokenLogprobs,
    WarmRequest,
    pack_tokens,
    unpack_tokens,
)
from .offline import OfflineEngine
from .options import EngineOptions
from .probe import probe_cpu_backend
from .report_tables import print_table, table_console

__all__ = [
    "BLOCK_SIZE",
    "CATALOG",
    "DEFAULT_MODEL",
    "FREE_SECONDS",
    "GAP_SECONDS",
    "PLAYER_COMMAND",
    "PLAYER_PARTS",
    "CancelRequest",
    "Copying",
    "DraftCount",
    "EditReplay",
    "EngineError",
    "EngineHandle",
    "EngineOptions",
    "EngineStats",
    "FinishReason",
    "Finished",
    "GenerationRequest",
    "LocalEngine",
    "Machine",
    "ModelError",
    "ModelInfo",
    "OfflineEngine",
    "OnEvent",
    "PauseRequest",
    "PlanCopies",
    "PlayerReadings",
    "Progress",
    "SamplingParams",
    "SequenceEvent",
    "TokenLogprobs",
    "Tokenizer",
    "WarmRequest",
    "about_machine",
    "fetch_model",
    "find_compiler",
    "load_tokenizer",
    "pack_tokens",
    "print_table",
    "probe_cpu_backend",
    "recorded_tokens",
    "resolve_adapter",
    "resolve_model",
    "run_edits_benchmark",
    "run_engine_benchmark",
    "run_fresh_benchmark",
    "run_sampling_benchmark",
    "table_console",
    "this_machine",
    "unpack_tokens",
]
