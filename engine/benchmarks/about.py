"""What a benchmark's figures were measured on."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from ..machine import this_machine
from ..options import EngineOptions

_PACKAGES: Final = ("torch", "numpy", "warmline")


def about_machine(packages: Sequence[str] = _PACKAGES) -> dict[str, Any]:
    """The machine, the system, and the versions of Python and of those of the packages that are installed."""
    machine = this_machine()
    return {
        "processor": machine.processor,
        "cores": machine.cores,
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        **{package: found for package in packages if (found := _version(package)) is not None},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def model_line(options: EngineOptions) -> str:
    """The model and its adapter, for people."""
    adapter = "no adapter" if options.adapter is None else Path(options.adapter).stem
    return f"{Path(options.model).name} with {adapter}"
