"""A source file as the data is made from it: its bytes, its syntax tree, the stretches worth editing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final

import tree_sitter
import tree_sitter_c
import tree_sitter_go
import tree_sitter_java
import tree_sitter_javascript
import tree_sitter_python
import tree_sitter_rust
import tree_sitter_typescript

GRAMMARS: Final = {
    "python": tree_sitter_python.language,
    "javascript": tree_sitter_javascript.language,
    "typescript": tree_sitter_typescript.language_typescript,
    "tsx": tree_sitter_typescript.language_tsx,
    "go": tree_sitter_go.language,
    "rust": tree_sitter_rust.language,
    "java": tree_sitter_java.language,
    "c": tree_sitter_c.language,
}

FUNCTIONS: Final = {
    "python": {"function_definition", "decorated_definition", "class_definition"},
    "javascript": {"function_declaration", "method_definition", "class_declaration", "lexical_declaration",
                   "generator_function_declaration", "expression_statement"},
    "typescript": {"function_declaration", "method_definition", "class_declaration", "lexical_declaration",
                   "interface_declaration", "type_alias_declaration", "expression_statement"},
    "go": {"function_declaration", "method_declaration", "type_declaration"},
    "rust": {"function_item", "impl_item", "struct_item", "enum_item"},
    "java": {"method_declaration", "constructor_declaration", "class_declaration"},
    "c": {"function_definition", "struct_specifier", "enum_specifier"},
}  # fmt: skip
FUNCTIONS["tsx"] = FUNCTIONS["typescript"]


@cache
def parser(language: str) -> tree_sitter.Parser:
    """The parser of a language, by the names of `GRAMMARS`."""
    return tree_sitter.Parser(tree_sitter.Language(GRAMMARS[language]()))


@dataclass(eq=False)
class SourceFile:
    """One file. All offsets are in UTF-8 bytes, as `ast` and tree-sitter count them; line ends are LF."""

    package: str
    path: str
    language: str
    data: bytes

    @cached_property
    def tree(self) -> tree_sitter.Tree:
        """The tree-sitter tree."""
        return parser(self.language).parse(self.data)

    @cached_property
    def python(self) -> ast.Module:
        """The `ast` of a Python file. Raises SyntaxError."""
        return ast.parse(self.data)

    @cached_property
    def line_starts(self) -> list[int]:
        """The byte offset of each line, and the file's length last."""
        starts = [0]
        for line in self.data.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        return starts

    def offset(self, line: int, column: int) -> int:
        """The byte offset of an `ast` position (lines from 1, columns in UTF-8 bytes)."""
        return self.line_starts[line - 1] + column

    def span(self, node: ast.expr | ast.stmt | ast.arg | ast.keyword | ast.alias) -> tuple[int, int]:
        """The bytes [start, end) of an `ast` node; a decorated function's starts at its `def`."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)

    def source(self, start: int, end: int) -> str:
        """The text of the bytes [start, end)."""
        return self.data[start:end].decode()

    def units(self, least: int = 3, most: int = 120) -> Iterator[Unit]:
        """The functions, methods and classes of ``least`` to ``most`` lines, outer ones first."""
        wanted = FUNCTIONS[self.language]
        stack = [self.tree.root_node]
        while stack:
            node = stack.pop()
            stack.extend(reversed(node.named_children))
            if node.type not in wanted or (node.parent and node.parent.type in {"decorated_definition"}):
                continue
            outer = node
            if node.parent and node.parent.type == "export_statement":
                outer = node.parent
            first, last = outer.start_point.row, outer.end_point.row
            if least <= last - first + 1 <= most and last + 1 < len(self.line_starts):
                yield Unit(self, self.line_starts[first], self.line_starts[last + 1], node)


@dataclass(frozen=True, eq=False)
class Unit:
    """Whole lines [start, end) of a file that hold one function, method or class, whose node is ``node``."""

    file: SourceFile
    start: int
    end: int
    node: tree_sitter.Node

    @property
    def text(self) -> str:
        """Its text, indented as it stands in the file."""
        return self.file.source(self.start, self.end)
