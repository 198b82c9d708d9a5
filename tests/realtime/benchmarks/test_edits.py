"""The long files that `warmline bench edits` makes."""

from __future__ import annotations

import difflib

from warmline.realtime.benchmarks.edits import LONG_LINES, long_files
from warmline.realtime.benchmarks.warm_texts import PROJECT_EDITS
from warmline.realtime.evaluation.records import EditRecord, read_records


def records() -> list[EditRecord]:
    """The project's own."""
    return [record for record in read_records(PROJECT_EDITS) if isinstance(record, EditRecord)]


def test_three_of_200_lines_change() -> None:
    """Each file has its length before and after, and lines that weren't in it."""
    files = long_files(records())
    assert files
    for file in files:
        before, after = file.before.splitlines(), file.after.splitlines()
        assert len(before) == len(after) == LONG_LINES
        new = [line[2:] for line in difflib.ndiff(before, after) if line.startswith("+ ")]
        assert len(new) == 3
        assert not {line.strip() for line in new} & {line.strip() for line in before}


def test_too_little_code_makes_none() -> None:
    """A language with fewer lines is left out."""
    assert long_files(records()[:1]) == []
