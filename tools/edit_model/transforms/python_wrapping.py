"""Python statements put into a block or taken out of one, and branches taken away."""

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
    ask,
    describe,
    edit,
    indent,
    is_docstring,
    line,
    literal,
    names_in,
    own_lines,
    place,
    quote,
    simple_literal_lines,
    source,
    statements,
    step,
    table,
)
from tools.edit_model.transforms.python_statements import LEVELS, an_error
from tools.edit_model.transforms.words import fresh, message, number, word


def _wrapped(where: Place, start: int, end: int, prefix: str, header: str, footer: str) -> Replacement | None:
    """The lines one level deeper, under the header, followed by the footer; both have ``\\t`` for one level."""
    inner = step(where.file, where.function)
    lines = where.file.source(start, end).split("\n")[:-1]
    if any(row.strip() and not row.startswith(prefix) and not row.strip().startswith("#") for row in lines):
        return None
    moved = "".join(inner + row + "\n" if row.strip() else row + "\n" for row in lines)
    above = "".join(prefix + row.replace("\t", inner) + "\n" for row in header.split("\n"))
    below = "".join(prefix + row.replace("\t", inner) + "\n" for row in footer.split("\n")) if footer else ""
    return Replacement(start, end, above + moved + below)


_UNWRAPPED: Final = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Pass,
    ast.Global,
    ast.Nonlocal,
    ast.Break,
    ast.Continue,
)


def _target(where: Place, body: float) -> tuple[str, int, int, str] | None:
    """What to wrap: how it is said, its lines, its indentation. With chance ``body`` it is the whole body."""
    random, function, file = where.random, where.function, where.file
    rest = function.body[1:] if is_docstring(function.body, function) else function.body
    if rest and random.random() < body:
        first, last = own_lines(file, rest[0]), own_lines(file, rest[-1])
        above = line(file, rest[0].lineno - 1).strip()
        if first is None or last is None or above.startswith("#") or last[1] - first[0] > 1500:
            return None
        if not all(simple_literal_lines(statement) for statement in rest):
            return None
        said = random.choice(("the whole body", "the body", "everything", "the entire body", "the function body"))
        return said, first[0], last[1], indent(file, rest[0])
    chosen = [s for s in statements(function) if simple_literal_lines(s)]
    if not chosen:
        return None
    statement = random.choice(chosen)
    if isinstance(statement, _UNWRAPPED):
        return None
    name, lines = describe(where, statement), own_lines(file, statement)
    if name is None or lines is None or lines[1] - lines[0] > 1500:
        return None
    return name, lines[0], lines[1], indent(file, statement)


def _handling(where: Place, error: str) -> tuple[str, str, str, bool]:
    """What the handler does: in words, its lines, a text for `TEXT`, whether it names the error."""
    random, code, mark = where.random, where.code, quote(where.unit)
    text = message(random)
    own = fresh(random, set(), "pascal", 1, 2) + "Error" if random.random() < 0.4 else an_error(random)
    value = random.choice(
        ("None", "False", "[]", "{}", "0", "-1", literal("", mark), literal(word(random), mark), "True")
    )
    call = f"logger.{random.choice(LEVELS)}({literal(text, mark)})"
    fallback = fresh(random, names_in(where.unit), "snake", 2, 2)
    return random.choice((
        ("ignore it", "pass", "", False),
        ("pass", "pass", "", False),
        (f"return {code(value)}", f"return {value}", "", False),
        (f"return {code(value)}", f"return {value}", "", False),
        (f"log it with {code(call)}", call, "", False),
        (f"call {code(call)}", call, "", False),
        (f"call {code(call)} and raise again", f"{call}\n\traise", "", False),
        (f"print {TEXT}", f"print({literal(text, mark)})", text, False),
        ("print it", "print(e)", "", True),
        (f"raise {code(f'{own}({literal(text, mark)})')} from it", f"raise {own}({literal(text, mark)}) from e",
        "", True),
        (f"raise {code(own)} from it", f"raise {own} from e", "", True),
        (f"raise {code(f'{own}({literal(text, mark)})')} from None",
        f"raise {own}({literal(text, mark)}) from None", "", False),
        (f"call {code(f'{fallback}()')}", f"{fallback}()", "", False),
        (f"call {code(f'{fallback}(e)')}", f"{fallback}(e)", "", True),
        (f"set {code(fallback)} to {code(value)}", f"{fallback} = {value}", "", False),
        (f"return {code(f'{fallback}()')}", f"return {fallback}()", "", False),
    ))  # fmt: skip


def wrap_try(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Wraps a statement or the whole body in a try with one handler; an error that has a name is called ``e``."""
    where = place(unit, phrasing)
    target = _target(where, 0.3) if where else None
    if where is None or target is None:
        return None
    said, start, end, prefix = target
    random = phrasing.random
    error = random.choice((an_error(random), an_error(random), "Exception"))
    if random.random() < 0.12:
        error = f"({error}, {an_error(random)})"
    deed, lines, text, named = _handling(where, error)
    a = phrasing.code(error)
    instruction = ask(
        where,
        f"wrap {said}<in> in a try/except {a} and {deed}",
        f"wrap {said}<in> in try/except, catch {a} and {deed}",
        f"put {said}<in> into a try block; on {a} {deed}",
        f"catch {a} around {said}<in> and {deed}",
        f"surround {said}<in> with try/except {a}: {deed}",
        f"handle {a} for {said}<in>: {deed}",
        f"add a try/except around {said}<in>: on {a}, {deed}",
        f"guard {said}<in> with a try, and when {a} is raised {deed}",
        f"try {said}<in>, and if it raises {a} then {deed}",
        f"put a try around {said}<in>, except {a}: {deed}",
        f"if {said}<in> raises {a}, {deed}",
        text=text,
    )
    if "_e_" in unit.text or (named and "e" in names_in(unit)):
        return None
    footer = f"except {error}{' as e' if named else ''}:\n\t{lines}"
    return edit("wrap-try", instruction, _wrapped(where, start, end, prefix, "try:", footer))


def _manager(random: Random, taken: set[str], mark: str) -> str:
    name, path = fresh(random, taken), literal(f"{word(random)}.{random.choice(('txt', 'json', 'csv', 'log'))}", mark)
    return random.choice((
        "self._lock", "self.lock", "lock", f"{name}_lock", f"suppress({an_error(random)})", f"self.{name}_lock",
        f"contextlib.suppress({an_error(random)})", f"open({path}) as {random.choice(('f', 'file', name))}",
        f"open({name}) as f", f"open({path}, {literal('w', mark)}) as f", f"timer({literal(word(random), mark)})",
        f"self.{name}()", f"{name}.transaction()", "torch.no_grad()", "warnings.catch_warnings()",
        f"{name}.open() as f",
        f"pytest.raises({an_error(random)})", f"{fresh(random, taken, 'snake', 2, 2)}({name})",
        "db.begin() as session",
        f"tempfile.TemporaryDirectory() as {random.choice(('tmp', 'folder', name))}", f"self.{name}.lock",
    ))  # fmt: skip


def wrap_with(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Wraps a statement or the whole body in the with given."""
    where = place(unit, phrasing)
    target = _target(where, 0.2) if where else None
    if where is None or target is None:
        return None
    said, start, end, prefix = target
    manager = _manager(phrasing.random, names_in(unit), quote(unit))
    a, full = phrasing.code(manager), phrasing.code(f"with {manager}")
    instruction = ask(
        where,
        f"wrap {said}<in> in {full}",
        f"put {said}<in> inside {full}",
        f"do {said}<in> under {full}",
        f"run {said}<in> inside {full}",
        f"put {said}<in> in a with block: {a}",
        f"surround {said}<in> with {full}",
        f"use {full} around {said}<in>",
        f"indent {said}<in> under {full}",
        f"execute {said}<in> in a {full} block",
        f"move {said}<in> into {full}",
    )
    return edit("wrap-with", instruction, _wrapped(where, start, end, prefix, f"with {manager}:", ""))


def wrap_if(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Puts a statement under the condition given."""
    where = place(unit, phrasing)
    target = _target(where, 0.08) if where else None
    if where is None or target is None:
        return None
    said, start, end, prefix = target
    random, taken = phrasing.random, names_in(unit)
    known = [a.arg for a in where.function.args.args if a.arg not in {"self", "cls"}]
    name = random.choice(known) if known and random.random() < 0.6 else fresh(random, taken)
    other = fresh(random, taken)
    condition = random.choice((
        name, name, f"not {name}", f"{name} is not None", f"{name} is None", f"{name} > {number(random, 10)}",
        f"self.{other}", f"not self.{other}", f"{name} == {literal(word(random), quote(unit))}", f"len({name}) > 0",
        f"{name} in {other}", f"{name} != {number(random, 1)}", f"isinstance({name}, str)", f"{name} and {other}",
        f"{other}.enabled", f"{name} not in self.{other}", f"hasattr({name}, {literal(other, quote(unit))})",
        "DEBUG",
        f"{name} >= {other}", f"{name}.startswith({literal(other, quote(unit))})", f"self.{other} is None",
    ))  # fmt: skip
    a = phrasing.code(condition)
    instruction = ask(
        where,
        f"only do {said}<in> if {a}",
        f"wrap {said}<in> in {phrasing.code('if ' + condition)}",
        f"put {said}<in> under {phrasing.code('if ' + condition)}",
        f"make {said}<in> conditional on {a}",
        f"run {said}<in> only when {a}",
        f"do {said}<in> only if {a}",
        f"guard {said}<in> with {phrasing.code('if ' + condition)}",
        f"put an if around {said}<in>: {a}",
        f"execute {said}<in> only in case {a} holds",
    )
    return edit("wrap-if", instruction, _wrapped(where, start, end, prefix, f"if {condition}:", ""))


def wrap_loop(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Puts a statement into the loop given."""
    where = place(unit, phrasing)
    target = _target(where, 0.0) if where else None
    if where is None or target is None:
        return None
    said, start, end, prefix = target
    random, taken = phrasing.random, names_in(unit)
    name, other = fresh(random, taken), fresh(random, taken)
    header = random.choice((
        f"for {name} in {other}", f"for {name} in self.{other}", f"while {name}",
        f"for {name} in range({number(random, 5)})",
        f"for _ in range({number(random, 5)})", f"while not {name}", "while True", f"for {name} in {other}.{name}s",
        f"while {name} < {number(random, 10)}", f"for {name}, {other} in {other}_{name}s.items()",
        f"for {name}, {other} in enumerate({other}s)",
    ))  # fmt: skip
    a = phrasing.code(header)
    instruction = ask(
        where,
        f"wrap {said}<in> in the loop {a}",
        f"put {said}<in> inside a loop: {a}",
        f"repeat {said}<in> in {a}",
        f"loop over {said}<in> with {a}",
        f"put {said}<in> under {a}",
        f"surround {said}<in> with {a}",
        f"move {said}<in> into a {a} loop",
    )
    return edit("wrap-loop", instruction, _wrapped(where, start, end, prefix, f"{header}:", ""))


def _outdented(where: Place, body: list[ast.stmt], prefix: str) -> str | None:
    first, last = own_lines(where.file, body[0]), own_lines(where.file, body[-1])
    if first is None or last is None or not all(simple_literal_lines(s) for s in body):
        return None
    inner = indent(where.file, body[0])
    lines = where.file.source(first[0], last[1]).split("\n")[:-1]
    if any(row.strip() and not row.startswith(inner) for row in lines):
        return None
    return "".join(prefix + row[len(inner) :] + "\n" if row.strip() else row + "\n" for row in lines)


def unwrap(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Takes the body out of an if, with or try and drops what was around it."""
    where = place(unit, phrasing)
    if where is None:
        return None
    found = [
        s for s in statements(where.function)
        if isinstance(s, ast.With) or ((isinstance(s, ast.If | ast.Try) and not s.orelse)
        and not (isinstance(s, ast.Try) and s.finalbody))
    ]  # fmt: skip
    if not found:
        return None
    statement = phrasing.random.choice(found)
    name, lines = describe(where, statement), own_lines(unit.file, statement)
    if name is None or lines is None or lines[1] - lines[0] > 1500:
        return None
    assert isinstance(statement, ast.If | ast.With | ast.Try)
    leaves = isinstance(statement.body[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)
    if leaves and isinstance(statement, ast.If):
        return None
    above = line(unit.file, statement.body[0].lineno - 1).strip()
    made = _outdented(where, statement.body, indent(unit.file, statement))
    if made is None or not above.endswith(":"):
        return None
    if isinstance(statement, ast.Try):
        after_body = statement.handlers[0].lineno if statement.handlers else 0
        if after_body != (statement.body[-1].end_lineno or 0) + 1:
            return None
    instruction = ask(
        where,
        f"unwrap {name}<in> and keep its body",
        f"remove {name}<in> but keep the body",
        f"take the body out of {name}<in>",
        f"drop {name}<in>, keep what's inside",
        f"remove {name}<in> and dedent its body",
        f"delete {name}<in> but keep the code inside",
        f"always run the body of {name}<in>, without it" if isinstance(statement, ast.If) else f"unwrap {name}<in>",
        f"get rid of {name}<in> only, its body stays",
        f"flatten {name}<in>: only its body remains",
    )
    return edit("unwrap-block", instruction, Replacement(*lines, made))


def delete_branch(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Deletes an else, an elif, a handler or a finally."""
    where = place(unit, phrasing)
    if where is None:
        return None
    random, code, file = phrasing.random, phrasing.code, unit.file
    found: list[tuple[list[str], int, int]] = []
    elses = 0
    for node in ast.walk(where.function):
        if isinstance(node, ast.If | ast.For | ast.While | ast.Try) and node.orelse:
            last = node.handlers[-1] if isinstance(node, ast.Try) and node.handlers else node.body[-1]
            chained = (
                isinstance(node, ast.If) and isinstance(node.orelse[0], ast.If) and _is_elif(unit, node.orelse[0])
            )
            if chained:
                inner = node.orelse[0]
                assert isinstance(inner, ast.If)
                test = source(file, inner.test)
                if inner.orelse and not _is_elif(unit, inner.orelse[0]):
                    end = _line_of_else(unit, inner.body[-1].end_lineno or 0, inner.orelse[0].lineno)
                elif inner.orelse:
                    end = inner.orelse[0].lineno
                else:
                    end = (inner.end_lineno or 0) + 1
                if len(test) <= 40 and "\n" not in test and end:
                    found.append(([f"the elif on {code(test)}", f"the {code('elif ' + test)} branch",
                                   f"the branch for {code(test)}"], inner.lineno, end))  # fmt: skip
            else:
                elses += 1
                start = _line_of_else(unit, last.end_lineno or 0, node.orelse[0].lineno)
                end = (node.orelse[-1].end_lineno or 0) + 1
                if start and not (isinstance(node, ast.Try) and node.finalbody):
                    found.append((["the else branch", "the else", "the else block"], start, end))
        if isinstance(node, ast.Try) and (len(node.handlers) > 1 or (node.handlers and node.finalbody)):
            for handler in node.handlers:
                text = source(file, handler.type) if handler.type else ""
                if text and "\n" not in text and len(text) < 40:
                    names = [
                        f"the except for {code(text)}",
                        f"the {code('except ' + text)} clause",
                        f"the {code(text)} handler",
                    ]
                    found.append((names, handler.lineno, (handler.end_lineno or 0) + 1))
        if isinstance(node, ast.Try) and node.finalbody and node.handlers:
            last_ = (node.orelse or node.handlers[-1].body)[-1]
            start = _line_of_else(unit, last_.end_lineno or 0, node.finalbody[0].lineno, "finally:")
            if start:
                found.append((["the finally", "the finally block"], start, (node.finalbody[-1].end_lineno or 0) + 1))
    counted = [names[0] for names, _, _ in found]
    found = [f for f in found if counted.count(f[0][0]) == 1 and not (f[0][0] == "the else branch" and elses > 1)]
    if not found:
        return None
    names, first, end = random.choice(found)
    name = random.choice(names)
    instruction = ask(
        where,
        f"remove {name}<in>",
        f"delete {name}<in>",
        f"drop {name}<in>",
        f"get rid of {name}<in>",
        f"take out {name}<in>",
        f"cut {name}<in>",
        f"we don't need {name}<in>, remove it",
        f"strip {name}<in>",
    )
    start_byte, end_byte = file.line_starts[first - 1], file.line_starts[end - 1]
    if not line(file, first - 1).strip() or line(file, first - 1).strip().startswith("#"):
        return None
    return edit("delete-branch", instruction, Replacement(start_byte, end_byte, ""))


def _is_elif(unit: Unit, node: ast.stmt) -> bool:
    return unit.file.source(*unit.file.span(node)).startswith("elif")


def _line_of_else(unit: Unit, after: int, before: int, word_: str = "else:") -> int:
    """The number of the line that opens the branch; 0 where it is not alone right after the one before."""
    return after + 1 if line(unit.file, after + 1).strip() == word_ and before > after + 1 else 0


TRANSFORMS: Final[dict[str, Transform]] = table(
    ("wrap-try", wrap_try),
    ("wrap-with", wrap_with),
    ("wrap-if", wrap_if),
    ("wrap-loop", wrap_loop),
    ("unwrap-block", unwrap),
    ("delete-branch", delete_branch),
)
