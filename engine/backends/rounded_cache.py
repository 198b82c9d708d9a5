"""Rounded models from earlier starts: reading, merging, smoothing and rounding one takes most of a start.

A file's name holds a key of all that its numbers depend on: the model's files, the adapter, this package's code,
torch, and the machine, whose arithmetic calibrates. The folder is this user's alone: what lies there decides what is
said.
"""

from __future__ import annotations

import functools
import hashlib
import json
import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, fields
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Final

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from ..cache_folder import BUILD_PREFIX, CacheRefused, is_private, private_folder, remove_leftovers
from ..kernels.cpu import RoundedWeight
from ..machine import native_code_target
from ..models.config import ModelConfig
from .rounded import RoundedLayer, RoundedModel

logger = logging.getLogger(__name__)

FOLDER: Final = "rounded"
MOST_FILES: Final = 4
"""Models that are kept; those unused for longest go."""
SMALL: Final = 1 << 25
"""Bytes below which a model is made anew in no time."""
_PATTERN: Final = "*.safetensors"
_SAMPLE: Final = 1 << 20
_CODE: Final = Path(__file__).parent.parent

Found = tuple[ModelConfig, RoundedModel]


def cache_key(model: Path, adapter: Path | None) -> str:
    """What a rounded model depends on, as a name.

    A model's file is told by its size, its time, and what it begins and ends with: reading gigabytes would take the
    time that is saved.

    Raises:
        OSError: the files can't be read.

    """
    digest = hashlib.sha256(f"{_code_digest()}\0{torch.__version__}\0{native_code_target()}".encode())
    for path in _files(model):
        _add_file(digest, path, whole=False)
    if adapter is not None:
        _add_file(digest, adapter, whole=True)
    return digest.hexdigest()[:32]


def find_rounded(key: str) -> Found | None:
    """The kept model of a key, marked as used. A damaged one, or one that others can write to, is deleted."""
    try:
        path = _path(private_folder(FOLDER), key)
    except CacheRefused:
        return None
    try:
        if not path.is_file():
            return None
        if path.is_symlink() or not is_private(path.lstat()):
            raise ValueError("others than this user can write to it")
        found = _read(path)
        os.utime(path)
        return found
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        logger.warning("%s can't be used, and is made anew: %s", path, error)
        with suppress(OSError):
            path.unlink()
        return None


def keep_rounded(key: str, config: ModelConfig, model: RoundedModel) -> None:
    """Write a model for later starts, if there is room for it. It appears whole, or not at all."""
    try:
        folder = private_folder(FOLDER)
        remove_leftovers(folder, _PATTERN)
        tensors = dict(_tensors(model))
        size = sum(tensor.nbytes for tensor in tensors.values())
        if size < SMALL:
            return
        free = shutil.disk_usage(folder).free
        if free < 2 * size:
            logger.info("the rounded model is not kept: it takes %d MB, and %d are free", size >> 20, free >> 20)
            return
        with NamedTemporaryFile(dir=folder, prefix=BUILD_PREFIX, delete=False) as file:
            built = Path(file.name)
        try:
            save_file(tensors, built, {"config": json.dumps(asdict(config))})
            built.chmod(0o600)
            built.replace(_path(folder, key))
        finally:
            built.unlink(missing_ok=True)
        _forget_oldest(folder)
    except (OSError, CacheRefused, SafetensorError) as error:
        logger.info("the rounded model is not kept for the next start: %s", error)


def _read(path: Path) -> Found:
    with safe_open(path, framework="pt") as file:
        config = ModelConfig(**json.loads(file.metadata()["config"]))
        get = file.get_tensor
        layers = []
        for index in range(config.num_layers):
            parts: dict[str, Any] = {}
            for field in fields(RoundedLayer):
                name = f"layers.{index}.{field.name}"
                parts[field.name] = get(name) if field.name.endswith("norm") else _weight(get, name)
            layers.append(RoundedLayer(**parts))
        return config, RoundedModel(get("embedding"), layers, get("final_norm"), _weight(get, "head"))


def _weight(get: Any, name: str) -> RoundedWeight:
    return RoundedWeight(get(f"{name}.values"), get(f"{name}.scale"))


def _tensors(model: RoundedModel) -> Iterator[tuple[str, torch.Tensor]]:
    yield "embedding", model.embedding.contiguous()
    yield "final_norm", model.final_norm
    named: list[tuple[str, Any]] = [("head", model.head)]
    for index, layer in enumerate(model.layers):
        named += [(f"layers.{index}.{field.name}", getattr(layer, field.name)) for field in fields(RoundedLayer)]
    for name, part in named:
        if isinstance(part, RoundedWeight):
            yield f"{name}.values", part.values
            yield f"{name}.scale", part.scale
        else:
            yield name, part


def _path(folder: Path, key: str) -> Path:
    return folder / f"{key}.safetensors"


def _forget_oldest(folder: Path) -> None:
    kept = sorted(folder.glob(_PATTERN), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in kept[MOST_FILES:]:
        path.unlink(missing_ok=True)


def _files(model: Path) -> list[Path]:
    return sorted(path for path in model.iterdir() if path.is_file()) if model.is_dir() else [model]


def _add_file(digest: Any, path: Path, *, whole: bool) -> None:
    with path.open("rb") as file:
        found = os.fstat(file.fileno())
        digest.update(f"\0{path.name}\0{found.st_size}\0{'' if whole else found.st_mtime_ns}\0".encode())
        if whole or found.st_size <= 2 * _SAMPLE:
            digest.update(file.read())
        else:
            digest.update(file.read(_SAMPLE))
            file.seek(-_SAMPLE, os.SEEK_END)
            digest.update(file.read())


@functools.cache
def _code_digest() -> str:
    """Of this package's Python code, some of which makes the numbers."""
    digest = hashlib.sha256()
    for path in sorted(_CODE.rglob("*.py")):
        digest.update(f"{path.relative_to(_CODE)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()
