"""The files of the training data: one record a line, in the form that `warmline eval edits` reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

# The structs have one home, where they are read at run time.
from warmline.realtime.evaluation.records import CompletionRecord, EditRecord, Record

__all__ = ["Category", "CompletionKind", "CompletionRecord", "EditRecord", "Record", "Split", "read_records",
           "write_records"]  # fmt: skip

Split: TypeAlias = Literal["train", "held-out"]
Category: TypeAlias = Literal["mechanical", "semantic", "unchanged"]
CompletionKind: TypeAlias = Literal["fill-line", "fill-block", "fill-span", "continue"]


_DECODER = msgspec.json.Decoder[Record](Record)
_ENCODER = msgspec.json.Encoder()


def read_records(path: Path) -> Iterator[Record]:
    """The records of a JSONL file.

    Raises:
        msgspec.DecodeError: a line is no record.

    """
    with path.open("rb") as lines:
        for line in lines:
            yield _DECODER.decode(line)


def write_records(path: Path, records: Iterable[Record]) -> int:
    """Write a JSONL file, which gets its name once it is complete. Returns how many records there were."""
    partial = path.with_name(path.name + ".partial")
    count = 0
    with partial.open("wb") as lines:
        for record in records:
            lines.write(_ENCODER.encode(record) + b"\n")
            count += 1
    partial.replace(path)
    return count
