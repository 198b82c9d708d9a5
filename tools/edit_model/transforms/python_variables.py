"""Variables of Python: an expression that gets a name, a name that gives way to its expression."""

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
    Transform,
    forward,
    inverse,
    planted,
    uses,
)
from tools.edit_model.transforms.words import SYNONYMS, fresh, split_words

_SIMPLE: Final = (ast.Expr, ast.Assign, ast.Return, ast.AugAssign, ast.Assert, ast.Raise)
_WAITS: Final = (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)
_SCOPES: Final = (
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
    ast.IfExp,
    ast.JoinedStr,
    ast.FormattedValue,
)


def _spots(text: str, code: str) -> int:
    """How often the text occurs as whole tokens."""
    before = r"(?<![\w.])" if text[:1].isidentifier() else ""
    after = r"(?!\w)" if text[-1:].isidentifier() or text[-1:].isdigit() else ""
    return len(re.findall(before + re.escape(text) + after, code))


def _own_parentheses(code: Code, node: ast.expr) -> bool:
    """Whether parentheses right around the expression belong to it and not to a call."""
    start, end = code.span(node)
    if code.data[start - 1 : start] != b"(" or code.data[end : end + 1] != b")":
        return False
    above = code.parents.get(node)
    return not (isinstance(above, ast.Call) and above.args == [node] and code.span(above)[1] == end + 1)


def _named_after(code: Code, node: ast.expr) -> str | None:
    """A name that says what the expression is."""
    if isinstance(node, ast.Call):
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        words = split_words(name)
        if len(words) > 1 and words[0] in {
            "get",
            "make",
            "create",
            "load",
            "read",
            "build",
            "find",
            "to",
            "is",
            "as",
        }:
            words = words[1:]
        if name == "len" and len(node.args) == 1 and isinstance(node.args[0], ast.Name):
            words = [node.args[0].id.strip("_"), code.random.choice(("count", "length", "size"))]
    elif isinstance(node, ast.Attribute):
        words = split_words(node.attr)
    elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        words = [code.random.choice(("first", "current", "selected", "last")), node.value.id.strip("_").rstrip("s")]
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            words = split_words(node.slice.value)
    else:
        return None
    if not words or not "_".join(words).isidentifier():
        return None
    if code.random.random() < 0.3 and words[-1] in SYNONYMS:
        words = [*words[:-1], code.random.choice(SYNONYMS[words[-1]])]
    return "_".join(words).lower()


def new_name(code: Code, node: ast.expr) -> str:
    """A name for the expression that the code does not use."""
    name = _named_after(code, node) if code.random.random() < 0.7 else None
    if name and name not in code.names and len(name) > 1 and not hasattr(__builtins__, name):
        return name
    return fresh(code.random, code.names, "snake", 1, 2)


def _statements(code: Code) -> Iterator[tuple[ast.stmt, list[ast.expr]]]:
    for block in code.blocks():
        for stmt in block:
            parts: list[ast.expr] = []
            if isinstance(stmt, _SIMPLE):
                parts = [child for child in ast.iter_child_nodes(stmt) if isinstance(child, ast.expr)]
                if isinstance(stmt, ast.Assign | ast.AugAssign):
                    parts = [stmt.value]
            elif isinstance(stmt, ast.If) and not code.text(stmt).startswith("elif"):
                parts = [stmt.test]
            elif isinstance(stmt, ast.For):
                parts = [stmt.iter]
            line = code.starts[stmt.lineno - 1]
            if parts and code.function(stmt) and not code.data[line : code.span(stmt)[0]].strip():
                yield stmt, parts


def _inner(code: Code, node: ast.expr) -> Iterator[ast.expr]:
    """The expressions in it that could be evaluated before."""
    if isinstance(node, _SCOPES):
        return
    yield node
    if isinstance(node, ast.BoolOp):
        yield from _inner(code, node.values[0])
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield from _inner(code, child)
        elif isinstance(child, ast.keyword):
            yield from _inner(code, child.value)


def expressions(code: Code) -> Iterator[Rewrite]:
    """Expressions that occur once, put into variables on the line before."""
    text = code.lines.decode()
    found = []
    for stmt, parts in _statements(code):
        for part in parts:
            whole = part if isinstance(stmt, ast.Assign | ast.Expr) else None
            for node in _inner(code, part):
                if node is whole or not isinstance(
                    node,
                    ast.Call | ast.BinOp | ast.Compare | ast.BoolOp | ast.Attribute | ast.Subscript | ast.Constant,
                ):
                    continue
                if isinstance(node, ast.Constant) and (node.value in {None, True, False, ""} or node is part):
                    continue
                if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
                    continue
                above = code.parents.get(node)
                if isinstance(above, ast.Call) and above.func is node:
                    continue
                written = code.simple(node)
                if (
                    not written
                    or written == "super()"
                    or len(written) < 3
                    or len(written) > 70
                    or _own_parentheses(code, node)
                ):
                    continue
                if isinstance(above, ast.BinOp) and isinstance(node, ast.Constant) and isinstance(node.value, str):
                    continue
                if any(
                    isinstance(inner, ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr)
                    for inner in ast.walk(node)
                ):
                    continue
                if _spots(written, text) == 1:
                    found.append((stmt, node, written))
    code.random.shuffle(found)
    for stmt, node, written in found[:4]:
        name = new_name(code, node)
        line = code.starts[stmt.lineno - 1]
        yield Rewrite(
            (
                Replacement(line, line, f"{code.indent(stmt)}{name} = {written}\n"),
                Replacement(*code.span(node), name),
            ),
            {"expr": written, "name": name},
        )


def repeated(code: Code) -> Iterator[Rewrite]:
    """Expressions that occur several times in one statement and nowhere else, put into variables before it."""
    text = code.lines.decode()
    for stmt, parts in _statements(code):
        groups: dict[str, list[ast.expr]] = {}
        for part in parts:
            for node in _inner(code, part):
                above = code.parents.get(node)
                if isinstance(node, ast.Call | ast.Attribute | ast.Subscript) and not isinstance(
                    getattr(node, "ctx", None), ast.Store | ast.Del
                ):
                    if isinstance(above, ast.Call) and above.func is node:
                        continue
                    groups.setdefault(code.text(node), []).append(node)
        for written, nodes in groups.items():
            if len(nodes) < 2 or "\n" in written or _spots(written, text) != len(nodes) or len(written) < 4:
                continue
            name = new_name(code, nodes[0])
            line = code.starts[stmt.lineno - 1]
            yield Rewrite(
                (
                    Replacement(line, line, f"{code.indent(stmt)}{name} = {written}\n"),
                    *(Replacement(*code.span(node), name) for node in nodes),
                ),
                {"expr": written, "name": name},
            )


def adjacent(code: Code) -> Iterator[Rewrite]:
    """Variables that only the next statement uses, once, in whose place the expression is written."""
    for block in code.blocks():
        for first, second in itertools.pairwise(block):
            if not isinstance(first, ast.Assign) or len(first.targets) != 1:
                continue
            target, value = first.targets[0], code.simple(first.value)
            if not isinstance(target, ast.Name) or value is None or (lines := code.whole(first)) is None:
                continue
            if code.text(first) != f"{target.id} = {value}" or len(value) > 70:
                continue
            function = code.function(first)
            if function is None or uses(function, target.id) != 2:
                continue
            if isinstance(first.value, ast.Await | ast.Yield | ast.YieldFrom | ast.Lambda | ast.Tuple | ast.IfExp):
                continue
            if len(re.findall(rf"(?<!\w){target.id}(?!\w)", code.text(function))) != 2:
                continue
            used = [(stmt, parts) for stmt, parts in _heads(second) if parts]
            for _, parts in used:
                for part in parts:
                    for node in _inner(code, part):
                        if isinstance(node, ast.Name) and node.id == target.id and isinstance(node.ctx, ast.Load):
                            above = code.parents.get(node)
                            tight = isinstance(
                                above,
                                ast.BinOp | ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Attribute | ast.Subscript,
                            )
                            if isinstance(above, ast.Subscript) and above.slice is node:
                                tight = False
                            if isinstance(above, ast.Attribute) and isinstance(first.value, ast.Constant):
                                continue
                            text = code.atom(first.value) if tight else value
                            line = code.starts[node.lineno] - code.starts[node.lineno - 1]
                            if line + len(text) - len(target.id) <= 110:
                                yield Rewrite(
                                    (Replacement(*lines, ""), Replacement(*code.span(node), text)),
                                    {"name": target.id, "value": value},
                                )


def _heads(stmt: ast.stmt) -> Iterator[tuple[ast.stmt, list[ast.expr]]]:
    if isinstance(stmt, ast.Assign | ast.AugAssign):
        yield stmt, [stmt.value]
    elif isinstance(stmt, _SIMPLE):
        yield stmt, [child for child in ast.iter_child_nodes(stmt) if isinstance(child, ast.expr)]
    elif isinstance(stmt, ast.If):
        yield stmt, [stmt.test]
    elif isinstance(stmt, ast.For):
        yield stmt, [stmt.iter]


def inlined(code: Code) -> Iterator[Rewrite]:
    """What `adjacent` finds, as faults: the variable is missing and its expression is there."""
    for rewrite in adjacent(code):
        yield Rewrite(
            rewrite.replacements,
            {"seen": rewrite.code["value"], "expr": rewrite.code["value"], "name": rewrite.code["name"]},
        )


_EXTRACT: Final = (
    "Extract {expr} into a variable called {name}",
    "Extract {expr} into {name}",
    "Put {expr} in a variable {name}",
    "Introduce a variable {name} for {expr}",
    "Pull {expr} out into a local variable named {name}",
    "Store {expr} in {name} first",
    "Assign {expr} to {name} before using it",
    "Define {name} as {expr} first and use it",
    "Give {expr} a name, {name}",
    "Move {expr} to its own variable {name}",
    "Extract variable {name} from {expr}",
    "Use a temporary variable {name} for {expr}",
    "Save {expr} as {name} on the line before",
    "I'd like {expr} in a variable, call it {name}",
    "Split out {expr} as {name}",
    "Let {name} hold {expr} and use it",
)
_EXTRACT_ALL: Final = (
    "Extract every {expr} into a variable {name}",
    "Put {expr} in a variable {name} and use it for all occurrences",
    "Evaluate {expr} only once, call it {name}",
    "Don't repeat {expr}, store it in {name}",
    "Introduce {name} for the repeated {expr}",
    "Compute {expr} once as {name}",
    "Replace all uses of {expr} with a variable {name}",
    "Deduplicate {expr}: assign it to {name} first",
    "Pull the repeated {expr} out into {name}",
    "Cache {expr} in a local called {name}",
)
_INLINE: Final = (
    "Inline {name}",
    "Inline the variable {name}",
    "Get rid of the variable {name}",
    "Remove {name} and use its value directly",
    "Drop the temporary {name}",
    "Use {value} directly instead of {name}",
    "We don't need {name}, inline it",
    "Replace {name} with its value",
    "Inline {name} where it is used",
    "Eliminate the temporary variable {name}",
    "The variable {name} is only used once, inline it",
    "Fold {name} into the next statement",
    "Put {value} right where {name} is used",
)

TRANSFORMS: Final[dict[str, Transform]] = {
    "extract-variable": forward("extract-variable", expressions, _EXTRACT),
    "extract-repeated-expression": forward("extract-repeated-expression", repeated, _EXTRACT_ALL),
    "inline-variable": forward("inline-variable", adjacent, _INLINE),
}
"""The edits whose replacements lead from the code to what was asked for."""

INVERSE: Final[dict[str, Transform]] = {
    "extract-variable": planted("extract-variable", inlined, _EXTRACT),
    "inline-variable": inverse("inline-variable", expressions, adjacent, _INLINE),
}
"""The edits whose replacements lead from real code, which is the AFTER, to the BEFORE."""
