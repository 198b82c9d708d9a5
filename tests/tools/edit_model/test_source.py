"""A file is cut into the functions and classes that are worth editing."""

from __future__ import annotations

import ast

import pytest

from tools.edit_model.source import GRAMMARS, SourceFile, parser

PYTHON = """import os


@cached
def first(a):
    # é, two bytes
    return a


class Box:
    def get(self):
        x = 1
        return self.x


def last():
    pass
"""


def file(text: str, language: str = "python") -> SourceFile:
    """A file of this text."""
    return SourceFile("package", "path", language, text.encode())


def test_units_are_whole_lines_outer_ones_first() -> None:
    """Decorators belong to their function; methods are units beside their class; short ones are left out."""
    units = [unit.text for unit in file(PYTHON).units()]
    assert [text.splitlines()[0] for text in units] == ["@cached", "class Box:", "    def get(self):"]
    assert units[0].endswith("    return a\n")
    assert all(text.endswith("\n") for text in units)


def test_units_have_as_many_lines_as_asked_for() -> None:
    """Both bounds count."""
    assert [unit.text.splitlines()[0] for unit in file(PYTHON).units(least=2, most=3)] == [
        "    def get(self):",
        "def last():",
    ]


def test_an_exported_declaration_goes_with_its_export() -> None:
    """In TypeScript the export keyword is part of the unit."""
    (unit,) = file("export function f() {\n  return 1;\n}\n", "typescript").units()
    assert unit.text == "export function f() {\n  return 1;\n}\n"
    assert unit.node.type == "function_declaration"


def test_spans_count_bytes() -> None:
    """An `ast` node's span is that of its text, also after characters of several bytes."""
    source = file('x = "é"; y = 1\n')
    assignment = source.python.body[1]
    assert isinstance(assignment, ast.Assign)
    assert source.source(*source.span(assignment)) == "y = 1"
    assert source.line_starts == [0, 16]


@pytest.mark.parametrize("language", sorted(GRAMMARS))
def test_every_language_has_a_parser(language: str) -> None:
    """An empty file is without error in each."""
    assert not parser(language).parse(b"").root_node.has_error
