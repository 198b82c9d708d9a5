"""What a benchmark's figures were measured on."""

from __future__ import annotations

import importlib.metadata
import platform
from pathlib import Path
from typing import Any

from ..machine import this_machine
from ..options import EngineOptions


def about_machine() -> dict[str, Any]:
    """The machine and the versions that matter."""
    machine = this_machine()
    return {
        "processor": machine.processor,
        "cores": machine.cores,
        "python": platform.python_version(),
        **{package: importlib.metadata.version(package) for package in ("torch", "numpy", "warmline")},
    }


def model_line(options: EngineOptions) -> str:
    """The model and its adapter, for people."""
    adapter = "no adapter" if options.adapter is None else Path(options.adapter).stem
    return f"{Path(options.model).name} with {adapter}"
