"""What all tests share: the default model's file and the edits to replay."""

from __future__ import annotations

import os
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
