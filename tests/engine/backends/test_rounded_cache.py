"""A rounded model is kept for the next start, and never taken for another."""

from __future__ import annotations

import os
import shutil
import time
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from warmline.engine import EngineOptions, cache_folder
from warmline.engine.backends import create, create_backend, rounded_cache
from warmline.engine.backends.rounded import RoundedModel, round_model
from warmline.engine.backends.rounded_cache import MOST_FILES, cache_key, find_rounded, keep_rounded

Make = Callable[..., Any]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder of the test's own, not yet there. Models of any size are kept."""
    monkeypatch.setattr(cache_folder, "user_cache_path", lambda name: tmp_path / "cache" / name)
    monkeypatch.setattr(rounded_cache, "SMALL", 0)
    return tmp_path / "cache" / "warmline" / "rounded"


@pytest.fixture
def model(make_tiny_model: Make) -> tuple[Any, RoundedModel]:
    config, weights = make_tiny_model()
    return config, round_model(config, weights)


def same(one: RoundedModel, other: RoundedModel) -> bool:
    """Whether two are equal, bit for bit."""
    tensors = [dict(rounded_cache._tensors(each)) for each in (one, other)]
    assert tensors[0].keys() == tensors[1].keys()
    return all(torch.equal(tensor, tensors[1][name]) for name, tensor in tensors[0].items())


def test_what_was_kept_is_found_as_it_was(model: tuple[Any, RoundedModel], folder: Path) -> None:
    """Its shape, too, for this user's eyes only."""
    keep_rounded("k", *model)
    found = find_rounded("k")
    assert found is not None and found[0] == model[0] and same(found[1], model[1])
    (path,) = folder.iterdir()
    assert path.stat().st_mode & 0o777 == 0o600 and folder.stat().st_mode & 0o777 == 0o700
    assert find_rounded("other") is None


@pytest.mark.parametrize("damage", ["cut short", "empty", "no model", "others can write"])
def test_what_is_damaged_is_made_anew(model: tuple[Any, RoundedModel], folder: Path, damage: str) -> None:
    """And deleted."""
    keep_rounded("k", *model)
    (path,) = folder.iterdir()
    content = path.read_bytes()
    if damage == "others can write":
        path.chmod(0o622)
    else:
        path.write_bytes({"cut short": content[:-1], "empty": b"", "no model": b"{}" * 100}[damage])
    assert find_rounded("k") is None
    assert not path.exists()


def test_a_folder_that_others_can_write_to_is_not_used(model: tuple[Any, RoundedModel], folder: Path) -> None:
    """What lies there decides what is said."""
    keep_rounded("k", *model)
    folder.chmod(0o777)
    assert find_rounded("k") is None
    keep_rounded("new", *model)
    assert [path.stem for path in folder.iterdir()] == ["k"]


def test_a_disk_without_room_keeps_nothing(
    model: tuple[Any, RoundedModel], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The start goes on."""
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(100, 90, 10))
    keep_rounded("k", *model)
    assert list(folder.iterdir()) == []


def test_a_write_that_fails_leaves_nothing(
    model: tuple[Any, RoundedModel], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the file was begun."""

    def fail(tensors: object, path: Path, metadata: object) -> None:
        path.write_bytes(b"begun")
        raise OSError("no space left on device")

    monkeypatch.setattr(rounded_cache, "save_file", fail)
    keep_rounded("k", *model)
    assert list(folder.iterdir()) == []


def test_of_many_those_used_last_are_kept(model: tuple[Any, RoundedModel], folder: Path) -> None:
    """Finding one is using it."""
    for number in range(MOST_FILES):
        keep_rounded(str(number), *model)
        os.utime(folder / f"{number}.safetensors", (0, time.time() - 1000 + number))
    assert find_rounded("0") is not None
    keep_rounded("new", *model)
    keep_rounded("newer", *model)
    left = {path.stem for path in folder.iterdir()}
    assert left == {"0", "new", "newer", *map(str, range(3, MOST_FILES))}


def test_the_key_tells_models_adapters_and_code_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that was written anew is another one, whatever it is called."""
    file, adapter = tmp_path / "model.gguf", tmp_path / "adapter.safetensors"
    file.write_bytes(b"begin" + bytes(3 << 20) + b"end")
    adapter.write_bytes(b"adapter")
    os.utime(file, ns=(1, 1))
    keys = [cache_key(file, None), cache_key(file, adapter)]
    assert cache_key(file, adapter) == keys[1]
    adapter.write_bytes(b"retrain")
    keys.append(cache_key(file, adapter))
    os.utime(file, ns=(2, 2))
    keys.append(cache_key(file, None))
    file.write_bytes(b"begin" + bytes(3 << 20) + b"END")
    os.utime(file, ns=(2, 2))
    keys.append(cache_key(file, None))
    monkeypatch.setattr(rounded_cache, "_code_digest", lambda: "later")
    keys.append(cache_key(file, None))
    assert len({*keys}) == len(keys)


def test_a_folder_is_all_of_its_files(tmp_path: Path) -> None:
    """One more, or another, is another model."""
    (tmp_path / "config.json").write_text("{}")
    first = cache_key(tmp_path, None)
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    second = cache_key(tmp_path, None)
    assert first != second


def test_the_second_start_computes_the_same_without_reading_the_model(
    tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files are looked at, and that is all."""
    options = EngineOptions(model=str(tiny_folder), kv_memory=1 << 20)
    first, _ = create_backend(options)

    def fail(path: object) -> None:
        raise AssertionError("the model was read again")

    monkeypatch.setattr(create, "load_model", fail)
    second, _ = create_backend(options)
    assert first.name == second.name == "cpu"
    assert torch.equal(first._embedding, second._embedding)  # type: ignore[attr-defined]
    with pytest.raises(AssertionError, match="read again"):
        create_backend(EngineOptions(model=str(tiny_folder), backend="reference", kv_memory=1 << 20))


def test_small_models_are_not_kept(
    model: tuple[Any, RoundedModel], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would only push others out."""
    monkeypatch.setattr(rounded_cache, "SMALL", 1 << 25)
    keep_rounded("k", *model)
    assert not folder.exists() or list(folder.iterdir()) == []
