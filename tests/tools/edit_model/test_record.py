"""Records as they stand in a file."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tools.edit_model.record import CompletionRecord, EditRecord, Record, read_records, write_records

EDIT = EditRecord(
    id="train-1",
    split="train",
    language="python",
    kind="rename-variable",
    category="mechanical",
    package="attrs 1",
    path="a.py",
    instructions=["rename a to b"],
    prefix="import os\n",
    before="a = 1\n",
    after="b = 1\n",
    suffix="",
)
COMPLETION = CompletionRecord(
    id="held-out-1",
    split="held-out",
    language="go",
    kind="continue",
    package="gin 1",
    path="a.go",
    prefix="func é(",
    suffix="",
    middle=") {\n}",
)


def test_records_survive_the_file(tmp_path: Path) -> None:
    """Both kinds of record are read as they were written, one a line."""
    path = tmp_path / "records.jsonl"
    records: list[Record] = [EDIT, COMPLETION]
    assert write_records(path, records) == 2
    assert list(read_records(path)) == records
    assert path.read_text().count("\n") == 2
    assert [p.name for p in tmp_path.iterdir()] == ["records.jsonl"]


def test_an_unknown_kind_of_record_is_refused(tmp_path: Path) -> None:
    """A line that is neither an edit nor a completion raises."""
    path = tmp_path / "records.jsonl"
    path.write_text('{"type": "essay", "id": "x"}\n')
    with pytest.raises(msgspec.DecodeError):
        list(read_records(path))
