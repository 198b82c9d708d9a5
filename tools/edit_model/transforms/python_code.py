"""Where and how to edit a Python unit: its functions and statements, how a person names them, what may go in."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Final

import tree_sitter

from tools.edit_model.edit import Edit, Replacement, apply
from tools.edit_model.phrasing import Phrasing
from tools.edit_model.source import SourceFile, Unit

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef
Transform = Callable[[Unit, Phrasing], Edit | None]

TEXT: Final = "\0"
LONGEST_LINE: Final = 100


@lru_cache(maxsize=32)
def _definitions(file: SourceFile) -> dict[int, Definition]:
    try:
        tree = file.python
    except (SyntaxError, ValueError):
        return {}
    found = (
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    )
    return {node.lineno: node for node in found}


@lru_cache(maxsize=64)
def definition(unit: Unit) -> Definition | None:
    """The unit's function or class; None where the file is no valid Python or its lines hold more than that."""
    node = unit.node
    if node.type == "decorated_definition":
        inner = node.child_by_field_name("definition")
        if inner is None:
            return None
        node = inner
    found = _definitions(unit.file).get(node.start_point.row + 1)
    if found is None or found.body[0].lineno == found.lineno or unit.file.data[unit.end - 1 : unit.end] != b"\n":
        return None
    return found


@dataclass(frozen=True)
class Place:
    """One function of a unit, about which an instruction is worded; ``name`` is empty where it need not be named."""

    unit: Unit
    phrasing: Phrasing
    function: Function
    name: str

    @property
    def file(self) -> SourceFile:
        """The unit's file."""
        return self.unit.file

    @property
    def random(self) -> Random:
        """The source of randomness."""
        return self.phrasing.random

    def code(self, text: str) -> str:
        """Code as the instruction quotes it."""
        return self.phrasing.code(text)


def place(unit: Unit, phrasing: Phrasing) -> Place | None:
    """A function of the unit: the unit itself, or one of the class's methods that its name tells apart."""
    own = definition(unit)
    random = phrasing.random
    if own is None:
        return None
    if isinstance(own, ast.ClassDef):
        functions = [n for n in ast.walk(own) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
        counts = Counter(function.name for function in functions)
        chosen = [n for n in functions if counts[n.name] == 1 and n.body[0].lineno > n.lineno and n in own.body]
        if not chosen:
            return None
        function = random.choice(chosen)
        return Place(unit, phrasing, function, phrasing.code(function.name))
    said = "" if random.random() < 0.85 else random.choice(("this function", phrasing.code(own.name)))
    return Place(unit, phrasing, own, said)


def word_instruction(phrasing: Phrasing, name: str, wordings: tuple[str, ...], text: str = "") -> str:
    """Picks a wording. ``<in>`` becomes the place ``name``, if any; `TEXT` becomes ``text``, quoted or not."""
    random = phrasing.random
    if not name:
        made = [wording.replace("<in>", "") for wording in wordings]
    else:
        made = []
        for wording in wordings:
            if "<in>" in wording and random.random() < 0.7:
                made.append(wording.replace("<in>", f" in {name}"))
            else:
                bare = wording.replace("<in>", "")
                made.append(f"In {name}, {bare[0].lower()}{bare[1:]}")
    instruction = phrasing.pick(*made)
    if TEXT not in instruction:
        return instruction
    head, tail = instruction.split(TEXT, 1)
    if tail.strip(".?") == "" and head.endswith(": ") and random.random() < 0.6:
        return head + text
    return head + quoted(text, random) + tail


def pick(phrasing: Phrasing, *wordings: str, text: str = "") -> str:
    """The instruction about the unit as a whole, in one of the wordings (see `word_instruction`)."""
    return word_instruction(phrasing, "", wordings, text)


def ask(where: Place, *wordings: str, text: str = "") -> str:
    """The instruction about a place, in one of the wordings (see `word_instruction`)."""
    return word_instruction(where.phrasing, where.name, wordings, text)


def quoted(text: str, random: Random) -> str:
    """Free text in an instruction, in quotes that it does not contain."""
    marks = [mark for mark in ('"', '"', "'", "`") if mark not in text] or ["|"]
    mark = random.choice(marks)
    return f"{mark}{text}{mark}"


def walk_tree(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """The node and all below it, in the order of the text."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(current.children))


def node_text(node: tree_sitter.Node) -> str:
    """The node's text."""
    return (node.text or b"").decode()


def node_at(file: SourceFile, start: int, end: int, kinds: set[str]) -> tree_sitter.Node | None:
    """The smallest tree-sitter node of one of the types around the bytes [start, end)."""
    node = file.tree.root_node.descendant_for_byte_range(start, end)
    while node is not None and node.type not in kinds:
        node = node.parent
    return node


def function_node(file: SourceFile, function: Definition) -> tree_sitter.Node | None:
    """The tree-sitter node of an ``ast`` function or class, without decorators."""
    start = file.offset(function.lineno, function.col_offset)
    return node_at(file, start, start + 3, {"function_definition", "class_definition"})


def source(file: SourceFile, node: ast.expr | ast.stmt | ast.arg | ast.keyword) -> str:
    """The node's text in the file."""
    return file.source(*file.span(node))


def own_lines(file: SourceFile, node: ast.stmt) -> tuple[int, int] | None:
    """The whole lines [start, end) that the statement has to itself, or None."""
    first = node.lineno
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        first = min([first, *(decorator.lineno for decorator in node.decorator_list)])
    assert node.end_lineno is not None
    start, end = file.line_starts[first - 1], file.line_starts[node.end_lineno]
    if first == node.lineno and file.data[start : file.offset(first, node.col_offset)].strip():
        return None
    rest = file.data[file.span(node)[1] : end].strip()
    if (rest and not rest.startswith(b"#")) or file.data[end - 1 : end] != b"\n":
        return None
    return start, end


def indent(file: SourceFile, node: ast.stmt) -> str:
    """The blanks before the statement."""
    line = file.source(file.line_starts[node.lineno - 1], file.offset(node.lineno, node.col_offset))
    return line if not line.strip() else line[: len(line) - len(line.lstrip())]


def step(file: SourceFile, function: Definition) -> str:
    """One level of indentation as the function has it."""
    inner, outer = indent(file, function.body[0]), indent(file, function)
    return inner[len(outer) :] or "    "


def line(file: SourceFile, number: int) -> str:
    """A line (from 1) without its end; empty beyond the file."""
    if not 1 <= number < len(file.line_starts):
        return ""
    return file.source(file.line_starts[number - 1], file.line_starts[number]).rstrip("\n")


def blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The statement lists at and below the node."""
    for child in ast.walk(node):
        for field in ("body", "orelse", "finalbody"):
            value = getattr(child, field, None)
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                yield value


def is_docstring(block: list[ast.stmt], owner: ast.AST) -> bool:
    """Whether the owner's block begins with a docstring."""
    return (
        isinstance(owner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and isinstance(block[0], ast.Expr)
        and isinstance(block[0].value, ast.Constant)
        and isinstance(block[0].value.value, str)
    )


def statements(function: Definition) -> list[ast.stmt]:
    """The statements below the function in the order of the text, without docstrings and without ``elif``."""
    found: list[ast.stmt] = []
    for node in ast.walk(function):
        for field in ("body", "orelse", "finalbody"):
            value = getattr(node, field, None)
            if not isinstance(value, list) or not value or not isinstance(value[0], ast.stmt):
                continue
            value = value[1:] if field == "body" and is_docstring(value, node) else value
            if (
                field == "orelse"
                and isinstance(node, ast.If)
                and len(value) == 1
                and isinstance(value[0], ast.If)
                and value[0].col_offset == node.col_offset
            ):
                continue
            found += value
    return sorted(found, key=lambda statement: (statement.lineno, statement.col_offset))


def simple_literal_lines(node: ast.AST) -> bool:
    """Whether no string below the node goes over several lines, so that it may be indented anew."""
    strings = (n for n in ast.walk(node) if isinstance(n, ast.JoinedStr | ast.Constant))
    return all(
        n.lineno == n.end_lineno for n in strings if isinstance(n, ast.JoinedStr) or isinstance(n.value, str | bytes)
    )


def describe(where: Place, statement: ast.stmt) -> str | None:
    """How a person names the statement so that no other of the function is meant; None if they hardly could."""
    named = [(other, _descriptions(where, other)) for other in statements(where.function)]
    counts = Counter(name for _, names in named for name in set(names))
    for other, names in named:
        if other is statement:
            fitting = [name for name in names if counts[name] == 1]
            return where.random.choice(fitting) if fitting else None
    return None


def _short(where: Place, node: ast.expr | ast.stmt | None, most: int = 45) -> str | None:
    if node is None:
        return None
    text = source(where.file, node)
    return where.code(text) if "\n" not in text and len(text) <= most else None


def _descriptions(where: Place, node: ast.stmt) -> list[str]:
    """The names that fit the statement, and perhaps others too."""
    code = where.code
    names: list[str] = []
    match node:
        case ast.Return():
            names = ["the return", "the return statement"]
            if node is where.function.body[-1] and node.value:
                names = [*names, "the final return", "the last return"]
        case ast.For() | ast.AsyncFor() | ast.While():
            names = ["the loop", "the for loop" if not isinstance(node, ast.While) else "the while loop"]
            if not isinstance(node, ast.While) and (text := _short(where, node.iter)):
                names.append(f"the loop over {text}")
        case ast.With() | ast.AsyncWith():
            names = ["the with block", "the with statement"]
        case ast.Try():
            names = ["the try statement", "the try block"]
        case ast.If():
            names = ["the if", "the if statement"]
            if text := _short(where, node.test, 30):
                names += [f"the {text} check", f"the if on {text}"]
        case ast.Assign(targets=[target]) | ast.AnnAssign(target=target):
            if text := _short(where, target):
                names = [f"the assignment to {text}", f"the line that sets {text}", f"the {text} assignment"]
        case ast.AugAssign():
            if text := _short(where, node.target):
                names = [f"the update of {text}", f"the line that changes {text}"]
        case ast.Expr(value=ast.Call() as call):
            if text := _short(where, call.func):
                names = [f"the call to {text}", f"the {text} call"]
                names = [*names, "the print"] if text == code("print") else names
        case ast.Raise():
            names = ["the raise", "the raise statement"]
        case ast.Assert():
            names = ["the assert", "the assertion"]
        case ast.Delete():
            names = ["the del", "the del statement"]
        case ast.Import() | ast.ImportFrom():
            names = ["the import", "the import statement"]
        case ast.Continue():
            names = ["the continue"]
        case ast.Break():
            names = ["the break"]
        case _:
            pass
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        text_ = line(where.file, node.lineno).strip()
        marked = code("x") != "x"
        if node.lineno == node.end_lineno and len(text_) <= 60 and "#" not in text_:
            names += [code(text_), f"the line {code(text_)}"] if marked else [f"the line {text_}"]
        elif text_.endswith(":") and " " in text_ and len(text_) <= 45:
            names.append(code(text_[:-1]) if marked else f"the block {text_[:-1]}")
    return names


def top(where: Place) -> int | None:
    """Where a statement at the top of the function goes: after signature, docstring and blank lines."""
    function, file = where.function, where.file
    if is_docstring(function.body, function):
        lines = own_lines(file, function.body[0])
        if lines is None or len(function.body) == 1:
            return None
        offset = lines[1]
    else:
        node = function_node(file, function)
        colon = next((child for child in node.children if child.type == ":"), None) if node else None
        if colon is None:
            return None
        offset = file.line_starts[colon.start_point.row + 1]
    first = own_lines(file, function.body[1 if is_docstring(function.body, function) else 0])
    if first is None:
        return None
    while file.data[offset : file.data.find(b"\n", offset)].strip() == b"" and offset < first[0]:
        offset = file.data.find(b"\n", offset) + 1
    return offset if offset <= first[0] else None


def indented(text: str, prefix: str) -> str:
    """Each line of the text behind the prefix, blank ones left blank; ends with a line end."""
    return "".join(prefix + part + "\n" if part.strip() else "\n" for part in text.split("\n"))


def before(file: SourceFile, statement: ast.stmt, text: str) -> Replacement | None:
    """Puts lines before the statement; None where that is no clear place."""
    lines = own_lines(file, statement)
    if lines is None or line(file, statement.lineno - 1).strip().startswith("#"):
        return None
    return Replacement(lines[0], lines[0], indented(text, indent(file, statement)))


def after(file: SourceFile, statement: ast.stmt, text: str) -> Replacement | None:
    """Puts lines after the statement; None where that is no clear place."""
    lines = own_lines(file, statement)
    if lines is None:
        return None
    return Replacement(lines[1] - 1, lines[1] - 1, "\n" + indented(text, indent(file, statement))[:-1])


def deletable(file: SourceFile, block: list[ast.stmt], statement: ast.stmt) -> tuple[int, int] | None:
    """The lines that go with the statement; None where blank lines or a comment would be left astray."""
    lines = own_lines(file, statement)
    assert statement.end_lineno is not None
    above, below = line(file, statement.lineno - 1).strip(), line(file, statement.end_lineno + 1).strip()
    if lines is None or len(block) == 1 or not above or above.startswith("#"):
        return None
    if not below and statement is block[0]:
        return None
    return lines


def quote(unit: Unit) -> str:
    """The quote mark the unit's strings have, or else the file's."""
    return _quote_of(unit.text) or _file_quote(unit.file)


@lru_cache(maxsize=32)
def _file_quote(file: SourceFile) -> str:
    return _quote_of(file.data.decode(errors="replace")) or '"'


def _quote_of(text: str) -> str:
    bare = re.sub(r'"""|' + "'''|#.*", "", text)
    single, double = bare.count("'"), bare.count('"')
    return "" if single == double else "'" if single > double else '"'


def literal(text: str, mark: str) -> str:
    """A string literal of plain text with the quote mark, or the other where the text has the mark."""
    if mark in text:
        mark = "'" if mark == '"' else '"'
    return f"{mark}{text}{mark}"


def names_in(unit: Unit) -> set[str]:
    """All words of the unit, so that a new name can be none of them."""
    return set(re.findall(r"\w+", unit.text))


def parameters(function: Function, but_self: bool = True) -> list[ast.arg]:
    """The function's parameters without ``*args`` and ``**kwargs``, normally without ``self`` and ``cls``."""
    arguments = function.args
    found = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [arg for arg in found if not (but_self and arg.arg in {"self", "cls", "mcs"})]


def is_method(function: Function) -> bool:
    """Whether the first parameter is ``self``."""
    arguments = [*function.args.posonlyargs, *function.args.args]
    return bool(arguments) and arguments[0].arg == "self"


def edit(kind: str, instruction: str, *replacements: Replacement | None) -> Edit | None:
    """The edit; None if one of the replacements is."""
    kept = [replacement for replacement in replacements if replacement is not None]
    if len(kept) < len(replacements):
        return None
    return Edit(kind, instruction, tuple(sorted(kept, key=lambda r: r.start)))


def checked(transform: Transform) -> Transform:
    """The transformation with what it made verified: it stays in the unit, changes it, parses, keeps lines short."""

    def run(unit: Unit, phrasing: Phrasing) -> Edit | None:
        made = transform(unit, phrasing)
        return made if made is not None and is_sound(unit, made) else None

    return run


def is_sound(unit: Unit, made: Edit) -> bool:
    """Whether the edit stays in the unit, changes it, leaves valid Python and makes no line too long."""
    if any(not unit.start <= r.start <= r.end <= unit.end or r.start == unit.end for r in made.replacements):
        return False
    shifted = [Replacement(r.start - unit.start, r.end - unit.start, r.text) for r in made.replacements]
    text = apply(unit.file.data[unit.start : unit.end], shifted).decode()
    try:
        ast.parse(f"if 1:\n{text}" if text[:1] in " \t" else text)
    except (SyntaxError, ValueError):
        return False
    lines, old = text.split("\n"), set(unit.text.split("\n"))
    return text != unit.text and all(len(made) <= LONGEST_LINE for made in lines if made not in old)


def table(*transforms: tuple[str, Transform]) -> dict[str, Transform]:
    """Kinds and their `checked` transformations."""
    return {kind: checked(transform) for kind, transform in transforms}
