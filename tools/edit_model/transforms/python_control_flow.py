"""Control flow of Python: branches swapped, flattened, merged and split, and conditional expressions."""

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
)

_LEAVES: Final = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def moved(text: str, old: str, new: str) -> str | None:
    """The lines with the indentation ``old`` replaced with ``new``; None where strings over lines forbid it."""
    if '"""' in text or "'''" in text or "\\\n" in text:
        return None
    lines = []
    for line in text.splitlines(keepends=True):
        if not line.strip():
            lines.append(line)
        elif line.startswith(old):
            lines.append(new + line[len(old) :])
        else:
            return None
    return "".join(lines)


def _ends(code: Code, stmt: ast.stmt) -> int | None:
    """The end of the statement's last line, unless a deeper comment follows."""
    assert stmt.end_lineno is not None
    end = code.starts[stmt.end_lineno]
    if b"#" in code.data[code.span(stmt)[1] : end] or not code.data[:end].endswith(b"\n"):
        return None
    rest = code.data[end:].lstrip(b"\n")
    line = rest.split(b"\n", 1)[0].decode()
    if line.lstrip().startswith("#") and len(line) - len(line.lstrip()) >= len(code.indent(stmt)):
        return None
    return end


def _body(code: Code, stmt: ast.If) -> tuple[int, int] | None:
    """The lines of the body, from behind the header's line."""
    assert stmt.test.end_lineno is not None
    line_end = code.starts[stmt.test.end_lineno]
    header = code.between(code.span(stmt.test)[1], line_end).strip()
    if header != ":" or code.indent(stmt.body[0]) == code.indent(stmt):
        return None
    end = _ends(code, stmt.body[-1])
    return None if end is None else (line_end, end)


def _else(code: Code, stmt: ast.If) -> tuple[int, int] | None:
    """The line that says ``else:`` and nothing else."""
    assert stmt.body[-1].end_lineno is not None
    for line in range(stmt.body[-1].end_lineno, stmt.orelse[0].lineno - 1):
        text = code.between(code.starts[line], code.starts[line + 1])
        if text.strip() == "else:":
            return code.starts[line], code.starts[line + 1]
        if text.strip():
            return None
    return None


def _first_line(code: Code, stmt: ast.If) -> bool:
    """Whether the statement is an ``if`` at the start of its line."""
    start = code.span(stmt)[0]
    return code.data[start : start + 3] == b"if " and not code.data[code.starts[stmt.lineno - 1] : start].strip()


def _ifs(code: Code) -> Iterator[ast.If]:
    for node in code.find(ast.If):
        if isinstance(node, ast.If) and _first_line(code, node):
            yield node


def branches(code: Code) -> Iterator[Rewrite]:
    """``if`` and ``else`` swapped, with the opposite condition."""
    for stmt in _ifs(code):
        if not stmt.orelse:
            continue
        test = code.simple(stmt.test)
        words = {"test": test} if test else {}
        opposite = code.negated(stmt.test)
        body, line = _body(code, stmt), _else(code, stmt)
        end = _ends(code, stmt.orelse[-1])
        start, stop = code.span(stmt.test)
        if opposite is None or body is None or line is None or end is None or body[1] != line[0]:
            yield Rewrite((), words)
            continue
        if code.data[start - 1 : start] == b"(":
            yield Rewrite((), words)
            continue
        first, second = code.between(*body), code.between(line[1], end)
        yield Rewrite(
            (Replacement(start, stop, opposite), Replacement(*body, second), Replacement(line[1], end, first)),
            words | {"opposite": opposite},
        )


def _tails(code: Code) -> Iterator[tuple[list[ast.stmt], str, ast.stmt]]:
    """Blocks behind whose end nothing of the function or of the turn of a loop is left, and what leaves them."""
    for node in code.find(ast.FunctionDef, ast.AsyncFunctionDef, ast.For, ast.While):
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.For | ast.While)
        yield node.body, "return" if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else "continue", node


def wrapped_tails(code: Code) -> Iterator[Rewrite]:
    """Blocks that end in an ``if`` around the rest, with a guard that leaves early."""
    for block, leave, owner in _tails(code):
        stmt = block[-1]
        if not isinstance(stmt, ast.If) or stmt.orelse or not _first_line(code, stmt):
            continue
        opposite, body = code.negated(stmt.test), _body(code, stmt)
        if opposite is None or body is None or body[1] != _ends(code, stmt) or isinstance(stmt.body[-1], ast.Return):
            continue
        if len(stmt.body) == 1 and not isinstance(stmt.body[0], ast.For | ast.With | ast.If | ast.Try | ast.While):
            continue
        indent, inner = code.indent(stmt), code.indent(stmt.body[0])
        text = moved(code.between(*body), inner, indent)
        start = code.starts[stmt.lineno - 1]
        if text is None or "\n" in code.text(stmt.test) or _parenthesised(code, stmt.test):
            continue
        guard = f"{indent}if {opposite}:\n{indent}{code.tab}{leave}\n"
        words = {"leave": leave, "place": "loop" if leave == "continue" else "function"}
        slots = {"test": code.text(stmt.test), "opposite": opposite, "leave": leave}
        if isinstance(owner, ast.FunctionDef):
            slots["function"] = owner.name
        yield Rewrite((Replacement(start, body[1], guard + text),), slots, words)


def guarded_tails(code: Code) -> Iterator[Rewrite]:
    """Blocks with a guard that leaves early, with the rest in an ``if`` instead."""
    for block, leave, owner in _tails(code):
        kind = ast.Return if leave == "return" else ast.Continue
        for i, stmt in enumerate(block[:-1]):
            if not isinstance(stmt, ast.If) or stmt.orelse or len(stmt.body) != 1 or not _first_line(code, stmt):
                continue
            if not isinstance(stmt.body[0], kind) or code.text(stmt.body[0]) != leave:
                continue
            opposite, lines = code.negated(stmt.test), code.whole(stmt)
            end = _ends(code, block[-1])
            if opposite is None or lines is None or end is None or isinstance(block[-1], ast.Return):
                continue
            if any(isinstance(later, ast.FunctionDef | ast.ClassDef) for later in block[i + 1 :]):
                continue
            indent = code.indent(stmt)
            text = moved(code.between(lines[1], end).lstrip("\n"), indent, indent + code.tab)
            if text is None or "\n" in code.text(stmt.test) or _parenthesised(code, stmt.test):
                continue
            words = {"leave": leave, "place": "loop" if leave == "continue" else "function"}
            slots = {"test": code.text(stmt.test), "opposite": opposite, "leave": leave}
            if isinstance(owner, ast.FunctionDef):
                slots["function"] = owner.name
            yield Rewrite((Replacement(lines[0], end, f"{indent}if {opposite}:\n{text}"),), slots, words)


def needless_elses(code: Code) -> Iterator[Rewrite]:
    """``else`` behind a body that leaves, with its lines one level up."""
    for stmt in _ifs(code):
        if not stmt.orelse or not isinstance(stmt.body[-1], _LEAVES):
            continue
        line, end = _else(code, stmt), _ends(code, stmt.orelse[-1])
        if line is None or end is None:
            continue
        text = moved(code.between(line[1], end), code.indent(stmt.orelse[0]), code.indent(stmt))
        if text is not None:
            test, last = code.simple(stmt.test), stmt.body[-1]
            yield Rewrite(
                (Replacement(line[0], end, text),),
                {"test": test} if test else {},
                {"leave": type(last).__name__.lower()},
            )


def missing_elses(code: Code) -> Iterator[Rewrite]:
    """The rest of a block behind an ``if`` that leaves, in an ``else``."""
    for block in code.blocks():
        for i, stmt in enumerate(block[:-1]):
            if not isinstance(stmt, ast.If) or stmt.orelse or not isinstance(stmt.body[-1], ast.Return | ast.Raise):
                continue
            if not _first_line(code, stmt) or len(block) - i > 4 or not isinstance(block[-1], _LEAVES):
                continue
            begin, end = _ends(code, stmt), _ends(code, block[-1])
            if begin is None or end is None:
                continue
            indent = code.indent(stmt)
            text = moved(code.between(begin, end), indent, indent + code.tab)
            test = code.simple(stmt.test)
            if text is not None and text.strip() and not text.startswith("\n"):
                yield Rewrite(
                    (Replacement(begin, end, f"{indent}else:\n{text}"),),
                    {"test": test} if test else {},
                    {"leave": type(stmt.body[-1]).__name__.lower()},
                )


def _operand(code: Code, node: ast.expr) -> str | None:
    text = code.simple(node)
    if text is None or isinstance(node, ast.Lambda | ast.IfExp | ast.NamedExpr):
        return None
    return f"({text})" if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or) else text


def _parenthesised(code: Code, node: ast.expr) -> bool:
    start, end = code.span(node)
    return code.data[start - 1 : start] == b"(" or code.data[end : end + 1] == b")"


def nested_ifs(code: Code) -> Iterator[Rewrite]:
    """An ``if`` that holds only another, as one with ``and``."""
    for stmt in _ifs(code):
        if stmt.orelse or len(stmt.body) != 1 or not isinstance(stmt.body[0], ast.If) or stmt.body[0].orelse:
            continue
        inner = stmt.body[0]
        body, inner_body = _body(code, stmt), _body(code, inner)
        first, second = _operand(code, stmt.test), _operand(code, inner.test)
        if body is None or inner_body is None or first is None or second is None:
            continue
        if _parenthesised(code, stmt.test) or _parenthesised(code, inner.test) or inner_body[1] != _ends(code, stmt):
            continue
        if b"#" in code.data[body[0] : inner_body[0]]:
            continue
        text = moved(code.between(*inner_body), code.indent(inner.body[0]), code.indent(inner))
        header = f"{code.indent(stmt)}if {first} and {second}:\n"
        if text is not None and len(header) <= WIDTH:
            yield Rewrite(
                (Replacement(code.starts[stmt.lineno - 1], inner_body[1], header + text),),
                {"first": code.text(stmt.test), "second": code.text(inner.test)},
            )


def joined_conditions(code: Code) -> Iterator[Rewrite]:
    """An ``if`` with ``and``, as one in another."""
    others = {stmt for stmt in code.find(ast.If) if isinstance(stmt, ast.If) and isinstance(stmt.test, ast.BoolOp)}
    for stmt in _ifs(code):
        test = stmt.test
        if (
            stmt.orelse
            or not isinstance(test, ast.BoolOp)
            or not isinstance(test.op, ast.And)
            or len(test.values) != 2
        ):
            continue
        body = _body(code, stmt)
        first, second = code.simple(test.values[0]), code.simple(test.values[1])
        if body is None or first is None or second is None or body[1] != _ends(code, stmt):
            continue
        if f"{_operand(code, test.values[0])} and {_operand(code, test.values[1])}" != code.text(test):
            continue
        indent, inner = code.indent(stmt), code.indent(stmt.body[0])
        text = moved(code.between(*body), inner, inner + code.tab)
        if text is not None and not _parenthesised(code, test):
            others.discard(stmt)
            headers = f"{indent}if {first}:\n{inner}if {second}:\n"
            yield Rewrite(
                (Replacement(code.starts[stmt.lineno - 1], body[1], headers + text),),
                {"first": first, "second": second, "test": code.text(test)},
            )
    if others:
        yield Rewrite(())


def _choice(code: Code, one: ast.stmt, other: ast.stmt, test: str) -> tuple[str, str] | None:
    """The statement with a conditional expression for two that differ in the value; what is given the value."""
    if isinstance(one, ast.Return) and isinstance(other, ast.Return):
        prefix = "return "
    elif (
        isinstance(one, ast.Assign) and isinstance(other, ast.Assign) and len(one.targets) == len(other.targets) == 1
    ):
        if code.text(one.targets[0]) != code.text(other.targets[0]):
            return None
        prefix = f"{code.text(one.targets[0])} = "
    else:
        return None
    if one.value is None or other.value is None:
        return None
    values = code.simple(one.value), code.simple(other.value)
    if values[0] is None or values[1] is None or prefix + values[0] != code.text(one):
        return None
    if prefix + values[1] != code.text(other):
        return None
    if any(isinstance(value, ast.Tuple | ast.IfExp | ast.Lambda) for value in (one.value, other.value)):
        return None
    return f"{prefix}{values[0]} if {test} else {values[1]}", prefix.removesuffix(" = ").strip()


def choosing_ifs(code: Code) -> Iterator[Rewrite]:
    """``if`` and ``else`` that only choose a value, as conditional expressions."""
    for stmt in _ifs(code):
        test = code.simple(stmt.test)
        lines = code.whole(stmt)
        if test is None or len(stmt.body) != 1 or len(stmt.orelse) != 1 or lines is None:
            continue
        if isinstance(stmt.test, ast.IfExp | ast.NamedExpr | ast.Lambda) or _else(code, stmt) is None:
            continue
        chosen = _choice(code, stmt.body[0], stmt.orelse[0], test)
        line = chosen and f"{code.indent(stmt)}{chosen[0]}\n"
        if chosen and line and len(line) <= WIDTH:
            yield Rewrite((Replacement(*lines, line),), {"test": test, "target": chosen[1]})


def conditional_expressions(code: Code) -> Iterator[Rewrite]:
    """Conditional expressions that are assigned or returned, as ``if`` and ``else``."""
    others = set(code.find(ast.IfExp))
    for stmt in code.find(ast.Return, ast.Assign):
        assert isinstance(stmt, ast.Return | ast.Assign)
        value = stmt.value
        if not isinstance(value, ast.IfExp) or (isinstance(stmt, ast.Assign) and len(stmt.targets) != 1):
            continue
        parts = [code.simple(part) for part in (value.test, value.body, value.orelse)]
        lines = code.whole(stmt)
        if lines is None or None in parts or code.text(value) != f"{parts[1]} if {parts[0]} else {parts[2]}":
            continue
        if isinstance(value.orelse, ast.IfExp):
            continue
        target = "return" if isinstance(stmt, ast.Return) else code.text(stmt.targets[0])
        prefix = "return " if isinstance(stmt, ast.Return) else f"{target} = "
        if code.text(stmt) != prefix + code.text(value):
            continue
        indent = code.indent(stmt)
        text = (
            f"{indent}if {parts[0]}:\n{indent}{code.tab}{prefix}{parts[1]}\n"
            f"{indent}else:\n{indent}{code.tab}{prefix}{parts[2]}\n"
        )
        others.discard(value)
        yield Rewrite((Replacement(*lines, text),), {"test": str(parts[0]), "target": target})
    for _ in others:
        yield Rewrite(())


_SWAP: Final = (
    "Invert the condition",
    "Invert the if condition and swap the branches",
    "Swap the if and else branches",
    "Negate the condition and swap the two branches",
    "Flip the if/else",
    "Invert {test}",
    "Invert the condition {test} and swap its branches",
    "Check {opposite} first",
    "Reverse the if with {test}",
    "Put the else branch first",
    "Swap the branches of the if on {test}",
    "Test for {opposite} instead and swap the branches",
    "Flip the condition {test}",
    "Turn the if/else around",
)
_EARLY: Final = (
    "Use an early {leave}",
    "Use a guard clause",
    "{leave} early instead of nesting",
    "Replace the nested if with a guard clause",
    "Use a guard clause with {leave}",
    "Flatten the function with an early {leave}",
    "Invert the if and {leave} early",
    "Reduce nesting with an early {leave}",
    "Use an early {leave} if {opposite}",
    "Flatten the {place} with an early {leave} when {opposite}",
    "Turn the {test} check into a guard clause",
    "Avoid nesting the body of the {place} in the if",
    "Add a guard for {opposite} and dedent the rest",
    "Early {leave} please, less nesting",
)
_NEST: Final = (
    "Remove the early {leave} and nest the rest in an if",
    "Replace the guard clause with a nested if",
    "Put the rest under if {opposite} instead of the early {leave}",
    "No early {leave}, wrap the rest in an if",
    "Replace the early {leave} with an if around the rest",
    "Get rid of the {leave} for {test}: wrap what follows in if {opposite}",
    "Use a positive check {opposite} around the rest of the {place} instead of {leave}",
    "Wrap the rest in an if instead of an early {leave}",
    "Nest instead of leaving early",
)
_NO_ELSE: Final = (
    "Remove the else",
    "Remove the redundant else",
    "Remove the unnecessary else after {leave}",
    "The else after {leave} is not needed",
    "Drop the else and dedent its body",
    "Unindent the else block, the if always leaves",
    "Get rid of the else after the {leave}",
    "Remove the else of the if on {test}",
    "No else after {leave} please",
    "Flatten the else branch",
    "Dedent the else of {test}",
    "Remove superfluous else",
)
_ADD_ELSE: Final = (
    "Put the rest in an else",
    "Add an explicit else",
    "Use an explicit else after the {leave}",
    "Make the else explicit",
    "Move the code after the if into an else branch",
    "Put the code after the if on {test} in an else",
    "Add an else to the if with {test} for what follows",
    "Write if/else instead of relying on the {leave}",
    "Indent what follows the if under an else",
)
_MERGE: Final = (
    "Merge the nested ifs",
    "Combine the two ifs",
    "Merge the nested if statements into one",
    "Combine the conditions with and",
    "Use one if with and",
    "Collapse the nested if",
    "Join {first} and {second} in one condition",
    "Merge the if on {second} into the one on {first}",
    "Flatten the nested ifs into a single condition",
    "Simplify the nested ifs with and",
    "Check {first} and {second} in a single if",
    "Collapse the nested conditions",
)
_SPLIT: Final = (
    "Split the condition into nested ifs",
    "Use two nested ifs instead of and",
    "Split the and into nested if statements",
    "Split {test} into two nested ifs",
    "Check {first} first, then {second} in a nested if",
    "Nest the check for {second} inside the one for {first}",
    "Break the condition {test} up into two ifs",
    "Separate the conditions into nested ifs",
    "Turn the and into a nested if",
)
_TERNARY: Final = (
    "Use a conditional expression",
    "Use a ternary",
    "Use a ternary instead of if/else",
    "Convert the if/else to a ternary",
    "Turn the if/else into a conditional expression",
    "Simplify the if/else to one line",
    "Make {target} a one-line conditional expression",
    "Collapse the if on {test} into a ternary",
    "Replace the if statement on {test} with a conditional expression",
    "Inline if for {target}",
    "Write this if/else as a ternary expression",
    "One-liner with if else",
)
_NO_TERNARY: Final = (
    "Use an if statement instead of the ternary",
    "Expand the ternary",
    "Turn the conditional expression into if/else",
    "Replace the ternary with an if/else block",
    "Write the conditional expression out as an if statement",
    "Convert the ternary on {test} to a normal if/else",
    "No ternary please, a regular if",
    "Split the one-line if into an if/else block",
    "Expand the inline if on {test} to several lines",
    "Unfold the ternary into a full if/else",
)

TRANSFORMS: Final[dict[str, Transform]] = {
    "invert-condition": forward("invert-condition", branches, _SWAP),
    "early-return": forward("early-return", wrapped_tails, _EARLY),
    "guard-to-nested-if": forward("guard-to-nested-if", guarded_tails, _NEST),
    "remove-redundant-else": forward("remove-redundant-else", needless_elses, _NO_ELSE),
    "add-else": forward("add-else", missing_elses, _ADD_ELSE),
    "merge-nested-ifs": forward("merge-nested-ifs", nested_ifs, _MERGE),
    "split-condition": forward("split-condition", joined_conditions, _SPLIT),
    "if-else-to-ternary": forward("if-else-to-ternary", choosing_ifs, _TERNARY),
    "ternary-to-if-else": forward("ternary-to-if-else", conditional_expressions, _NO_TERNARY),
}
"""The edits whose replacements lead from the code to what was asked for."""

INVERSE: Final[dict[str, Transform]] = {
    "invert-condition": inverse("invert-condition", branches, branches, _SWAP),
    "early-return": inverse("early-return", guarded_tails, wrapped_tails, _EARLY),
    "guard-to-nested-if": inverse("guard-to-nested-if", wrapped_tails, guarded_tails, _NEST),
    "remove-redundant-else": inverse("remove-redundant-else", missing_elses, needless_elses, _NO_ELSE),
    "add-else": inverse("add-else", needless_elses, missing_elses, _ADD_ELSE),
    "merge-nested-ifs": inverse("merge-nested-ifs", joined_conditions, nested_ifs, _MERGE),
    "split-condition": inverse("split-condition", nested_ifs, joined_conditions, _SPLIT),
    "if-else-to-ternary": inverse("if-else-to-ternary", conditional_expressions, choosing_ifs, _TERNARY),
    "ternary-to-if-else": inverse("ternary-to-if-else", choosing_ifs, conditional_expressions, _NO_TERNARY),
}
"""The edits whose replacements lead from real code, which is the AFTER, to the BEFORE."""
