"""Merge a LoRA adapter (arXiv 2106.09685) into a model's weights: W + alpha / r * B @ A."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import torch
from safetensors import SafetensorError, safe_open

from ..errors import ModelError
from ..models.config import ModelConfig
from ..models.llama import ModelWeights
from .json_file import read_json

FIELDS: Final = {
    "self_attn.q_proj": "query",
    "self_attn.k_proj": "key",
    "self_attn.v_proj": "value",
    "self_attn.o_proj": "output",
    "mlp.gate_proj": "gate",
    "mlp.up_proj": "up",
    "mlp.down_proj": "down",
}
"""The field of `LayerWeights` of each module an adapter may change."""

NAME: Final = re.compile(
    r"(?:base_model\.model\.)?(?:model\.)?layers\.(?P<layer>\d+)\.(?P<module>[\w.]+?)\.lora_(?P<part>[AB])"
    r"(?:\.default)?\.weight"
)


def merge_adapter(config: ModelConfig, weights: ModelWeights, path: Path) -> None:
    """Add a PEFT-style adapter file to the weights, in place.

    Matrices may be int8 with ``….scale`` beside ``….weight``: one scale for each row of A, for each column of B.
    alpha and r come from the file's metadata (``lora_alpha``, ``r``) or from `adapter_config.json` beside it.

    Raises:
        ModelError: it can't be read, names what the model has not, or is of another shape; the message names the
            tensor.

    """
    metadata, stored = _open(path)
    tensors = _dequantised(path, stored)
    pairs = _pairs(path, tensors)
    if not pairs:
        raise ModelError(f"the adapter {path} holds no lora_A and lora_B")
    alpha = _alpha(path, _settings(path, metadata))
    for (layer, module), (a_name, b_name) in sorted(pairs.items()):
        if layer >= config.num_layers:
            raise ModelError(f"the adapter {path} has {a_name}, but the model has only {config.num_layers} layers")
        target: torch.Tensor = getattr(weights.layers[layer], FIELDS[module])
        a, b = tensors[a_name], tensors[b_name]
        rank = a.shape[0]
        if a.dim() != 2 or b.dim() != 2 or b.shape != (target.shape[0], rank) or a.shape[1] != target.shape[1]:
            raise ModelError(
                f"the adapter {path} was made for another model: {a_name} {list(a.shape)} and {b_name} "
                f"{list(b.shape)} don't fit the model's {list(target.shape)}"
            )
        target += alpha / rank * (b @ a)


def read_fill_marks(path: Path) -> tuple[str, ...] | None:
    """The tokens an adapter's metadata names for filling in the middle: before the suffix, and before the prefix.

    The suffix comes first, so that typing only appends to the prompt (SPM order, arXiv 2207.14255). A third token
    stands before the part of the suffix that is near the cursor, if that comes last.

    Raises:
        ModelError: the file can't be read, or names something else than two or three tokens.

    """
    marks = _open(path)[0].get("fill_marks")
    if marks is None:
        return None
    found = tuple(marks.split(" "))
    if len(found) not in (2, 3) or not all(found):
        raise ModelError(f"the adapter {path} has fill_marks {marks!r} instead of two or three tokens")
    return found


def _open(path: Path) -> tuple[dict[str, str], dict[str, torch.Tensor]]:
    """The metadata and tensors of a safetensors file."""
    try:
        with safe_open(path, "pt") as file:
            return file.metadata() or {}, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError as error:
        raise ModelError(f"no adapter at {path}") from error
    except (SafetensorError, OSError) as error:
        raise ModelError(f"the adapter {path} can't be read: {error}") from error


def _dequantised(path: Path, tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The matrices in float32, the scales of those in int8 multiplied in."""
    scales = {name.removesuffix(".scale"): name for name in tensors if name.endswith(".scale")}
    found = {}
    for name, tensor in tensors.items():
        if name.endswith(".scale"):
            continue
        stem = name.removesuffix(".weight")
        matrix = tensor.float()
        if (scale_name := scales.pop(stem, None)) is not None:
            scale = tensors[scale_name].float()
            along = 0 if stem.endswith("lora_A") else 1  # always the rank
            if matrix.dim() != 2 or scale.shape != (matrix.shape[along],):
                raise ModelError(
                    f"the adapter {path}: {scale_name} {list(scale.shape)} doesn't fit {name} {list(matrix.shape)}"
                )
            matrix = matrix * scale.unsqueeze(1 - along)
        elif not tensor.is_floating_point():
            raise ModelError(f"the adapter {path}: {name} is of whole numbers and has no scale beside it")
        found[name] = matrix
    if scales:
        raise ModelError(f"the adapter {path} has {next(iter(scales.values()))} without its matrix")
    return found


def _pairs(path: Path, tensors: dict[str, torch.Tensor]) -> dict[tuple[int, str], tuple[str, str]]:
    """The names of A and B by (layer, module)."""
    found: dict[tuple[int, str], dict[str, str]] = {}
    for name in tensors:
        match = NAME.fullmatch(name)
        if match is None or match["module"] not in FIELDS:
            raise ModelError(f"the adapter {path} has the tensor {name}, which has no place in this model")
        found.setdefault((int(match["layer"]), match["module"]), {})[match["part"]] = name
    for parts in found.values():
        if len(parts) != 2:
            raise ModelError(f"the adapter {path} has {next(iter(parts.values()))} without its other half")
    return {key: (parts["A"], parts["B"]) for key, parts in found.items()}


def _settings(path: Path, metadata: dict[str, str]) -> dict[str, Any]:
    """What is said about the adapter: in its metadata (plain or as a JSON object), else in the file beside it."""
    if "lora_alpha" in metadata:
        return dict(metadata)
    for value in metadata.values():
        try:
            described = json.loads(value)
        except ValueError:
            continue
        if isinstance(described, dict) and "lora_alpha" in described:
            return described
    return read_json(path.parent / "adapter_config.json")


def _alpha(path: Path, settings: dict[str, Any]) -> float:
    for unsupported in ("use_dora", "use_rslora", "rank_pattern", "alpha_pattern"):
        if settings.get(unsupported) not in (None, False, {}, "false", "{}"):
            raise ModelError(f"the adapter {path} uses {unsupported}, which is not supported")
    try:
        return float(settings["lora_alpha"])
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(
            f"the adapter {path} doesn't say its lora_alpha: put it in the file's metadata or in adapter_config.json"
        ) from error
