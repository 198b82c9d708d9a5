"""The errors that the engine raises for what a person can put right."""

from __future__ import annotations


class EngineError(Exception):
    """Something the caller can act on; the message says what was wrong and what to do."""


class ModelError(EngineError):
    """A model, tokenizer or adapter that can't be found, read or run."""
