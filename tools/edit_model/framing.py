"""The range that is edited and the context it stands in: of one change, one of the many ways to have selected it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final

import tree_sitter

from .source import SourceFile, Unit, parser

PREFIX_LINES: Final = 60
SUFFIX_LINES: Final = 40
_SHOWN_BEFORE: Final = 20
_SHOWN_AFTER: Final = 10
"""Lines of the context that a prompt shows (`warmline.realtime.prompting.prompts`)."""
_NO_CONTEXT: Final = 0.15
_LITTLE_CONTEXT: Final = 0.20
"""How many training records show no context and a few lines of it: requests show it all, where there is any."""
_LONGEST: Final = 120
_SHORT_FILE: Final = 100
_CHARS_PER_LINE: Final = 36
_REINDENTED: Final = 0.08
_ORDINAL: Final = re.compile(
    r"\b(first|second|third|fourth|fifth|last|final|1st|2nd|3rd|\dth|other|outer|inner|top|bottom|lines?)\b", re.I
)
_WORD: Final = re.compile(r"[A-Za-z_$][\w$]*")
_LITERAL: Final = re.compile(r"[\w$.'\"-]+")
_INDENT: Final = re.compile(r"[ \t]*")


@dataclass(frozen=True, slots=True)
class Change:
    """A whole file before and after an edit.

    Attributes:
        versions: the file's bytes before, perhaps between two edits, and after.
        unit: the bytes of the unit before, whole lines.
        span: the bytes before, inside the unit, outside of which all versions are alike.
        replaced: what stood where something was replaced.
        name: of the unit, "" if it has none.
        kind: the transformation's.
    """

    language: str
    versions: tuple[bytes, ...]
    unit: tuple[int, int]
    span: tuple[int, int]
    replaced: tuple[str, ...]
    name: str
    kind: str
    instructions: tuple[str, ...]

    def __post_init__(self) -> None:
        before = self.versions[0]
        start, end = self.span
        if not self.unit[0] <= start <= end <= self.unit[1]:
            raise ValueError("the change leaves its unit")
        for version in self.versions[1:]:
            if version[:start] != before[:start] or version[self._moved(end, version) :] != before[end:]:
                raise ValueError("the change leaves its span")

    def _moved(self, offset: int, version: bytes) -> int:
        """Where in a version what stands at an offset after the span stands."""
        return offset + len(version) - len(self.versions[0])

    def texts(self, start: int, end: int) -> list[str]:
        """A range that encloses the span, in each version."""
        return [version[start : self._moved(end, version)].decode() for version in self.versions]


@dataclass(frozen=True, slots=True)
class Frame:
    """A change as it is asked for: the range in each version and what is around it.

    ``span`` are the bytes of the range before; ``indents`` the file's indentation and what it was replaced by.
    """

    instructions: tuple[str, ...]
    prefix: str
    texts: tuple[str, ...]
    suffix: str
    span: tuple[int, int]
    indents: tuple[str, str] | None = None

    def shown(self, texts: Sequence[str]) -> tuple[str, ...]:
        """Texts of the range, as they stand in a version of the file, with this frame's indentation."""
        if self.indents is None:
            return tuple(texts)
        fresh = not self.prefix or self.prefix.endswith("\n")
        return tuple(reindented(text, *self.indents, fresh) for text in texts)


_Range = tuple[int, int, tuple[str, ...]]


class _Framing:
    """One change being framed."""

    def __init__(self, change: Change, random: Random, max_chars: int, whole: bool) -> None:
        self.change = change
        self.whole = whole
        self.random = random
        self.max_chars = max_chars
        self.before = change.versions[0]
        self.lines = SourceFile("", "", change.language, self.before).line_starts
        self.unit_lines = self._line_at(change.unit[0]), self._line_from(change.unit[1])
        self.changed_lines = self._changed_lines()
        self.asked = " ".join(change.instructions)

    def frame(self) -> Frame | None:
        # Many changes can't be framed within a line, so that way is chosen more often than it comes out.
        ways: list[tuple[Callable[[], _Range | None], float]] = [
            (self._whole_unit, 0.43),
            (self._cut, 0.24),
            (self._extended, 0.15),
            (self._within_line, 0.10),
            (self._with_blank_lines, 0.04),
            (self._whole_file, 0.04),
        ]
        chosen = self.random.choices([way for way, _ in ways], [weight for _, weight in ways])[0]
        for way in (chosen, self._whole_unit, self._cut, self._close):
            found = way()
            if found is None:
                continue
            start, end, instructions = found
            texts = self.change.texts(start, end)
            room = self.max_chars - len(texts[0]) - len(texts[-1]) - sum(map(len, instructions))
            if room >= 0:
                prefix, suffix = self._context(start, end, room)
                return self._reindented(Frame(instructions, prefix, tuple(texts), suffix, (start, end)))
        return None

    # Which range.

    def _whole_unit(self) -> _Range:
        return *self.change.unit, self.change.instructions

    def _with_blank_lines(self) -> _Range:
        first, last = self.unit_lines
        while first > 0 and not self._text(first - 1).strip() and self.random.random() < 0.8:
            first -= 1
        while last < self._count and not self._text(last).strip() and self.random.random() < 0.8:
            last += 1
        return self.lines[first], self.lines[last], self.change.instructions

    def _cut(self) -> _Range | None:
        """The unit without some of its first or last lines, and with all that the instruction is about."""
        if _ORDINAL.search(self.asked):
            return None
        if self.random.random() < 0.4:
            return self._close()
        (first, last), (changed, changed_end) = self.unit_lines, self.changed_lines
        if self.random.random() < 0.7:
            first = self.random.randint(first, changed)
        if self.random.random() < 0.7:
            last = self.random.randint(changed_end, last)
        return self.lines[first], self.lines[last], self.change.instructions

    def _close(self) -> _Range | None:
        """The changed lines and up to four more above and below."""
        if _ORDINAL.search(self.asked):
            return None
        (first, last), (changed, changed_end) = self.unit_lines, self.changed_lines
        first = max(first, changed - self.random.randint(0, 4))
        last = min(last, changed_end + self.random.randint(0, 4))
        return self.lines[first], self.lines[last], self.change.instructions

    def _extended(self) -> _Range | None:
        first, last = self.unit_lines
        fits = (self.max_chars // 2 - self._chars(first, last)) // _CHARS_PER_LINE
        room = min(_LONGEST - (last - first), fits)
        if room < 3:
            return None
        more = self.random.randint(3, room)
        above = self.random.choice((0, more, self.random.randint(0, more)))
        first = self._boundary(max(0, first - above), self.unit_lines[0])
        last = self._boundary(min(self._count, last + more - above), self._count, self.unit_lines[1])
        return self._beyond(first, last)

    def _whole_file(self) -> _Range | None:
        if self._count > _SHORT_FILE:
            return self._extended()
        return self._beyond(0, self._count)

    def _boundary(self, line: int, latest: int, earliest: int = 0) -> int:
        """A line near this one that begins something, as people select; sometimes just this one."""
        if self.random.random() < 0.4:
            return line
        for near in (line, line + 1, line - 1, line + 2, line - 2, line + 3, line - 3):
            if earliest <= near <= latest and (near == 0 or near >= self._count or not self._text(near - 1).strip()):
                return near
        return line

    def _beyond(self, first: int, last: int) -> _Range | None:
        """A range with more than the unit, if the instruction says what is meant among all of this or can be told."""
        return self._told_apart(self.lines[first], self.lines[last])

    def _told_apart(self, start: int, end: int) -> _Range | None:
        unit_start, unit_end = self.change.unit
        around = self.before[start:unit_start].decode() + "\n" + self.before[unit_end:end].decode()
        instructions = self.change.instructions
        if not around.strip() or not self.asked:
            return start, end, instructions
        name = self.change.name
        anchors = {text for text in self.change.replaced if _LITERAL.fullmatch(text)}
        elsewhere = {anchor for anchor in anchors if occurs(anchor, around)}
        told = bool(anchors) and not elsewhere and all(occurs(anchor, self.asked) for anchor in anchors)
        if told and not _ORDINAL.search(self.asked):
            return start, end, instructions
        if not name or name in elsewhere or defines(name, around):
            return None
        if not occurs(name, self.asked):
            instructions = (self._qualified(instructions[0]), *instructions[1:])
        return start, end, instructions

    def asked_of(self, start: int, end: int, prefix: str) -> tuple[str, ...] | None:
        """The instructions as they ask for the change in this range; None if they can't."""
        (unit_start, unit_end), (changed, changed_end) = self.change.unit, self.change.span
        first, last = self._line_at(start), self._line_from(end)
        if start == self.lines[first] and end == self.lines[last]:
            first_changed, last_changed = self.changed_lines
            if not first <= first_changed < last_changed <= last:
                return None
        elif not start <= changed < changed_end <= end:
            return None
        if unit_start < start or end < unit_end:
            name = self.change.name
            shown = prefix + self.before[start:end].decode()
            if _ORDINAL.search(self.asked) or (name and occurs(name, self.asked) and not occurs(name, shown)):
                return None
        if unit_start <= start and end <= unit_end:
            return self.change.instructions
        found = self._told_apart(start, end)
        return None if found is None else found[2]

    def _qualified(self, instruction: str) -> str:
        name = self.change.name
        quoted = self.random.choice((name, name, f"`{name}`"))
        opening = self.random.choice(("In {}, ", "in {}: ", "in {}, ", "For {}: ", "{}: ", "only in {}: "))
        return opening.format(quoted) + lowered(instruction)

    def _within_line(self) -> _Range | None:
        """The expression or statement that changes, and nothing else of its lines."""
        start, end = self.change.span
        if start == end or end - start > 400 or self.before[start:end].count(b"\n") > 3:
            return None
        tree = parser(self.change.language).parse(self.before)
        node: tree_sitter.Node | None = tree.root_node.named_descendant_for_byte_range(start, end)
        climb = self.random.choice((0, 0, 1, 2))
        while node is not None and node.parent is not None and (climb > 0 or self._hollow(node)):
            node, climb = node.parent, climb - 1
        if node is None or not self.change.unit[0] <= node.start_byte <= start <= end <= node.end_byte:
            return None
        if node.end_byte > self.change.unit[1] or node.end_point.row - node.start_point.row > 5:
            return None
        if _ORDINAL.search(self.asked):
            return None
        return node.start_byte, node.end_byte, self.change.instructions

    def _hollow(self, node: tree_sitter.Node) -> bool:
        """Whether one of its versions is too little to be selected or answered."""
        texts = self.change.texts(node.start_byte, node.end_byte)
        return any(len(text.strip()) < 3 or not any(map(str.isalnum, text)) for text in texts)

    # The context.

    def _context(self, start: int, end: int, room: int) -> tuple[str, str]:
        if self.whole:
            return self.before[:start].decode(), self.before[end:].decode()
        first, last = self._line_at(start), self._line_from(end)
        within = start != self.lines[first] or end != self.lines[last]
        roll = self.random.random()
        if roll < _NO_CONTEXT:
            above, below = 0, 0
        elif roll < _NO_CONTEXT + _LITTLE_CONTEXT:
            above, below = self.random.randint(0, 8), self.random.randint(0, 8)
            if above + below == 0:
                above = 1
        else:
            above, below = PREFIX_LINES, SUFFIX_LINES
        unit_first = self.unit_lines[0]
        if first > unit_first and self.change.name and occurs(self.change.name, self.asked):
            above = max(above, first - unit_first)
        head = self.before[self.lines[first] : start].decode() if within else ""
        tail = self.before[end : self.lines[last]].decode() if within else ""
        room -= len(head) + len(tail)
        above, below = min(above, first), min(below, self._count - last)
        while above + below and self._shown(first, above, last, below) > room:
            if above > 2 * below:
                above -= 1
            elif below:
                below -= 1
            else:
                above -= 1
        prefix = self.before[self.lines[first - above] : self.lines[first]].decode() + head
        suffix = tail + self.before[self.lines[last] : self.lines[last + below]].decode()
        return prefix, suffix

    def _shown(self, first: int, above: int, last: int, below: int) -> int:
        return self._chars(first - min(above, _SHOWN_BEFORE), first) + self._chars(
            last, last + min(below, _SHOWN_AFTER)
        )

    def _reindented(self, frame: Frame) -> Frame:
        if self.random.random() >= _REINDENTED or "indent" in self.asked:
            return frame
        found = indentation("\n".join((frame.prefix, *frame.texts, frame.suffix)))
        if found is None:
            return frame
        new = self.random.choice([unit for unit in ("  ", "    ", "\t") if unit != found])
        frame = replace(frame, indents=(found, new))
        return replace(
            frame,
            prefix=reindented(frame.prefix, found, new),
            texts=frame.shown(frame.texts),
            suffix=reindented(frame.suffix, found, new, all(text.endswith("\n") or not text for text in frame.texts)),
        )

    # Lines.

    @property
    def _count(self) -> int:
        return len(self.lines) - 1

    def _text(self, line: int) -> str:
        return self.before[self.lines[line] : self.lines[line + 1]].decode()

    def _chars(self, first: int, last: int) -> int:
        return self.lines[last] - self.lines[first]

    def _line_at(self, offset: int) -> int:
        """The line that holds this offset; past the end, the number of lines."""
        low, high = 0, len(self.lines) - 1
        while low < high:
            middle = (low + high + 1) // 2
            if self.lines[middle] <= offset:
                low = middle
            else:
                high = middle - 1
        return low

    def _line_from(self, offset: int) -> int:
        """The first line that begins at this offset or later."""
        line = self._line_at(offset)
        return line if self.lines[line] == offset else line + 1

    def _changed_lines(self) -> tuple[int, int]:
        """The lines the change touches; where lines may come or go, those above and below too."""
        start, end = self.change.span
        first, last = self._line_at(start), self._line_from(end)
        if start == self.lines[first]:
            first -= 1
            last += 1
        last = max(last, first + 1)
        return max(first, self.unit_lines[0]), min(last, self.unit_lines[1])


def frame(change: Change, random: Random, max_chars: int, whole: bool = False) -> Frame | None:
    """Choose a range and its context, at most ``max_chars`` with the new text; None if there is no such range.

    With ``whole`` the context is all the rest of the file, and doesn't count.
    """
    return _Framing(change, random, max_chars, whole).frame()


def asked_of(change: Change, framed: Frame, random: Random) -> tuple[str, ...] | None:
    """The instructions that ask for a change in a range that was framed for another change of the same file.

    None if the range doesn't hold the change or doesn't tell what is meant.
    """
    return _Framing(change, random, 0, False).asked_of(*framed.span, framed.prefix)


def unit_name(unit: Unit) -> str:
    """What a unit is called, "" if it isn't."""
    node = unit.node
    if node.type == "decorated_definition":
        definition = node.child_by_field_name("definition")
        node = definition if definition is not None else node
    name = node.child_by_field_name("name")
    if name is None and node.type in {"lexical_declaration", "type_declaration"} and len(node.named_children) == 1:
        name = node.named_children[0].child_by_field_name("name")
    if name is None:
        declarator = node.child_by_field_name("declarator")
        while declarator is not None and declarator.type != "identifier":
            declarator = declarator.child_by_field_name("declarator")
        name = declarator
    text = "" if name is None or name.text is None else name.text.decode()
    return text if _WORD.fullmatch(text) else ""


def occurs(word: str, text: str) -> bool:
    """Whether a name or literal stands in a text, and not only as a part of a longer one."""
    return re.search(rf"(?<![\w$]){re.escape(word)}(?![\w$])", text) is not None


def defines(name: str, text: str) -> bool:
    """Whether something of this name seems to be defined in a text."""
    escaped = re.escape(name)
    words = r"def|class|function\*?|func(?:\s*\([^)]*\))?|fn|struct|enum|interface|type|const|let|var"
    keyword = rf"\b(?:{words})\s+{escaped}\b"
    return re.search(rf"{keyword}|(?m:^[ \t]*(?:[\w<>\[\], *]+[ *])?{escaped}\s*\([^;]*\{{\s*$)", text) is not None


def lowered(instruction: str) -> str:
    """An instruction as it goes on in the middle of a sentence."""
    if instruction[:2].isupper() or instruction[:2] == "I ":
        return instruction
    return instruction[:1].lower() + instruction[1:]


def indentation(text: str) -> str | None:
    """The unit all lines are indented by; None where it isn't clear or isn't the same everywhere."""
    units: set[str] = set()
    widths: set[int] = set()
    for line in text.splitlines():
        match = _INDENT.match(line)
        indent = match.group() if match else ""
        if not line.strip() or not indent:
            continue
        if "\t" in indent:
            if indent.strip("\t"):
                return None
            units.add("\t")
        else:
            units.add(" ")
            widths.add(len(indent))
    if units == {"\t"}:
        return "\t"
    if units != {" "}:
        return None
    for width in (4, 2):
        if all(found % width == 0 for found in widths):
            return " " * width
    return None


def reindented(text: str, old: str, new: str, fresh: bool = True) -> str:
    """The text with each leading ``old`` as ``new``; ``fresh`` says that it begins at a line's start."""
    lines: Sequence[str] = text.splitlines(keepends=True)
    changed = []
    for number, line in enumerate(lines):
        if number == 0 and not fresh:
            changed.append(line)
            continue
        depth = 0
        while line.startswith(old, depth * len(old)):
            depth += 1
        changed.append(new * depth + line[depth * len(old) :])
    return "".join(changed)
