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

    def __post_init__(self) -> None:
        """Refuse a shape that can't be computed.

        Raises:
            ValueError: naming the field that is wrong.

        """
        for field in (
            "vocab_size",
            "hidden_size",
            "num_layers",
            "num_heads",
            "num_kv_heads",
            "head_dim",
            "ffn_size",
            "context_length",
        ):
            if getattr(self, field) < 1:
                raise ValueError(f"{field} is {getattr(self, field)}")
        if self.num_heads % self.num_kv_heads:
            raise ValueError(f"{self.num_heads} heads can't share {self.num_kv_heads} key heads evenly")
        if self.head_dim % 2:
            raise ValueError(f"head_dim {self.head_dim} is odd")

    @property
    def kv_numbers(self) -> int:
        """How many numbers the keys and values of one token are."""
        return 2 * self.num_layers * self.num_kv_heads * self.head_dim
