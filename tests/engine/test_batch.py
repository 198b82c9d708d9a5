"""Where the rows of a pass stand, told without torch."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.engine.batch import BLOCK_SIZE, SequenceSlice


@given(st.integers(0, 100), st.integers(1, 50), st.data())
def test_slots_are_places_in_the_blocks(position: int, rows: int, data: st.DataObject) -> None:
    """Position p lies in block p // BLOCK_SIZE of the table; blocks beyond the last position don't matter."""
    used = -(-(position + rows) // BLOCK_SIZE)
    table = data.draw(st.lists(st.integers(0, 99), min_size=used, max_size=used + 3, unique=True))
    piece = SequenceSlice(7, rows, position, table)
    assert list(piece.positions) == [position + row for row in range(rows)]
    assert piece.length == position + rows
    assert piece.slots() == [table[p // BLOCK_SIZE] * BLOCK_SIZE + p % BLOCK_SIZE for p in range(position + rows)]


@pytest.mark.parametrize(
    ("modules", "heavy"),
    [
        ("batch, detokenizer, kv_cache, machine, messages, models.config, probe", ["torch", "numpy"]),
        ("scheduler, sequence", ["torch"]),  # a sequence counts the tokens that its penalties are for
    ],
)
def test_what_is_pure_needs_no_torch(modules: str, heavy: list[str]) -> None:
    """Planning passes and keeping account of blocks loads none of the heavy libraries."""
    imports = "\n".join(f"import warmline.engine.{module}" for module in modules.split(", "))
    program = f"import sys\n{imports}\nprint([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
