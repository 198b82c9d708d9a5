"""Tables that stay readable in a narrow terminal: columns without room follow in another table below.

Every command that measures prints its figures so, those of the gateway, too. Only the command needs `rich`, so that
importing this doesn't.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_UNBOUNDED: Final = 10_000


def table_console(width: int) -> Console:
    """Standard output: as wide as the terminal, or ``width`` columns where there is none, so that a file gets all."""
    from rich.console import Console

    plain = Console()
    return plain if plain.is_terminal else Console(width=width)


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
    from rich.table import Table

    part = Table(box=table.box, pad_edge=table.pad_edge, title_justify=table.title_justify)
    columns = [table.columns[index] for index in (*range(names), *others)]
    for column in columns:
        part.add_column(column.header, justify=column.justify, no_wrap=True)
    for row, *cells in zip(table.rows, *(column.cells for column in columns), strict=True):
        part.add_row(*cells, style=row.style)
    return part


def _width(to: Console, table: Table) -> int:
    from rich.measure import Measurement

    return Measurement.get(to, to.options.update(width=_UNBOUNDED), table).maximum
