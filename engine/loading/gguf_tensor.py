"""Read tensors of GGUF files as float32; the number formats are decoded by the `gguf` package."""

from __future__ import annotations

from math import prod

import numpy as np
import torch
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, dequantize

from ..errors import ModelError
from .gguf_file import GgufFile


def tensor_shape(file: GgufFile, name: str) -> tuple[int, ...]:
    """The shape of a tensor, in row-major order.

    Raises:
        ModelError: the file has no such tensor.

    """
    if name not in file.tensors:
        raise ModelError(f"{file.path} has no tensor {name}")
    return file.tensors[name].shape


def read_tensor(file: GgufFile, name: str) -> torch.Tensor:
    """A tensor as float32.

    Raises:
        ModelError: the file has no such tensor, its type can't be decoded, or its data is cut short.

    """
    shape = tensor_shape(file, name)
    tensor = file.tensors[name]
    try:
        type_ = GGMLQuantizationType(tensor.type_number)
    except ValueError:
        raise _unreadable(file, name, f"type number {tensor.type_number}") from None
    block_size, block_bytes = GGML_QUANT_SIZES[type_]
    num_bytes = prod(shape) // block_size * block_bytes
    raw = file.data(tensor.start, num_bytes)
    if (shape and shape[-1] % block_size) or len(raw) != num_bytes:
        raise ModelError(f"{file.path} is cut short or damaged at tensor {name}; fetch or convert it again")
    try:
        # In whole rows: `dequantize` walks over the rows in Python.
        rows = np.frombuffer(raw, np.uint8).reshape(*shape[:-1], -1)
        numbers = dequantize(rows, type_)
    except NotImplementedError:
        raise _unreadable(file, name, type_.name) from None
    return torch.from_numpy(np.array(numbers, np.float32)).view(shape)


def _unreadable(file: GgufFile, name: str, type_name: str) -> ModelError:
    return ModelError(
        f"{file.path} is quantised as {type_name} (tensor {name}), which can't be read; "
        "use a file with F16, BF16, Q8_0, Q4_0, Q4_1 or a K-quant"
    )
