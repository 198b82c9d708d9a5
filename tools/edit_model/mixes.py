"""Edits made of edits: two at once, one steered by a second instruction, and instructions that change nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, TypeAlias

from .edit import Edit, Replacement, apply
from .framing import Change, lowered, occurs, unit_name
from .phrasing import Phrasing
from .source import SourceFile, Unit
from .transforms.words import new_name, style_of

Transform: TypeAlias = Callable[[Unit, Phrasing], Edit | None]

TWO_EDITS: Final = "two-edits"
STEERED: Final = "steered-edit"
CORRECTED: Final = "corrected-edit"

_COURTESY: Final = re.compile(r"^(?:please|can you|could you)\s+", re.I)
_NUMBER: Final = re.compile(r"\d+")
_WORD: Final = re.compile(r"[A-Za-z_$][\w$]*")


def change_of(unit: Unit, edit: Edit, inverse: bool = False) -> Change:
    """The change an edit of a unit makes; of an inverse one, the change that undoes it.

    Raises:
        ValueError: a replacement leaves the unit, or two overlap.

    """
    data = unit.file.data
    edited = apply(data, edit.replacements)
    start = min(r.start for r in edit.replacements)
    end = max(r.end for r in edit.replacements)
    moved = len(edited) - len(data)
    if not unit.start <= start <= end <= unit.end:
        raise ValueError("the edit leaves its unit")
    if inverse:
        return Change(
            unit.file.language,
            (edited, data),
            (unit.start, unit.end + moved),
            (start, end + moved),
            tuple(r.text for r in edit.replacements),
            unit_name(unit),
            edit.kind,
            (edit.instruction,),
        )
    return Change(
        unit.file.language,
        (data, edited),
        (unit.start, unit.end),
        (start, end),
        tuple(unit.file.source(r.start, r.end) for r in edit.replacements),
        unit_name(unit),
        edit.kind,
        (edit.instruction,),
    )


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two edits of one unit, the second made in what the first one left; each has its own instruction."""

    first: Edit
    second: Edit
    between: bytes
    after: bytes
    span: tuple[int, int]


def two_edits(
    unit: Unit, phrasing: Phrasing, first: Transform, second: Transform, held_out: bool = False
) -> Change | None:
    """Both edits, asked for in one instruction."""
    pair = _pair(unit, phrasing, first, second)
    return None if pair is None else _asked_at_once(unit, pair, phrasing.random, held_out)


def _asked_at_once(unit: Unit, pair: _Pair, random: Random, held_out: bool) -> Change | None:
    asked = _combined(pair.first.instruction, pair.second.instruction, random, held_out)
    return _change(unit, pair, TWO_EDITS, (unit.file.data, pair.after), (asked,))


def steered(unit: Unit, phrasing: Phrasing, first: Transform, second: Transform) -> Change | None:
    """Both edits, the second asked for while the first one is being written. The version between is kept."""
    pair = _pair(unit, phrasing, first, second)
    return None if pair is None else _asked_in_turn(unit, pair, phrasing.random)


def _asked_in_turn(unit: Unit, pair: _Pair, random: Random) -> Change | None:
    backward = min(r.start for r in pair.second.replacements) < min(r.start for r in pair.first.replacements)
    if backward and random.random() < 0.65:
        return None  # little could have been accepted before the second instruction's place
    text = _bare(pair.second.instruction)
    opening = random.choice(
        ("", "", "", "", "also ", "and ", "and also ", "wait, also ", "oh and ", "then ", "plus: ", "now ")
    )
    text = opening + (lowered(text) if opening else pair.second.instruction)
    versions = (unit.file.data, pair.between, pair.after)
    return _change(unit, pair, STEERED, versions, (pair.first.instruction, text))


def composed(unit: Unit, kind: str, one: Edit, two: Edit, random: Random) -> Change | None:
    """Two edits, each made of the same text by itself, asked for at once (`TWO_EDITS`) or in turn (`STEERED`).

    None if what one of them takes away or brings in has to do with what the other one writes.
    """
    pair = _independent(unit, one, two)
    if pair is None:
        return None
    return _asked_at_once(unit, pair, random, False) if kind == TWO_EDITS else _asked_in_turn(unit, pair, random)


_CORRECTIONS: Final = (
    "no, {new}",
    "call it {new} instead",
    "make that {new}",
    "actually, {new}",
    "use {new} instead",
    "not {old}, {new}",
    "sorry, I meant {new}",
    "{new} instead of {old}",
    "wait, make it {new}",
    "on second thought use {new}",
    "no wait, {new} please",
    "I meant {new}, not {old}",
    "hmm, better {new} than {old}",
)


def corrected(unit: Unit, phrasing: Phrasing, transform: Transform, held_out: bool = False) -> Change | None:
    """An edit whose new name or number is corrected while it is being written."""
    edit = transform(unit, phrasing)
    if edit is None or not edit.replacements:
        return None
    new = edit.replacements[0].text
    if any(r.text != new for r in edit.replacements) or not occurs(new, edit.instruction):
        return None
    if _NUMBER.fullmatch(new):
        other = str(_another_number(int(new), phrasing.random))
    elif _WORD.fullmatch(new) and not edit.kind.startswith("delete"):
        words = set(_WORD.findall(unit.file.data.decode()))
        related = new_name(new, phrasing.random, words, style_of(new, default_style(unit.file.language)))
        other = related if phrasing.random.random() < 0.6 else near_name(new, phrasing.random)
    else:
        return None
    data = unit.file.data
    if occurs(other, unit.text) or other == new:
        return None
    after = apply(data, [Replacement(r.start, r.end, other) for r in edit.replacements])
    between = apply(data, edit.replacements)
    wording = wording_of(_CORRECTIONS, phrasing.random, held_out)
    wording = wording.format(new=phrasing.code(other), old=phrasing.code(new))
    whole = change_of(unit, edit)
    return Change(
        whole.language,
        (data, between, after),
        whole.unit,
        whole.span,
        whole.replaced,
        whole.name,
        CORRECTED,
        (edit.instruction, wording),
    )


def accepted_part(between: str, after: str, random: Random) -> str:
    """How much of a steered answer had been given: whole lines, none that the second instruction changes."""
    same = 0
    mine, theirs = between.splitlines(keepends=True), after.splitlines(keepends=True)
    for one, other in zip(mine, theirs, strict=False):
        if one != other:
            break
        same += 1
    if same == 0 or random.random() < 0.2:
        return ""
    return "".join(theirs[: random.randint(1, same)])


def _pair(unit: Unit, phrasing: Phrasing, first: Transform, second: Transform) -> _Pair | None:
    data = unit.file.data
    one = first(unit, phrasing)
    if one is None or not one.replacements:
        return None
    between = apply(data, one.replacements)
    file = SourceFile(unit.file.package, unit.file.path, unit.file.language, between)
    again = same_unit(file, unit, len(between) - len(data))
    if again is None:
        return None
    two = second(again, phrasing)
    if two is None or not two.replacements:
        return None
    touched = _written(one.replacements)
    for r in two.replacements:
        if any(start <= r.end and r.start <= end for start, end in touched):
            return None
    after = apply(between, two.replacements)
    # Of both, in the file before: what stands outside the first edit's span is only moved by its growth.
    one_start, one_end = min(r.start for r in one.replacements), max(r.end for r in one.replacements)
    two_start, two_end = min(r.start for r in two.replacements), max(r.end for r in two.replacements)
    grown = len(between) - len(data)
    start = min(one_start, two_start)
    end = max(one_end, two_end - grown)
    return _Pair(one, two, between, after, (start, end))


_OF_ALL: Final = re.compile(r"(?:remove|add|use)-.*s$|delete-calls|sort-|swap-|move-|.*-block$")
"""Kinds whose result may be another one once something else has been added, changed or moved."""


def _independent(unit: Unit, one: Edit, two: Edit) -> _Pair | None:
    if one.kind == two.kind and not one.kind.startswith(("rename-", "change-")):
        return None
    if any(_OF_ALL.match(edit.kind) for edit in (one, two)):
        return None
    if any(a.start <= b.end and b.start <= a.end for a in one.replacements for b in two.replacements):
        return None
    (gone, new), (other_gone, other_new) = _words(unit, one), _words(unit, two)
    if gone & other_new or new & other_gone or (one.kind == two.kind and new & other_new):
        return None
    written = {word for edit in (one, two) for r in edit.replacements for word in _WORD.findall(r.text)}
    if (gone | other_gone) & written:
        return None
    data = unit.file.data
    every = (*one.replacements, *two.replacements)
    span = min(r.start for r in every), max(r.end for r in every)
    return _Pair(one, two, apply(data, one.replacements), apply(data, every), span)


def _words(unit: Unit, edit: Edit) -> tuple[set[str], set[str]]:
    """The words that an edit takes away and those it brings in."""
    old = {word for r in edit.replacements for word in _WORD.findall(unit.file.source(r.start, r.end))}
    new = {word for r in edit.replacements for word in _WORD.findall(r.text)}
    return old - new, new - old


def same_unit(file: SourceFile, unit: Unit, grown: int) -> Unit | None:
    """The unit in its file as it is after an edit inside it."""
    for found in file.units(1, 10_000):
        if (found.start, found.end, found.node.type) == (unit.start, unit.end + grown, unit.node.type):
            return found
    return None


def _written(replacements: Sequence[Replacement]) -> list[tuple[int, int]]:
    """Where the new texts stand after the replacements."""
    spans, moved = [], 0
    for r in sorted(replacements, key=lambda r: (r.start, r.end)):
        start = r.start + moved
        moved += len(r.text.encode()) - (r.end - r.start)
        spans.append((start, start + len(r.text.encode())))
    return spans


def _change(
    unit: Unit, pair: _Pair, kind: str, versions: tuple[bytes, ...], instructions: tuple[str, ...]
) -> Change | None:
    name = unit_name(unit)
    # Once a range holds more than the unit, a new name of the unit would have to reach all of it.
    if any(name == unit.file.source(r.start, r.end) for r in pair.first.replacements):
        name = ""
    bounds = unit.start, unit.end
    try:
        return Change(unit.file.language, versions, bounds, pair.span, (), name, kind, instructions)
    except ValueError:
        return None


_COMBINATIONS: Final = (
    "{a} and {b}",
    "{a} and {b}",
    "{a}, and {b}",
    "{a}, then {b}",
    "{a} and then {b}",
    "{a}; also {b}",
    "{a}. Also {b}",
    "{a}. Also, {b}.",
    "{a}. {B}.",
    "{a}. {B}",
    "{a}; {b}",
    "1) {a} 2) {b}",
    "1. {a}\n2. {b}",
    "- {a}\n- {b}",
    "{a}\n{b}",
    "first {a}, then {b}",
    "two things: {a}, and {b}",
    "please {a} and {b}",
    "{a} + {b}",
    "both of these: {a}; {b}",
    "{a}, and while you're at it {b}",
)


def _combined(one: str, two: str, random: Random, held_out: bool) -> str:
    wording = wording_of(_COMBINATIONS, random, held_out)
    one, two = _bare(one), _bare(two)
    first = one if wording.startswith("{a}") and random.random() < 0.5 else lowered(one)
    return wording.format(a=first, b=lowered(two), B=two[:1].upper() + two[1:])


def wording_of(wordings: Sequence[str], random: Random, held_out: bool) -> str:
    """One of the wordings as it stands; as in `Phrasing`, the last is kept for the held-out set."""
    return random.choice(wordings if held_out else wordings[:-1])


def _bare(instruction: str) -> str:
    """An instruction without courtesies and its full stop."""
    text = instruction.strip()
    courteous = _COURTESY.match(text)
    if courteous is not None:
        text = text[courteous.end() :]
        if courteous.group().lower().startswith(("can", "could")):
            text = text.removesuffix("?")
    if text.endswith(".") and not text.endswith(".."):
        text = text[:-1]
    return text


def _another_number(number: int, random: Random) -> int:
    others = (number * 2, number + 1, number + 10, max(number - 1, 0), 10 * number)
    return random.choice([other for other in others if other != number])


_PARTS: Final = (
    "new", "old", "raw", "current", "local", "my", "next", "prev", "base", "tmp", "all", "item", "data", "value",
    "list", "name", "id", "info", "key", "text", "count", "index", "total", "result", "path", "node", "entry",
)  # fmt: skip


def default_style(language: str) -> str:
    """The case style of names that could be in several: of a single word."""
    return "snake" if language in {"python", "rust", "c"} else "camel"


def near_name(name: str, random: Random) -> str:
    """A name much like this one, in the same case style."""
    part = random.choice(_PARTS)
    camel = any(c.isupper() for c in name[1:]) and "_" not in name
    upper = name.isupper() and len(name) > 1
    roll = random.random()
    if roll < 0.2:
        return name.removesuffix("s") if name.endswith("s") and len(name) > 3 else name + ("S" if upper else "s")
    if "_" in name.strip("_") and roll < 0.4:
        pieces = name.split("_")
        random.shuffle(pieces)
        return "_".join(pieces)
    if upper:
        return f"{name}_{part.upper()}" if roll < 0.7 else f"{part.upper()}_{name}"
    if camel or (name[:1].isupper() and roll < 2):
        first = part.capitalize() + name if name[:1].isupper() else part + name[:1].upper() + name[1:]
        return name + part.capitalize() if roll < 0.7 else first
    if len(name) > 5 and roll < 0.5:
        return name[: random.randint(3, len(name) - 2)]
    return f"{name}_{part}" if roll < 0.75 else f"{part}_{name}"
