"""What all tests share: the default model's file, the edits to replay, and what operations mean."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from warmline.engine.loading.catalog import fetch_model


@dataclass(frozen=True)
class EditRecord:
    """One edit of `edits.jsonl`: a region before and after, with what stands above it."""

    id: str
    language: str
    instruction: str
    context: str
    before: str
    after: str


@pytest.fixture(scope="session")
def default_model() -> Path:
    """The default model's GGUF file, fetched on first use."""
    return fetch_model(quiet=True)


@pytest.fixture(scope="session")
def edit_records() -> list[EditRecord]:
    """The edits named by WARMLINE_EDITS, or the project's own."""
    path = Path(os.environ.get("WARMLINE_EDITS") or Path(__file__).parent / "data" / "edits.jsonl")
    return [msgspec.json.decode(line, type=EditRecord) for line in path.read_bytes().splitlines()]


@pytest.fixture(scope="session")
def apply_operations() -> Callable[[str, Iterable[int | str]], str]:
    """Apply keep / delete / insert operations to a text, by the letter of the protocol."""

    def apply_operations(text: str, operations: Iterable[int | str]) -> str:
        units = text.encode("utf-16-le")
        parts: list[bytes] = []
        at = 0
        for operation in operations:
            if isinstance(operation, str):
                parts.append(operation.encode("utf-16-le"))
                continue
            end = at + 2 * abs(operation)
            assert end <= len(units), "operations reach past the range"
            if operation > 0:
                parts.append(units[at:end])
            at = end
        return b"".join([*parts, units[at:]]).decode("utf-16-le")

    return apply_operations
