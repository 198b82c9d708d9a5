"""Tables that stay readable in a narrow terminal: columns without room follow in another table below."""

from __future__ import annotations

from typing import Final

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

_UNBOUNDED: Final = 10_000


def print_table(to: Console, table: Table, names: int = 1) -> None:
    """Print a table whole, or as several that fit, each with the first ``names`` columns.

    No cell is cut or wrapped, unless a single column beside the names has no room.
    """
    left = list(range(names, len(table.columns)))
    title = table.title
    while True:
        shown = len(left)
        while shown > 1 and _width(to, _part(table, names, left[:shown])) > to.width:
            shown -= 1
        part = _part(table, names, left[:shown])
        part.title, title = title, None
        to.print(part)
        left = left[shown:]
        if not left:
            return


def _part(table: Table, names: int, others: list[int]) -> Table:
    """A table of some columns of another one."""
    part = Table(box=table.box, pad_edge=table.pad_edge, title_justify=table.title_justify)
    columns = [table.columns[index] for index in (*range(names), *others)]
    for column in columns:
        part.add_column(column.header, justify=column.justify, no_wrap=True)
    for row, *cells in zip(table.rows, *(column.cells for column in columns), strict=True):
        part.add_row(*cells, style=row.style)
    return part


def _width(to: Console, table: Table) -> int:
    return Measurement.get(to, to.options.update(width=_UNBOUNDED), table).maximum
