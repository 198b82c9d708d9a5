"""Python statements put in: guards, raises, returns, logs, prints, imports."""

from __future__ import annotations

import ast
from random import Random
from typing import Final

from tools.edit_model.edit import Edit, Replacement
from tools.edit_model.phrasing import Phrasing
from tools.edit_model.source import Unit
from tools.edit_model.transforms.python_code import (
    TEXT,
    Place,
    Transform,
    after,
    ask,
    before,
    describe,
    edit,
    indent,
    indented,
    is_docstring,
    literal,
    names_in,
    own_lines,
    parameters,
    place,
    quote,
    statements,
    step,
    table,
    top,
)
from tools.edit_model.transforms.words import fresh, message, number, word

ERRORS: Final = (
    "ValueError", "ValueError", "TypeError", "RuntimeError", "KeyError", "IndexError", "OSError", "LookupError",
    "NotImplementedError", "AttributeError", "PermissionError", "TimeoutError", "ConnectionError", "AssertionError",
    "FileNotFoundError", "ArithmeticError", "OverflowError", "StopIteration", "UnicodeDecodeError", "BufferError",
)  # fmt: skip
LEVELS: Final = ("debug", "info", "warning", "error", "exception", "critical")
_MODULES: Final = (
    "json", "os", "re", "sys", "time", "math", "random", "logging", "itertools", "functools", "collections", "copy",
    "shutil", "subprocess", "tempfile", "threading", "warnings", "datetime", "hashlib", "uuid", "inspect",
    "textwrap",
    "numpy as np", "pandas as pd", "torch", "requests", "yaml", "asyncio", "contextlib", "string", "struct", "zlib",
)  # fmt: skip
_FROM: Final = (
    "pathlib import Path", "datetime import datetime", "collections import defaultdict",
    "collections import Counter",
    "functools import partial", "itertools import chain", "contextlib import suppress", "copy import deepcopy",
    "time import monotonic", "typing import cast", "urllib.parse import urlparse", "operator import itemgetter",
    "dataclasses import replace", "math import ceil", "os.path import join", "uuid import uuid4",
    "json import dumps",
)  # fmt: skip


def an_error(random: Random) -> str:
    """An exception class, now and then one of the project's own."""
    if random.random() < 0.15:
        return fresh(random, set(), "pascal", 1, 2) + "Error"
    return random.choice(ERRORS)


def _put(where: Place, text: str) -> Replacement | None:
    """Lines at the top of the function."""
    at = top(where)
    return None if at is None else Replacement(at, at, indented(text, indent(where.file, where.function.body[0])))


def _value(random: Random, mark: str) -> str:
    return random.choice((
        "None", "None", "False", "True", "[]", "{}", "0", "-1", literal("", mark), "()", str(number(random, 10)),
        literal(word(random), mark), "set()", "0.0",
    ))  # fmt: skip


def add_guard(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Adds a check of a parameter at the top of the function that returns a value given."""
    where = place(unit, phrasing)
    chosen = [arg.arg for arg in parameters(where.function)] if where else []
    if where is None or not chosen or _is_generator(where):
        return None
    random, code = phrasing.random, phrasing.code
    name = random.choice(chosen)
    value = _value(random, quote(unit))
    bare = random.random() < 0.25
    form = random.choice(("none", "none", "falsy", "empty", "type"))
    kind = random.choice(("str", "int", "dict", "list", "float", "bytes", "tuple", "bool"))
    test = {"none": f"{name} is None", "falsy": f"not {name}", "empty": f"len({name}) == 0",
            "type": f"not isinstance({name}, {kind})"}[form]  # fmt: skip
    a = code(name)
    said = random.choice({
        "none": (f"{a} is None", f"{a} is None", code(test)),
        "falsy": (f"{a} is falsy", code(test)),
        "empty": (code(test),),
        "type": (f"{a} is not a {kind}", f"{a} isn't an instance of {code(kind)}", code(test)),
    }[form])  # fmt: skip
    result = "return nothing" if bare else f"return {code(value)}"
    instruction = ask(
        where,
        f"{result} if {said}<in>",
        f"{result} at the top if {said}<in>",
        f"{result} early when {said}<in>",
        f"add a check at the start<in>: if {said}, {result}",
        f"add a guard<in>: {result} if {said}",
        f"if {said}, {result} right away<in>",
        f"at the top<in>, {result} if {said}",
        f"add a guard clause that will {result} when {said}<in>",
        f"first check whether {said} and {result} in that case<in>",
        f"bail out when {said}<in>: {result}",
        f"begin with a check<in>: when {said}, {result}",
        f"handle the case that {said} first<in>: {result}",
    )
    body = "return" if bare else f"return {value}"
    return edit("add-guard", instruction, _put(where, f"if {test}:\n{step(unit.file, where.function)}{body}"))


def _is_generator(where: Place) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(where.function)) or (
        where.function.name == "__init__"
    )


def _condition(random: Random, names: list[str], mark: str) -> str:
    name = random.choice(names)
    return random.choice((
        f"{name} is None", f"not {name}", f"{name} < 0", f"{name} <= 0", f"len({name}) == 0", f"{name} == 0",
        f"{name} > {number(random, 10)}", f"len({name}) > {number(random, 10)}", f"{name} < {number(random, 10)}",
        f"{name} == {literal(word(random), mark)}",
        f"not isinstance({name}, {random.choice(('str', 'int', 'dict', 'list'))})",
        f"{name} not in {fresh(random, set(names), 'upper', 1, 2)}",
        f"not {name}.{fresh(random, set(), 'snake', 1, 1)}",
        f"not callable({name})", f"len({name}) != {number(random, 2)}",
        f"{name} is {random.choice(('True', 'False'))}",
        f"{name} == {literal('', mark)}", f"{name} % {random.choice((2, 4, 8))} != 0",
    ))  # fmt: skip


def _spoken(random: Random, condition: str, code: str) -> str:
    """A condition in words where that is just as exact, or the code."""
    name = condition.split()[0]
    words = {f"{name} is None": f"{name} is None", f"{name} < 0": f"{name} is negative"}
    return words[condition] if condition in words and random.random() < 0.6 else code


def add_raise(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Adds a check at the top of the function that raises the error given."""
    where = place(unit, phrasing)
    names = [arg.arg for arg in parameters(where.function)] if where else []
    if where is None or not names:
        return None
    random, code, mark = phrasing.random, phrasing.code, quote(unit)
    condition = _condition(random, names, mark)
    said, error, text = _spoken(random, condition, code(condition)), an_error(random), message(random)
    a = random.choice(("a ", "", "")) + code(error)
    call = code(f"{error}({literal(text, mark)})")
    instruction = ask(
        where,
        f"raise {call} if {said}<in>",
        f"raise {a} with the message {TEXT} if {said}<in>",
        f"if {said}, raise {a} with message {TEXT}<in>",
        f"add a check<in>: raise {call} if {said}",
        f"check at the start<in> whether {said} and raise {call}",
        f"throw {a} when {said}<in>, message: {TEXT}",
        f"at the top<in>, raise {call} if {said}",
        f"make it raise {call} when {said}<in>",
        f"validate the arguments<in>: if {said}, raise {call}",
        f"reject the case that {said}<in> with {call}",
        f"fail with {call} if {said}<in>",
        f"add validation at the top<in>: {said} must raise {call}",
        text=text,
    )
    made = f"if {condition}:\n{step(unit.file, where.function)}raise {error}({literal(text, mark)})"
    return edit("add-raise", instruction, _put(where, made))


def add_assert(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Adds an assert at the top of the function."""
    where = place(unit, phrasing)
    names = [arg.arg for arg in parameters(where.function)] if where else []
    if where is None or not names:
        return None
    random, code, mark = phrasing.random, phrasing.code, quote(unit)
    name = random.choice(names)
    kind = random.choice(("str", "int", "dict", "list", "bytes"))
    test, said = random.choice((
        (f"{name} is not None", f"{name} is not None"), (f"{name} > 0", f"{name} is positive"), (name, code(name)),
        (f"isinstance({name}, {kind})", code(f"isinstance({name}, {kind})")), (f"len({name}) > 0",
        code(f"len({name}) > 0")),
        (f"{name} >= {number(random, 3)}", ""), (f"{name} != {literal(word(random), mark)}", ""),
        (f"callable({name})", ""),
    ))  # fmt: skip
    said, text = said or code(test), message(random)
    with_text = random.random() < 0.4
    tail = f" with the message {TEXT}" if with_text else ""
    instruction = ask(
        where,
        f"assert that {said}<in>{tail}",
        f"assert {code(test)} at the top<in>{tail}",
        f"add an assert at the start<in> that {said}{tail}",
        f"add {code('assert ' + test)} at the top<in>{tail}",
        f"add an assertion<in> that {said}{tail}",
        f"put an assert at the beginning<in>: {code(test)}{tail}",
        f"begin<in> with an assert that {said}{tail}",
        text=text,
    )
    made = f"assert {test}" + (f", {literal(text, mark)}" if with_text else "")
    return edit("add-assert", instruction, _put(where, made))


def add_loop_guard(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Adds a check at the start of a loop that continues or breaks."""
    where = place(unit, phrasing)
    loops = (
        [s for s in statements(where.function) if isinstance(s, ast.For) and isinstance(s.target, ast.Name)]
        if where
        else []
    )
    if where is None or not loops:
        return None
    random, code = phrasing.random, phrasing.code
    loop = random.choice(loops)
    name = describe(where, loop)
    lines = own_lines(unit.file, loop.body[0])
    if name is None or lines is None or not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name):
        return None
    header = unit.file.line_starts[unit.file.data.count(b"\n", 0, unit.file.span(loop.iter)[1]) + 1]
    if header != lines[0]:
        return None
    condition = _condition(random, [loop.target.id], quote(unit))
    said, stop = _spoken(random, condition, code(condition)), random.random() < 0.4
    skip = (
        ("break out of {}", "leave {}", "stop {}") if stop else ("skip the rest of {}", "continue {}", "continue {}")
    )
    action = random.choice(skip).format(name)
    verb = "break" if stop else "continue"
    instruction = ask(
        where,
        f"{action} if {said}<in>",
        f"{verb} at the start of {name} if {said}<in>",
        f"at the top of {name}, {verb} if {said}<in>",
        f"add a check at the beginning of {name}<in>: {verb} if {said}",
        f"first thing in {name}, {verb} when {said}<in>",
        f"{action} when {said}<in>",
        f"let {name} {verb} if {said}<in>",
        f"make {name} {verb} right away when {said}<in>",
    )
    made = indented(f"if {condition}:\n{step(unit.file, where.function)}{verb}", indent(unit.file, loop.body[0]))
    return edit("add-loop-guard", instruction, Replacement(lines[0], lines[0], made))


def _spot(where: Place, ends: bool = True) -> tuple[str, Replacement, str] | None:
    """Somewhere to put one line: how it is said, a replacement for the text ``\\0``, and the variable just set."""
    random, function, file = where.random, where.function, where.file
    if random.random() < 0.3:
        at = top(where)
        if at is None:
            return None
        said = random.choice(("at the start", "at the top", "at the beginning"))
        return said, Replacement(at, at, indented(TEXT, indent(file, function.body[0]))), ""
    chosen = statements(function)
    if not chosen:
        return None
    statement = random.choice(chosen)
    name = describe(where, statement)
    if name is None:
        return None
    leaves = isinstance(statement, ast.Return | ast.Raise | ast.Continue | ast.Break)
    if leaves or random.random() < 0.5:
        made = before(file, statement, TEXT)
        return (f"before {name}", made, "") if made else None
    made = after(file, statement, TEXT)
    variable = ""
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        variable = statement.targets[0].id
    return (f"after {name}", made, variable) if made else None


def _filled(replacement: Replacement, text: str) -> Replacement:
    return Replacement(replacement.start, replacement.end, replacement.text.replace(TEXT, text))


def _logger(unit: Unit) -> str:
    for name in (
        "logger",
        "log",
        "LOG",
        "_logger",
        "LOGGER",
        "_log",
        "self.logger",
        "self.log",
        "self._logger",
        "logging",
    ):
        if any(f"{name}.{level}(" in unit.text for level in LEVELS):
            return name
    return ""


def add_log(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Adds a log call with the message given, on the unit's logger or else one named or ``logger``."""
    where = place(unit, phrasing)
    spot = _spot(where) if where else None
    if where is None or spot is None:
        return None
    random, code, mark = phrasing.random, phrasing.code, quote(unit)
    said, replacement, variable = spot
    level, text = random.choice(LEVELS[:4]), message(random)
    known = _logger(unit)
    logger = known or random.choice(("logger", "logger", "logger", "logging", "log", "self.logger", "LOG", "_logger"))
    names = (
        [variable] if variable else [arg.arg for arg in parameters(where.function)] if said.startswith("at") else []
    )
    call = f"{logger}.{level}({literal(text, mark)})"
    if names and random.random() < 0.35:
        name = random.choice(names)
        call = f"{logger}.{level}({literal(f'{name}: %s', mark)}, {name})"
        wordings = [
            f"add {code(call)} {said}<in>",
            f"insert {code(call)} {said}<in>",
            f"call {code(call)} {said}<in>",
            f"log {code(name)} with {code(call)} {said}<in>",
            f"put {code(call)} {said}<in>",
        ]
        if logger in {"logger", known}:
            wordings = [
                f"log the value of {code(name)} at {level} level {said}<in>",
                f"log {code(name)} {said}<in> (level {level})",
                f"{level}-log the value of {code(name)} {said}<in>",
                f"add a {level} log of {code(name)} {said}<in>",
                f"log what {code(name)} is {said}<in>, at level {level}",
            ]
    else:
        wordings = [
            f"add {code(call)} {said}<in>",
            f"log {TEXT} with {code(f'{logger}.{level}')} {said}<in>",
            f"insert {code(call)} {said}<in>",
            f"call {code(call)} {said}<in>",
            f"put {code(call)} {said}<in>",
        ]
        if logger in {"logger", known} and random.random() < 0.65:
            wordings = [
                f"log {TEXT} at {level} level {said}<in>",
                f"add a {level} log {said}<in>: {TEXT}",
                f"add a {level} log message {TEXT} {said}<in>",
                f"log a {level} message {said}<in>: {TEXT}",
                f"log {TEXT} {said}<in> with level {level}",
                f"write the {level} log line {TEXT} {said}<in>",
                f"{said}<in>, log {TEXT} as {level}" if said.startswith(("at", "before", "after")) else f"log {TEXT}",
                f"emit a {level} log {said}<in> that says {TEXT}",
            ]
    return edit("add-log", ask(where, *wordings, text=text), _filled(replacement, call))


def add_print(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Adds a print of a text or a variable."""
    where = place(unit, phrasing)
    spot = _spot(where) if where else None
    if where is None or spot is None:
        return None
    random, code, mark = phrasing.random, phrasing.code, quote(unit)
    said, replacement, variable = spot
    names = (
        [variable] if variable else [arg.arg for arg in parameters(where.function)] if said.startswith("at") else []
    )
    text = message(random)
    if names and random.random() < 0.6:
        name = random.choice(names)
        call = f"print({name})"
        wordings = [
            f"print {code(name)} {said}<in>",
            f"print the value of {code(name)} {said}<in>",
            f"add a print of {code(name)} {said}<in>",
            f"add {code(call)} {said}<in>",
            f"show {code(name)} with a print {said}<in>",
        ]
    else:
        call = f"print({literal(text, mark)})"
        wordings = [
            f"print {TEXT} {said}<in>",
            f"add a print {said}<in>: {TEXT}",
            f"add a print that says {TEXT} {said}<in>",
            f"add {code(call)} {said}<in>",
            f"print the message {TEXT} {said}<in>",
            f"put a print {said}<in> with the text {TEXT}",
            f"insert a print statement {said}<in>: {TEXT}",
        ]
    return edit("add-print", ask(where, *wordings, text=text), _filled(replacement, call))


def a_statement(random: Random, names: list[str], mark: str, taken: set[str]) -> str:
    """A short call or assignment, as somebody may dictate it."""
    name, new = random.choice(names), fresh(random, taken, "snake", 1, 2)
    other, verb = fresh(random, taken, "snake", 1, 2), f"{fresh(random, taken, 'snake', 2, 2)}"
    text = literal(word(random), mark)
    return random.choice((
        f"{new} = {number(random, 10)}", f"{new} = None", f"{new} = []", f"{new} = {{}}", f"{new} = {name}",
        f"{verb}()",
        f"{verb}({name})", f"self.{new} = {name}", f"self.{new} = {number(random, 10)}", f"self.{verb}()",
        f"{new} += 1",
        f"{new} = {other}({name})", f"{new} = {text}", f"{other}.append({name})", f"{new} = len({name})",
        f"del {new}",
        f"{new} = {name}.{other}", f"{new}[{text}] = {name}", f"{other}.{new} = False", f"{new} = time.monotonic()",
        f"self.{other}.{verb}({name})", f"{new} = {name} or {text}", f"{new}.update({other})",
        f"{new} = {other}.get({text})",
        f"{other}.close()", f"{new} = str({name})", f"time.sleep({random.choice((0.1, 0.5, 1, 2, 5))})",
        f"self.{new} += 1",
        f"{new}.add({name})", f"{name} = {other}({name})", f"{new} = {other} + {number(random, 3)}",
        f"{new} = not {name}",
    ))  # fmt: skip


def add_statement(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Adds a statement given word for word."""
    where = place(unit, phrasing)
    spot = _spot(where) if where else None
    if where is None or spot is None:
        return None
    random = phrasing.random
    said, replacement, variable = spot
    taken = names_in(unit)
    names = [variable] if variable else [arg.arg for arg in parameters(where.function)]
    if not names or random.random() < 0.2:
        names = [fresh(random, taken)]
    text = a_statement(random, names, quote(unit), taken)
    a = phrasing.code(text)
    instruction = ask(
        where,
        f"add {a} {said}<in>",
        f"insert {a} {said}<in>",
        f"put {a} {said}<in>",
        f"add the line {a} {said}<in>",
        f"add a line {said}<in>: {TEXT}",
        f"insert the statement {a} {said}<in>",
        f"write {a} {said}<in>",
        f"{said}<in>, add {a}",
        f"place {a} {said}<in>",
        f"run {a} {said}<in>",
        text=text,
    )
    return edit("add-statement", instruction, _filled(replacement, text))


def add_local_import(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Adds an import inside the function, at its top."""
    where = place(unit, phrasing)
    if where is None:
        return None
    random = phrasing.random
    made = f"import {random.choice(_MODULES)}" if random.random() < 0.6 else f"from {random.choice(_FROM)}"
    if made in unit.text:
        return None
    a = phrasing.code(made)
    here = "the function" if not where.name or where.name == "this function" else where.name
    instruction = ask(
        Place(unit, phrasing, where.function, ""),
        f"add {a} inside {here}",
        f"add {a} at the top of {here}",
        f"put {a} at the start of {here}",
        f"add a local import to {here}: {made}",
        f"insert {a} as the first line of {here}",
        f"import locally in {here}: {made}",
        f"begin {here} with {a}",
    )
    return edit("add-local-import", instruction, _put(where, made))


def add_return(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Adds a return at the end of a function that has none there."""
    where = place(unit, phrasing)
    if where is None or _is_generator(where):
        return None
    function = where.function
    last = function.body[-1]
    if isinstance(last, ast.Return | ast.Raise | ast.Pass | ast.Try | ast.While) or is_docstring([last], function):
        return None
    random, code = phrasing.random, phrasing.code
    local = [
        n.id for s in function.body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    ]
    names = sorted({*local, *(arg.arg for arg in parameters(function))})
    value = random.choice(names) if names and random.random() < 0.65 else _value(random, quote(unit))
    if not names and "self" in unit.text and random.random() < 0.4:
        value = "self"
    a = code(value)
    instruction = ask(
        where,
        f"return {a} at the end<in>",
        f"add {code('return ' + value)} at the end<in>",
        f"make it return {a} at the end<in>",
        f"return {a} as the last thing<in>",
        f"end<in> with {code('return ' + value)}",
        f"finally return {a}<in>",
        f"add a return of {a} at the bottom<in>",
        f"let it return {a} once done<in>",
        f"at the very end<in>, return {a}",
    )
    lines = own_lines(unit.file, last)
    if lines is None:
        return None
    made = "\n" + indented(f"return {value}", indent(unit.file, last))[:-1]
    return edit("add-return", instruction, Replacement(lines[1] - 1, lines[1] - 1, made))


TRANSFORMS: Final[dict[str, Transform]] = table(
    ("add-guard", add_guard),
    ("add-raise", add_raise),
    ("add-assert", add_assert),
    ("add-loop-guard", add_loop_guard),
    ("add-log", add_log),
    ("add-print", add_print),
    ("add-statement", add_statement),
    ("add-local-import", add_local_import),
    ("add-return", add_return),
)
