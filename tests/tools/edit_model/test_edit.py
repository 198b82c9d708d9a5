"""Replacements lead from the bytes before to those after."""

from __future__ import annotations

import pytest

from tools.edit_model.edit import Replacement, apply


def test_replacements_are_applied_in_any_order() -> None:
    """Offsets are those of the file before, in bytes."""
    data = "é = a + b\n".encode()
    changes = [Replacement(9, 10, "count"), Replacement(0, 2, "total"), Replacement(7, 8, "-")]
    assert apply(data, changes).decode() == "total = a - count\n"


def test_insertions_and_deletions_may_touch() -> None:
    """What ends where the other begins doesn't overlap."""
    assert apply(b"abc", [Replacement(1, 2, ""), Replacement(2, 2, "x"), Replacement(0, 1, "A")]) == b"Axc"


def test_overlapping_replacements_are_refused() -> None:
    """The message says where."""
    with pytest.raises(ValueError, match="overlap at byte 1"):
        apply(b"abc", [Replacement(0, 2, ""), Replacement(1, 3, "")])
