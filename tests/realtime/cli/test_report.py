"""What the command line shows of a request."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from warmline.client import Delete, Insert, Keep
from warmline.realtime.cli.line_diff import LineDiff
from warmline.realtime.cli.report import PrintableStream, growing_diff, print_diff, printable


def shown(renderable: object, width: int = 40) -> list[str]:
    """What a terminal without colours shows."""
    console = Console(file=io.StringIO(), width=width)
    console.print(renderable)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("tab\tand line\n", "tab\tand line\n"),
        ("\x1b]0;title\x07", "\u241b]0;title\u2407"),
        ("\x7f\x9b31m\r", "\u2421\ufffd31m\u240d"),
        ("a\r\nb\rc\r\r\n", "a\r\nb\u240dc\u240d\r\n"),
        ("é😀\u2028", "é😀\u2028"),
    ],
)
def test_text_of_files_can_not_control_the_terminal(text: str, visible: str) -> None:
    """Escape sequences are shown, not obeyed."""
    assert printable(text) == visible


@given(st.lists(st.text(st.sampled_from("a\r\n\x1b"), max_size=3)))
def test_pieces_are_shown_as_the_whole_is(pieces: list[str]) -> None:
    """However a text is divided, also between \\r and \\n."""
    stream = PrintableStream()
    shown = [stream.feed(piece) for piece in pieces]
    assert "".join(shown) + stream.finish() == printable("".join(pieces))


def test_markup_in_a_file_is_text() -> None:
    """Square brackets mean nothing."""
    diff = LineDiff("a[bold]b[/bold]\n")
    assert shown(growing_diff(diff, 5)) == ["1   a[bold]b[/bold]"]


@given(st.integers(1, 60), st.integers(0, 60), st.integers(1, 30))
def test_the_growing_diff_fits_and_shows_where_it_is(lines: int, reached: int, height: int) -> None:
    """Never more lines than there is room, and the line reached last is among them."""
    reached = min(reached, lines)
    diff = LineDiff("".join(f"line {number}\n" for number in range(1, lines + 1)))
    diff.feed(Keep(0, "".join(f"line {number}\n" for number in range(1, reached + 1))))
    rows = shown(growing_diff(diff, height))
    assert len(rows) == min(height, lines)
    assert reached == 0 or any(row.endswith(f" line {reached}") for row in rows)


def test_a_line_longer_than_the_terminal_takes_one_row_while_it_grows() -> None:
    """Otherwise the rows could not be drawn over."""
    diff = LineDiff("x" * 200 + "\n")
    assert len(shown(growing_diff(diff, 5), width=20)) == 1


def test_the_finished_diff_shows_changes_and_leaves_out_the_rest() -> None:
    """With line numbers, and a mark for what is left out; long lines are shown whole."""
    diff = LineDiff("".join(f"{number}\n" for number in range(1, 11)), first_line=101)
    for operation in [Keep(0, "1\n2\n3\n4\n"), Delete(8, "5"), Insert(9, "five " + "5" * 60)]:
        diff.feed(operation)
    diff.finish()
    console = Console(file=io.StringIO(), width=30)
    print_diff(console, diff)
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue().splitlines() == [
        "    \u22ee",
        "102   2",
        "103   3",
        "104   4",
        "105 - 5",
        "    + five " + "5" * 60,
        "106   6",
        "107   7",
        "108   8",
        "    \u22ee",
    ]
