"""Makes the records of one shard: some thousand of them out of its share of the files."""

from __future__ import annotations

import ast
import hashlib
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import Final

import msgspec

from . import completions, kinds, mixes, unchanged
from .balance import Balance
from .edit import Edit
from .framing import Change, Frame, asked_of, frame, unit_name
from .mixes import Transform
from .phrasing import Phrasing
from .pool import Pool, Sizes
from .record import CompletionKind, CompletionRecord, EditRecord, Record, Split
from .source import SourceFile, Unit, parser

CHARS_PER_TOKEN: Final = 3.3
MOST_INSTRUCTION: Final = 300
SHARES: Final[dict[Split, dict[str, float]]] = {
    "train": {"python": 0.45, "script": 0.35, "others": 0.20},
    "held-out": {"python": 0.50, "script": 0.35, "others": 0.15},
}
"""Of the language groups."""
SIZES: Final[dict[Split, Sizes]] = {
    "train": ((5, 0.14), (12, 0.38), (20, 0.22), (40, 0.16), (80, 0.08), (120, 0.02)),
    "held-out": ((8, 0.20), (20, 0.35), (40, 0.25), (80, 0.14), (120, 0.06)),
}
"""In training short ones come first: a range of few lines teaches as much as a long one for fewer tokens."""
SIBLINGS: Final[dict[Split, int]] = {"train": 5, "held-out": 0}
"""Other edits of the same range, where it allows as many: many don't, so that there are some four records a range."""
_SCRIPTS: Final = ("javascript", "typescript", "tsx")
_TRIES: Final = 60
"""Units a kind is tried on before another kind is chosen."""
_FUTILE: Final = 200
"""Units a transformation is tried on in vain before it is taken not to apply to a language group."""
_PER_UNIT: Final = 5
_SHARE_OF_FILE: Final = 0.02
_SHARE_OF_PACKAGE: Final = 0.25
"""Of a language group's records. Kinds that fit few packages would otherwise be made of one."""
LONG: Final = 2.7
"""How much longer than others a long record may be: the two texts of 120 lines."""
_CRLF: Final = 0.05
_SIBLING_TRIES: Final = 90
"""Transformations that are tried on a range for another edit of it."""
_ODD_PAIRS: Final = 0.25
"""Of two edits at once or in turn that may be of any kinds."""
_SIBLING_GROWTH: Final = 1200
"""Characters that a range may grow by in an edit that was not framed for it."""


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
    sizes: Sizes = SIZES["held-out"]


@dataclass
class Made:
    """What a shard has made, and what went wrong. ``groups`` are records, encoded; those of one range together."""

    groups: list[list[bytes]] = field(default_factory=list)
    raised: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)


class Shard:
    """Makes one shard's records out of its share of the files."""

    def __init__(self, order: Order, files: Sequence[SourceFile], makers: Sequence[Maker]) -> None:
        self.order = order
        self.random = Random(f"{order.seed}/{order.split}/{order.number}")
        self.max_chars = int(order.max_tokens * CHARS_PER_TOKEN)
        self.most = self.max_chars  # of the record in the making
        self.held_out = order.split == "held-out"
        shares = SHARES[order.split]
        groups: dict[str, list[SourceFile]] = defaultdict(list)
        for file in files:
            groups[group_of(file.language)].append(file)
        self.pools = {group: Pool(groups[group], order.sizes) for group in shares if groups[group]}
        self.makers: dict[str, list[Maker]] = defaultdict(list)
        for maker in makers:
            self.makers[maker.kind].append(maker)
        self.forward = [m for m in makers if not m.inverse and not m.kind.startswith("fix-")]
        self.kinds = [*self.makers, *([mixes.TWO_EDITS, mixes.STEERED, mixes.CORRECTED] if makers else [])]
        self.balance = Balance(partial(kinds.weight_of, split=order.split))
        self.usable: dict[str, list[str]] = {}
        self.misses: Counter[tuple[str, Maker]] = Counter()
        self.made = Made()
        self.of: dict[str, Counter[object]] = {"unit": Counter(), "file": Counter(), "package": Counter()}
        self.pairs: set[tuple[int, int, str]] = set()
        self.framed: Frame | None = None

    def make(self) -> Made:
        """All of it."""
        shares = SHARES[self.order.split]
        for count, wanted in ((self.order.edits, self._edit), (self.order.completions, self._completion)):
            for counter in self.of.values():
                counter.clear()
            for pool in self.pools.values():
                pool.refill()
            made, misses, open_groups = 0, 0, list(self.pools)
            while made < count and misses < 30 * count and open_groups:
                group = self.random.choices(open_groups, [shares[group] for group in open_groups])[0]
                make = wanted
                if wanted == self._edit and self.random.random() < kinds.UNCHANGED_SHARE:
                    make = self._unchanged
                for _ in range(20):  # the group holds, so that those with many kinds don't get more than their share
                    if self._drawn(group, count) is None:
                        open_groups.remove(group)
                        break
                    long = self.random.random() < self.order.long_share
                    self.most = int(self.max_chars * LONG) if long else self.max_chars
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
        # Where ranges are asked about several times, the first request is for what the others leave short.
        power = 2.0 if self.order.siblings else 0.0
        kind = self.random.choices(usable, [self.balance.wish(group, kind, power) for kind in usable])[0]
        for _ in range(_TRIES):
            unit = self._drawn(group, total)
            if unit is None or (id(unit.file), unit.start, kind) in self.pairs:
                continue
            try:
                found = self._tried(unit, kind, group)
            except ValueError as error:
                self.made.rejected[f"{kind}: {error}"] += 1
                continue
            if found is not None:
                record, change, edit = found
                self.pairs.add((id(unit.file), unit.start, kind))
                self._count(unit)
                self.balance.count(group, kind)
                return [record, *self._siblings(unit, change, edit, group)]
        return []

    # Other edits of a range.

    def _siblings(self, unit: Unit, change: Change, edit: Edit | None, group: str) -> list[EditRecord]:
        """Other edits of the range that was framed last for a change, if it is as it stands in the change's file."""
        framed = self.framed
        half = self.order.siblings // 2
        # Drawn also where there are to be none: what the held-out set is depends on it.
        wanted = self.random.randint(self.order.siblings - half, self.order.siblings + half)
        if not self.order.siblings or framed is None:
            return []
        start, end = framed.span
        if framed.texts[0] != framed.shown([change.versions[0][start:end].decode()])[0]:
            return []
        self._usable(group)
        asked = self._unit_before(unit, change)
        if asked is None:
            return []
        edits = [] if edit is None else [edit]
        found: list[EditRecord] = []
        phrasing = Phrasing(self.random, self.held_out)
        for maker in self._sibling_makers(unit, group):
            if len(found) >= wanted:
                break
            other = self._try(maker, asked, phrasing)
            if other is None:
                continue
            try:
                record = self._sibling(asked, mixes.change_of(asked, other), framed)
            except ValueError:
                continue
            if record is None:
                continue
            self.pairs.add((id(unit.file), unit.start, maker.kind))
            self.balance.count(group, maker.kind)
            found.append(record)
            found += self._compositions(asked, framed, group, other, edits)
            edits.append(other)
            if self.random.random() < kinds.UNCHANGED_SHARE:
                found += self._request_without_effect(unit, framed, group)
        return found

    def _unit_before(self, unit: Unit, change: Change) -> Unit | None:
        """The unit as it was before a change, which may have been made up from it."""
        data = change.versions[0]
        if data == unit.file.data:
            return unit
        if not parses(unit.file.language, data):
            return None
        file = SourceFile(unit.file.package, unit.file.path, unit.file.language, data)
        return mixes.same_unit(file, unit, len(data) - len(unit.file.data))

    def _sibling_makers(self, unit: Unit, group: str) -> list[Maker]:
        """Transformations in a random order, those of kinds that are short of records first."""
        keys: list[tuple[float, int, Maker]] = []
        for maker in self.forward:
            if self.misses[group, maker] < _FUTILE and (id(unit.file), unit.start, maker.kind) not in self.pairs:
                # Weighted sampling without replacement (Efraimidis and Spirakis, 2006).
                wish = self.balance.wish(group, maker.kind, 2.0)
                keys.append((self.random.expovariate(wish), len(keys), maker))
        return [maker for *_, maker in sorted(keys, key=lambda key: key[:2])[:_SIBLING_TRIES]]

    def _compositions(
        self, unit: Unit, framed: Frame, group: str, edit: Edit, others: Sequence[Edit]
    ) -> list[EditRecord]:
        """The edit together with another one of the range, where such records are wanted."""
        found = []
        for kind in (mixes.TWO_EDITS, mixes.STEERED):
            lag = self.balance.lag(group, kind)
            simple = [other for other in others if {other.kind, edit.kind} <= kinds.SIMPLE]
            if lag < 1 or not (simple or (others and self.random.random() < _ODD_PAIRS)):
                continue
            pair = [edit, self.random.choice(simple or others)]
            self.random.shuffle(pair)
            change = mixes.composed(unit, kind, pair[0], pair[1], self.random)
            record = None if change is None else self._sibling(unit, change, framed)
            if record is not None:
                self.balance.count(group, kind)
                found.append(record)
        return found

    def _sibling(self, unit: Unit, change: Change, framed: Frame) -> EditRecord | None:
        asked = asked_of(change, framed, self.random)
        if asked is None:
            return None
        instructions = [instruction.strip() for instruction in asked]
        texts = framed.shown(change.texts(*framed.span))
        if texts[0] == texts[-1] or not all(0 < len(i) <= MOST_INSTRUCTION for i in instructions):
            return None
        if any(not parses(unit.file.language, version) for version in change.versions[1:]):
            return None
        if len(texts[-1]) > len(texts[0]) + _SIBLING_GROWTH:
            return None
        accepted = mixes.accepted_part(texts[1], texts[-1], self.random) if len(texts) > 2 else ""
        return self._built(unit, change.kind, instructions, replace(framed, texts=texts), accepted)

    def _usable(self, group: str) -> list[str]:
        """The kinds that may apply to a language group."""
        if group not in self.usable:
            self.usable[group] = [kind for kind in self.kinds if kind not in self.makers or self._apt(kind, group)]
            self.balance.expect(group, self.usable[group])
        return self.usable[group]

    def _apt(self, kind: str, group: str) -> list[Maker]:
        """The kind's transformations that may apply to a language group."""
        return [maker for maker in self.makers[kind] if self.misses[group, maker] < _FUTILE]

    def _try(self, maker: Maker, unit: Unit, phrasing: Phrasing) -> Edit | None:
        key = group_of(unit.file.language), maker
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

    def _tried(self, unit: Unit, kind: str, group: str) -> tuple[EditRecord, Change, Edit | None] | None:
        """A record of this kind, and the edit if it is a single one; None if the kind doesn't apply to the unit.

        Raises:
            ValueError: it does, and nothing usable comes of it.

        """
        phrasing = Phrasing(self.random, self.held_out)
        change, edit, inverse = None, None, False
        if kind == mixes.CORRECTED:
            change = mixes.corrected(unit, phrasing, self._any_edit, self.held_out)
        elif kind == mixes.TWO_EDITS:
            change = mixes.two_edits(unit, phrasing, self._paired_edit, self._paired_edit, self.held_out)
        elif kind == mixes.STEERED:
            change = mixes.steered(unit, phrasing, self._paired_edit, self._paired_edit)
        elif apt := self._apt(kind, group):
            maker = self.random.choice(apt)
            edit = self._try(maker, unit, phrasing)
            if edit is not None:
                change, inverse = mixes.change_of(unit, edit, maker.inverse), maker.inverse
        if change is None:
            return None
        return self._record(unit, change, kind, inverse), change, None if inverse else edit

    def _paired_edit(self, unit: Unit, phrasing: Phrasing) -> Edit | None:
        """An edit for a composition of two: in training mostly one that people ask for together with another."""
        if self.held_out or self.random.random() < _ODD_PAIRS:
            return self._any_edit(unit, phrasing)
        return self._any_edit(unit, phrasing, kinds.SIMPLE)

    def _any_edit(self, unit: Unit, phrasing: Phrasing, among: frozenset[str] | None = None) -> Edit | None:
        """An edit for a composition, of any kind by weight that applies."""
        group = group_of(unit.file.language)
        makers = [m for m in self.forward if self.misses[group, m] < _FUTILE and (among is None or m.kind in among)]
        for _ in range(10 if makers else 0):
            maker = self.random.choices(makers, [kinds.weight_of(m.kind, self.order.split) for m in makers])[0]
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
        self.framed = framed = frame(empty, self.random, self.most, self.held_out)
        if framed is None or len(framed.texts[0].strip()) < 10:
            return []
        found = self._request_without_effect(unit, framed, group)
        if not found:
            return []
        self._count(unit)
        return [*found, *(self._siblings(unit, empty, None, group) if self.order.siblings else [])]

    def _request_without_effect(self, unit: Unit, framed: Frame, group: str) -> list[EditRecord]:
        """A request that leaves a range as it is; none if the chosen one doesn't fit it."""
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
        same = replace(framed, texts=(text, text))
        return [self._built(unit, kind, [instruction], same, "")]

    def _borrowed(self, unit: Unit, phrasing: Phrasing, text: str) -> tuple[str, str] | None:
        """An instruction that was written for another unit and names what isn't in this range."""
        pool = self.pools[group_of(unit.file.language)]
        siblings = pool.by_path[unit.file.package, unit.file.path]
        for _ in range(6):
            other = (
                self.random.choice(siblings)
                if self.random.random() < 0.7
                else self._drawn(group_of(unit.file.language), 10**9)
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
        share = total * SHARES[self.order.split][group]
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


def group_of(language: str) -> str:
    """The language group."""
    return language if language == "python" else "script" if language in _SCRIPTS else "others"


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
