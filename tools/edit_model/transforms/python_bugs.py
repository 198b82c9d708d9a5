"""Faults planted in real Python, each with a description that says what is wrong: the fix is the real code."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Final

from tools.edit_model.edit import Replacement
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

_SLIPS: Final = {
    "<": ("<=", ">"),
    "<=": ("<", ">="),
    ">": (">=", "<"),
    ">=": (">", "<="),
    "==": ("!=",),
    "!=": ("==",),
    "is": ("is not",),
    "is not": ("is",),
    "in": ("not in",),
    "not in": ("in",),
}
_MEANINGS: Final = {
    "<": "less than",
    "<=": "at most",
    ">": "greater than",
    ">=": "at least",
    "==": "equal to",
    "!=": "different from",
    "in": "one of",
    "not in": "none of",
}


def comparisons(code: Code) -> Iterator[Rewrite]:
    """Comparisons with another operator."""
    for node in code.find(ast.Compare):
        assert isinstance(node, ast.Compare)
        sides = code.comparison(node)
        if sides is None or "\n" in code.text(node) or len(code.text(node)) > 70:
            continue
        left, good, right = sides
        bad = code.random.choice(_SLIPS[good])
        words = {}
        if good in _MEANINGS:
            words["meaning"] = _MEANINGS[good]
        if {good, bad} in ({"<", "<="}, {">", ">="}):
            words["edge"] = "should also hold" if "=" in good else "must not hold"
        elif {good, bad} not in ({"<", ">"}, {"<=", ">="}):
            words["inverted"] = "the wrong way round"
        start, end = code.span(node)
        yield Rewrite(
            (Replacement(start, end, f"{left} {bad} {right}"),),
            {"seen": f"{left} {bad} {right}", "left": left, "right": right, "good": good, "bad": bad},
            words,
        )


_COMPARISON: Final = (
    "Fix the comparison: it should be {good} instead of {bad} in {seen}",
    "The condition {seen} {edge} when both are equal",
    "Off by one: {seen} {edge} when {left} equals {right}",
    "The check {seen} is {inverted}, fix it",
    "Fix the bug: {left} has to be {meaning} {right}",
    "The comparison {seen} is wrong, use {good}",
    "Wrong operator in {seen}, should be {good}",
    "Fix {seen}, it should test that {left} is {meaning} {right}",
    "There is a bug in {seen}: the operator should be {good}",
    "Change {seen} so that it's true if {left} is {meaning} {right}",
    "Fix {seen}, the comparison needs {good}, not {bad}",
    "Inverted check: {seen} is {inverted}",
    "It should say {good} in {seen}",
    "Bug: {seen} compares with {bad} but should use {good}",
)


def _one_more(code: Code, node: ast.expr) -> tuple[str, str, str] | None:
    """Text of the faulty expression, how far off it is, in words."""
    text = code.simple(node)
    if text is None or len(text) > 50:
        return None
    if isinstance(node, ast.Constant) and type(node.value) is int and 0 < node.value < 1000:
        if code.random.random() < 0.5:
            return str(node.value - 1), "one too low", "one higher"
        return str(node.value + 1), "one too high", "one lower"
    if isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant) and node.right.value == 1:
        left = code.text(node.left)
        if isinstance(node.op, ast.Add) and text == f"{left} + 1":
            return left, "one too low", "one higher"
        if isinstance(node.op, ast.Sub) and text == f"{left} - 1":
            return left, "one too high", "one lower"
    return None


def bounds(code: Code) -> Iterator[Rewrite]:
    """Bounds of ranges and slices that are off by one."""
    for node in code.find(ast.Call, ast.Subscript):
        places: list[tuple[ast.expr | None, str]] = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
            arguments = node.args
            if len(arguments) == 1:
                places = [(arguments[0], "end of the range")]
            elif len(arguments) == 2:
                places = [(arguments[0], "start of the range"), (arguments[1], "end of the range")]
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            places = [(node.slice.lower, "start of the slice"), (node.slice.upper, "end of the slice")]
        elif isinstance(node, ast.Subscript):
            places = [(node.slice, "index")]
        whole = code.simple(node) if isinstance(node, ast.expr) else None
        if whole is None or len(whole) > 70:
            continue
        assert isinstance(node, ast.expr)
        for part, place in places:
            if part is None or (fault := _one_more(code, part)) is None:
                continue
            start, end = code.span(part)
            node_start = code.span(node)[0]
            data = code.text(node).encode()
            seen = (data[: start - node_start] + fault[0].encode() + data[end - node_start :]).decode()
            yield Rewrite(
                (Replacement(start, end, fault[0]),),
                {"seen": seen, "good": code.text(part), "bad": fault[0], "real": whole},
                {"place": place, "off": fault[1], "fix": fault[2]},
            )


_BOUND: Final = (
    "Off by one: the {place} in {seen} is {off}",
    "Fix the off by one error in {seen}, the {place} should be {good}",
    "Off-by-one in {seen}: should be {real}",
    "The {place} in {seen} should be {good}, not {bad}",
    "Bug: {seen} has the wrong {place}, it should be {good}",
    "Fix {seen}: the {place} must be {fix}",
    "The {place} is {off} in {seen}",
    "Make the {place} {fix} in {seen}",
    "There's an off by one error, use {real}",
    "It should be {real} instead of {seen}",
    "Wrong {place} in {seen}; change it to {good}",
    "Off by one error in the {place} of {seen}: {off}, please fix",
)


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


_MISSING_RETURN: Final = (
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


def missing_nots(code: Code) -> Iterator[Rewrite]:
    """Conditions that lost their ``not``."""
    for stmt in code.find(ast.If, ast.While, ast.Assert):
        assert isinstance(stmt, ast.If | ast.While | ast.Assert)
        test = stmt.test
        if (
            not isinstance(test, ast.UnaryOp)
            or not isinstance(test.op, ast.Not)
            or (text := code.simple(test)) is None
        ):
            continue
        inner = code.text(test.operand)
        word = type(stmt).__name__.lower()
        if text == f"not {inner}" and len(inner) <= 60 and not isinstance(test.operand, ast.BoolOp | ast.Compare):
            yield Rewrite(
                (Replacement(*code.span(test), inner),),
                {"seen": f"{word} {inner}", "test": inner, "good": text},
                {"statement": word},
            )


_MISSING_NOT: Final = (
    "The condition {seen} is inverted, it's missing a not",
    "Fix the inverted condition {seen}",
    "The check is backwards: it should be {good}",
    "Missing not in {seen}",
    "Bug: the {statement} on {test} should be negated",
    "Negate {seen}",
    "It should be {good} in the {statement}, fix it",
    "The {statement} must test that {test} is false",
    "Logic error: {seen} is the wrong way round, negate it",
    "I forgot a not in {seen}",
    "The condition on {test} has to be the opposite: add not",
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


def missing_awaits(code: Code) -> Iterator[Rewrite]:
    """Coroutines that are not awaited."""
    for node in code.find(ast.Await):
        assert isinstance(node, ast.Await)
        text = code.text(node.value)
        if isinstance(node.value, ast.Call) and code.text(node) == f"await {text}":
            function = code.text(node.value.func)
            yield Rewrite((Replacement(*code.span(node), text),), {"seen": f"{function}(", "call": function})


_MISSING_AWAIT: Final = (
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


def wrong_booleans(code: Code) -> Iterator[Rewrite]:
    """``and`` for ``or`` and the other way round."""
    for node in code.find(ast.BoolOp):
        assert isinstance(node, ast.BoolOp)
        if len(node.values) != 2 or (text := code.simple(node)) is None or len(text) > 80:
            continue
        good, bad = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        first, second = code.text(node.values[0]), code.text(node.values[1])
        if text != f"{first} {good} {second}" or any(isinstance(value, ast.BoolOp) for value in node.values):
            continue
        seen = f"{first} {bad} {second}"
        if isinstance(code.parents.get(node), ast.BoolOp):
            continue
        yield Rewrite(
            (Replacement(*code.span(node), seen),),
            {"seen": seen, "good": good, "bad": bad, "first": first, "second": second},
            {"need": "both conditions" if good == "and" else "only one of the conditions"},
        )


_WRONG_BOOLEAN: Final = (
    "Use {good} instead of {bad} in {seen}",
    "The condition {seen} should need {need}",
    "Wrong boolean operator in {seen}, should be {good}",
    "Fix the logic: {need} must hold in {seen}",
    "Fix the condition {seen}: it has to be {good}",
    "Bug: {seen} is wrong, {need} should be required",
    "It should be {first} {good} {second}",
    "Change {bad} to {good} in {seen}",
    "Logic error in {seen}: require {need}",
    "Combine {first} and {second} with {good}, not {bad}",
    "The operator in {seen} must be {good}",
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


_ACCUMULATION: Final = (
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


_PREMATURE: Final = (
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


def wrong_truths(code: Code) -> Iterator[Rewrite]:
    """True for False and the other way round."""
    for node in code.find(ast.Return, ast.Assign, ast.keyword):
        assert isinstance(node, ast.Return | ast.Assign | ast.keyword)
        value = node.value
        if not isinstance(value, ast.Constant) or not isinstance(value.value, bool):
            continue
        text = code.simple(node)
        good, bad = str(value.value), str(not value.value)
        if text is None or len(text) > 60 or not text.endswith(good):
            continue
        seen = text[: -len(good)] + bad
        slots = {"seen": seen, "good": good, "bad": bad}
        if isinstance(node, ast.Return):
            slots["return"] = seen
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            slots["name"] = code.text(node.targets[0])
        elif isinstance(node, ast.keyword) and node.arg:
            slots["name"] = node.arg
        yield Rewrite((Replacement(*code.span(value), bad),), slots)


_WRONG_TRUTH: Final = (
    "Fix {seen}, it should be {good}",
    "It should be {good} in {seen}",
    "The value in {seen} is wrong, it must be {good}",
    "Set {name} to {good} instead of {bad}",
    "Bug: {seen} has to be {good}",
    "Make {name} {good}",
    "Change {seen} to {good}",
    "Where it says {return} it should return {good}",
    "Flip the boolean in {seen}",
    "The boolean in {seen} is the wrong one",
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


def missing_raises(code: Code) -> Iterator[Rewrite]:
    """Exceptions that are made and not raised."""
    for node in code.find(ast.Raise):
        assert isinstance(node, ast.Raise)
        if not isinstance(node.exc, ast.Call) or node.cause or code.text(node) != f"raise {code.text(node.exc)}":
            continue
        name = code.text(node.exc.func)
        yield Rewrite((Replacement(*code.span(node), code.text(node.exc)),), {"seen": f"{name}(", "name": name})


_MISSING_RAISE: Final = (
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


_SYMBOLS: Final[dict[type[ast.operator], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}
_ARITHMETIC: Final = {
    "+": ("add", ("-", "*")),
    "-": ("subtract", ("+",)),
    "*": ("multiply", ("+",)),
    "/": ("divide", ("*",)),
    "//": ("use integer division", ("/", "%")),
    "%": ("use modulo", ("//",)),
}


def wrong_operators(code: Code) -> Iterator[Rewrite]:
    """Arithmetic with another operator."""
    for node in code.find(ast.BinOp):
        assert isinstance(node, ast.BinOp)
        good = _SYMBOLS.get(type(node.op))
        text, left, right = code.simple(node), code.text(node.left), code.text(node.right)
        if good is None or text != f"{left} {good} {right}" or len(text) > 60:
            continue
        if isinstance(node.left, ast.Constant | ast.BinOp | ast.JoinedStr) or isinstance(node.right, ast.BinOp):
            continue
        if isinstance(code.parents.get(node), ast.BinOp):
            continue
        verb, slips = _ARITHMETIC[good]
        bad = code.random.choice(slips)
        seen = f"{left} {bad} {right}"
        yield Rewrite(
            (Replacement(*code.span(node), seen),),
            {"seen": seen, "good": good, "bad": bad, "real": text},
            {"verb": verb},
        )


_WRONG_OPERATOR: Final = (
    "Use {good} instead of {bad} in {seen}",
    "Wrong operator in {seen}: it should {verb}",
    "Fix the arithmetic in {seen}, it should be {good}",
    "Bug: {seen} should {verb}",
    "The calculation {seen} is wrong, use {good}",
    "It should be {real} instead of {seen}",
    "Fix {seen}, it has to {verb}",
    "Change the operator in {seen} to {good}",
    "In {seen} we want to {verb}",
    "Correct the operator in {seen}: {good}, not {bad}",
)


def wrong_ends(code: Code) -> Iterator[Rewrite]:
    """The first element for the last and the other way round."""
    for node in code.find(ast.Subscript):
        assert isinstance(node, ast.Subscript)
        value, index = code.simple(node.value), code.text(node.slice)
        if value is None or index not in {"0", "-1"} or not isinstance(node.ctx, ast.Load) or len(value) > 60:
            continue
        bad, place, other = ("-1", "first", "last") if index == "0" else ("0", "last", "first")
        yield Rewrite(
            (Replacement(*code.span(node.slice), bad),),
            {"seen": f"{value}[{bad}]", "value": value},
            {"place": place, "other": other},
        )


_WRONG_END: Final = (
    "Use the {place} element of {value}, not the {other}",
    "Fix {seen}, it should take the {place} element",
    "The {place} element is meant in {seen}",
    "Bug: {seen} should be the {place} one",
    "Wrong index in {seen}: we want the {place} element",
    "Take the {place} of {value} instead of the {other}",
    "In {seen} use the {place} item",
    "It must be the {place} entry of {value}, not the {other} one",
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


_MUTABLE: Final = (
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

_TABLE: Final[Sequence[tuple[str, Finder, tuple[str, ...]]]] = (
    ("fix-comparison", comparisons, _COMPARISON),
    ("fix-off-by-one", bounds, _BOUND),
    ("fix-wrong-variable", wrong_variables, _WRONG_VARIABLE),
    ("fix-missing-return", missing_returns, _MISSING_RETURN),
    ("fix-missing-self", missing_selves, _MISSING_SELF),
    ("fix-missing-not", missing_nots, _MISSING_NOT),
    ("fix-swapped-arguments", swapped_arguments, _SWAPPED),
    ("fix-missing-await", missing_awaits, _MISSING_AWAIT),
    ("fix-boolean-operator", wrong_booleans, _WRONG_BOOLEAN),
    ("fix-accumulation", lost_accumulations, _ACCUMULATION),
    ("fix-missing-call", missing_calls, _MISSING_CALL),
    ("fix-wrong-key", wrong_keys, _WRONG_KEY),
    ("fix-return-in-loop", premature_returns, _PREMATURE),
    ("fix-wrong-boolean", wrong_truths, _WRONG_TRUTH),
    ("fix-missing-parentheses", missing_parentheses, _MISSING_PARENTHESES),
    ("fix-missing-raise", missing_raises, _MISSING_RAISE),
    ("fix-missing-f-prefix", missing_prefixes, _MISSING_PREFIX),
    ("fix-arithmetic-operator", wrong_operators, _WRONG_OPERATOR),
    ("fix-first-last", wrong_ends, _WRONG_END),
)

TRANSFORMS: Final[dict[str, Transform]] = {
    "fix-mutable-default": forward("fix-mutable-default", mutable_defaults, _MUTABLE),
}
"""The one fault that real code has: otherwise it is taken to be right."""

INVERSE: Final[dict[str, Transform]] = {kind: planted(kind, find, wordings) for kind, find, wordings in _TABLE} | {
    "fix-mutable-default": inverse("fix-mutable-default", none_defaults, mutable_defaults, _MUTABLE)
}
"""The edits whose replacements lead from real code, which is the AFTER, to the BEFORE."""
