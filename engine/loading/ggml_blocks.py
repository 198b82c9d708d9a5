"""Decode the number formats of GGUF tensors into float32.

A quantised row is cut into blocks of 32 numbers; a block has its own scale (and, in Q4_1, its own minimum).
"""

from __future__ import annotations

import torch

from .gguf_file import GgufFile, GgufTensor


def read_tensor(file: GgufFile, name: str) -> torch.Tensor:
    """A tensor of a GGUF file as float32.

    Raises:
        ModelError: the file has no such tensor, or can't give its data.

    """
    tensor = file.tensor(name)
    return _decode(tensor, torch.frombuffer(file.data(tensor), dtype=torch.uint8)).view(tensor.shape)


def _decode(tensor: GgufTensor, raw: torch.Tensor) -> torch.Tensor:
    match tensor.type.name:
        case "F32":
            return raw.view(torch.float32).clone()
        case "F16":
            return raw.view(torch.float16).float()
        case "BF16":
            return raw.view(torch.bfloat16).float()
    blocks = raw.view(-1, tensor.type.block_bytes)
    scale = _halves(blocks[:, 0:2])
    match tensor.type.name:
        case "Q8_0":
            return blocks[:, 2:].view(torch.int8).float().mul_(scale)
        case "Q4_0":
            return _nibbles(blocks[:, 2:]).sub_(8).mul_(scale)
        case "Q4_1":
            return _nibbles(blocks[:, 4:]).mul_(scale).add_(_halves(blocks[:, 2:4]))
    raise AssertionError(f"{tensor.type.name} is listed as readable")


def _halves(pairs: torch.Tensor) -> torch.Tensor:
    """Float16 numbers from their bytes: uint8 [n, 2] to float32 [n, 1]."""
    return pairs.contiguous().view(torch.float16).float()


def _nibbles(packed: torch.Tensor) -> torch.Tensor:
    """The 4-bit codes of a block: the low halves of its 16 bytes, then the high halves."""
    return torch.cat([packed & 15, packed >> 4], dim=1).float()
