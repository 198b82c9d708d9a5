"""Functions that torch compiles when they are first called, where a compiler is to be had."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Final, ParamSpec, TypeVar

import torch

P = ParamSpec("P")
R = TypeVar("R")

_setting: Final = {"enabled": True}


def use_compiler(enabled: bool) -> None:
    """Compile from now on, or don't: then the same operations run one by one."""
    _setting["enabled"] = enabled


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """The function, to be compiled for tensors of any size."""
    ready: list[Callable[P, R]] = []

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if not _setting["enabled"]:
            return function(*args, **kwargs)
        if not ready:
            ready.append(torch.compile(function, dynamic=True))
        return ready[0](*args, **kwargs)

    return call
