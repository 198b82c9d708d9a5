"""What all tests share: the default model's file, tiny models, the edits to replay, and what operations mean."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

import warmline.engine.backends  # noqa: F401 isort: skip  (before torch: see its openmp module)
import torch
from warmline.engine.loading.catalog import fetch_model
from warmline.engine.models.config import ModelConfig
from warmline.engine.models.llama import LayerWeights, ModelWeights, layer_shapes

TinyModel = tuple[ModelConfig, ModelWeights]
MakeModel = Callable[..., TinyModel]


@dataclass(frozen=True)
class EditRecord:
    """One edit of `edits.jsonl`: a region before and after, with what stands above it."""

    id: str
    language: str
    instruction: str
    context: str
    before: str
    after: str


@pytest.fixture(scope="session")
def default_model() -> Path:
    """The default model's GGUF file, fetched on first use."""
    return fetch_model(quiet=True)


@pytest.fixture(scope="session")
def make_tiny_model() -> MakeModel:
    """A factory of random Llama models: ``make_tiny_model(seed=0, **fields of ModelConfig)``."""

    def make(seed: int = 0, **changes: int | float | bool | str) -> TinyModel:
        fields = {
            "architecture": "llama", "vocab_size": 320, "hidden_size": 64, "num_layers": 2, "num_heads": 4,
            "num_kv_heads": 2, "head_dim": 16, "ffn_size": 128, "context_length": 1024,
        }  # fmt: skip
        config = ModelConfig(**(fields | changes))  # type: ignore[arg-type]
        generator = torch.Generator().manual_seed(seed)

        def random(*shape: int) -> torch.Tensor:
            if len(shape) == 1:
                return 1 + 0.1 * torch.randn(shape, generator=generator)
            return torch.randn(shape, generator=generator) * (2.0 / shape[1] ** 0.5)

        embedding = random(config.vocab_size, config.hidden_size)
        layers = [
            LayerWeights(**{name: random(*shape) for name, shape in layer_shapes(config).items()})
            for _ in range(config.num_layers)
        ]
        head = embedding if config.tie_embeddings else random(config.vocab_size, config.hidden_size)
        return config, ModelWeights(embedding, layers, random(config.hidden_size), head)

    return make


@pytest.fixture(scope="session")
def edit_records() -> list[EditRecord]:
    """The edits named by WARMLINE_EDITS, or the project's own."""
    path = Path(os.environ.get("WARMLINE_EDITS") or Path(__file__).parent / "data" / "edits.jsonl")
    return [msgspec.json.decode(line, type=EditRecord) for line in path.read_bytes().splitlines()]


@pytest.fixture(scope="session")
def apply_operations() -> Callable[[str, Iterable[int | str]], str]:
    """Apply keep / delete / insert operations to a text, by the letter of the protocol."""

    def apply_operations(text: str, operations: Iterable[int | str]) -> str:
        units = text.encode("utf-16-le")
        parts: list[bytes] = []
        at = 0
        for operation in operations:
            if isinstance(operation, str):
                parts.append(operation.encode("utf-16-le"))
                continue
            end = at + 2 * abs(operation)
            assert end <= len(units), "operations reach past the range"
            if operation > 0:
                parts.append(units[at:end])
            at = end
        return b"".join([*parts, units[at:]]).decode("utf-16-le")

    return apply_operations
