"""Tables in narrow terminals."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table
from warmline.engine import print_table, table_console


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


@given(st.integers(44, 120), st.integers(2, 14), st.integers(0, 9), st.integers(1, 2))
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


def test_a_file_gets_the_width_that_the_tables_need_and_a_terminal_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard output is a file here, until rich is told that it is a terminal."""
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "70")
    assert table_console(118).width == 118
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert table_console(118).width == 70


def test_the_engine_is_imported_without_what_prints_tables() -> None:
    """Its process prints none."""
    code = "import sys, warmline.engine; assert 'rich' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
