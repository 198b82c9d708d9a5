"""Python statements taken out."""

from __future__ import annotations

import ast
from typing import Final

from tools.edit_model.edit import Edit, Replacement
from tools.edit_model.phrasing import Phrasing
from tools.edit_model.source import Unit
from tools.edit_model.transforms.python_code import (
    Transform,
    ask,
    blocks,
    deletable,
    describe,
    edit,
    place,
    source,
    statements,
    table,
)


def delete_statement(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Deletes one simple statement."""
    return _delete(unit, phrasing, "delete-statement", simple=True)


def delete_block(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Deletes one compound statement with all below it."""
    return _delete(unit, phrasing, "delete-block", simple=False)


def _delete(unit: Unit, phrasing: Phrasing, kind: str, simple: bool) -> Edit | None:
    where = place(unit, phrasing)
    if where is None:
        return None
    listed = {id(statement) for statement in statements(where.function)}
    chosen = []
    for block in blocks(where.function):
        for statement in block:
            lines = deletable(unit.file, block, statement)
            compound = isinstance(statement, ast.If | ast.For | ast.While | ast.With | ast.Try)
            defines = isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            if lines and compound != simple and not defines and id(statement) in listed:
                chosen.append((statement, lines))
    if not chosen:
        return None
    statement, lines = phrasing.random.choice(chosen)
    name = describe(where, statement)
    if name is None or lines[1] - lines[0] > 800:
        return None
    whole = "" if simple or phrasing.random.random() < 0.5 else " with everything in it"
    instruction = ask(
        where,
        f"remove {name}{whole}<in>",
        f"delete {name}{whole}<in>",
        f"drop {name}{whole}<in>",
        f"get rid of {name}{whole}<in>",
        f"take out {name}{whole}<in>",
        f"remove {name}{whole}<in>, it's not needed",
        f"cut {name}{whole}<in>",
        f"we don't need {name}<in>, remove it{whole}",
        f"erase {name}{whole}<in>",
    )
    return edit(kind, instruction, Replacement(*lines, ""))


def delete_calls(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Deletes all statements that call one function, as all prints."""
    where = place(unit, phrasing)
    if where is None:
        return None
    by_name: dict[str, list[tuple[int, int] | None]] = {}
    others: set[str] = set()
    inside = {id(s) for s in statements(where.function)}
    calls = {id(s.value) for s in ast.walk(where.function) if isinstance(s, ast.Expr)}
    for block in blocks(where.function):
        bare = [s for s in block if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call)]
        for statement in bare:
            if isinstance(statement.value, ast.Call) and id(statement) in inside:
                name = source(unit.file, statement.value.func)
                lines = deletable(unit.file, block, statement) if len(bare) < len(block) else None
                by_name.setdefault(name, []).append(lines)
    for node in ast.walk(where.function):
        if isinstance(node, ast.Call) and id(node) not in calls:
            others.add(source(unit.file, node.func))
    chosen = {
        n: ls
        for n, ls in by_name.items()
        if len(ls) > 1 and all(ls) and n not in others and len(n) < 30 and "\n" not in n
    }
    if not chosen:
        return None
    name = phrasing.random.choice(sorted(chosen))
    a = phrasing.code(name)
    noun = "prints" if name == "print" else f"calls to {a}"
    instruction = ask(
        where,
        f"remove all {noun}<in>",
        f"delete the {noun}<in>",
        f"drop every call of {a}<in>",
        f"get rid of all {noun}<in>",
        f"take out the {noun}<in>",
        f"remove each call to {a}<in>",
        f"strip all {noun}<in>",
        f"clear out the {noun}<in>",
    )
    return edit("delete-calls", instruction, *(Replacement(*lines, "") for lines in chosen[name] if lines))


TRANSFORMS: Final[dict[str, Transform]] = table(
    ("delete-statement", delete_statement),
    ("delete-block", delete_block),
    ("delete-calls", delete_calls),
)
