"""`warmline complete` and `warmline edit`: one request for a place in a file, shown while it comes in."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.live import Live
from warmline.client import ClockSample, EditResult, EditStream, Parameters, Result, Void, connect

from .diff_place import diff_place
from .line_diff import LineDiff
from .report import PrintableStream, growing_diff, print_diff, print_hops, print_summary
from .source_file import SourceFile, counted
from .unified_diff import unified_diff

REFRESH_SECONDS: Final = 0.04
PATIENCE_SECONDS: Final = 1.0
"""How long nothing is said while nothing has come."""


@dataclass(frozen=True, slots=True)
class Service:
    """Which server to ask, and with which key."""

    url: str
    token: str | None

    def connect(self) -> connect:
        """A connection to it."""
        return connect(self.url, token=self.token, client="warmline-cli", reconnect=False)


class EditCut(Exception):
    """An edit did not end by itself; what it has changed so far was shown, and nothing was written."""


async def complete(
    service: Service, path: Path, line: int, column: int, parameters: Parameters, timing: bool | None = None
) -> None:
    """Print the text that belongs at a place as it comes in, and on a terminal what it cost, on stderr.

    With ``timing`` stderr says also where the time went, on a terminal or not; with False nothing of either. If the
    completion was cut off, stderr says so.
    """
    source = SourceFile.read(path)
    position = source.index(line, column)
    if not source.text.strip():
        _say(f"{path} is empty, so the model makes something up; a first comment or signature would lead it")
    terminal = sys.stdout.isatty()
    shown = PrintableStream()
    async with service.connect() as session:
        document = await session.open(source.uri, source.text, source.language)
        completion = session.complete(document, position, **parameters)
        try:
            with _told_if_slow(f"waiting for the completion at {path}:{line}:{column}") as waiting:
                async for piece in completion:
                    waiting.cancel()
                    sys.stdout.write(shown.feed(piece) if terminal else piece)
                    sys.stdout.flush()
        finally:
            if terminal:  # what is said next, also of an error or Ctrl-C, begins a line
                print(shown.finish(), flush=True)
        result = await completion.result()
        clock = session.clock
    if terminal or timing:
        _say_cost(result, clock, timing)
    if result.reason != "stop":
        _say(f"the completion {_how_it_was_cut(result)}")


async def edit(
    service: Service,
    path: Path,
    first: int,
    last: int,
    instruction: str,
    write: bool,
    parameters: Parameters,
    timing: bool | None = None,
) -> None:
    """Show an edit of whole lines as a diff that grows; write it if asked to.

    Into a pipe it prints a unified diff at the end, which `git apply` takes, and stderr says where, if not here.
    Where that takes more than a moment, stderr says that it is waited for. On stderr follows what it cost; with
    ``timing`` also where the time went, with False nothing of either.

    Raises:
        EditCut: the edit ended early.

    """
    source = SourceFile.read(path)
    start, end = source.lines(first, last)
    async with service.connect() as session:
        document = await session.open(source.uri, source.text, source.language)
        stream = session.edit(document, (start, end), instruction, **parameters)
        if sys.stdout.isatty():
            result = await _show(stream, LineDiff(source.text[start:end], first))
        else:
            lines = _named_lines(path, first, last)
            with _told_if_slow(f"waiting for the edit of {lines}; the diff comes at its end"):
                result = await stream.result()
        clock = session.clock
    unchanged = result.text == source.text[start:end]
    hint = "" if sys.stdout.isatty() else _write_diff(source, (start, end), result.text)
    _say_cost(result, clock, timing)
    if result.reason != "stop":
        not_written = f", and {path} was not written" if write else ""
        cut = f"the edit {_how_it_was_cut(result)}; the rest of the range is as it was{not_written}"
        raise EditCut(f"{cut}; {hint}" if hint and not unchanged else cut)
    if hint:
        _say(hint)
    if write and not unchanged:
        source.write(source.text[:start] + result.text + source.text[end:])
        _say(f"{path} was written")


def _write_diff(source: SourceFile, span: tuple[int, int], new: str) -> str:
    """Print a diff; what `git apply` needs to take it, if more than that."""
    place = diff_place(source.path)
    mark = "" if source.encoding != "utf-8" else source.mark.decode()
    diff = unified_diff(place.name, source.text, span, new, mark)
    sys.stdout.write(diff)
    sys.stdout.flush()
    if not diff:
        return "nothing changes, so the diff is empty (git apply --allow-empty takes it)"
    if source.encoding != "utf-8":
        return f"{source.path} is in {source.encoding.upper()}, which git apply can't change; --write can"
    return "" if place.here else f"to apply this diff from here: git -C {shlex.quote(str(place.root))} apply"


def _say_cost(result: Result, clock: ClockSample | None, timing: bool | None) -> None:
    if timing is False:
        return
    console = Console(stderr=True)
    console.print()
    if timing:
        print_hops(console, result)
    print_summary(console, result, clock)


def _how_it_was_cut(result: Result) -> str:
    if result.reason == "length":
        tokens = counted(result.receipt.output_tokens, "token")
        return f"was cut off after {tokens} (--max-tokens N allows more, within the model's context)"
    if result.reason == "cancel":  # nobody cancels here but a service that goes
        how = "see that it runs (`make serve`, or `warmline serve`), and ask again"
        return f"ended early: the service stopped or was restarted; {how}"
    return f"ended early ({result.reason})"


@contextlib.contextmanager
def _told_if_slow(text: str) -> Iterator[asyncio.TimerHandle]:
    """Say on stderr what is waited for, unless what is done here ends, or the timer is cancelled, within a moment."""
    timer = asyncio.get_running_loop().call_later(PATIENCE_SECONDS, _say, text)
    try:
        yield timer
    finally:
        timer.cancel()


def _named_lines(path: Path, first: int, last: int) -> str:
    return f"line {first} of {path}" if first == last else f"lines {first} to {last} of {path}"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


async def _show(stream: EditStream, diff: LineDiff) -> EditResult:
    console = Console()
    with Live("waiting for the model ...", console=console, auto_refresh=False, transient=True) as live:
        shown = 0.0
        async for operation in stream:
            assert not isinstance(operation, Void)  # nobody steers here, and nobody else changes the document
            diff.feed(operation)
            now = time.monotonic()
            if now - shown >= REFRESH_SECONDS:
                live.update(growing_diff(diff, max(console.height - 2, 1)), refresh=True)
                shown = now
        result = await stream.result()
    diff.finish()
    print_diff(console, diff)
    return result


def parse_place(place: str) -> tuple[Path, int, int]:
    """Split FILE:LINE:COLUMN; the file's name may hold colons.

    Raises:
        ValueError: it is not of that form, or counts from 0.

    """
    parts = place.rsplit(":", 2)
    if len(parts) != 3 or not parts[0] or not parts[1].isdecimal() or not parts[2].isdecimal():
        raise ValueError(f"{place!r} is not FILE:LINE:COLUMN, such as app.py:12:1")
    line, column = int(parts[1]), int(parts[2])
    if not line or not column:
        raise ValueError(f"{place!r} has a 0: lines and columns count from 1")
    return Path(parts[0]), line, column


def parse_lines(lines: str) -> tuple[int, int]:
    """Split A:B, or A alone for one line.

    Raises:
        ValueError: it is not of that form, counts from 0, or is reversed.

    """
    head, colon, tail = lines.partition(":")
    if not head.isdecimal() or (colon and not tail.isdecimal()):
        raise ValueError(f"{lines!r} is not FIRST:LAST, such as 10:24")
    first, last = int(head), int(tail or head)
    if first > last:
        raise ValueError(f"{lines!r} is reversed; the first comes first, as in {last}:{first}")
    if not first:
        raise ValueError(f"{lines!r} has a 0: lines count from 1")
    return first, last
