"""Records of both forms are read, and what is wrong in a file is said with its line and field."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from warmline.realtime.evaluation.records import EditRecord, RecordError, choose, read_records

COMMIT = {
    "id": "x-1",
    "repo": "x",
    "license": "MIT",
    "language": "go",
    "path": "a.go",
    "instruction": "Log it",
    "hunks": 1,
    "lines_added": 1,
    "lines_removed": 0,
    "context": "package a\n",
    "before": "f()\n",
    "after": "log()\nf()\n",
}


def write(path: Path, *lines: bytes) -> Path:
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def test_all_forms_are_read(tmp_path, edit, completion) -> None:
    """Edits and completions as they are written, commits as edits of kind "commit" below their context."""
    encode = msgspec.json.encode
    path = write(tmp_path / "r.jsonl", encode(edit()), b"", encode(completion()), encode(COMMIT))
    first, second, third = read_records(path)
    assert (first, second) == (edit(), completion())
    assert isinstance(third, EditRecord)
    assert (third.kind, third.instructions, third.prefix, third.suffix) == ("commit", ["Log it"], "package a\n", "")
    assert (third.before, third.after, third.language, third.package) == ("f()\n", "log()\nf()\n", "go", "x")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"id": "a"', r"line 2: Input data was truncated"),
        (b'{"type": "edit", "id": "a"}', r"line 2: .*missing required field `language`"),
        (b'{"type": "poem"}', r"line 2: Invalid enum value 'poem' - at `\$.type`"),
        (b'{"id": 7}', r"line 2: Expected `str`, got `int` - at `\$.id`"),
        (msgspec.json.encode({k: v for k, v in COMMIT.items() if k != "after"}), r"line 2: .*field `after`"),
        (b"\xff", "line 2: "),
    ],
)
def test_a_bad_line_is_named(tmp_path, line: bytes, message: str) -> None:
    """With its number and the field."""
    path = write(tmp_path / "r.jsonl", msgspec.json.encode(COMMIT), line)
    with pytest.raises(RecordError, match=f"r.jsonl, {message}"):
        read_records(path)


def test_a_file_without_records_is_an_error(tmp_path) -> None:
    """Also one that isn't there."""
    with pytest.raises(RecordError, match="has no records"):
        read_records(write(tmp_path / "r.jsonl", b""))
    with pytest.raises(RecordError, match=r"can't read .*: No such file"):
        read_records(tmp_path / "missing.jsonl")


def test_records_are_chosen(edit) -> None:
    """By kind and language; a limit takes a sample that depends on the seed alone, in the file's order."""
    records = [edit(id=str(n), kind="ab"[n % 2], language=("go", "c", "c")[n % 3]) for n in range(60)]
    assert choose(records) == records
    assert [r.id for r in choose(records, kinds=["b"], languages=["go"])] == [str(n) for n in range(3, 60, 6)]
    sample = choose(records, limit=5, seed=1)
    assert len(sample) == 5 and sample == choose(records, limit=5, seed=1) != choose(records, limit=5, seed=2)
    assert [int(r.id) for r in sample] == sorted(int(r.id) for r in sample)


def test_what_there_is_none_of_is_said(edit) -> None:
    """With what there is."""
    records = [edit(kind="a", language="go"), edit(kind="b", language="c")]
    with pytest.raises(RecordError, match="no record is of kind z; there are: a, b"):
        choose(records, kinds=["z"])
    with pytest.raises(RecordError, match="no record is of language java; there are: c, go"):
        choose(records, languages=["java"])
    with pytest.raises(RecordError, match="at once"):
        choose(records, kinds=["a"], languages=["c"])


def test_steered_edits_are_told_apart(edit) -> None:
    """One instruction for an untouched range is none."""
    assert not edit().is_steered
    assert edit(instructions=["a", "b"]).is_steered
    assert edit(accepted="b").is_steered
