"""What the semantic edits of Python share: a unit's syntax with its text, and rewrites put into words."""

from __future__ import annotations

import ast
import re
import string
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from random import Random
from typing import Final, TypeAlias

from tools.edit_model.edit import Edit, Replacement, apply
from tools.edit_model.phrasing import Phrasing
from tools.edit_model.source import Unit

Transform: TypeAlias = Callable[[Unit, Phrasing], Edit | None]

# An indented unit is parsed as the body of this statement.
_HEADER: Final = b"if 1:\n"
WIDTH: Final = 100

_ATOMS: Final = (
    ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant, ast.List, ast.Dict, ast.Set, ast.ListComp,
    ast.SetComp, ast.DictComp, ast.JoinedStr, ast.GeneratorExp,
)  # fmt: skip
_OPERATORS: Final[dict[type[ast.cmpop], str]] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_OPPOSITES: Final = {
    "==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">",
    "is": "is not", "is not": "is", "in": "not in", "not in": "in",
}  # fmt: skip
Positioned: TypeAlias = ast.expr | ast.stmt | ast.arg | ast.keyword | ast.alias | ast.excepthandler


class Code:
    """A stretch of whole lines of Python with its syntax. Raises SyntaxError or ValueError if it has none."""

    def __init__(self, lines: bytes) -> None:
        indented = lines[:1] in {b" ", b"\t"}
        self.header = len(_HEADER) if indented else 0
        self.data = (_HEADER if indented else b"") + lines
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.tree = ast.parse(self.data)
        self.starts = [0]
        for line in self.data.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.parents: dict[ast.AST, ast.AST] = {}
        self.nodes: list[ast.AST] = []
        roots: list[ast.stmt] = self.tree.body
        if indented:
            assert isinstance(self.tree.body[0], ast.If)
            roots = self.tree.body[0].body
        stack: list[ast.AST] = list(reversed(roots))
        self.roots = roots
        while stack:
            node = stack.pop()
            self.nodes.append(node)
            if isinstance(node, ast.JoinedStr):
                continue  # positions inside f-strings are wrong before Python 3.12
            children = list(ast.iter_child_nodes(node))
            for child in children:
                self.parents[child] = node
            stack.extend(reversed(children))

    @cached_property
    def lines(self) -> bytes:
        """The code itself."""
        return self.data[self.header :]

    @cached_property
    def random(self) -> Random:
        """What finders draw new names from; the code determines it."""
        return Random(zlib.crc32(self.data))

    @cached_property
    def names(self) -> set[str]:
        """Every word in it, so also every name."""
        return set(re.findall(r"\w+", self.lines.decode()))

    @cached_property
    def tab(self) -> str:
        """What one level of indentation is."""
        depths = []
        for block in self.blocks():
            owner = self.parents.get(block[0])
            if isinstance(owner, ast.stmt) and block[0].lineno > owner.lineno:
                inner, outer = self.indent(block[0]), self.indent(owner)
                if inner.startswith(outer) and len(inner) > len(outer):
                    depths.append(inner[len(outer) :])
        return max(set(depths), key=depths.count) if depths else "    "

    def offset(self, line: int, column: int) -> int:
        """The byte offset of a position."""
        return self.starts[line - 1] + column

    def span(self, node: Positioned) -> tuple[int, int]:
        """The bytes of a node."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)

    def text(self, node: Positioned) -> str:
        """The text of a node, without the parentheses around it."""
        start, end = self.span(node)
        return self.data[start:end].decode()

    def between(self, start: int, end: int) -> str:
        """The text of the bytes [start, end)."""
        return self.data[start:end].decode()

    def indent(self, node: Positioned) -> str:
        """The white space that the node's line starts with."""
        line = self.data[self.starts[node.lineno - 1] : self.starts[node.lineno]].decode()
        return line[: len(line) - len(line.lstrip(" \t"))]

    def simple(self, node: Positioned) -> str | None:
        """The text of a node that stands on one line, else None."""
        text = self.text(node)
        return None if "\n" in text else text

    def whole(self, first: ast.stmt, last: ast.stmt | None = None) -> tuple[int, int] | None:
        """The lines of the statements, if they hold nothing else and no comments."""
        last = last or first
        if isinstance(first, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return None
        start, end = self.span(first)[0], self.span(last)[1]
        line_start = self.starts[first.lineno - 1]
        assert last.end_lineno is not None
        line_end = self.starts[last.end_lineno]
        if self.data[line_start:start].strip() or self.data[end:line_end].strip():
            return None
        if b"#" in self.data[line_start:line_end] or not self.data[line_start:line_end].endswith(b"\n"):
            return None
        return line_start, line_end

    def blocks(self) -> Iterator[list[ast.stmt]]:
        """Every list of statements."""
        yield self.roots
        for node in self.nodes:
            for name in ("body", "orelse", "finalbody"):
                block = getattr(node, name, None)
                if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                    yield block

    def find(self, *types: type[ast.AST]) -> Iterator[ast.AST]:
        """The nodes of these types."""
        return (node for node in self.nodes if isinstance(node, types))

    def function(self, node: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """The innermost function around a node."""
        above = self.parents.get(node)
        while above is not None and not isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef):
            above = self.parents.get(above)
        return above

    def atom(self, node: ast.expr) -> str:
        """The text of an expression, in parentheses where an operator beside it needs them."""
        text = self.text(node)
        return (
            text
            if isinstance(node, _ATOMS) or (text.startswith("(") and isinstance(node, ast.Tuple))
            else f"({text})"
        )

    def comparison(self, node: ast.expr) -> tuple[str, str, str] | None:
        """Left, operator and right of a comparison of two operands on one line without parentheses around them."""
        if not isinstance(node, ast.Compare) or len(node.ops) != 1:
            return None
        left, operator, right = self.text(node.left), _OPERATORS[type(node.ops[0])], self.text(node.comparators[0])
        return (left, operator, right) if self.text(node) == f"{left} {operator} {right}" else None

    def negated(self, node: ast.expr) -> str | None:
        """The opposite of a condition where it is plain how to write it."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            if isinstance(node.operand, ast.Compare | ast.BoolOp | ast.IfExp | ast.NamedExpr):
                return None
            return self.simple(node.operand)
        if sides := self.comparison(node):
            return None if "\n" in self.text(node) else f"{sides[0]} {_OPPOSITES[sides[1]]} {sides[2]}"
        if isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
            text = self.simple(node)
            return text and f"not {text}"
        return None


def uses(node: ast.AST | Sequence[ast.AST], name: str) -> int:
    """How often a name occurs in a node, as a variable."""
    nodes = node if isinstance(node, Sequence) else [node]
    return sum(isinstance(part, ast.Name) and part.id == name for top in nodes for part in ast.walk(top))


@dataclass(frozen=True)
class Rewrite:
    """One place where a rewrite applies.

    Attributes:
        replacements: in offsets of the `Code`; none at a place that wordings could mean but where nothing is done.
        code: pieces of code that wordings quote, by slot.
        words: other words that wordings hold, by slot.
    """

    replacements: tuple[Replacement, ...]
    code: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)


Finder: TypeAlias = Callable[[Code], Iterator[Rewrite]]


@lru_cache(maxsize=4)
def _code_of(unit: Unit) -> Code | None:
    return code_of(unit.file.data[unit.start : unit.end])


def code_of(lines: bytes) -> Code | None:
    """The code of some lines, None if they are not Python."""
    try:
        return Code(lines)
    except (SyntaxError, ValueError, RecursionError, AssertionError, UnicodeDecodeError, MemoryError):
        return None


def rewritten(code: Code, replacements: Sequence[Replacement]) -> bytes | None:
    """The lines after replacements, None where they overlap or change nothing."""
    try:
        lines = apply(code.data, replacements)[code.header :]
    except ValueError:
        return None
    return None if lines == code.lines else lines


def _edit(kind: str, instruction: str, unit: Unit, code: Code, replacements: Sequence[Replacement]) -> Edit:
    shift = unit.start - code.header
    ordered = sorted(replacements, key=lambda r: (r.start, r.end))
    return Edit(kind, instruction, tuple(Replacement(r.start + shift, r.end + shift, r.text) for r in ordered))


_FIELDS: Final = string.Formatter()


def _filled(wording: str, rewrite: Rewrite, quote: Callable[[str], str]) -> str | None:
    slots = {name: quote(text) for name, text in rewrite.code.items()} | dict(rewrite.words)
    names = [name for _, name, _, _ in _FIELDS.parse(wording) if name is not None]
    if any(name not in slots for name in names):
        return None
    return wording.format_map(slots)


def worded(phrasing: Phrasing, wordings: Sequence[str], rewrite: Rewrite, others: Sequence[Rewrite]) -> str | None:
    """An instruction for a rewrite that could not mean any of the others.

    A wording with a slot that the rewrite leaves out doesn't apply to it.
    """

    def plain(text: str) -> str:
        return text

    def determinate(wording: str) -> bool:
        text = _filled(wording, rewrite, plain)
        return text is not None and all(_filled(wording, other, plain) != text for other in others)

    choices = [wording for wording in wordings[:-1] if determinate(wording)]
    if not choices:
        return None
    choices.append(wordings[-1] if determinate(wordings[-1]) else choices[-1])
    filled = [_filled(wording, rewrite, phrasing.code) for wording in choices]
    return phrasing.pick_fact_or_request(*(text for text in filled if text is not None))


def forward(kind: str, find: Finder, wordings: Sequence[str], every: Sequence[str] = ()) -> Transform:
    """The transformation that rewrites one place, or, where there are several, perhaps all as ``every`` asks."""

    def transform(unit: Unit, phrasing: Phrasing) -> Edit | None:
        code = _code_of(unit)
        if code is None:
            return None
        rewrites = list(find(code))
        places = [rewrite for rewrite in rewrites if rewrite.replacements]
        if not places:
            return None
        if every and len(places) == len(rewrites) > 1 and (not wordings or phrasing.random.random() < 0.5):
            joined = {r: None for rewrite in rewrites for r in rewrite.replacements}
            lines = rewritten(code, tuple(joined))
            if lines is None or code_of(lines) is None:
                return None
            return _edit(kind, phrasing.pick_fact_or_request(*every), unit, code, tuple(joined))
        chosen = phrasing.random.choice(places)
        lines = rewritten(code, chosen.replacements)
        if lines is None or code_of(lines) is None:
            return None
        instruction = worded(phrasing, wordings, chosen, [other for other in rewrites if other is not chosen])
        return None if instruction is None else _edit(kind, instruction, unit, code, chosen.replacements)

    return transform


def inverse(kind: str, undo: Finder, find: Finder, wordings: Sequence[str], every: Sequence[str] = ()) -> Transform:
    """The transformation that makes the BEFORE of real code by ``undo``, where ``find`` leads back exactly."""

    def transform(unit: Unit, phrasing: Phrasing) -> Edit | None:
        code = _code_of(unit)
        if code is None:
            return None
        undone = [rewrite for rewrite in undo(code) if rewrite.replacements]
        if not undone:
            return None
        if every and len(undone) > 1 and (not wordings or phrasing.random.random() < 0.5):
            joined = {r: None for rewrite in undone for r in rewrite.replacements}
            lines = rewritten(code, tuple(joined))
            made = None if lines is None else code_of(lines)
            if made is None:
                return None
            rewrites = list(find(made))
            back = {r: None for rewrite in rewrites for r in rewrite.replacements}
            if not all(rewrite.replacements for rewrite in rewrites) or rewritten(made, tuple(back)) != code.lines:
                return None
            return _edit(kind, phrasing.pick_fact_or_request(*every), unit, code, tuple(joined))
        chosen = phrasing.random.choice(undone)
        lines = rewritten(code, chosen.replacements)
        made = None if lines is None else code_of(lines)
        if made is None:
            return None
        rewrites = list(find(made))
        exact = [
            rewrite
            for rewrite in rewrites
            if rewrite.replacements and rewritten(made, rewrite.replacements) == code.lines
        ]
        if len(exact) != 1:
            return None
        others = [other for other in rewrites if other is not exact[0]]
        instruction = worded(phrasing, wordings, exact[0], others)
        return None if instruction is None else _edit(kind, instruction, unit, code, chosen.replacements)

    return transform


def planted(kind: str, plant: Finder, wordings: Sequence[str], parses: bool = True) -> Transform:
    """The transformation that makes the BEFORE by a fault whose slots say what is wrong.

    A slot ``seen`` is the code at fault and is found in the BEFORE once; ``seen`` may be left unsaid by wordings.
    """

    def transform(unit: Unit, phrasing: Phrasing) -> Edit | None:
        code = _code_of(unit)
        if code is None:
            return None
        faults = list(plant(code))
        if not faults:
            return None
        chosen = phrasing.random.choice(faults)
        lines = rewritten(code, chosen.replacements)
        if lines is None or parses is (code_of(lines) is None):
            return None
        seen = chosen.code.get("seen")
        if seen is not None and len(re.findall(rf"(?<!\w){re.escape(seen)}(?!\w)", lines.decode())) != 1:
            return None
        instruction = worded(phrasing, wordings, chosen, [])
        return None if instruction is None else _edit(kind, instruction, unit, code, chosen.replacements)

    return transform
