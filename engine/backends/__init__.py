"""What the engine computes with: `create_backend` picks and builds it."""

from . import openmp  # noqa: F401 isort: skip  (before anything that imports torch)
from .base import Backend, PassAborted
from .create import create_backend

__all__ = ["Backend", "PassAborted", "create_backend"]
