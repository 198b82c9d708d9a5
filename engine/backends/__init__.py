"""What the engine computes with: `create_backend` picks and builds it."""

from . import openmp  # noqa: F401 isort: skip  (before anything that imports torch)
from .base import BLOCK_SIZE, Backend, Batch, PassAborted, SequenceSlice
from .create import create_backend

__all__ = ["BLOCK_SIZE", "Backend", "Batch", "PassAborted", "SequenceSlice", "create_backend"]
