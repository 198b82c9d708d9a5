"""Faults planted in real Python, each with a description that says what is wrong: the fix is the real code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Final

from tools.edit_model.edit import Replacement
from tools.edit_model.transforms.python_flow_bugs import (
    ACCUMULATION,
    MISSING_AWAIT,
    MISSING_RAISE,
    MISSING_RETURN,
    MUTABLE,
    PREMATURE,
    lost_accumulations,
    missing_awaits,
    missing_raises,
    missing_returns,
    mutable_defaults,
    none_defaults,
    premature_returns,
)
from tools.edit_model.transforms.python_logic_bugs import (
    BOUND,
    COMPARISON,
    MISSING_NOT,
    WRONG_BOOLEAN,
    WRONG_END,
    WRONG_OPERATOR,
    WRONG_TRUTH,
    bounds,
    comparisons,
    missing_nots,
    wrong_booleans,
    wrong_ends,
    wrong_operators,
    wrong_truths,
)
from tools.edit_model.transforms.python_rewrites import (
    Code,
    Finder,
    Rewrite,
    Transform,
    forward,
    inverse,
    planted,
)
from tools.edit_model.transforms.words import fresh, style_of


def _statement(code: Code, node: ast.AST) -> ast.stmt | None:
    above: ast.AST | None = node
    while above is not None and not isinstance(above, ast.stmt):
        above = code.parents.get(above)
    return above


def _locals(code: Code, function: ast.FunctionDef | ast.AsyncFunctionDef, before: int) -> list[str]:
    names = [arg.arg for arg in ast.walk(function.args) if isinstance(arg, ast.arg)]
    names += [
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.lineno < before
    ]
    return list(dict.fromkeys(names))


def _surrounding(code: Code, node: ast.expr, bad: str) -> str | None:
    """The smallest expression around the name, or the statement, with the fault in it."""
    above = code.parents.get(node)
    while isinstance(above, ast.expr | ast.keyword | ast.stmt) and not isinstance(
        above, ast.If | ast.For | ast.While | ast.With | ast.FunctionDef | ast.ClassDef | ast.Try
    ):
        text = code.simple(above)
        if text is None or len(text) > 80:
            return None
        if len(text) > len(code.text(node)) + 3 and not isinstance(above, ast.Attribute | ast.keyword):
            start, end = code.span(node)
            offset = code.span(above)[0]
            data = text.encode()
            return (data[: start - offset] + bad.encode() + data[end - offset :]).decode()
        above = code.parents.get(above)
    return None


def wrong_variables(code: Code) -> Iterator[Rewrite]:
    """Variables swapped for others that are known there."""
    names = [node for node in code.find(ast.Name) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    code.random.shuffle(names)
    for node in names[:12]:
        function = code.function(node)
        if function is None:
            continue
        known = _locals(code, function, node.lineno)
        others = [name for name in known if name not in {node.id, "self", "cls", "_"}]
        if node.id not in known or node.id in {"self", "cls"} or not others:
            continue
        bad = code.random.choice(others)
        seen = _surrounding(code, node, bad)
        if seen is None or len(re.findall(rf"(?<!\w){bad}(?!\w)", seen)) != 1:
            continue
        yield Rewrite((Replacement(*code.span(node), bad),), {"seen": seen, "good": node.id, "bad": bad})


_WRONG_VARIABLE: Final = (
    "Wrong variable in {seen}: it should be {good}",
    "Use {good} instead of {bad} in {seen}",
    "Bug: {seen} uses {bad} where it should use {good}",
    "Fix the wrong variable in {seen}, should use {good}",
    "The variable {good} was meant in {seen}, not {bad}",
    "There's a mix-up in {seen}: {bad} should be {good}",
    "In {seen}, {bad} is the wrong variable, it has to be {good}",
    "Fix {seen}, it must use {good}",
    "It should use {good}, not {bad}, in {seen}",
    "Replace {bad} with {good} in {seen}",
    "Copy-paste mistake in {seen}, {bad} should read {good}",
    "Typo in {seen}: {good}, not {bad}",
)


def missing_selves(code: Code) -> Iterator[Rewrite]:
    """Attributes and methods that lost their ``self.``."""
    for node in code.find(ast.Attribute):
        assert isinstance(node, ast.Attribute)
        if not isinstance(node.value, ast.Name) or node.value.id not in {"self", "cls"}:
            continue
        if code.text(node) != f"{node.value.id}.{node.attr}":
            continue
        above = code.parents.get(node)
        kind = "method" if isinstance(above, ast.Call) and above.func is node else "attribute"
        text = code.lines.decode()
        if len(re.findall(rf"(?<![\w.]){node.attr}(?!\w)", text)) == 0:
            yield Rewrite(
                (Replacement(*code.span(node), node.attr),),
                {"name": node.attr, "good": code.text(node), "owner": node.value.id},
                {"kind": kind, "a_kind": f"{'a' if kind == 'method' else 'an'} {kind}"},
            )


_MISSING_SELF: Final = (
    "Fix the missing {owner} before {name}",
    "NameError: name {name} is not defined, it's {a_kind} of {owner}",
    "The {kind} {name} needs {owner}",
    "Use {good} instead of {name}",
    "Bug: {name} should be {good}",
    "Missing {owner} on {name}",
    "Fix the NameError for {name}, it is {a_kind} of {owner}",
    "It should be {good}, not just {name}",
    "Access {name} through {owner}",
    "I forgot {owner} in front of {name}",
    "Add the missing {owner} to {name}",
)


def swapped_arguments(code: Code) -> Iterator[Rewrite]:
    """Calls with two arguments in the wrong order."""
    for node in code.find(ast.Call):
        assert isinstance(node, ast.Call)
        text = code.simple(node)
        if text is None or len(node.args) < 2 or len(text) > 80:
            continue
        i = code.random.randrange(len(node.args) - 1)
        first, second = node.args[i], node.args[i + 1]
        if isinstance(first, ast.Starred | ast.Constant) or isinstance(second, ast.Starred):
            continue
        one, other = code.text(first), code.text(second)
        if one == other or len(one) > 30 or len(other) > 30:
            continue
        words = {"both": "two"} if len(node.args) == 2 and not node.keywords else {}
        yield Rewrite(
            (Replacement(*code.span(first), other), Replacement(*code.span(second), one)),
            {
                "seen": code.text(node.func) + "(" + ", ".join([*[code.text(a) for a in node.args[:i]], other, one]),
                "function": code.text(node.func),
                "one": one,
                "other": other,
            },
            words,
        )


_SWAPPED: Final = (
    "The {both} arguments of {function} are in the wrong order",
    "Swap the {both} arguments of {function}",
    "Swap {other} and {one} in the call to {function}",
    "Fix the argument order of {function}: {one} comes before {other}",
    "Wrong argument order: {function} takes {one} first, then {other}",
    "Bug: {other} and {one} are mixed up in the call of {function}",
    "The arguments {other} and {one} of {function} are swapped",
    "Pass {one} before {other} to {function}",
    "Fix the order of {other} and {one} in {function}",
    "Exchange {other} and {one} when calling {function}",
    "The call to {function} has {other} and {one} the wrong way round",
)


_CALLED: Final = {
    "strip": "strip the surrounding whitespace of",
    "lower": "convert to lower case",
    "upper": "convert to upper case",
    "rstrip": "strip the trailing whitespace of",
    "lstrip": "strip the leading whitespace of",
    "copy": "copy",
    "items": "iterate over the items of",
    "values": "use the values of",
    "keys": "use the keys of",
    "encode": "encode",
    "decode": "decode",
    "split": "split",
    "read": "read",
    "splitlines": "split into lines",
    "resolve": "resolve",
    "group": "take the group of",
    "title": "convert to title case",
}


def missing_calls(code: Code) -> Iterator[Rewrite]:
    """Calls of methods without arguments that are left out."""
    for node in code.find(ast.Call):
        assert isinstance(node, ast.Call)
        function = node.func
        if not isinstance(function, ast.Attribute) or node.args or node.keywords or function.attr not in _CALLED:
            continue
        value = code.simple(function.value)
        if value is None or len(value) > 60 or code.text(node) != f"{value}.{function.attr}()":
            continue
        if isinstance(code.parents.get(node), ast.Expr):
            continue
        bare = not isinstance(function.value, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
        if not bare:
            yield Rewrite(
                (Replacement(*code.span(node), value),),
                {
                    "seen": value,
                    "value": value,
                    "method": f".{function.attr}()",
                    "good": f"{value}.{function.attr}()",
                },
                {"do": _CALLED[function.attr]},
            )


_MISSING_CALL: Final = (
    "Call {method} on {value}",
    "Add the missing {method} to {value}",
    "Fix: {do} {value} with {method}",
    "It should be {good}",
    "The call of {method} on {value} is missing",
    "Use {good} instead of {value}",
    "Need to {do} {value}: use {method}",
    "I forgot {method} after {value}",
    "Bug: {value} lacks {method}",
    "Please {do} {value} ({method})",
    "Apply {method} to {value}",
)


def wrong_keys(code: Code) -> Iterator[Rewrite]:
    """Keys of dictionaries that read something else."""
    for node in code.find(ast.Subscript, ast.Call):
        key: ast.expr | None = None
        owner: ast.expr | None = None
        if isinstance(node, ast.Subscript):
            key, owner = node.slice, node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"get", "pop"}:
            key, owner = (node.args[0] if node.args else None), node.func.value
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str) or owner is None:
            continue
        match = re.fullmatch(r"""(['"])([\w-]{2,30})\1""", code.text(key))
        if match is None or "\n" in code.text(owner) or len(code.text(owner)) > 40:
            continue
        style = style_of(match[2].replace("-", "_"))
        bad = fresh(code.random, code.names, style, 1, 2)
        quote = match[1]
        yield Rewrite(
            (Replacement(*code.span(key), f"{quote}{bad}{quote}"),),
            {"seen": bad, "good": match[2], "bad": bad, "owner": code.text(owner)},
        )


_WRONG_KEY: Final = (
    "The key should be {good}, not {bad}",
    "Wrong key: {owner} has {good} instead of {bad}",
    "Use the key {good} instead of {bad}",
    "KeyError: {bad}, the key is called {good}",
    "Fix the key {bad}, it must be {good}",
    "Look up {good} in {owner}, not {bad}",
    "There is no {bad} in {owner}, it's {good}",
    "Change the key {bad} to {good}",
    "Read {good} from {owner} instead of {bad}",
    "Bug: wrong dict key {bad}, should be {good}",
    "Rename the key {bad} to {good}",
)


def missing_parentheses(code: Code) -> Iterator[Rewrite]:
    """Functions and methods that are named and not called."""
    for node in code.find(ast.Call):
        assert isinstance(node, ast.Call)
        if node.args or node.keywords or isinstance(code.parents.get(node), ast.Attribute):
            continue
        function = code.simple(node.func)
        if function is None or code.text(node) != f"{function}()" or len(function) > 60:
            continue
        if isinstance(node.func, ast.Name | ast.Attribute):
            yield Rewrite((Replacement(*code.span(node), function),), {"seen": function, "call": function})


_MISSING_PARENTHESES: Final = (
    "Call {call}",
    "Add the missing parentheses after {call}",
    "The parentheses after {call} are missing",
    "Bug: {call} is never called",
    "Fix {call}, it must be called",
    "It needs to call {call}, not just name it",
    "Missing () after {call}",
    "I forgot to call {call}",
    "Make {call} a call",
)


def missing_prefixes(code: Code) -> Iterator[Rewrite]:
    """F-strings that lost their prefix."""
    for node in code.find(ast.JoinedStr):
        assert isinstance(node, ast.JoinedStr)
        text = code.simple(node)
        if text is None or not re.fullmatch(r"""f(['"])[^'"\\]*\1""", text) or "{" not in text or len(text) > 70:
            continue
        start, _ = code.span(node)
        yield Rewrite((Replacement(start, start + 1, ""),), {"seen": text[1:], "text": text[2:-1]})


_MISSING_PREFIX: Final = (
    "Add the missing f prefix",
    "Make {text} an f-string",
    "The f is missing in front of {text}",
    "The placeholders in {text} are not filled in",
    "Fix: {text} should be an f-string",
    "Missing f before the string {text}",
    "The string {text} shows the braces literally, fix it",
    "The f-string prefix was forgotten on {text}",
    "I forgot the f in front of {text}",
)


_TABLE: Final[Sequence[tuple[str, Finder, tuple[str, ...]]]] = (
    ("fix-comparison", comparisons, COMPARISON),
    ("fix-off-by-one", bounds, BOUND),
    ("fix-wrong-variable", wrong_variables, _WRONG_VARIABLE),
    ("fix-missing-return", missing_returns, MISSING_RETURN),
    ("fix-missing-self", missing_selves, _MISSING_SELF),
    ("fix-missing-not", missing_nots, MISSING_NOT),
    ("fix-swapped-arguments", swapped_arguments, _SWAPPED),
    ("fix-missing-await", missing_awaits, MISSING_AWAIT),
    ("fix-boolean-operator", wrong_booleans, WRONG_BOOLEAN),
    ("fix-accumulation", lost_accumulations, ACCUMULATION),
    ("fix-missing-call", missing_calls, _MISSING_CALL),
    ("fix-wrong-key", wrong_keys, _WRONG_KEY),
    ("fix-return-in-loop", premature_returns, PREMATURE),
    ("fix-wrong-boolean", wrong_truths, WRONG_TRUTH),
    ("fix-missing-parentheses", missing_parentheses, _MISSING_PARENTHESES),
    ("fix-missing-raise", missing_raises, MISSING_RAISE),
    ("fix-missing-f-prefix", missing_prefixes, _MISSING_PREFIX),
    ("fix-arithmetic-operator", wrong_operators, WRONG_OPERATOR),
    ("fix-first-last", wrong_ends, WRONG_END),
)

TRANSFORMS: Final[dict[str, Transform]] = {
    "fix-mutable-default": forward("fix-mutable-default", mutable_defaults, MUTABLE),
}
"""The one fault that real code has: otherwise it is taken to be right."""

INVERSE: Final[dict[str, Transform]] = {kind: planted(kind, find, wordings) for kind, find, wordings in _TABLE} | {
    "fix-mutable-default": inverse("fix-mutable-default", none_defaults, mutable_defaults, MUTABLE)
}
"""The edits whose replacements lead from real code, which is the AFTER, to the BEFORE."""
