"""What scenarios are played on: a model on the cpu backend, and the texts that its prompts are cut from."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Final

import warmline.engine.backends  # noqa: F401 isort: skip  (before torch: see its openmp module)
import torch
from warmline.engine.backends.base import Backend
from warmline.engine.backends.calibration import CALIBRATION_TEXT
from warmline.engine.backends.cpu import CpuBackend
from warmline.engine.backends.rounded import round_model
from warmline.engine.batch import Batch
from warmline.engine.core import TokenText
from warmline.engine.loading.model import load_model
from warmline.engine.loading.tokenizer_loader import load_tokenizer
from warmline.engine.models.config import ModelConfig
from warmline.engine.models.llama import LayerWeights, ModelWeights, layer_shapes

LONGEST_PROMPT: Final = 512
"""Tokens of a prompt at most, but in every tenth tiny world."""
LONGER_PROMPT: Final = 800
"""In these. Keys are attended to in partitions of 256, and it takes three for an order to show in their sum (where a
product is rounded before it is added, as without AVX-512): there, sequences of three are beside others of four."""
LONGEST_OUTPUT: Final = 48
BLOCKS: Final = 256
"""Of a world's cache. An engine is given all of them or fewer."""
DRAFT_BLOCKS: Final = 96
_CONTEXT: Final = 1024
_DRAFT_LAYERS: Final = 3
"""Of the default model's layers, those that draft for it: right now and then, which is what is wanted here."""


@dataclass(frozen=True)
class World:
    """A model with its cache.

    Attributes:
        texts: as many tokens each as a prompt may have; prompts are beginnings of them.
        twins: the tokens 2n and 2n + 1 have the same logits, so that every greedy choice is a tie.
        drafting: a smaller model of the same vocabulary.
    """

    name: str
    backend: CpuBackend
    drafting: CpuBackend
    tokenizer: TokenText
    texts: Sequence[Sequence[int]]
    twins: bool = False

    @property
    def kernels(self) -> str:
        """ "native" or "torch"."""
        return self.backend.kernels.split()[0]


class PartOfCache(Backend):
    """A backend with fewer blocks than it has, so that one serves engines of all sizes."""

    def __init__(self, backend: CpuBackend, num_blocks: int) -> None:
        self.name, self.kernels, self.config = backend.name, backend.kernels, backend.config
        self.num_blocks = num_blocks
        self._backend = backend

    def forward(self, batch: Batch, should_abort: Callable[[], bool] | None = None) -> torch.Tensor:
        """See `Backend.forward`."""
        return self._backend.forward(batch, should_abort)


class Letters:
    """A tokenizer whose token n, from 2 on, is one character; 0 ends a text."""

    eos_ids: frozenset[int] = frozenset({0})

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes of a token."""
        return chr(ord("A") + token_id - 2).encode() if token_id > 1 else b""


def has_long_prompts(seed: int) -> bool:
    """Whether the prompts of a tiny world have up to `LONGER_PROMPT` tokens."""
    return seed % 10 == 4


def tiny_world(seed: int, kernels: str = "auto") -> World:
    """A random model of a random shape, so small that a pass takes a fraction of a millisecond.

    ``kernels`` is what WARMLINE_KERNELS may say.

    Raises:
        EngineError: such kernels can't be had.

    """
    random = Random(f"world {seed}")
    kv_heads, group = random.choice([1, 2]), random.choice([1, 2, 3])
    config = ModelConfig(
        architecture="llama",
        vocab_size=random.choice([64, 96, 160]),
        hidden_size=random.choice([32, 48, 64]),
        num_layers=random.choice([1, 1, 2]),
        num_heads=kv_heads * group,
        num_kv_heads=kv_heads,
        head_dim=random.choice([16, 32, 80]),
        ffn_size=random.choice([48, 96]),
        context_length=_CONTEXT,
    )
    twins = seed % 4 == 3
    weights = _random_weights(config, seed, twins)
    longest = LONGER_PROMPT if has_long_prompts(seed) else LONGEST_PROMPT
    texts = [[random.randrange(2, config.vocab_size) for _ in range(longest)] for _ in range(3)]
    backend, drafting = (
        _backend(kernels, config, model, blocks)
        for model, blocks in ((weights, BLOCKS), (_almost(weights), DRAFT_BLOCKS))
    )
    return World(f"tiny {seed}", backend, drafting, Letters(), texts, twins)


def real_world(model: Path, texts: Sequence[str]) -> World:
    """A model file, and the tokens of real texts one after the other.

    Raises:
        ModelError: the model can't be read or run.

    """
    tokenizer = load_tokenizer(model)
    config, weights = load_model(model)
    tokens = tokenizer.encode("\n".join(texts))
    if len(tokens) < LONGEST_PROMPT:
        raise ValueError(f"the texts have only {len(tokens)} tokens")
    config = replace(config, context_length=min(config.context_length, 2 * _CONTEXT))
    calibration = tokenizer.encode_template(CALIBRATION_TEXT)
    backend = CpuBackend(config, round_model(config, weights, calibration), BLOCKS)
    first = replace(config, num_layers=_DRAFT_LAYERS)
    its_weights = ModelWeights(weights.embedding, weights.layers[:_DRAFT_LAYERS], weights.final_norm, weights.head)
    drafting = CpuBackend(first, round_model(first, its_weights, calibration), DRAFT_BLOCKS)
    starts = range(0, max(len(tokens) - LONGEST_PROMPT, 1), LONGEST_PROMPT)
    cut = [tokens[start : start + LONGEST_PROMPT] for start in starts][:12]
    return World(model.stem, backend, drafting, tokenizer, cut)


def _backend(kernels: str, config: ModelConfig, weights: ModelWeights, blocks: int) -> CpuBackend:
    before = os.environ.get("WARMLINE_KERNELS")
    os.environ["WARMLINE_KERNELS"] = kernels
    try:
        return CpuBackend(config, round_model(config, weights), blocks)
    finally:
        if before is None:
            del os.environ["WARMLINE_KERNELS"]
        else:
            os.environ["WARMLINE_KERNELS"] = before


def _random_weights(config: ModelConfig, seed: int, twins: bool) -> ModelWeights:
    generator = torch.Generator().manual_seed(seed)

    def random(*shape: int) -> torch.Tensor:
        values = torch.randn(shape, generator=generator)
        return 1 + 0.1 * values if len(shape) == 1 else values * (2.0 / shape[1] ** 0.5)

    layers = [
        LayerWeights(**{name: random(*shape) for name, shape in layer_shapes(config).items()})
        for _ in range(config.num_layers)
    ]
    head = random(config.vocab_size, config.hidden_size)
    if twins:
        head[1::2] = head[::2]
    return ModelWeights(random(config.vocab_size, config.hidden_size), layers, random(config.hidden_size), head)


def _almost(weights: ModelWeights) -> ModelWeights:
    """Weights that say nearly the same."""
    noise = torch.randn(weights.head.shape, generator=torch.Generator().manual_seed(1))
    return ModelWeights(weights.embedding, weights.layers, weights.final_norm, weights.head + 0.02 * noise)
