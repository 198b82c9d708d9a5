"""Load a Llama model from a folder in Hugging Face's layout: `config.json` and safetensors files."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import torch
from safetensors import SafetensorError, safe_open

from ..errors import ModelError
from ..models.config import ModelConfig
from ..models.llama import LayerWeights, ModelWeights, layer_shapes
from .json_file import read_json

LAYER_TENSORS: Final = {
    "attention_norm": "input_layernorm",
    "query": "self_attn.q_proj",
    "key": "self_attn.k_proj",
    "value": "self_attn.v_proj",
    "output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "gate": "mlp.gate_proj",
    "up": "mlp.up_proj",
    "down": "mlp.down_proj",
}
"""The name in the files of each field of `LayerWeights`."""


def load_safetensors(folder: Path) -> tuple[ModelConfig, ModelWeights]:
    """Read a model; its files may be one or several shards.

    Raises:
        ModelError: a file is missing or damaged, or the architecture can't be run; the message names it.

    """
    config = _config(folder)
    with ExitStack() as opened:
        files = _TensorFiles(folder, opened)
        shapes = layer_shapes(config)
        layers = [
            LayerWeights(
                **{
                    field: files.read(f"model.layers.{index}.{name}.weight", shapes[field])
                    for field, name in LAYER_TENSORS.items()
                }
            )
            for index in range(config.num_layers)
        ]
        table = (config.vocab_size, config.hidden_size)
        embedding = files.read("model.embed_tokens.weight", table)
        head = embedding if config.tie_embeddings else files.read("lm_head.weight", table)
        final_norm = files.read("model.norm.weight", (config.hidden_size,))
    return config, ModelWeights(embedding, layers, final_norm, head)


def _config(folder: Path) -> ModelConfig:
    path = folder / "config.json"
    described = read_json(path)
    if not described:
        raise ModelError(f"{folder} has no config.json: it is not a model folder")
    try:
        _refuse_variants(folder, described)
        heads, hidden = int(described["num_attention_heads"]), int(described["hidden_size"])
        return ModelConfig(
            architecture="llama",
            vocab_size=int(described["vocab_size"]),
            hidden_size=hidden,
            num_layers=int(described["num_hidden_layers"]),
            num_heads=heads,
            num_kv_heads=int(described.get("num_key_value_heads") or heads),
            head_dim=int(described.get("head_dim") or hidden // heads),
            ffn_size=int(described["intermediate_size"]),
            context_length=int(described.get("max_position_embeddings", 2048)),
            rope_theta=float(_rope(described).get("rope_theta") or described.get("rope_theta") or 10000.0),
            norm_eps=float(described.get("rms_norm_eps", 1e-6)),
            tie_embeddings=bool(described.get("tie_word_embeddings", False)),
        )
    except (AttributeError, LookupError, TypeError, ValueError, ZeroDivisionError) as error:
        raise ModelError(f"{path} is incomplete or damaged: {error!r}") from error


def _rope(described: dict[str, Any]) -> dict[str, Any]:
    """Rotary settings: newer files keep them together, older ones have rope_theta and rope_scaling side by side."""
    return described.get("rope_parameters") or described.get("rope_scaling") or {}


def _refuse_variants(folder: Path, described: dict[str, Any]) -> None:
    """What would be computed wrongly is refused."""
    architecture = (described.get("architectures") or ["unknown"])[0]
    if architecture != "LlamaForCausalLM":
        raise ModelError(f"{folder} is of architecture {architecture}; only LlamaForCausalLM can be run")
    rope = _rope(described)
    scaling = rope.get("rope_type", rope.get("type", "default"))
    if scaling not in ("default", "none"):
        raise ModelError(f"{folder} uses {scaling} rope scaling, which is not supported")
    for bias in ("attention_bias", "mlp_bias"):
        if described.get(bias):
            raise ModelError(f"{folder} has {bias}, which is not supported")
    if described.get("hidden_act", "silu") != "silu":
        raise ModelError(f"{folder} uses the activation {described['hidden_act']}; only silu is supported")
    if described.get("quantization_config"):
        method = described["quantization_config"].get("quant_method", "an unknown method")
        raise ModelError(f"{folder} is quantised with {method}; use the original weights")


class _TensorFiles:
    """The tensors of one file or of several shards, by name."""

    def __init__(self, folder: Path, opened: ExitStack) -> None:
        self._folder = folder
        index = read_json(folder / "model.safetensors.index.json")
        shards = index.get("weight_map") or {"": "model.safetensors"}
        names = sorted({str(name) for name in shards.values()})
        self._file_of: dict[str, Any] = {}
        for name in names:
            try:
                file = opened.enter_context(safe_open(folder / name, "pt"))
            except FileNotFoundError as error:
                raise ModelError(f"{folder} lacks {name}") from error
            except (SafetensorError, OSError) as error:
                raise ModelError(f"{folder / name} is cut short or damaged: {error}") from error
            self._file_of.update(dict.fromkeys(file.keys(), file))

    def read(self, name: str, shape: tuple[int, ...]) -> torch.Tensor:
        if name not in self._file_of:
            raise ModelError(f"{self._folder} has no tensor {name}")
        tensor: torch.Tensor = self._file_of[name].get_tensor(name)
        if tensor.shape != shape:
            raise ModelError(f"{self._folder}: {name} has shape {list(tensor.shape)}, not {list(shape)}")
        if not tensor.is_floating_point():
            raise ModelError(f"{self._folder}: {name} is quantised as {tensor.dtype}; use the original weights")
        return tensor.float().contiguous()
