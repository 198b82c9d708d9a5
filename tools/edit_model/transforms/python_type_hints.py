"""Edits of Python type hints in signatures."""

from __future__ import annotations

import ast
from typing import Final

from tools.edit_model.edit import Edit, Replacement
from tools.edit_model.phrasing import Phrasing
from tools.edit_model.source import SourceFile, Unit
from tools.edit_model.transforms.python_code import (
    Function,
    Transform,
    ask,
    edit,
    function_node,
    parameters,
    place,
    source,
    table,
)
from tools.edit_model.transforms.python_parameters import a_type, defaults_of


def _hint_replacement(file: SourceFile, arg: ast.arg, hint: str, defaults: dict[str, ast.expr]) -> Replacement:
    """Annotates the parameter; ``x=1`` becomes ``x: int = 1``."""
    end = file.span(arg)[1]
    if arg.arg in defaults:
        return Replacement(end, file.span(defaults[arg.arg])[0], f": {hint} = ")
    return Replacement(end, end, f": {hint}")


def _signature_end(file: SourceFile, function: Function) -> int | None:
    """Where a return type goes: just after the closing bracket."""
    node = function_node(file, function)
    listed = node.child_by_field_name("parameters") if node else None
    return listed.end_byte if listed else None


def add_type_hint(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Annotates one parameter."""
    where = place(unit, phrasing)
    chosen = [arg for arg in parameters(where.function) if not arg.annotation] if where else []
    if where is None or not chosen:
        return None
    arg = phrasing.random.choice(chosen)
    hint = a_type(phrasing.random)
    a, b = phrasing.code(arg.arg), phrasing.code(hint)
    instruction = ask(
        where,
        f"add the type hint {b} to {a}<in>",
        f"annotate {a} as {b}<in>",
        f"add a type annotation: {a} is {b}<in>",
        f"type {a} as {b}<in>",
        f"annotate the parameter {a} with {b}<in>",
        f"give {a} the type {b}<in>",
        f"add type hint {b} for the parameter {a}<in>",
        f"mark {a} as {b}<in>",
        f"make the type of {a} explicit: {b}<in>",
        f"declare {a} to be {b}<in>",
    )
    defaults = {parameter.arg: value for parameter, value in defaults_of(where.function)}
    return edit("add-type-hint", instruction, _hint_replacement(unit.file, arg, hint, defaults))


def add_return_type(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Annotates what the function returns."""
    where = place(unit, phrasing)
    if where is None or where.function.returns is not None:
        return None
    returns = any(isinstance(node, ast.Return) and node.value for node in ast.walk(where.function))
    hint = a_type(phrasing.random) if returns else "None"
    end = _signature_end(unit.file, where.function)
    if end is None:
        return None
    b = phrasing.code(hint)
    instruction = ask(
        where,
        f"add the return type {b}<in>",
        f"annotate the return type as {b}<in>",
        f"add a return annotation of {b}<in>",
        f"add -> {hint}<in>",
        f"it returns {b}, annotate that<in>",
        f"add return type {b} to the signature<in>",
        f"set the return type to {b}<in>",
        f"give it the return type hint {b}<in>",
        f"declare that it returns {b}<in>",
        f"make the return type {b} explicit<in>",
    )
    return edit("add-return-type", instruction, Replacement(end, end, f" -> {hint}"))


def add_type_hints(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Annotates all parameters and the return, each type given."""
    where = place(unit, phrasing)
    if where is None or where.function.returns is not None:
        return None
    bare = [arg for arg in parameters(where.function) if not arg.annotation]
    if not 1 <= len(bare) <= 4 or len(bare) != len(parameters(where.function)):
        return None
    random, code = phrasing.random, phrasing.code
    hints = {arg.arg: random.choice(("int", "str", "bool", "float", a_type(random))) for arg in bare}
    returns = any(isinstance(node, ast.Return) and node.value for node in ast.walk(where.function))
    result = a_type(random) if returns else "None"
    end = _signature_end(unit.file, where.function)
    defaults = {parameter.arg: value for parameter, value in defaults_of(where.function)}
    listed = ", ".join(f"{name}: {hint}" for name, hint in hints.items())
    spoken = ", ".join(f"{code(name)} is {code(hint)}" for name, hint in hints.items())
    instruction = ask(
        where,
        f"add type hints<in>: {listed} -> {result}",
        f"add type hints<in>: {spoken}, returns {code(result)}",
        f"annotate the signature<in>: {spoken}, and it returns {code(result)}",
        f"add types<in>: {spoken}, return {code(result)}",
        f"type the parameters and the return<in>: {listed} -> {result}",
        f"add annotations<in> ({listed} -> {result})",
        f"make this fully typed<in>: {spoken}; it returns {code(result)}",
    )
    changes = [_hint_replacement(unit.file, arg, hints[arg.arg], defaults) for arg in bare]
    if end is None:
        return None
    return edit("add-type-hints", instruction, *changes, Replacement(end, end, f" -> {result}"))


def _unhinted(file: SourceFile, arg: ast.arg, defaults: dict[str, ast.expr]) -> Replacement | None:
    start, end = file.span(arg)
    start += len(arg.arg.encode())
    if arg.arg in defaults:
        end = file.span(defaults[arg.arg])[0]
        return None if "\n" in file.source(start, end) else Replacement(start, end, "=")
    return Replacement(start, end, "")


def remove_type_hints(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Removes all annotations of the signature."""
    where = place(unit, phrasing)
    if where is None or any(isinstance(node, ast.AnnAssign) for node in ast.walk(where.function)):
        return None
    function, file = where.function, unit.file
    defaults = {parameter.arg: value for parameter, value in defaults_of(function)}
    every = [*parameters(function, False), *(arg for arg in (function.args.vararg, function.args.kwarg) if arg)]
    changes = [_unhinted(file, arg, defaults) for arg in every if arg.annotation]
    end = _signature_end(file, function)
    if function.returns is not None and end is not None:
        last = file.span(function.returns)[1]
        changes.append(Replacement(end, last, "") if "\n" not in file.source(end, last) else None)
    if not changes:
        return None
    instruction = ask(
        where,
        "remove the type hints<in>",
        "remove all type annotations from the signature<in>",
        "strip the type hints from the signature<in>",
        "drop the annotations<in>",
        "delete all types from the signature<in>",
        "remove the types of the parameters and the return<in>",
        "get rid of the type hints<in>",
        "make the signature untyped<in>",
        "take the type annotations out of the signature<in>",
    )
    return edit("remove-type-hints", instruction, *changes)


def remove_type_hint(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Removes one parameter's annotation."""
    where = place(unit, phrasing)
    chosen = [arg for arg in parameters(where.function) if arg.annotation] if where else []
    if where is None or not chosen:
        return None
    arg = phrasing.random.choice(chosen)
    a = phrasing.code(arg.arg)
    instruction = ask(
        where,
        f"remove the type hint of {a}<in>",
        f"remove the annotation from {a}<in>",
        f"drop the type of the parameter {a}<in>",
        f"delete the type annotation on {a}<in>",
        f"make {a} untyped<in>",
        f"strip the type hint from the argument {a}<in>",
    )
    defaults = {parameter.arg: value for parameter, value in defaults_of(where.function)}
    return edit("remove-type-hint", instruction, _unhinted(unit.file, arg, defaults))


def change_type_hint(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Changes a parameter's or the return's annotation."""
    where = place(unit, phrasing)
    if where is None:
        return None
    random = phrasing.random
    hinted: list[tuple[str, ast.expr]] = [(a.arg, a.annotation) for a in parameters(where.function) if a.annotation]
    if where.function.returns is not None:
        hinted.append(("", where.function.returns))
    hinted = [(name, hint) for name, hint in hinted if "\n" not in source(unit.file, hint)]
    if not hinted:
        return None
    name, hint = random.choice(hinted)
    old, new = source(unit.file, hint), a_type(random)
    if random.random() < 0.3 and "None" not in old and "Optional" not in old:
        new = f"{old} | None"
    if old == new or len(old) > 50:
        return None
    a = f"the type of {phrasing.code(name)}" if name else "the return type"
    b, c = phrasing.code(new), phrasing.code(old)
    instruction = ask(
        where,
        f"change {a} to {b}<in>",
        f"change {a} from {c} to {b}<in>",
        f"make {a} {b}<in>",
        f"set {a} to {b}<in>",
        f"use {b} as {a}<in>",
        f"use {b} instead of {c} for {a}<in>",
        f"update {a} to {b}<in>",
        f"replace {a} by {b}<in>",
        f"fix {a}: it should be {b}<in>",
    )
    return edit("change-type-hint", instruction, Replacement(*unit.file.span(hint), new))


TRANSFORMS: Final[dict[str, Transform]] = table(
    ("add-type-hint", add_type_hint),
    ("add-return-type", add_return_type),
    ("add-type-hints", add_type_hints),
    ("remove-type-hints", remove_type_hints),
    ("remove-type-hint", remove_type_hint),
    ("change-type-hint", change_type_hint),
)
