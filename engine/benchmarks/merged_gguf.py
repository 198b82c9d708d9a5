"""A GGUF file with an adapter merged in, for llama.cpp to run the model that we run."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import torch
from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter, Keys, quantize

from ..loading.adapter import FIELDS, merge_adapter
from ..loading.gguf import LAYER_TENSORS, interleaved, load_gguf

FORMATS: Final = {"Q4_1": GGMLQuantizationType.Q4_1, "Q8_0": GGMLQuantizationType.Q8_0}
"""Four bits: what the default model is released in, and what llama.cpp reads fastest. Eight: what we compute with."""
_NOT_COPIED: Final = (Keys.General.ARCHITECTURE,)  # the writer adds it


def write_merged(model: Path, adapter: Path | None, target: Path, number_format: str) -> None:
    """Write a model of GGUF architecture llama with an adapter's changes, its layers' matrices in one of `FORMATS`.

    Raises:
        ModelError: the model or the adapter can't be read.

    """
    config, weights = load_gguf(model)
    if adapter is not None:
        merge_adapter(config, weights, adapter)
    matrices: dict[str, torch.Tensor] = {}
    for index, layer in enumerate(weights.layers):
        layer.query = interleaved(layer.query, config.num_heads)
        layer.key = interleaved(layer.key, config.num_kv_heads)
        for field in FIELDS.values():
            matrices[f"blk.{index}.{LAYER_TENSORS[field]}.weight"] = getattr(layer, field)
    reader = GGUFReader(model)
    writer = GGUFWriter(target, config.architecture)
    for name, value in reader.fields.items():
        if name in _NOT_COPIED or name.startswith("GGUF."):
            continue
        inner = value.types[-1] if value.types[0] == GGUFValueType.ARRAY else None
        writer.add_key_value(name, value.contents(), value.types[0], inner)
    type_ = FORMATS[number_format]
    for tensor in reader.tensors:
        matrix = matrices.get(tensor.name)
        if matrix is None:
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
        else:
            writer.add_tensor(tensor.name, quantize(matrix.numpy(), type_), raw_dtype=type_)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
