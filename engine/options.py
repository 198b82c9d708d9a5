"""How an engine is set up."""

from __future__ import annotations

from typing import Literal

import msgspec


class EngineOptions(msgspec.Struct, frozen=True):
    """What `warmline serve` hands to its engine process. Memory is in bytes."""

    model: str
    """The path of a GGUF file or of a folder with safetensors files."""
    model_name: str = ""
    adapter: str | None = None
    backend: Literal["auto", "cpu", "reference"] = "auto"
    threads: int | None = None
    kv_memory: int = 1 << 30
    draft_model: str | None = None
    """The path of a smaller model with the same vocabulary, to draft with. It has a quarter of ``kv_memory`` more."""
