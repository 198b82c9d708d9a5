"""Tables in narrow terminals."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table
from warmline.realtime.tables import print_table


def shown(width: int, columns: int, cell: str, names: int = 1) -> list[str]:
    table = Table(title="what")
    for number in range(columns):
        table.add_column(f"c{number}", justify="right")
    for row in "ab":
        table.add_row(*(f"{row}{number}{cell}" for number in range(columns)), style="dim")
    text = io.StringIO()
    print_table(Console(file=text, width=width), table, names)
    return text.getvalue().splitlines()


def test_a_table_that_fits_is_one() -> None:
    """With its title, as rich prints it."""
    lines = shown(80, 5, "x")
    assert sum("c0" in line for line in lines) == 1
    assert "what" in lines[0]


@given(st.integers(40, 120), st.integers(2, 14), st.integers(0, 9), st.integers(1, 2))
def test_every_cell_is_shown_whole_and_no_line_is_too_long(width: int, columns: int, size: int, names: int) -> None:
    """Each part begins with the names, and each other column comes once."""
    names = min(names, columns - 1)
    lines = shown(width, columns, "x" * size, names)
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    parts = sum("c0 " in line for line in lines)
    for number in range(columns):
        wanted = parts if number < names else 1
        assert text.count(f" a{number}{'x' * size} ") == text.count(f" b{number}{'x' * size} ") == wanted
    assert text.count("what") == 1
