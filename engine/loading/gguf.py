"""Load a Llama model from a GGUF file."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import torch

from ..errors import ModelError
from ..models.config import ModelConfig
from ..models.llama import LayerWeights, ModelWeights, layer_shapes
from .gguf_file import GgufFile
from .gguf_tensor import read_tensor, tensor_shape

LAYER_TENSORS: Final = {
    "attention_norm": "attn_norm",
    "query": "attn_q",
    "key": "attn_k",
    "value": "attn_v",
    "output": "attn_output",
    "ffn_norm": "ffn_norm",
    "gate": "ffn_gate",
    "up": "ffn_up",
    "down": "ffn_down",
}
"""The name in the file of each field of `LayerWeights`."""


def load_gguf(path: Path) -> tuple[ModelConfig, ModelWeights]:
    """Read a model.

    Raises:
        ModelError: the file is damaged, or its architecture or quantisation can't be run; the message names it.

    """
    file = GgufFile(path)
    config = _config(file)
    _refuse_unknown_tensors(file, config)
    shapes = layer_shapes(config)
    layers = [
        LayerWeights(
            **{
                field: _tensor(file, f"blk.{index}.{name}.weight", shapes[field])
                for field, name in LAYER_TENSORS.items()
            }
        )
        for index in range(config.num_layers)
    ]
    for layer in layers:
        layer.query = _half_split(layer.query, config.num_heads)
        layer.key = _half_split(layer.key, config.num_kv_heads)
    table = (config.vocab_size, config.hidden_size)
    embedding = _tensor(file, "token_embd.weight", table)
    head = embedding if config.tie_embeddings else _tensor(file, "output.weight", table)
    return config, ModelWeights(embedding, layers, _tensor(file, "output_norm.weight", (config.hidden_size,)), head)


def _config(file: GgufFile) -> ModelConfig:
    architecture = file.require("general.architecture", str)
    if architecture != "llama":
        raise ModelError(f"{file.path} is of architecture {architecture}; only llama can be run")
    if file.get("llama.expert_count", int):
        raise ModelError(f"{file.path} is a mixture of experts (architecture llama with experts), which can't be run")
    scaling = file.get("llama.rope.scaling.type", str)
    if scaling not in (None, "none"):
        raise ModelError(f"{file.path} uses {scaling} rope scaling, which is not supported")
    hidden, heads = (file.require(f"llama.{key}", int) for key in ("embedding_length", "attention.head_count"))
    head_dim = file.get("llama.attention.key_length", int) or hidden // max(heads, 1)
    rotated = file.get("llama.rope.dimension_count", int) or head_dim
    if rotated != head_dim:
        raise ModelError(f"{file.path} rotates {rotated} of {head_dim} dimensions, which is not supported")
    if "token_embd.weight" not in file.tensors:
        raise ModelError(f"{file.path} has no tensor token_embd.weight: is it a split file or an adapter?")
    layers = file.require("llama.block_count", int)
    if layers > len(file.tensors):
        raise ModelError(f"{file.path} is damaged: {layers} layers in {len(file.tensors)} tensors")
    try:
        return ModelConfig(
            architecture=architecture,
            vocab_size=(tensor_shape(file, "token_embd.weight") or (0,))[0],
            hidden_size=hidden,
            num_layers=layers,
            num_heads=heads,
            num_kv_heads=file.get("llama.attention.head_count_kv", int) or heads,
            head_dim=head_dim,
            ffn_size=file.require("llama.feed_forward_length", int),
            context_length=file.require("llama.context_length", int),
            rope_theta=file.get("llama.rope.freq_base", float) or 10000.0,
            norm_eps=file.require("llama.attention.layer_norm_rms_epsilon", float),
            tie_embeddings="output.weight" not in file.tensors,
        )
    except ValueError as error:
        raise ModelError(f"{file.path} is damaged: {error}") from error


def _refuse_unknown_tensors(file: GgufFile, config: ModelConfig) -> None:
    """A tensor that would be left out (a bias, rope factors, another layer kind) means another arithmetic."""
    known = {"token_embd.weight", "output_norm.weight", "output.weight"}
    for index in range(config.num_layers):
        known.update(f"blk.{index}.{name}.weight" for name in LAYER_TENSORS.values())
    unknown = sorted(file.tensors.keys() - known)
    if unknown:
        raise ModelError(f"{file.path} has the tensor {unknown[0]}, which this Llama implementation doesn't know")


def _tensor(file: GgufFile, name: str, shape: tuple[int, ...]) -> torch.Tensor:
    found = tensor_shape(file, name)
    if found != shape:
        raise ModelError(f"{file.path} is damaged: {name} has shape {list(found)}, not {list(shape)}")
    return read_tensor(file, name)


def _half_split(weight: torch.Tensor, heads: int) -> torch.Tensor:
    """GGUF keeps the rows of q and k of architecture llama in interleaved rotary order: turn them into halves."""
    rows, columns = weight.shape
    pairs = weight.view(heads, rows // heads // 2, 2, columns)
    return pairs.transpose(1, 2).reshape(rows, columns)


def interleaved(weight: torch.Tensor, heads: int) -> torch.Tensor:
    """The rows of q and k in the order that GGUF keeps them in, from halves."""
    rows, columns = weight.shape
    halves = weight.view(heads, 2, rows // heads // 2, columns)
    return halves.transpose(1, 2).reshape(rows, columns)
