"""Makes training and held-out records: edits and completions of the packages' code.

    python -m tools.edit_model.make_data --split train --edits 40000 --completions 12000 --seed 1 --output PATH

The same seed and sources give the same bytes, whatever the number of workers. Nothing is resumed: a record takes
milliseconds, and the file gets its name once it is complete.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import math
import multiprocessing
import pkgutil
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Final, cast

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from . import kinds, transforms
from .pool import Sizes
from .record import EditRecord, Record, Split, write_records
from .shard import LONG, SIBLINGS, SIZES, Made, Maker, Order, Shard
from .source import SourceFile
from .sources import read_files

_MOST_BYTES: Final = 80_000
"""Of a file; each record costs parsing one."""
_SHARD: Final = 4000
"""Records made with one random generator, so that the result doesn't depend on who makes them."""


def load_makers() -> list[Maker]:
    """Every transformation there is, in a fixed order."""
    makers = []
    for module in sorted(m.name for m in pkgutil.iter_modules(transforms.__path__)):
        loaded = importlib.import_module(f"{transforms.__name__}.{module}")
        makers += [Maker(kind, t, False) for kind, t in getattr(loaded, "TRANSFORMS", {}).items()]
        makers += [Maker(kind, t, True) for kind, t in getattr(loaded, "INVERSE", {}).items()]
    return list(dict.fromkeys(makers))  # a module may show what others define


_files: list[SourceFile] = []
"""Of the split, held once for all workers, which are forked."""
_shards = 1


def _run(order: Order) -> Made:
    # Trees are made anew in each shard and go with it; all files' at once would not fit.
    mine = [SourceFile(f.package, f.path, f.language, f.data) for f in _files[order.number :: _shards]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the code that is read
        return Shard(order, mine, load_makers()).make()


def make(
    files: Iterable[SourceFile],
    split: Split,
    edits: int,
    completion_count: int,
    seed: int,
    max_tokens: int = 900,
    workers: int = 1,
    long_share: float = 0.0,
    siblings: int = 0,
    sizes: Sizes | None = None,
    console: Console | None = None,
) -> tuple[list[bytes], Made]:
    """All records, encoded and shuffled, and what went wrong."""
    global _shards
    _files[:] = [SourceFile(f.package, f.path, f.language, f.data) for f in files if len(f.data) < _MOST_BYTES]
    Random(f"{seed}/files").shuffle(_files)
    _shards = max(1, math.ceil((edits + completion_count) / _SHARD))
    orders = [
        Order(
            i,
            split,
            _part(edits, i, _shards),
            _part(completion_count, i, _shards),
            seed,
            max_tokens,
            long_share,
            siblings,
            sizes or SIZES[split],
        )
        for i in range(_shards)
    ]
    totals = Made()
    groups: list[list[bytes]] = []
    seen: set[str] = set()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with (
        multiprocessing.get_context("fork").Pool(max(1, workers)) as pool,
        Progress(*columns, console=console) as progress,
    ):
        task = progress.add_task(f"{split} records", total=edits + completion_count)
        for made in pool.imap(_run, orders):
            groups += ([line for line in group if _is_new(line, seen)] for group in made.groups)
            totals.raised.update(made.raised)
            totals.rejected.update(made.rejected)
            progress.update(task, advance=sum(map(len, made.groups)))
    Random(f"{seed}/order").shuffle(groups)
    return list(itertools.chain.from_iterable(groups)), totals


def _part(total: int, index: int, parts: int) -> int:
    return total * (index + 1) // parts - total * index // parts


class _Id(msgspec.Struct):
    id: str


def _is_new(line: bytes, seen: set[str]) -> bool:
    identity = msgspec.json.decode(line, type=_Id).id
    return not (identity in seen or seen.add(identity))  # type: ignore[func-returns-value]


def summary(records: Iterable[Record]) -> Table:
    """The kinds by language."""
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    sizes: dict[tuple[str, str], list[int]] = defaultdict(list)
    for record in records:
        if isinstance(record, EditRecord):
            category, text = str(record.category), record.before
        else:
            category, text = "completion", record.middle
        row = category, kinds.shown_as(record.kind)
        counts[row][record.language] += 1
        sizes[row].append(text.count("\n") + (not text.endswith("\n")))
    languages = sorted({language for row in counts.values() for language in row}, key=lambda x: (x != "python", x))
    table = Table(title="Records")
    for name in ("category", "kind"):
        table.add_column(name, no_wrap=True)
    for name in (*languages, "all", "median lines"):
        table.add_column(name, justify="right")
    totals: Counter[str] = Counter()
    for row, found in sorted(counts.items()):
        totals.update(found)
        median = sorted(sizes[row])[len(sizes[row]) // 2]
        table.add_row(*row, *(str(found[x] or "") for x in languages), str(found.total()), str(median))
    lengths = sorted(itertools.chain.from_iterable(sizes.values()))
    median = lengths[len(lengths) // 2] if lengths else 0
    table.add_row("all", "", *(str(totals[x]) for x in languages), str(totals.total()), str(median), style="bold")
    return table


def parse_sizes(text: str) -> Sizes:
    """Sizes as the command line gives them.

    Raises:
        ValueError: they aren't numbers in pairs, or the lines don't ascend.

    """
    pairs = [part.split(":") for part in text.split(",")]
    sizes = tuple((int(lines), float(share)) for lines, share in pairs)
    if not all(one < other for (one, _), (other, _) in itertools.pairwise(sizes)):
        raise ValueError("the lines don't ascend")
    return sizes


def main(arguments: Sequence[str] | None = None) -> None:
    """Make a file of records and print what is in it."""
    options = argparse.ArgumentParser(
        prog="python -m tools.edit_model.make_data", description=__doc__.splitlines()[0]
    )
    options.add_argument("--split", choices=("train", "held-out"), default="train")
    options.add_argument("--edits", type=int, default=40_000)
    options.add_argument("--completions", type=int, default=0)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--output", type=Path, required=True)
    options.add_argument("--workers", type=int, default=2)
    options.add_argument(
        "--max-tokens", type=int, default=900, help="of range, new text and shown context, estimated"
    )
    options.add_argument(
        "--long-share", type=float, default=0.0, help=f"of edits that may have {LONG:g} times as many tokens"
    )
    options.add_argument(
        "--siblings", type=int, help="other edits of the same range, one after another; by default 5 in training"
    )
    options.add_argument(
        "--sizes", type=parse_sizes, help="how many units of up to how many lines, as 12:0.5,40:0.4,120:0.1"
    )
    options.add_argument("--languages", nargs="*", help="only these")
    given = options.parse_args(arguments)
    console = Console(width=max(Console().width, 140))
    with console.status("reading the sources"):
        files = [SourceFile(f.package, f.path, f.language, f.data) for f in read_files(given.split, given.languages)]
    split = cast(Split, given.split)
    lines, totals = make(
        files,
        split,
        given.edits,
        given.completions,
        given.seed,
        given.max_tokens,
        given.workers,
        given.long_share,
        SIBLINGS[split] if given.siblings is None else given.siblings,
        given.sizes,
        console,
    )
    decode = msgspec.json.Decoder[Record](Record).decode
    given.output.parent.mkdir(parents=True, exist_ok=True)
    write_records(given.output, map(decode, lines))
    console.print(summary(map(decode, lines)))
    for title, counter in (("raised", totals.raised), ("rejected", totals.rejected)):
        for what, count in counter.most_common(25):
            console.print(f"{title} {count:6}  {what}", markup=False, highlight=False)
    console.print(f"{len(lines)} records in {given.output}")


if __name__ == "__main__":
    main()
