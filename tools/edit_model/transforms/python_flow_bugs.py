"""Planted bugs in what Python functions return, raise and start from."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from typing import Final

from tools.edit_model.edit import Replacement
from tools.edit_model.transforms.python_rewrites import (
    Code,
    Rewrite,
)


def missing_returns(code: Code) -> Iterator[Rewrite]:
    """A last return that lost its keyword."""
    for function in code.find(ast.FunctionDef, ast.AsyncFunctionDef):
        assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        last = function.body[-1]
        if not isinstance(last, ast.Return) or not isinstance(last.value, ast.Call | ast.Name | ast.BinOp):
            continue
        text, (start, end) = code.text(last.value), code.span(last)
        if code.between(start, end) == f"return {text}":
            slots = {"function": function.name}
            if "\n" not in text and len(text) <= 60:
                slots["value"] = text
            yield Rewrite((Replacement(start, code.span(last.value)[0], ""),), slots)


MISSING_RETURN: Final = (
    "Add the missing return to {function}",
    "The function {function} always returns None, fix it",
    "Missing return in {function}",
    "Return {value}",
    "Fix {function}, it should return {value}",
    "The result {value} is never returned",
    "Fix the missing return statement in {function}",
    "It should return {value} at the end",
    "The last line of {function} should be a return",
    "Bug: {function} doesn't return its result",
    "Return the value on the last line of {function}",
)


def missing_awaits(code: Code) -> Iterator[Rewrite]:
    """Coroutines that are not awaited."""
    for node in code.find(ast.Await):
        assert isinstance(node, ast.Await)
        text = code.text(node.value)
        if isinstance(node.value, ast.Call) and code.text(node) == f"await {text}":
            function = code.text(node.value.func)
            yield Rewrite((Replacement(*code.span(node), text),), {"seen": f"{function}(", "call": function})


MISSING_AWAIT: Final = (
    "Missing await before {call}",
    "Await {call}",
    "The coroutine {call} is never awaited",
    "Fix: {call} must be awaited",
    "RuntimeWarning: coroutine {call} was never awaited",
    "Add the missing await to the call of {call}",
    "The call {call} returns a coroutine, await it",
    "I forgot to await {call}",
    "We need to wait for {call}, it is async",
)


def lost_accumulations(code: Code) -> Iterator[Rewrite]:
    """Augmented assignments that overwrite."""
    for node in code.find(ast.AugAssign):
        assert isinstance(node, ast.AugAssign)
        if not isinstance(node.op, ast.Add) or (text := code.simple(node)) is None or len(text) > 80:
            continue
        target, value = code.text(node.target), code.text(node.value)
        if text == f"{target} += {value}":
            bad = f"{target} = {value}"
            yield Rewrite(
                (Replacement(*code.span(node), bad),), {"seen": bad, "name": target, "value": value, "good": text}
            )


ACCUMULATION: Final = (
    "Fix {seen}, it should add to {name}",
    "The line {seen} overwrites {name} instead of adding to it",
    "Bug: {name} is overwritten, it should be increased by {value}",
    "Use += in {seen}",
    "Accumulate in {name} instead of overwriting it in {seen}",
    "It should be += rather than = in {seen}",
    "Make {seen} accumulate",
    "Wrong assignment: {seen} must be {good}",
    "Don't overwrite {name} in {seen}, add {value} to it",
    "In {seen} the value has to be added to {name}",
)


def premature_returns(code: Code) -> Iterator[Rewrite]:
    """Returns behind a loop that stand in the loop."""
    for block in code.blocks():
        for loop, last in itertools.pairwise(block):
            if not isinstance(loop, ast.For | ast.While) or loop.orelse or not isinstance(last, ast.Return):
                continue
            lines = code.whole(last)
            if (
                lines is None
                or loop.end_lineno != last.lineno - 1
                or isinstance(loop.body[-1], ast.Return | ast.Break)
            ):
                continue
            if loop.body[0].lineno == loop.lineno:
                continue
            text = code.text(last)
            if "\n" in text:
                continue
            word = "for" if isinstance(loop, ast.For) else "while"
            yield Rewrite(
                (Replacement(lines[0], lines[0], code.indent(loop.body[0])[len(code.indent(loop)) :]),),
                {"seen": text, "return": text},
                {"loop": word},
            )


PREMATURE: Final = (
    "The return is inside the loop, move it out",
    "Bug: it returns after the first iteration",
    "Dedent {return}",
    "Move {return} out of the {loop} loop",
    "Fix: {return} should come after the {loop} loop",
    "The function returns in the first iteration, {return} belongs after the loop",
    "Unindent {return}, it must run after the loop",
    "Return only after the {loop} loop has finished",
    "Wrong indentation of {return}: it ends the loop early",
    "The loop stops too early because {return} is in it",
)


def missing_raises(code: Code) -> Iterator[Rewrite]:
    """Exceptions that are made and not raised."""
    for node in code.find(ast.Raise):
        assert isinstance(node, ast.Raise)
        if not isinstance(node.exc, ast.Call) or node.cause or code.text(node) != f"raise {code.text(node.exc)}":
            continue
        name = code.text(node.exc.func)
        yield Rewrite((Replacement(*code.span(node), code.text(node.exc)),), {"seen": f"{name}(", "name": name})


MISSING_RAISE: Final = (
    "Raise the {name}",
    "The {name} is created but never raised",
    "Missing raise before {name}",
    "Add the missing raise",
    "Bug: the {name} isn't raised",
    "Fix: raise {name} instead of just creating it",
    "I forgot to raise the {name}",
    "Actually raise {name}",
    "Put raise in front of {name}",
)


def _guarded(code: Code, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[ast.arg, ast.expr]]:
    """The parameters without annotation, with their defaults."""
    arguments = function.args
    plain = arguments.args[len(arguments.args) - len(arguments.defaults) :]
    pairs = [*zip(plain, arguments.defaults, strict=True)] if len(plain) == len(arguments.defaults) else []
    for argument, default in [*pairs, *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]:
        if default is not None and argument.annotation is None:
            yield argument, default


def _first_statement(function: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.stmt | None:
    first = function.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        return function.body[1] if len(function.body) > 1 else None
    return first


def mutable_defaults(code: Code) -> Iterator[Rewrite]:
    """Mutable defaults of parameters, made in the body instead."""
    for function in code.find(ast.FunctionDef, ast.AsyncFunctionDef):
        assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        first = _first_statement(function)
        if first is None or first.lineno == function.lineno:
            continue
        start, indent = code.starts[first.lineno - 1], code.indent(first)
        for argument, default in _guarded(code, function):
            text = code.text(default)
            if text in {"[]", "{}", "set()", "list()", "dict()"}:
                guard = f"{indent}if {argument.arg} is None:\n{indent}{code.tab}{argument.arg} = {text}\n"
                yield Rewrite(
                    (Replacement(*code.span(default), "None"), Replacement(start, start, guard)),
                    {"name": argument.arg, "default": text, "function": function.name},
                )


def none_defaults(code: Code) -> Iterator[Rewrite]:
    """Collections made in the body where a parameter is None, as mutable defaults."""
    for function in code.find(ast.FunctionDef, ast.AsyncFunctionDef):
        assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        first = _first_statement(function)
        if not isinstance(first, ast.If) or first is function.body[-1] or (lines := code.whole(first)) is None:
            continue
        for argument, default in _guarded(code, function):
            match = re.fullmatch(
                rf"if {argument.arg} is None:\s+{argument.arg} = (\[\]|{{}}|set\(\))", code.text(first)
            )
            if match and code.text(default) == "None":
                yield Rewrite((Replacement(*code.span(default), match[1]), Replacement(*lines, "")))


MUTABLE: Final = (
    "Fix the mutable default argument",
    "Don't use a mutable default for {name}",
    "Use None as the default of {name} and create it in the function",
    "The default {default} of {name} is shared between calls, fix it",
    "Fix the mutable default of {name}",
    "Replace the mutable default argument {name} with None",
    "Avoid the mutable default {default} in {function}",
    "Mutable default argument: make {name} default to None",
    "Make {name} default to None and set it to {default} in the body",
    "Fix the shared default value of {name}",
)
