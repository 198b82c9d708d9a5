"""Makes training and held-out records: edits and completions of the packages' code.

    python -m tools.edit_model.make_data --split train --edits 40000 --completions 12000 --seed 1 --output PATH

The same seed and sources give the same bytes, whatever the number of workers. Nothing is resumed: a record takes
milliseconds, and the file gets its name once it is complete.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import hashlib
import importlib
import itertools
import math
import multiprocessing
import pkgutil
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Final, cast

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from . import completions, kinds, mixes, transforms, unchanged
from .edit import Edit
from .framing import Change, Frame, frame, unit_name
from .mixes import Transform
from .phrasing import Phrasing
from .record import CompletionKind, CompletionRecord, EditRecord, Record, Split, write_records
from .source import SourceFile, Unit, parser
from .sources import read_files

CHARS_PER_TOKEN: Final = 3.3
MOST_INSTRUCTION: Final = 300
_SHARES: Final = {"python": 0.50, "script": 0.35, "others": 0.15}
_SCRIPTS: Final = ("javascript", "typescript", "tsx")
_TRIES: Final = 60
"""Units a kind is tried on before another kind is chosen."""
_FUTILE: Final = 200
"""Units a transformation is tried on in vain before it is taken not to apply to a language group."""
_MOST_BYTES: Final = 80_000
"""Of a file; each record costs parsing one."""
_PER_UNIT: Final = 5
_SHARE_OF_FILE: Final = 0.02
_SHARE_OF_PACKAGE: Final = 0.25
"""Of a language group's records. Kinds that fit few packages would otherwise be made of one."""
_FILES_AT_ONCE: Final = 24
_DRAWS_OF_FILES: Final = 3000
_LONG: Final = 2.7
"""How much longer than others a long record may be: the two texts of 120 lines."""
_CRLF: Final = 0.05
_SIBLING_TRIES: Final = 40
_SIBLING_GROWTH: Final = 1200
"""Characters that a range may grow by in an edit that was not framed for it."""
_SHARD: Final = 4000
"""Records made with one random generator, so that the result doesn't depend on who makes them."""
_SIZES: Final = ((8, 0.20), (20, 0.35), (40, 0.25), (80, 0.14), (120, 0.06))
"""Up to how many lines a unit has, and how many of the records are to be from such units."""


@dataclass(frozen=True, slots=True)
class Maker:
    """A transformation: what it turns code into is the ``after``, or, if it is inverse, the ``before``."""

    kind: str
    transform: Transform
    inverse: bool


@dataclass(frozen=True, slots=True)
class Order:
    """What one shard makes."""

    number: int
    split: Split
    edits: int
    completions: int
    seed: int
    max_tokens: int
    long_share: float = 0.0
    siblings: int = 0


@dataclass
class Made:
    """What a shard has made, and what went wrong. ``groups`` are records, encoded; those of one range together."""

    groups: list[list[bytes]] = field(default_factory=list)
    raised: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)


def load_makers() -> list[Maker]:
    """Every transformation there is, in a fixed order."""
    makers = []
    for module in sorted(m.name for m in pkgutil.iter_modules(transforms.__path__)):
        loaded = importlib.import_module(f"{transforms.__name__}.{module}")
        makers += [Maker(kind, t, False) for kind, t in getattr(loaded, "TRANSFORMS", {}).items()]
        makers += [Maker(kind, t, True) for kind, t in getattr(loaded, "INVERSE", {}).items()]
    return list(dict.fromkeys(makers))  # a module may show what others define


def _group(language: str) -> str:
    return language if language == "python" else "script" if language in _SCRIPTS else "others"


class _Pool:
    """The units of one language group."""

    def __init__(self, files: Sequence[SourceFile]) -> None:
        self._units = [units for file in files if (units := list(file.units()))]
        self.by_path = {(units[0].file.package, units[0].file.path): units for units in self._units}
        self.refill()

    def refill(self) -> None:
        """Make all units available."""
        self._left = [list(units) for units in self._units]
        self._buckets: list[list[Unit]] = []
        self._drawn = 0

    def draw(self, random: Random, usable: Callable[[Unit], bool]) -> Unit | None:
        """A unit that is usable, None if none is left.

        For a while they come from a few files, since what transformations find out about a file they keep for the
        next ones.
        """
        self._drawn += 1
        if self._drawn % _DRAWS_OF_FILES == 0:
            self._buckets = []
        while True:
            weights = [weight if units else 0.0 for units, (_, weight) in zip(self._buckets, _SIZES, strict=False)]
            if not any(weights):
                if not self._gather(random, usable):
                    return None
                continue
            units = random.choices(self._buckets, weights)[0]
            index = random.randrange(len(units))
            if usable(units[index]):
                return units[index]
            units[index] = units[-1]
            units.pop()

    def _gather(self, random: Random, usable: Callable[[Unit], bool]) -> bool:
        """Take other files; False if none has a usable unit left."""
        random.shuffle(self._left)
        self._buckets = [[] for _ in _SIZES]
        files = 0
        for units in self._left:
            units[:] = filter(usable, units)
            for unit in units:
                lines = unit.file.data.count(b"\n", unit.start, unit.end)
                size = next((i for i, (most, _) in enumerate(_SIZES) if lines <= most), len(_SIZES) - 1)
                self._buckets[size].append(unit)
            files += bool(units)
            if files == _FILES_AT_ONCE:
                break
        self._left = [units for units in self._left if units]
        return files > 0


class Shard:
    """Makes one shard's records out of its share of the files."""

    def __init__(self, order: Order, files: Sequence[SourceFile], makers: Sequence[Maker]) -> None:
        self.order = order
        self.random = Random(f"{order.seed}/{order.split}/{order.number}")
        self.max_chars = int(order.max_tokens * CHARS_PER_TOKEN)
        self.most = self.max_chars  # of the record in the making
        self.held_out = order.split == "held-out"
        groups: dict[str, list[SourceFile]] = defaultdict(list)
        for file in files:
            groups[_group(file.language)].append(file)
        self.pools = {group: _Pool(groups[group]) for group in _SHARES if groups[group]}
        self.makers: dict[str, list[Maker]] = defaultdict(list)
        for maker in makers:
            self.makers[maker.kind].append(maker)
        self.forward = [m for m in makers if not m.inverse and not m.kind.startswith("fix-")]
        self.kinds = [*self.makers, *([mixes.TWO_EDITS, mixes.STEERED, mixes.CORRECTED] if makers else [])]
        self.usable: dict[str, list[str]] = {}
        self.misses: Counter[tuple[str, Maker]] = Counter()
        self.made = Made()
        self.of: dict[str, Counter[object]] = {"unit": Counter(), "file": Counter(), "package": Counter()}
        self.pairs: set[tuple[int, int, str]] = set()
        self.framed: Frame | None = None

    def make(self) -> Made:
        """All of it."""
        for count, wanted in ((self.order.edits, self._edit), (self.order.completions, self._completion)):
            for counter in self.of.values():
                counter.clear()
            for pool in self.pools.values():
                pool.refill()
            made, misses, open_groups = 0, 0, list(self.pools)
            while made < count and misses < 30 * count and open_groups:
                group = self.random.choices(open_groups, [_SHARES[group] for group in open_groups])[0]
                make = wanted
                if wanted == self._edit and self.random.random() < kinds.UNCHANGED_SHARE:
                    make = self._unchanged
                for _ in range(20):  # the group holds, so that those with many kinds don't get more than their share
                    if self._drawn(group, count) is None:
                        open_groups.remove(group)
                        break
                    long = self.random.random() < self.order.long_share
                    self.most = int(self.max_chars * _LONG) if long else self.max_chars
                    records = make(group, count)
                    if records:
                        made += len(records)
                        self.made.groups.append(list(map(msgspec.json.encode, records)))
                        break
                    misses += 1
        return self.made

    # Edits.

    def _edit(self, group: str, total: int) -> list[Record]:
        usable = self._usable(group)
        kind = self.random.choices(usable, [kinds.weight_of(kind) for kind in usable])[0]
        for _ in range(_TRIES):
            unit = self._drawn(group, total)
            if unit is None or (id(unit.file), unit.start, kind) in self.pairs:
                continue
            try:
                record = self._tried(unit, kind, group)
            except ValueError as error:
                self.made.rejected[f"{kind}: {error}"] += 1
                continue
            if record is not None:
                self.pairs.add((id(unit.file), unit.start, kind))
                self._count(unit)
                return [record, *self._siblings(unit, record, kind, group)]
        return []

    def _siblings(self, unit: Unit, record: EditRecord, kind: str, group: str) -> list[EditRecord]:
        """Other edits of the range that was framed last, if it is as it stands in the file."""
        framed, found = self.framed, [record]
        wanted = self.random.randint(0, self.order.siblings)
        if framed is None or framed.span is None or framed.texts[0] != unit.file.source(*framed.span):
            return []
        makers = [m for m in self.forward if m.kind != kind and self.misses[group, m] < _FUTILE]
        for _ in range(_SIBLING_TRIES if makers else 0):
            if len(found) > wanted:
                break
            maker = self.random.choices(makers, [kinds.weight_of(m.kind) for m in makers])[0]
            if (id(unit.file), unit.start, maker.kind) in self.pairs:
                continue
            with contextlib.suppress(ValueError):
                sibling = self._sibling(unit, maker, framed, framed.span)
                if sibling is not None:
                    self.pairs.add((id(unit.file), unit.start, maker.kind))
                    found.append(sibling)
        return found[1:]

    def _sibling(self, unit: Unit, maker: Maker, framed: Frame, span: tuple[int, int]) -> EditRecord | None:
        edit = self._try(maker, unit, Phrasing(self.random, self.held_out))
        if edit is None:
            return None
        change = mixes.change_of(unit, edit)
        instruction = edit.instruction.strip()
        first, last = change.span
        if not span[0] <= first <= last <= span[1] or not 0 < len(instruction) <= MOST_INSTRUCTION:
            return None
        texts = change.texts(*span)
        if texts[0] == texts[-1] or not parses(unit.file.language, change.versions[-1]):
            return None
        if len(texts[-1]) > len(texts[0]) + _SIBLING_GROWTH:
            return None
        return self._built(unit, maker.kind, [instruction], replace(framed, texts=tuple(texts)), "")

    def _usable(self, group: str) -> list[str]:
        """The kinds that may apply to a language group."""
        if group not in self.usable:
            self.usable[group] = [kind for kind in self.kinds if kind not in self.makers or self._apt(kind, group)]
        return self.usable[group]

    def _apt(self, kind: str, group: str) -> list[Maker]:
        """The kind's transformations that may apply to a language group."""
        return [maker for maker in self.makers[kind] if self.misses[group, maker] < _FUTILE]

    def _try(self, maker: Maker, unit: Unit, phrasing: Phrasing) -> Edit | None:
        key = _group(unit.file.language), maker
        try:
            edit = maker.transform(unit, phrasing)
        except Exception as error:  # one transformation that fails on odd code must not end a long run
            self.made.raised[f"{maker.kind}: {type(error).__name__} {error}"[:100]] += 1
            edit = None
        if edit is not None and edit.replacements:
            self.misses[key] = -(1 << 30)
            return edit
        self.misses[key] += 1
        if self.misses[key] == _FUTILE:
            self.usable.pop(key[0], None)
        return None

    def _tried(self, unit: Unit, kind: str, group: str) -> EditRecord | None:
        """A record of this kind; None if it doesn't apply to the unit.

        Raises:
            ValueError: it does, and nothing usable comes of it.

        """
        phrasing = Phrasing(self.random, self.held_out)
        change, inverse = None, False
        if kind == mixes.CORRECTED:
            change = mixes.corrected(unit, phrasing, self._any_edit, self.held_out)
        elif kind == mixes.TWO_EDITS:
            change = mixes.two_edits(unit, phrasing, self._any_edit, self._any_edit, self.held_out)
        elif kind == mixes.STEERED:
            change = mixes.steered(unit, phrasing, self._any_edit, self._any_edit)
        elif apt := self._apt(kind, group):
            maker = self.random.choice(apt)
            edit = self._try(maker, unit, phrasing)
            if edit is not None:
                change, inverse = mixes.change_of(unit, edit, maker.inverse), maker.inverse
        return None if change is None else self._record(unit, change, kind, inverse)

    def _any_edit(self, unit: Unit, phrasing: Phrasing) -> Edit | None:
        """An edit for a composition, of any kind by weight that applies."""
        group = _group(unit.file.language)
        makers = [m for m in self.forward if self.misses[group, m] < _FUTILE]
        for _ in range(10 if makers else 0):
            maker = self.random.choices(makers, [kinds.weight_of(m.kind) for m in makers])[0]
            edit = self._try(maker, unit, phrasing)
            if edit is not None:
                return edit
        return None

    def _record(self, unit: Unit, change: Change, kind: str, inverse: bool) -> EditRecord:
        if change.versions[0] == change.versions[-1]:
            raise ValueError("nothing changes")
        if inverse and not kind.startswith("fix-") and not parses(unit.file.language, change.versions[0]):
            raise ValueError("before doesn't parse")
        if not inverse and any(not parses(unit.file.language, version) for version in change.versions[1:]):
            raise ValueError("after doesn't parse")
        self.framed = framed = frame(change, self.random, self.most, self.held_out)
        if framed is None:
            raise ValueError("no range fits")
        instructions = [i.strip() for i in framed.instructions]
        if any(not i or len(i) > MOST_INSTRUCTION for i in instructions):
            raise ValueError("instruction too long")
        before, after = framed.texts[0], framed.texts[-1]
        if before == after:
            raise ValueError("nothing changes in the range")
        accepted = ""
        if len(framed.texts) > 2:
            accepted = mixes.accepted_part(framed.texts[1], after, self.random)
        return self._built(unit, kind, instructions, framed, accepted)

    def _unchanged(self, group: str, total: int) -> list[Record]:
        unit = self._drawn(group, total)
        if unit is None:
            return []
        data = unit.file.data
        lines = [s for s in unit.file.line_starts if unit.start <= s < unit.end]
        at = self.random.choice(lines)
        empty = Change(unit.file.language, (data, data), (unit.start, unit.end), (at, at), (), "", "unchanged", ("",))
        framed = frame(empty, self.random, self.most, self.held_out)
        if framed is None or len(framed.texts[0].strip()) < 10:
            return []
        phrasing = Phrasing(self.random, self.held_out)
        text = framed.texts[0]
        found = self._borrowed(unit, phrasing, text) if self.random.random() < 0.3 else None
        if found is None:
            siblings = self.pools[group].by_path[unit.file.package, unit.file.path]
            names = tuple(sorted({unit_name(s) for s in siblings} - {""}))
            around = framed.prefix + framed.suffix
            place = unchanged.Place(unit.file.language, text, around, names, phrasing, self.held_out)
            found = unchanged.request_without_effect(place)
        if found is None or len(found[1]) > MOST_INSTRUCTION:
            return []
        kind, instruction = found
        self._count(unit)
        return [self._built(unit, kind, [instruction], framed, "")]

    def _borrowed(self, unit: Unit, phrasing: Phrasing, text: str) -> tuple[str, str] | None:
        """An instruction that was written for another unit and names what isn't in this range."""
        pool = self.pools[_group(unit.file.language)]
        siblings = pool.by_path[unit.file.package, unit.file.path]
        for _ in range(6):
            other = (
                self.random.choice(siblings)
                if self.random.random() < 0.7
                else self._drawn(_group(unit.file.language), 10**9)
            )
            if other is None or other.start == unit.start:
                continue
            edit = self._any_edit(other, phrasing)
            if edit is None or not edit.kind.startswith(("rename-", "change-", "delete-", "remove-")):
                continue
            replaced = tuple(other.file.source(r.start, r.end) for r in edit.replacements)
            if unchanged.cannot_apply(edit.instruction, replaced, text):
                kind = "no-such-name" if edit.kind.startswith("rename-") else "no-such-value"
                return kind, edit.instruction
        return None

    def _built(self, unit: Unit, kind: str, instructions: list[str], framed: Frame, accepted: str) -> EditRecord:
        identity = (unit.file.package, unit.file.path, kind, framed.texts[0], *instructions, framed.prefix[-200:])
        # What is judged by has whole files, so that what comes of them can be parsed, and some with CR LF.
        crlf = self.held_out and self.random.random() < _CRLF
        ends: Callable[[str], str] = (lambda text: text.replace("\n", "\r\n")) if crlf else str
        return EditRecord(
            id=f"{self.order.split}-{_digest(identity)}",
            split=self.order.split,
            language=unit.file.language,
            kind=kind,
            category=kinds.category_of(kind),
            package=unit.file.package,
            path=unit.file.path,
            instructions=instructions,
            prefix=ends(framed.prefix),
            before=ends(framed.texts[0]),
            after=ends(framed.texts[-1]),
            suffix=ends(framed.suffix),
            accepted=ends(accepted),
        )

    # Completions.

    def _completion(self, group: str, total: int) -> list[Record]:
        unit = self._drawn(group, total)
        if unit is None:
            return []
        names, shares = list(completions.KINDS), list(completions.KINDS.values())
        kind: CompletionKind = self.random.choices(names, shares)[0]
        found = completions.piece(unit, kind, self.random, self.max_chars)
        if found is None:
            return []
        self._count(unit)
        prefix, middle, suffix = found
        record = CompletionRecord(
            id=f"{self.order.split}-{_digest((unit.file.package, unit.file.path, kind, prefix, middle, suffix))}",
            split=self.order.split,
            language=unit.file.language,
            kind=kind,
            package=unit.file.package,
            path=unit.file.path,
            prefix=prefix,
            suffix=suffix,
            middle=middle,
        )
        return [record]

    # Caps.

    def _drawn(self, group: str, total: int) -> Unit | None:
        """A unit that hasn't given its share yet; None if all have."""
        share = total * _SHARES[group]
        of_file, of_package = max(8, share * _SHARE_OF_FILE), max(20, share * _SHARE_OF_PACKAGE)

        def usable(unit: Unit) -> bool:
            return (
                self.of["unit"][id(unit.file), unit.start] < _PER_UNIT
                and self.of["file"][id(unit.file)] < of_file
                and self.of["package"][unit.file.package] < of_package
            )

        return self.pools[group].draw(self.random, usable)

    def _count(self, unit: Unit) -> None:
        self.of["unit"][id(unit.file), unit.start] += 1
        self.of["file"][id(unit.file)] += 1
        self.of["package"][unit.file.package] += 1


def parses(language: str, data: bytes) -> bool:
    """Whether a whole file is without a syntax error."""
    if parser(language).parse(data).root_node.has_error:
        return False
    if language == "python":
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ast.parse(data)
        except (SyntaxError, ValueError):
            return False
    return True


def _digest(parts: Iterable[str]) -> str:
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()


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
        row = category, str(record.kind)
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
        "--long-share", type=float, default=0.0, help=f"of edits that may have {_LONG:g} times as many tokens"
    )
    options.add_argument(
        "--siblings", type=int, default=0, help="other edits of the same range at most, one after another"
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
        given.siblings,
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
