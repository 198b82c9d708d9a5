"""Completions out of files."""

from __future__ import annotations

from random import Random

import pytest

from tools.edit_model.completions import KINDS, MOST_LINES, piece
from tools.edit_model.record import CompletionKind
from tools.edit_model.source import SourceFile

FILE = '''# Copyright (c) somebody, all rights reserved.
import os


def collect(folder, suffix=".py"):
    """Find files."""
    found = []
    for name in os.listdir(folder):
        # A comment.
        if name.endswith(suffix):
            path = os.path.join(folder, name)
            found.append(path)
    return sorted(found)


TABLE = [
    1, 2, 3, 4, 5, 6,
]
'''


def pieces(kind: CompletionKind, max_chars: int = 3000) -> list[tuple[str, str, str]]:
    """Many pieces of this kind."""
    unit = next(iter(SourceFile("p", "a.py", "python", FILE.encode()).units()))
    found = [piece(unit, kind, Random(seed), max_chars) for seed in range(200)]
    return [p for p in found if p is not None]


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_piece_is_cut_out_of_the_file(kind: CompletionKind) -> None:
    """Prefix, middle and suffix are one stretch of the file, and there are many different ones."""
    found = pieces(kind)
    assert len(set(found)) > 10
    for prefix, middle, suffix in found:
        assert prefix + middle + suffix in FILE
        assert middle.strip() and middle.count("\n") < MOST_LINES


def test_a_filled_line_ends_with_its_line() -> None:
    """The middle goes to the end of the line and comments are left alone."""
    for _, middle, suffix in pieces("fill-line"):
        assert "\n" not in middle and suffix.startswith("\n")
        assert "comment" not in middle and "Copyright" not in middle


def test_a_filled_block_is_whole_lines() -> None:
    """A block ends where its line ends and begins at a statement, its indent or the end of the line above."""
    for prefix, middle, suffix in pieces("fill-block"):
        assert suffix.startswith("\n") and not middle.endswith("\n")
        assert middle.startswith("\n") or not prefix.rsplit("\n", 1)[-1].strip()


def test_a_continuation_has_nothing_after_it() -> None:
    """It has at least two lines and ends with a statement."""
    for _, middle, suffix in pieces("continue"):
        assert suffix == "" and "\n" in middle
        assert middle.rsplit("\n", 1)[-1].strip()[-1] in ")]:"


def test_pieces_keep_to_the_limit() -> None:
    """Context gives way to the limit."""
    assert all(len("".join(p)) <= 150 for p in pieces("fill-line", 150))
