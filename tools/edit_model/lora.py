"""Low-rank changes of a model's matrices (LoRA, arXiv 2106.09685): what is trained, merged and shipped."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from warmline.engine.loading.adapter import FIELDS  # a tool of the engine's own model: it may look inside
from warmline.engine.models.config import ModelConfig
from warmline.engine.models.llama import layer_shapes

MODULES: Final = {field: module for module, field in FIELDS.items()}
"""The adapter file's name of each matrix of a layer."""


class Lora:
    """Pairs A [rank, in] and B [out, rank] for every matrix of every layer; W becomes W + alpha / rank * B @ A."""

    def __init__(self, config: ModelConfig, rank: int, alpha: float, seed: int) -> None:
        """A is random as in the paper, B is zero: the start is the model as it was."""
        generator = torch.Generator().manual_seed(seed)
        shapes = layer_shapes(config)
        self.rank, self.alpha = rank, alpha
        self.layers: list[dict[str, tuple[torch.Tensor, torch.Tensor]]] = []
        for _ in range(config.num_layers):
            pairs = {}
            for field in MODULES:
                rows, columns = shapes[field]
                bound = 1 / math.sqrt(columns)
                a = torch.empty(rank, columns).uniform_(-bound, bound, generator=generator)
                pairs[field] = (a, torch.zeros(rows, rank))
            self.layers.append(pairs)

    @property
    def scale(self) -> float:
        """The factor of B @ A."""
        return self.alpha / self.rank

    def parameters(self) -> Iterator[torch.Tensor]:
        """All A and B, in a fixed order."""
        for pairs in self.layers:
            for pair in pairs.values():
                yield from pair

    def delta(self, layer: int, field: str) -> torch.Tensor:
        """What is added to a matrix, float32 [out, in]."""
        a, b = self.layers[layer][field]
        return self.scale * (b @ a)

    def save(self, path: Path, fill_marks: tuple[str, ...]) -> None:
        """Write an adapter file: int8 rows of A and columns of B, each with its float16 scale.

        ``fill_marks`` are the tokens it learns to fill in between, see `PromptBuilder`.
        """
        tensors: dict[str, torch.Tensor] = {}
        for index, pairs in enumerate(self.layers):
            for field, (a, b) in pairs.items():
                name = f"layers.{index}.{MODULES[field]}"
                for part, tensor, dim in (("A", a, 1), ("B", b, 0)):
                    # Not below float16's smallest number, or the scale of a matrix of zeros would be zero.
                    scale = (tensor.abs().amax(dim, keepdim=True) / 127).clamp_min(6e-8).half().float()
                    tensors[f"{name}.lora_{part}.weight"] = (
                        (tensor / scale).round_().clamp_(-127, 127).to(torch.int8).contiguous()
                    )
                    tensors[f"{name}.lora_{part}.scale"] = scale.half().flatten()
        metadata = {"r": str(self.rank), "lora_alpha": str(self.alpha), "fill_marks": " ".join(fill_marks)}
        save_file(tensors, path, metadata)

    def load(self, path: Path) -> None:
        """Take A and B from an adapter file of the same rank.

        Raises:
            ValueError: it is of another rank or shape.

        """
        with safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
            if int(metadata.get("r", self.rank)) != self.rank:
                raise ValueError(f"{path} has rank {metadata['r']}, not {self.rank}")
            self.alpha = float(metadata.get("lora_alpha", self.alpha))
            for index, pairs in enumerate(self.layers):
                for field, pair in pairs.items():
                    name = f"layers.{index}.{MODULES[field]}"
                    for part, tensor, dim in zip("AB", pair, (1, 0), strict=True):
                        stored = file.get_tensor(f"{name}.lora_{part}.weight").float()
                        if stored.shape != tensor.shape:
                            raise ValueError(f"{path}: {name} is {list(stored.shape)}, not {list(tensor.shape)}")
                        scale = file.get_tensor(f"{name}.lora_{part}.scale").float()
                        tensor.copy_(stored * scale.unsqueeze(dim))
