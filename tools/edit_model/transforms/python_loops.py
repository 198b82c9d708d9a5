"""Loops of Python: comprehensions out of loops and back, and the built-in functions that replace loops."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from tools.edit_model.edit import Replacement
from tools.edit_model.transforms.python_rewrites import (
    WIDTH,
    Code,
    Rewrite,
    Transform,
    forward,
    inverse,
    uses,
)


def _bound(target: ast.expr) -> set[str]:
    return {part.id for part in ast.walk(target) if isinstance(part, ast.Name)}


def _empty(value: ast.expr) -> str | None:
    if isinstance(value, ast.List) and not value.elts:
        return "list"
    if isinstance(value, ast.Dict) and not value.keys:
        return "dict"
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and not value.args and not value.keywords:
        return value.func.id if value.func.id == "set" else None
    return None


def _clauses(code: Code, loop: ast.For) -> tuple[list[str], list[ast.expr], ast.stmt] | None:
    """The ``for`` and ``if`` clauses of nested loops, what they hold, and the one statement inside."""
    clauses: list[str] = []
    parts: list[ast.expr] = []
    inner: ast.stmt = loop
    while isinstance(inner, ast.For | ast.If):
        if inner.orelse or len(inner.body) != 1 or inner.body[0].lineno == inner.lineno:
            return None
        if isinstance(inner, ast.For):
            if isinstance(inner.iter, ast.IfExp | ast.Lambda) or inner.type_comment:
                return None
            if isinstance(inner.iter, ast.Tuple) and not code.text(inner.iter).startswith("("):
                return None
            clauses.append(f"for {code.text(inner.target)} in {code.text(inner.iter)}")
            parts += [inner.target, inner.iter]
        else:
            if isinstance(inner.test, ast.IfExp | ast.Lambda | ast.NamedExpr):
                return None
            clauses.append(f"if {code.text(inner.test)}")
            parts.append(inner.test)
        inner = inner.body[0]
    return (clauses, parts, inner) if len(clauses) <= 3 else None


def _element(code: Code, name: str, stmt: ast.stmt) -> tuple[str, str, list[ast.expr]] | None:
    """Which collection a statement fills, the comprehension's element, and its expressions."""
    if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call) and isinstance(stmt.value.func, ast.Attribute):
        call, method = stmt.value, stmt.value.func
        if not isinstance(method.value, ast.Name) or method.value.id != name or len(call.args) != 1 or call.keywords:
            return None
        if method.attr not in {"append", "add"} or isinstance(call.args[0], ast.Starred | ast.GeneratorExp):
            return None
        return {"append": "list", "add": "set"}[method.attr], code.text(call.args[0]), [call.args[0]]
    if isinstance(stmt, ast.Assign) and len(stmt.targets) == 1 and isinstance(stmt.targets[0], ast.Subscript):
        target = stmt.targets[0]
        if not isinstance(target.value, ast.Name) or target.value.id != name:
            return None
        if isinstance(target.slice, ast.Slice | ast.Tuple) or isinstance(stmt.value, ast.Tuple):
            return None
        return "dict", f"{code.text(target.slice)}: {code.text(stmt.value)}", [target.slice, stmt.value]
    return None


def _unfit(parts: list[ast.expr], name: str) -> bool:
    waits = (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)
    return bool(uses(parts, name)) or any(isinstance(node, waits) for part in parts for node in ast.walk(part))


_BRACKETS: Final = {"list": ("[", "]"), "set": ("{", "}"), "dict": ("{", "}")}


def _filled(code: Code, block: list[ast.stmt], i: int) -> tuple[str, str, str, tuple[int, int], ast.For] | None:
    """Name, collection and comprehension of the loop at ``block[i + 1]`` that fills what ``block[i]`` made empty."""
    first, loop = block[i], block[i + 1]
    if not isinstance(first, ast.Assign) or len(first.targets) != 1 or not isinstance(first.targets[0], ast.Name):
        return None
    name, collection = first.targets[0].id, _empty(first.value)
    if collection is None or not isinstance(loop, ast.For) or (held := _clauses(code, loop)) is None:
        return None
    clauses, parts, inner = held
    element = _element(code, name, inner)
    lines = code.whole(first, loop)
    if element is None or element[0] != collection or lines is None or _unfit(parts + element[2], name):
        return None
    if any(uses(block[i + 2 :], bound) for bound in _bound(loop.target)):
        return None
    opening, closing = _BRACKETS[collection]
    comprehension = f"{opening}{element[1]} {' '.join(clauses)}{closing}"
    return None if "\n" in comprehension else (name, collection, comprehension, lines, loop)


def filling_loops(code: Code) -> Iterator[Rewrite]:
    """Loops that fill an empty collection, as comprehensions."""
    loops = set(code.find(ast.For))
    for block in code.blocks():
        for i in range(len(block) - 1):
            if (found := _filled(code, block, i)) is None:
                continue
            name, collection, comprehension, lines, loop = found
            line = f"{code.indent(block[i])}{name} = {comprehension}"
            if len(line) <= WIDTH:
                loops -= set(ast.walk(loop))
                yield Rewrite(
                    (Replacement(*lines, line + "\n"),),
                    {"name": name, "iter": code.text(loop.iter)},
                    {"collection": collection},
                )
    for other in loops:
        yield Rewrite((), {"iter": code.text(other.iter)} if isinstance(other, ast.For) else {})


def _loop_lines(code: Code, name: str, value: ast.expr, indent: str) -> str | None:
    """The loop that does the same as a comprehension on one line."""
    if not isinstance(value, ast.ListComp | ast.SetComp | ast.DictComp) or "\n" in code.text(value):
        return None
    if any(generator.is_async or len(generator.ifs) > 1 for generator in value.generators):
        return None
    if len(value.generators) > 2:
        return None
    if isinstance(value, ast.DictComp):
        fill = f"{name}[{code.text(value.key)}] = {code.text(value.value)}"
        start = "{}"
        parts = [value.key, value.value]
    else:
        method, start = ("append", "[]") if isinstance(value, ast.ListComp) else ("add", "set()")
        fill = f"{name}.{method}({code.text(value.elt)})"
        parts = [value.elt]
    lines = [f"{indent}{name} = {start}"]
    for generator in value.generators:
        lines.append(f"{indent}for {code.text(generator.target)} in {code.text(generator.iter)}:")
        parts += [generator.target, generator.iter, *generator.ifs]
        indent += code.tab
        if generator.ifs:
            lines.append(f"{indent}if {code.text(generator.ifs[0])}:")
            indent += code.tab
    lines.append(indent + fill)
    return None if _unfit(parts, name) else "\n".join(lines) + "\n"


_COMPREHENSIONS: Final[dict[type[ast.AST], str]] = {ast.ListComp: "list", ast.SetComp: "set", ast.DictComp: "dict"}


def comprehensions(code: Code) -> Iterator[Rewrite]:
    """Comprehensions given a name, as loops."""
    others = set(code.find(*_COMPREHENSIONS))
    for block in code.blocks():
        for stmt in block:
            if (
                not isinstance(stmt, ast.Assign)
                or len(stmt.targets) != 1
                or not isinstance(stmt.targets[0], ast.Name)
            ):
                continue
            lines = code.whole(stmt)
            loop = _loop_lines(code, stmt.targets[0].id, stmt.value, code.indent(stmt)) if lines else None
            if lines and loop:
                others.discard(stmt.value)
                words = {"collection": _COMPREHENSIONS[type(stmt.value)]}
                yield Rewrite((Replacement(*lines, loop),), {"name": stmt.targets[0].id}, words)
    for other in others:
        yield Rewrite((), {}, {"collection": _COMPREHENSIONS[type(other)]})


def returned_loops(code: Code) -> Iterator[Rewrite]:
    """Loops that fill a collection that is then returned, as comprehensions that are returned."""
    for block in code.blocks():
        for i in range(len(block) - 2):
            last = block[i + 2]
            if not isinstance(last, ast.Return) or (found := _filled(code, block[: i + 2], i)) is None:
                continue
            name, collection, comprehension, _, _ = found
            if not isinstance(last.value, ast.Name) or last.value.id != name:
                continue
            lines = code.whole(block[i], last)
            line = f"{code.indent(last)}return {comprehension}"
            if lines and len(line) <= WIDTH:
                yield Rewrite((Replacement(*lines, line + "\n"),), {"name": name}, {"collection": collection})


_RESULTS: Final = ("result", "results", "items", "found", "output", "values", "out", "collected", "entries", "acc")


def returned_comprehensions(code: Code) -> Iterator[Rewrite]:
    """Comprehensions that are returned, as loops that fill a collection by a new name."""
    others = set(code.find(*_COMPREHENSIONS))
    for block in code.blocks():
        stmt = block[-1]
        if not isinstance(stmt, ast.Return) or stmt.value is None or (lines := code.whole(stmt)) is None:
            continue
        for name in _RESULTS:
            loop = _loop_lines(code, name, stmt.value, code.indent(stmt)) if name not in code.names else None
            if loop:
                others.discard(stmt.value)
                collection = _COMPREHENSIONS[type(stmt.value)]
                text = f"{loop}{code.indent(stmt)}return {name}\n"
                yield Rewrite((Replacement(*lines, text),), {"name": name}, {"collection": collection})
    if others:
        yield Rewrite(())


def _quantified(code: Code, block: list[ast.stmt], i: int) -> Rewrite | None:
    """A loop that returns at the first match followed by the opposite return, as ``any`` or ``all``."""
    loop, last = block[i], block[i + 1]
    if not isinstance(loop, ast.For) or not isinstance(last, ast.Return) or loop.orelse or len(loop.body) != 1:
        return None
    test = loop.body[0]
    if not isinstance(test, ast.If) or test.orelse or len(test.body) != 1:
        return None
    answer = test.body[0]
    if not isinstance(answer, ast.Return):
        return None
    for value in (answer.value, last.value):
        if not isinstance(value, ast.Constant) or not isinstance(value.value, bool):
            return None
    assert isinstance(answer.value, ast.Constant) and isinstance(last.value, ast.Constant)
    if answer.value.value == last.value.value or (lines := code.whole(loop, last)) is None:
        return None
    function = "any" if answer.value.value else "all"
    condition = code.text(test.test) if answer.value.value else code.negated(test.test)
    if condition is None or isinstance(loop.iter, ast.Tuple | ast.IfExp) or isinstance(test.test, ast.NamedExpr):
        return None
    line = f"{code.indent(loop)}return {function}({condition} for {code.text(loop.target)} in {code.text(loop.iter)})"
    if "\n" in line or len(line) > WIDTH:
        return None
    return Rewrite((Replacement(*lines, line + "\n"),), {"iter": code.text(loop.iter)}, {"function": function})


def quantifying_loops(code: Code) -> Iterator[Rewrite]:
    """Loops that look for a match, as ``any`` and ``all``."""
    for block in code.blocks():
        for i in range(len(block) - 1):
            if rewrite := _quantified(code, block, i):
                yield rewrite


def quantifiers(code: Code) -> Iterator[Rewrite]:
    """Returned ``any`` and ``all`` over a generator, as loops."""
    for node in code.find(ast.Return):
        assert isinstance(node, ast.Return)
        call = node.value
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or len(call.args) != 1:
            continue
        generator = call.args[0]
        if call.func.id not in {"any", "all"} or not isinstance(generator, ast.GeneratorExp):
            continue
        clause = generator.generators[0]
        if len(generator.generators) != 1 or clause.ifs or clause.is_async or (lines := code.whole(node)) is None:
            continue
        condition = code.text(generator.elt) if call.func.id == "any" else code.negated(generator.elt)
        if condition is None or "\n" in code.text(call) or _unfit([generator.elt, clause.iter], ""):
            continue
        indent, found = code.indent(node), call.func.id == "any"
        text = (
            f"{indent}for {code.text(clause.target)} in {code.text(clause.iter)}:\n"
            f"{indent}{code.tab}if {condition}:\n"
            f"{indent}{code.tab}{code.tab}return {found}\n"
            f"{indent}return {not found}\n"
        )
        yield Rewrite((Replacement(*lines, text),), {"iter": code.text(clause.iter)}, {"function": call.func.id})


def brackets_in_calls(code: Code) -> Iterator[Rewrite]:
    """List comprehensions that are the one argument of a function that takes any iterable, as generators."""
    for call in code.find(ast.Call):
        assert isinstance(call, ast.Call)
        if len(call.args) != 1 or call.keywords or not isinstance(call.args[0], ast.ListComp):
            continue
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        if isinstance(call.func, ast.Attribute) and call.func.attr == "join":
            name = "join"
        start, end = code.span(call.args[0])
        if name in {"any", "all", "sum", "min", "max", "join", "set", "sorted", "tuple", "dict", "list"}:
            yield Rewrite(
                (Replacement(start, start + 1, ""), Replacement(end - 1, end, "")),
                {"call": name, "name": f"{name}(...)" if name != "join" else "join(...)"},
            )


def generators_in_calls(code: Code) -> Iterator[Rewrite]:
    """Generators that are the one argument of a call, as list comprehensions."""
    for call in code.find(ast.Call):
        assert isinstance(call, ast.Call)
        if len(call.args) != 1 or call.keywords or not isinstance(call.args[0], ast.GeneratorExp):
            continue
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        if isinstance(call.func, ast.Attribute) and call.func.attr == "join":
            name = "join"
        start, end = code.span(call.args[0])
        if end == code.span(call)[1] and name in {
            "any",
            "all",
            "sum",
            "min",
            "max",
            "join",
            "set",
            "sorted",
            "tuple",
        }:
            yield Rewrite(
                (Replacement(start + 1, start + 1, "["), Replacement(end - 1, end - 1, "]")),
                {"call": name, "name": f"{name}(...)"},
            )


def yielding(code: Code) -> Iterator[Rewrite]:
    """Functions that fill a list and return it, as generators."""
    for function in code.find(ast.FunctionDef):
        assert isinstance(function, ast.FunctionDef)
        last = function.body[-1]
        if not isinstance(last, ast.Return) or not isinstance(last.value, ast.Name) or function.returns:
            continue
        name = last.value.id
        starts = [
            stmt
            for stmt in function.body
            if isinstance(stmt, ast.Assign)
            and len(stmt.targets) == 1
            and isinstance(stmt.targets[0], ast.Name)
            and stmt.targets[0].id == name
            and _empty(stmt.value) == "list"
        ]
        if len(starts) != 1:
            continue
        appends = [
            node
            for node in ast.walk(function)
            if isinstance(node, ast.Expr) and (element := _element(code, name, node)) and element[0] == "list"
        ]
        others = [node for node in ast.walk(function) if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom)]
        if not appends or uses(function, name) != len(appends) + 2 or len(others) != 1:
            continue
        first_lines, last_lines = code.whole(starts[0]), code.whole(last)
        if first_lines is None or last_lines is None:
            continue
        # The blank line before the return goes with it.
        start = last_lines[0]
        while code.data[:start].endswith(b"\n\n"):
            start -= 1
        replacements = [Replacement(*first_lines, ""), Replacement(start, last_lines[1], "")]
        for node in appends:
            assert isinstance(node.value, ast.Call)
            argument = node.value.args[0]
            if "\n" in code.text(node):
                break
            replacements.append(Replacement(*code.span(node), f"yield {code.text(argument)}"))
        else:
            yield Rewrite(tuple(replacements), {"name": name, "function": function.name})


_TO_COMPREHENSION: Final = (
    "Use a {collection} comprehension",
    "Use a {collection} comprehension for {name}",
    "Turn the loop into a {collection} comprehension",
    "Replace the loop with a comprehension",
    "Convert the loop that fills {name} to a {collection} comprehension",
    "Build {name} with a comprehension",
    "Rewrite this loop as a comprehension",
    "Make {name} a {collection} comprehension instead of a loop",
    "Simplify with a {collection} comprehension",
    "{collection} comprehension instead of the for loop",
    "The loop over {iter} should be a comprehension",
    "Collapse the loop over {iter} into a {collection} comprehension",
    "{collection} comp for {name}",
    "Express {name} as a {collection} comprehension",
)
_TO_LOOP: Final = (
    "Use a for loop instead of the comprehension",
    "Turn the comprehension into a loop",
    "Expand the {collection} comprehension into a for loop",
    "Rewrite the comprehension for {name} as a plain loop",
    "Build {name} in a loop, not a comprehension",
    "Convert the {collection} comprehension to a loop",
    "Unroll the comprehension into a regular for loop",
    "Replace the comprehension of {name} with a for loop",
    "I'd like an ordinary loop for {name} instead of a {collection} comprehension",
    "Fill {name} with a loop",
    "Comprehension to loop",
    "Make {name} with an explicit loop",
)
_RETURN_COMPREHENSION: Final = (
    "Return a {collection} comprehension instead of building {name}",
    "Return a {collection} comprehension directly",
    "Drop {name} and return a {collection} comprehension",
    "Replace {name} and the loop with a returned comprehension",
    "Just return a {collection} comprehension",
    "Get rid of {name}: return a comprehension",
    "Return the comprehension, no need for {name}",
    "Simplify the loop and the return to one returned {collection} comprehension",
    "Do it in one line: return a {collection} comprehension",
    "Collapse loop and return into a single return of a comprehension",
)
_RETURN_LOOP: Final = (
    "Build the result in a loop, in {name}, and return {name}",
    "Replace the returned comprehension with a loop that fills {name}",
    "Use a for loop that collects into {name} instead of the comprehension",
    "Expand the comprehension into a loop over a variable {name}",
    "Rewrite the returned {collection} comprehension as a loop, collecting into {name}",
    "Turn the comprehension into a loop; call the {collection} {name}",
    "Use a plain loop with {name} instead of returning a comprehension",
    "Collect into {name} in a for loop and return it",
    "Unroll the comprehension: fill {name} in a loop, then return it",
)
_TO_QUANTIFIER: Final = (
    "Use {function}()",
    "Replace the loop with {function}()",
    "Use {function} instead of the loop",
    "Return {function}(...) instead of looping",
    "Simplify the loop to {function}()",
    "Rewrite the loop over {iter} with {function}",
    "Turn this loop into a call of {function}",
    "Collapse the loop into a return of {function}() over a generator",
    "The loop is just {function}(), use that",
    "Make the for loop an {function} expression",
)
_FROM_QUANTIFIER: Final = (
    "Use a for loop instead of {function}()",
    "Replace {function}() with an explicit loop",
    "Expand {function} into a loop",
    "Rewrite the {function}() as a plain for loop with early return",
    "Turn {function}() over {iter} into a loop",
    "Write the {function}() out as a loop",
    "Unroll {function}() to a for loop that returns True or False",
    "Loop over {iter} instead of using {function}()",
    "No {function}() please, an ordinary for loop with returns",
)
_TO_GENERATOR: Final = (
    "Use a generator expression instead of a list",
    "Pass a generator to {call} instead of a list comprehension",
    "Use a generator in {name}",
    "Drop the square brackets in {call}",
    "Don't build a list inside {name}",
    "Remove the unnecessary list comprehension",
    "Make the argument of {call} a generator expression",
    "The list in {call} isn't needed, use a generator",
    "Generator instead of list in {call}",
    "Avoid the intermediate list in {name}",
)
_TO_LIST: Final = (
    "Use a list comprehension instead of the generator",
    "Pass a list comprehension to {call} instead of a generator",
    "Make the generator in {name} a list comprehension",
    "Add square brackets around the generator in {call}",
    "Build a list inside {name} instead of a generator",
    "Turn the generator expression in {call} into a list comprehension",
    "Give {call} a list comprehension",
    "List instead of generator in {call}",
    "I want a real list in {name}, not a generator",
)
_TO_YIELD: Final = (
    "Make {function} a generator",
    "Turn {function} into a generator",
    "Use yield instead of appending to {name}",
    "Yield the items instead of building {name}",
    "Convert this to a generator function",
    "Yield each item instead of returning a list",
    "Don't build the list {name}, yield",
    "Rewrite {function} as a generator that yields instead of collecting {name}",
    "Make this lazy with yield",
    "Get rid of {name} and yield its items",
)

TRANSFORMS: Final[dict[str, Transform]] = {
    "loop-to-comprehension": forward("loop-to-comprehension", filling_loops, _TO_COMPREHENSION),
    "comprehension-to-loop": forward("comprehension-to-loop", comprehensions, _TO_LOOP),
    "return-comprehension": forward("return-comprehension", returned_loops, _RETURN_COMPREHENSION),
    "returned-comprehension-to-loop": forward(
        "returned-comprehension-to-loop", returned_comprehensions, _RETURN_LOOP
    ),
    "use-any-all": forward("use-any-all", quantifying_loops, _TO_QUANTIFIER),
    "any-all-to-loop": forward("any-all-to-loop", quantifiers, _FROM_QUANTIFIER),
    "list-to-generator": forward("list-to-generator", brackets_in_calls, _TO_GENERATOR),
    "generator-to-list": forward("generator-to-list", generators_in_calls, _TO_LIST),
    "use-yield": forward("use-yield", yielding, _TO_YIELD),
}  # fmt: skip
"""The edits whose replacements lead from the code to what was asked for."""

INVERSE: Final[dict[str, Transform]] = {
    "loop-to-comprehension": inverse("loop-to-comprehension", comprehensions, filling_loops, _TO_COMPREHENSION),
    "comprehension-to-loop": inverse("comprehension-to-loop", filling_loops, comprehensions, _TO_LOOP),
    "return-comprehension": inverse(
        "return-comprehension", returned_comprehensions, returned_loops, _RETURN_COMPREHENSION
    ),
    "use-any-all": inverse("use-any-all", quantifiers, quantifying_loops, _TO_QUANTIFIER),
    "list-to-generator": inverse("list-to-generator", generators_in_calls, brackets_in_calls, _TO_GENERATOR),
    "generator-to-list": inverse("generator-to-list", brackets_in_calls, generators_in_calls, _TO_LIST),
}
"""The edits whose replacements lead from real code, which is the AFTER, to the BEFORE."""
