"""The shape of a model, whatever file it came from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """A decoder-only transformer of Llama's kind."""

    architecture: str
    vocab_size: int
    hidden_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    ffn_size: int
    context_length: int
    rope_theta: float = 10000.0
    norm_eps: float = 1e-5
    tie_embeddings: bool = False

    @property
    def kv_bytes_per_token(self) -> int:
        """Bytes of keys and values a token takes in 16-bit precision."""
        return 2 * 2 * self.num_layers * self.num_kv_heads * self.head_dim
