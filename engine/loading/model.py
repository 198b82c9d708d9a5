"""Load a model whatever its files."""

from __future__ import annotations

from pathlib import Path

from ..models.config import ModelConfig
from ..models.llama import ModelWeights
from .gguf import load_gguf
from .safetensors import load_safetensors


def load_model(path: Path | str) -> tuple[ModelConfig, ModelWeights]:
    """The shape and float32 weights of a GGUF file or of a safetensors folder.

    Raises:
        ModelError: it can't be read or run; the message says why.

    """
    path = Path(path)
    return load_safetensors(path) if path.is_dir() else load_gguf(path)
