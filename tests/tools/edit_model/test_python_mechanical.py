"""Mechanical edits of Python, on small functions and on modules of the standard library."""

from __future__ import annotations

import argparse
import ast
import json.decoder
import queue
import re
import warnings
from pathlib import Path
from random import Random
from types import ModuleType

import pytest

from tools.edit_model.edit import Edit, apply
from tools.edit_model.phrasing import Phrasing
from tools.edit_model.source import SourceFile, Unit
from tools.edit_model.transforms.python_code import describe, is_sound, place, statements
from tools.edit_model.transforms.python_mechanical import TRANSFORMS

FUNCTION = '''def total(items, limit=3):
    """Add up.

    :param items: what to add
    """
    result = 0
    for item in items:
        if item > limit:
            continue  # too much
        result += item
    # Done.
    print(result)
    return result
'''

CLASS = '''class Queue(Base):
    """A queue."""

    def __init__(self, size):
        self._size = size
        self.items = []

    def put(self, item):
        if self.full():
            raise ValueError("queue is full")
        self.items.append(item)

    def full(self):
        return len(self.items) >= self._size
'''


def unit_of(text: str) -> Unit:
    """The first unit of the text."""
    return next(iter(SourceFile("package", "module.py", "python", text.encode()).units(least=1)))


def after(unit: Unit, edit: Edit) -> str:
    """The whole text after the edit."""
    return apply(unit.file.data, edit.replacements).decode()


def made(kind: str, text: str, seeds: int = 60) -> list[tuple[str, str]]:
    """The (instruction, text after) pairs that the kind makes of the text's first unit."""
    unit = unit_of(text)
    edits = [TRANSFORMS[kind](unit, Phrasing(Random(seed), seed % 2 == 0)) for seed in range(seeds)]
    pairs = [(edit.instruction, after(unit, edit)) for edit in edits if edit is not None]
    assert pairs
    return pairs


def renamed(tree: ast.AST, old: str, new: str, kinds: dict[type[ast.AST], str]) -> str:
    """The dump of the tree with the names of these node types mapped."""
    for node in ast.walk(tree):
        field = kinds.get(type(node))
        if field and getattr(node, field) == old:
            setattr(node, field, new)
    return ast.dump(tree)


@pytest.mark.parametrize(
    ("kind", "text", "kinds"),
    [
        ("rename-variable", FUNCTION, {ast.Name: "id"}),
        ("rename-function", FUNCTION, {ast.FunctionDef: "name"}),
        ("rename-attribute", CLASS, {ast.Attribute: "attr"}),
        ("rename-method", CLASS, {ast.FunctionDef: "name", ast.Attribute: "attr"}),
        ("rename-class", CLASS, {ast.ClassDef: "name", ast.Name: "id"}),
    ],
)
def test_rename_maps_the_names_of_the_tree(kind: str, text: str, kinds: dict[type[ast.AST], str]) -> None:
    """The tree after a rename is the tree before with one name mapped, and the instruction says the new name."""
    unit = unit_of(text)
    edits = [edit for seed in range(40) if (edit := TRANSFORMS[kind](unit, Phrasing(Random(seed))))]
    assert edits
    for edit in edits:
        first = edit.replacements[0]
        old, new = unit.file.source(first.start, first.end), first.text
        assert renamed(ast.parse(text), old, new, kinds) == ast.dump(ast.parse(after(unit, edit)))
        assert new in edit.instruction


def test_rename_parameter_renames_its_description() -> None:
    """A parameter described by the docstring is renamed there too."""
    texts = [text for _, text in made("rename-parameter", FUNCTION) if ":param items:" not in text]
    assert texts
    for text in texts:
        name = re.search(r":param (\w+): what to add", text)
        assert name and text == FUNCTION.replace("items", name[1])


def test_variable_in_f_string_is_renamed_and_keyword_is_not() -> None:
    """Uses inside f-strings are renamed; attributes, keywords and strings of that name stay."""
    text = "def f(a):\n    name = a.name\n    g(name=name)\n    return f'{name:>{name}}'\n"
    for _, result in made("rename-variable", text):
        new = result.split(" = ")[0].split()[-1]
        assert result == f"def f(a):\n    {new} = a.name\n    g(name={new})\n    return f'{{{new}:>{{{new}}}}}'\n"


def test_guard_goes_after_the_docstring() -> None:
    """A guard is the first statement after the docstring and returns the value the instruction says."""
    for instruction, text in made("add-guard", FUNCTION):
        body = text.split('    """\n')[1]
        match = re.match(r"    if (.*):\n        return ?(.*)\n    result = 0\n", body)
        assert match and (match[2] or "nothing") in instruction


def test_raise_has_the_message_said() -> None:
    """The error and its message are those of the instruction."""
    for instruction, text in made("add-raise", FUNCTION):
        match = re.search(r'        raise (\w+)\("(.*)"\)\n', text)
        assert match and match[1] in instruction and match[2] in instruction


def test_docstring_is_removed_alone() -> None:
    """Without the docstring the function is otherwise the same."""
    expected = FUNCTION.split('    """')[0] + FUNCTION.split('    """\n')[1]
    assert {text for _, text in made("remove-docstring", FUNCTION)} == {expected}


def test_docstring_is_one_line_as_given() -> None:
    """An added docstring stands on one line right after the signature, word for word."""
    text = "def f(a):\n    b = a\n    return b\n"
    for instruction, result in made("add-docstring", text):
        match = re.fullmatch(r'def f\(a\):\n    """(.*)"""\n    b = a\n    return b\n', result)
        assert match and match[1] in instruction


def test_comments_are_removed() -> None:
    """All comments go: a line of its own with its line, a trailing one with the blanks before it."""
    expected = FUNCTION.replace("  # too much", "").replace("    # Done.\n", "")
    assert {text for _, text in made("remove-comments", FUNCTION)} == {expected}


def test_default_changes() -> None:
    """A changed default is the one the instruction says."""
    for instruction, text in made("change-default", FUNCTION):
        match = re.match(r"def total\(items, limit=(.*)\):\n", text)
        assert match and match[1] != "3" and match[1] in instruction


def test_parameter_is_added_where_it_may_stand() -> None:
    """A new parameter comes last with a default, or keyword-only."""
    results = [text.split("\n")[0] for _, text in made("add-parameter", FUNCTION)]
    assert results
    for result in results:
        assert re.fullmatch(r"def total\(items, limit=3, (\*, )?\w+(: .+)?( ?= ?.+)?\):", result)


def test_type_hint_before_a_default_has_blanks() -> None:
    """An annotated parameter with a default is written ``x: int = 1``."""
    results = {text.split("\n")[0] for _, text in made("add-type-hint", FUNCTION)}
    assert any(re.fullmatch(r"def total\(items, limit: .+ = 3\):", result) for result in results)


def test_try_wraps_the_statement_named() -> None:
    """The wrapped statement is one level deeper, with the handler right after it."""
    text = "def f(a):\n    return g(a)\n"
    for instruction, result in made("wrap-try", text):
        match = re.match(
            r"def f\(a\):\n    try:\n        return g\(a\)\n    except (\w+|\([\w, ]+\))( as e)?:\n        ", result
        )
        assert match and match[1] in instruction


def test_statement_is_described_without_doubt() -> None:
    """A statement that has a twin is not described by what they share."""
    unit = unit_of("def f(a):\n    print(a)\n    a += 1\n    print(a)\n    return a\n")
    for seed in range(30):
        where = place(unit, Phrasing(Random(seed)))
        assert where
        first, second, third, last = statements(where.function)
        assert describe(where, first) is None and describe(where, third) is None
        assert describe(where, second) and describe(where, last)


def test_statement_is_deleted() -> None:
    """Deleting takes whole lines and nothing else."""
    lines = FUNCTION.splitlines(keepends=True)
    for _, text in made("delete-statement", FUNCTION):
        assert any(text == "".join(lines[:i] + lines[i + 1 :]) for i in range(len(lines)))


def test_tabs_and_quotes_are_those_of_the_file() -> None:
    """Added code is indented with tabs and quoted with the file's marks."""
    text = "def f(a):\n\tb = 'x'\n\treturn g(a, 'y', b)\n"
    for _, result in made("add-raise", text):
        assert re.search(r"\n\tif .*:\n\t\traise \w+\('.*'\)\n\tb = 'x'\n", result)


@pytest.mark.parametrize("module", [argparse, queue, json.decoder])
def test_edits_of_real_code_are_sound(module: ModuleType) -> None:
    """On real modules each edit stays in its unit, changes it, parses, and no marks are left in the instruction."""
    assert module.__file__
    file = SourceFile("package", module.__file__, "python", Path(module.__file__).read_bytes())
    random, kinds = Random(1), set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for unit in file.units():
            for kind in random.sample(sorted(TRANSFORMS), 12):
                edit = TRANSFORMS[kind](unit, Phrasing(random))
                if edit is None:
                    continue
                kinds.add(kind)
                assert edit.kind == kind and is_sound(unit, edit)
                assert "<in>" not in edit.instruction and "\0" not in edit.instruction
                assert all("\0" not in replacement.text for replacement in edit.replacements)
    assert len(kinds) > 20
