"""What everything ran on."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from warmline.engine import this_machine

_PACKAGES: Final = (
    "warmline", "websockets", "picows", "msgspec", "uvloop", "fastapi", "starlette", "pydantic", "uvicorn",
    "httptools", "httpx", "aiohttp", "openai",
)  # fmt: skip


def about_machine() -> dict[str, Any]:
    """The machine, the system, Python and the packages that take part."""
    machine = this_machine()
    return {
        "processor": machine.processor,
        "cores": machine.cores,
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "versions": {name: found for name in _PACKAGES if (found := _version(name)) is not None},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
