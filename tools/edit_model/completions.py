"""Pieces of a file to be written from what stands around them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from random import Random
from typing import Final

import tree_sitter

from .record import CompletionKind
from .source import Unit

PREFIX_LINES: Final = 60
SUFFIX_LINES: Final = 30
MOST_LINES: Final = 12
_MOST_CHARS: Final = 600
_TOKEN: Final = re.compile(r"[A-Za-z_$][\w$]*|\d[\w.]*|\s+|[^\w\s]")
_BLOCKS: Final = frozenset(
    {
        "block", "statement_block", "class_body", "compound_statement", "field_declaration_list", "declaration_list",
        "enum_body", "enum_variant_list", "interface_body", "switch_body", "constructor_body", "object_type",
    }
)  # fmt: skip
_ROOTS: Final = frozenset({"module", "program", "source_file", "translation_unit"})
_SPANS: Final = frozenset(
    {
        "argument_list", "arguments", "parameters", "formal_parameters", "parameter_list", "call", "call_expression",
        "binary_operator", "binary_expression", "boolean_operator", "comparison_operator", "attribute",
        "member_expression", "subscript", "subscript_expression", "conditional_expression", "ternary_expression",
        "list_comprehension", "generator_expression", "dictionary", "list", "array", "object", "string",
        "template_string", "await_expression", "await", "unary_expression", "not_operator", "lambda",
        "arrow_function", "keyword_argument", "parenthesized_expression", "new_expression", "selector_expression",
        "field_expression",
        "method_invocation", "object_creation_expression", "composite_literal", "index_expression",
        "type_annotation", "pair",
    }
)  # fmt: skip

_COMMENTS: Final = (b"#", b"//", b"*", b"/*", b'"""', b"'''")

Piece = tuple[str, str, str]
"""Prefix, middle and suffix."""


def piece(unit: Unit, kind: CompletionKind, random: Random, max_chars: int) -> Piece | None:
    """A piece of this kind out of a unit, with at most ``max_chars`` in all; None if there is none."""
    found = _FINDERS[kind](unit, random)
    if found is None:
        return None
    start, end = found
    data = unit.file.data
    middle = data[start:end].decode()
    if len(middle.strip()) < 2 or len(middle) > _MOST_CHARS or middle.count("\n") >= MOST_LINES or _dull(middle):
        return None
    above = PREFIX_LINES if random.random() < 0.7 else random.randint(2, PREFIX_LINES)
    below = 0 if kind == "continue" else SUFFIX_LINES if random.random() < 0.7 else random.randint(1, SUFFIX_LINES)
    starts = unit.file.line_starts
    first = _line_at(starts, start)
    last = _line_at(starts, end)
    room = max_chars - len(middle)
    above, below = min(above, first), min(below, max(len(starts) - 2 - last, 0))
    while True:
        prefix = data[starts[first - above] : start]
        suffix = b"" if kind == "continue" else data[end : starts[min(last + 1 + below, len(starts) - 1)]]
        if len(prefix) + len(suffix) <= room:
            return prefix.decode(), middle, suffix.decode()
        if above == below == 0:
            return None
        if above > 2 * below:
            above -= 1
        else:
            below -= 1


def _rest_of_line(unit: Unit, random: Random) -> tuple[int, int] | None:
    line = _code_line(unit, random)
    if line is None:
        return None
    start, end = line
    return _cursor(unit, start, end, random), end


def _expression(unit: Unit, random: Random) -> tuple[int, int] | None:
    found = []
    for node in _nodes(unit):
        size = node.end_byte - node.start_byte
        if node.type in _SPANS and 3 <= size <= 160 and node.end_point.row - node.start_point.row <= 3:
            found.append(node)
    if not found:
        return None
    node = random.choice(found)
    start, end = node.start_byte, node.end_byte
    if node.type in {"argument_list", "arguments", "parameters", "formal_parameters", "parameter_list"}:
        start, end = start + 1, end - 1
    elif random.random() < 0.25:
        # A few tokens, which needn't be a whole expression.
        line_end = _line_end(unit, start)
        stops = [start + m.end() for m in _TOKEN.finditer(unit.file.source(start, line_end)) if m.group().strip()]
        if len(stops) > 1 and unit.file.data[start:line_end].isascii():
            end = random.choice(stops[:8])
        if any(unit.file.source(start, end).count(quote) % 2 for quote in "\"'`"):
            return None
    return start, end


def _lines(unit: Unit, random: Random) -> tuple[int, int] | None:
    """The lines of a block, or its rest from some statement on."""
    candidates = []
    for block in _nodes(unit):
        if block.type not in _BLOCKS:
            continue
        inside = [child for child in block.named_children if child.start_point.row > _opening_row(block)]
        for index, child in enumerate(inside):
            end = inside[-1].end_byte
            if child.type == "comment" and index == len(inside) - 1:
                continue
            lines = unit.file.data.count(b"\n", child.start_byte, end) + 1
            if 1 < lines <= MOST_LINES or (lines == 1 and len(inside) == 1):
                candidates.append((child.start_byte, _line_end(unit, end)))
    if not candidates:
        return None
    start, end = random.choice(candidates)
    line = unit.file.line_starts[_line_at(unit.file.line_starts, start)]
    if line == 0 or unit.file.data[line:start].strip():
        return None
    roll = random.random()
    if roll < 0.25:
        return line - 1, end  # from the end of the line above
    if roll < 0.35:
        return line, end
    return start, end


def _to_block_end(unit: Unit, random: Random) -> tuple[int, int] | None:
    line = _code_line(unit, random)
    if line is None:
        return None
    start, line_end = line
    cursor = _cursor(unit, start, line_end, random)
    row = unit.file.data.count(b"\n", 0, start)
    ends = []
    node: tree_sitter.Node | None = unit.file.tree.root_node.descendant_for_byte_range(start, start + 1)
    while node is not None and node.end_byte <= unit.end:
        whole = node.type in _BLOCKS or (node.parent is not None and node.parent.type in _BLOCKS | _ROOTS)
        if whole and 1 <= node.end_point.row - row <= 8:
            ends.append(_line_end(unit, node.end_byte))
        node = node.parent
    if not ends:
        return None
    return cursor, random.choice(ends)


_FINDERS: Final[dict[CompletionKind, Callable[[Unit, Random], tuple[int, int] | None]]] = {
    "fill-line": _rest_of_line,
    "fill-span": _expression,
    "fill-block": _lines,
    "continue": _to_block_end,
}

KINDS: Final[dict[CompletionKind, float]] = {"fill-line": 0.35, "fill-block": 0.2, "fill-span": 0.2, "continue": 0.25}
"""The kinds with their shares."""


def _nodes(unit: Unit) -> Iterator[tree_sitter.Node]:
    stack = [unit.node]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(node.named_children)


def _opening_row(block: tree_sitter.Node) -> int:
    """The row its first brace stands in; of a block without braces, of what it belongs to."""
    if block.children and not block.children[0].is_named:
        return block.children[0].start_point.row
    return block.parent.start_point.row if block.parent is not None else block.start_point.row - 1


def _code_line(unit: Unit, random: Random) -> tuple[int, int] | None:
    """The first code byte and the end of some line that isn't blank, comment or a row of a table."""
    starts = unit.file.line_starts
    first, last = _line_at(starts, unit.start), _line_at(starts, unit.end - 1)
    for _ in range(6):
        row = random.randint(first, last)
        text = unit.file.data[starts[row] : starts[row + 1]]
        start = starts[row] + len(text) - len(text.lstrip())
        end = starts[row] + len(text.rstrip())
        if (
            end - start < 4
            or end - start > 160
            or text.strip().startswith((b"#", b"//", b"*", b"/*", b'"""', b"'''"))
        ):
            continue
        node = unit.file.tree.root_node.descendant_for_byte_range(start, start + 1)
        if node is not None and node.type in {"string_content", "comment", "line_comment", "block_comment"}:
            continue
        if not _dull(text.decode()):
            return start, end
    return None


def _cursor(unit: Unit, start: int, end: int, random: Random) -> int:
    """A place in a line where somebody typing may pause: its start, between two tokens, within a word."""
    text = unit.file.data[start:end]
    if random.random() < 0.25 or not text.isascii():
        return start
    tokens = [match for match in _TOKEN.finditer(text.decode()) if match.group().strip()]
    if len(tokens) < 2:
        return start
    token = random.choice(tokens[:-1])
    if len(token.group()) > 3 and random.random() < 0.2:
        return start + token.start() + random.randint(1, len(token.group()) - 1)
    place = token.end()
    if text[place : place + 1] == b" " and random.random() < 0.5:
        place += 1
    return start + place


def _dull(text: str) -> bool:
    """Whether a text is mostly numbers or quoted words: a table of data."""
    letters = sum(c.isalpha() for c in text)
    digits = sum(c.isdigit() for c in text)
    return digits > letters + 4 or (text.count('"') + text.count("'") > 12 and text.count(",") > 6)


def _line_at(starts: list[int], offset: int) -> int:
    low, high = 0, len(starts) - 2
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if starts[middle] <= offset else (low, middle - 1)
    return low


def _line_end(unit: Unit, offset: int) -> int:
    """Where the line of an offset ends, without its line break."""
    found = unit.file.data.find(b"\n", offset)
    return len(unit.file.data) if found < 0 else found
