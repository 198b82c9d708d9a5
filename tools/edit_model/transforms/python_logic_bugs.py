"""Planted bugs in Python's conditions and arithmetic."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from tools.edit_model.edit import Replacement
from tools.edit_model.transforms.python_rewrites import (
    Code,
    Rewrite,
)

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


COMPARISON: Final = (
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


BOUND: Final = (
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


MISSING_NOT: Final = (
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


WRONG_BOOLEAN: Final = (
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


WRONG_TRUTH: Final = (
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


WRONG_OPERATOR: Final = (
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


WRONG_END: Final = (
    "Use the {place} element of {value}, not the {other}",
    "Fix {seen}, it should take the {place} element",
    "The {place} element is meant in {seen}",
    "Bug: {seen} should be the {place} one",
    "Wrong index in {seen}: we want the {place} element",
    "Take the {place} of {value} instead of the {other}",
    "In {seen} use the {place} item",
    "It must be the {place} entry of {value}, not the {other} one",
)
