"""Idioms of Python: the plain or the modern way of writing an expression or a loop for a roundabout one."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from typing import Final

from tools.edit_model.edit import Replacement
from tools.edit_model.transforms.python_control_flow import moved
from tools.edit_model.transforms.python_idiom_wordings import (
    AUGMENTED,
    CHAIN_WORDS,
    DICT_GET,
    EMPTY,
    ENUMERATE,
    IS_NONE,
    IS_NONES,
    ISINSTANCE,
    ISINSTANCE_OR,
    ISINSTANCE_TUPLE,
    ITEMS,
    KEYS,
    LENGTH,
    LITERAL_FOR_CALL,
    NO_ENUMERATE,
    NO_GET,
    NO_ITEMS,
    NO_WALRUS,
    NOT_AUGMENTED,
    NOT_IN,
    TRUTH,
    UNCHAIN,
    WALRUS,
    WITH,
    ZIP,
    literal_wordings,
)
from tools.edit_model.transforms.python_rewrites import (
    WIDTH,
    Code,
    Finder,
    Rewrite,
    Transform,
    forward,
    inverse,
    uses,
)

_SIMPLE: Final = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)


def _compared(old: str, new: str, right: str) -> Finder:
    """Comparisons ``x old right`` as ``x new right``."""

    def find(code: Code) -> Iterator[Rewrite]:
        for node in code.find(ast.Compare):
            assert isinstance(node, ast.Compare)
            sides = code.comparison(node)
            if sides and sides[1] == old and sides[2] == right and "\n" not in sides[0]:
                yield Rewrite(
                    (Replacement(*code.span(node), f"{sides[0]} {new} {right}"),),
                    {"seen": f"{sides[0]} {old} {right}", "value": sides[0]},
                )

    return find


def _both(*finders: Finder) -> Finder:
    def find(code: Code) -> Iterator[Rewrite]:
        for finder in finders:
            yield from finder(code)

    return find


none_equal: Final = _both(_compared("==", "is", "None"), _compared("!=", "is not", "None"))
none_is: Final = _both(_compared("is", "==", "None"), _compared("is not", "!=", "None"))


def _tests(code: Code) -> Iterator[ast.expr]:
    for node in code.find(ast.If, ast.While):
        assert isinstance(node, ast.If | ast.While)
        yield node.test


def truth_compared(code: Code) -> Iterator[Rewrite]:
    """Conditions compared with True or False, as the bare conditions."""
    for test in _tests(code):
        sides = code.comparison(test)
        if sides is None or sides[1] != "==" or sides[2] not in {"True", "False"} or "\n" in sides[0]:
            continue
        new = sides[0] if sides[2] == "True" else f"not {sides[0]}"
        yield Rewrite(
            (Replacement(*code.span(test), new),), {"seen": code.text(test), "good": new}, {"truth": sides[2]}
        )


def truth_bare(code: Code) -> Iterator[Rewrite]:
    """Bare conditions, compared with True or False."""
    for test in _tests(code):
        inner, truth = test, "True"
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner, truth = test.operand, "False"
        text = code.simple(inner)
        if isinstance(inner, _SIMPLE) and text and code.text(test) == ("not " if truth == "False" else "") + text:
            yield Rewrite((Replacement(*code.span(test), f"{text} == {truth}"),))


def length_compared(code: Code) -> Iterator[Rewrite]:
    """Conditions on a length of zero, as conditions on the collection."""
    for test in _tests(code):
        sides = code.comparison(test)
        match = re.fullmatch(r"len\(([\w.]+)\)", sides[0]) if sides else None
        if sides is None or match is None or sides[2] != "0" or sides[1] not in {"==", ">", "!="}:
            continue
        new = f"not {match[1]}" if sides[1] == "==" else match[1]
        yield Rewrite((Replacement(*code.span(test), new),), {"seen": code.text(test), "good": new, "name": match[1]})


def length_bare(code: Code) -> Iterator[Rewrite]:
    """Conditions on a collection, as conditions on its length."""
    for test in _tests(code):
        match = re.fullmatch(r"(not )?([\w.]+)", code.text(test))
        if match and re.search(r"s$|list|items|args|queue|stack|lines", match[2]):
            new = f"len({match[2]}) {'==' if match[1] else '>'} 0"
            yield Rewrite(
                (Replacement(*code.span(test), new),), {"seen": code.text(test), "good": new, "name": match[2]}
            )


def not_in_front(code: Code) -> Iterator[Rewrite]:
    """``not x in y`` and ``not x is y`` with the operators for it."""
    for node in code.find(ast.UnaryOp):
        assert isinstance(node, ast.UnaryOp)
        if not isinstance(node.op, ast.Not) or (sides := code.comparison(node.operand)) is None:
            continue
        text = f"{sides[0]} {sides[1]} {sides[2]}"
        if sides[1] in {"in", "is"} and code.text(node) == f"not {text}" and "\n" not in text:
            operator = {"in": "not in", "is": "is not"}[sides[1]]
            yield Rewrite(
                (Replacement(*code.span(node), f"{sides[0]} {operator} {sides[2]}"),),
                {"seen": f"not {text}", "operator": operator},
            )


def not_inside(code: Code) -> Iterator[Rewrite]:
    """``x not in y`` and ``x is not y`` with a ``not`` in front."""
    for node in code.find(ast.Compare):
        assert isinstance(node, ast.Compare)
        sides = code.comparison(node)
        if sides and sides[1] in {"not in", "is not"} and "\n" not in code.text(node):
            operator = "in" if sides[1] == "not in" else "is"
            if not isinstance(code.parents.get(node), ast.Compare | ast.BinOp | ast.UnaryOp):
                yield Rewrite((Replacement(*code.span(node), f"not {sides[0]} {operator} {sides[2]}"),))


_SYMBOLS: Final[dict[type[ast.operator], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.BitOr: "|",
    ast.BitAnd: "&",
}


def long_assignments(code: Code) -> Iterator[Rewrite]:
    """``x = x + y`` as ``x += y``."""
    for node in code.find(ast.Assign):
        assert isinstance(node, ast.Assign)
        value = node.value
        if len(node.targets) != 1 or not isinstance(value, ast.BinOp) or type(value.op) not in _SYMBOLS:
            continue
        target, symbol, right = code.text(node.targets[0]), _SYMBOLS[type(value.op)], code.text(value.right)
        text = f"{target} = {target} {symbol} {right}"
        if code.text(node) == text and "\n" not in text and not isinstance(value.right, ast.BinOp):
            yield Rewrite(
                (Replacement(*code.span(node), f"{target} {symbol}= {right}"),),
                {"seen": text, "name": target, "operator": f"{symbol}="},
            )


def augmented_assignments(code: Code) -> Iterator[Rewrite]:
    """``x += y`` as ``x = x + y``."""
    for node in code.find(ast.AugAssign):
        assert isinstance(node, ast.AugAssign)
        symbol = _SYMBOLS.get(type(node.op))
        if symbol is None or isinstance(node.value, ast.BinOp | ast.BoolOp | ast.Compare | ast.IfExp | ast.Lambda):
            continue
        target, right = code.text(node.target), code.text(node.value)
        text = f"{target} {symbol}= {right}"
        if code.text(node) == text and "\n" not in text:
            yield Rewrite(
                (Replacement(*code.span(node), f"{target} = {target} {symbol} {right}"),),
                {"seen": text, "name": target, "operator": f"{symbol}="},
            )


_NAMED_LITERALS: Final[dict[str, tuple[type[ast.expr], str, str]]] = {
    "list": (ast.List, "[", "]"),
    "tuple": (ast.Tuple, "(", ")"),
    "set": (ast.Set, "{", "}"),
}


def literals(old: str, new: str) -> Finder:
    """Literals of one collection as those of another."""
    node_type, opening, closing = _NAMED_LITERALS[old]
    _, new_opening, new_closing = _NAMED_LITERALS[new]

    def find(code: Code) -> Iterator[Rewrite]:
        for node in code.find(node_type):
            assert isinstance(node, ast.List | ast.Tuple | ast.Set)
            if not node.elts or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
                continue
            text, above = code.text(node), code.parents.get(node)
            if not text.startswith(opening) or not text.endswith(closing):
                continue
            if isinstance(above, ast.BinOp | ast.Subscript | ast.Starred) or (
                isinstance(above, ast.Call) and old != "list"
            ):
                continue
            inner = text[1:-1]
            if old == "tuple" and len(node.elts) == 1:
                inner = inner.rstrip().removesuffix(",")
            if new == "tuple" and len(node.elts) == 1 and not inner.rstrip().endswith(","):
                inner += ","
            if "set" in {old, new} and not _hashable(node, above):
                continue
            slots = {"literal": text} if "\n" not in text and len(text) <= 60 else {}
            words = {}
            if isinstance(above, ast.Assign) and isinstance(above.targets[0], ast.Name):
                slots["name"] = above.targets[0].id
            elif isinstance(above, ast.Compare) and isinstance(above.ops[0], ast.In | ast.NotIn):
                words["place"] = "in the membership test"
            elif isinstance(above, ast.For) and above.iter is node:
                words["place"] = "in the for loop"
            elif isinstance(above, ast.Return):
                words["place"] = "in the return"
            yield Rewrite((Replacement(*code.span(node), f"{new_opening}{inner}{new_closing}"),), slots, words)

    return find


def _hashable(node: ast.List | ast.Tuple | ast.Set, above: ast.AST | None) -> bool:
    if not isinstance(above, ast.Compare | ast.Assign):
        return False
    return all(isinstance(element, ast.Constant | ast.Name | ast.Attribute) for element in node.elts)


def isinstance_chains(code: Code) -> Iterator[Rewrite]:
    """Two calls of ``isinstance`` joined with ``or``, as one with a tuple."""
    for node in code.find(ast.BoolOp):
        assert isinstance(node, ast.BoolOp)
        if not isinstance(node.op, ast.Or) or len(node.values) < 2:
            continue
        texts = [re.fullmatch(r"isinstance\(([\w.]+), ([\w.]+)\)", code.text(value)) for value in node.values]
        found = [text for text in texts if text]
        if len(found) != len(texts) or len({text[1] for text in found}) != 1:
            continue
        if code.text(node) != " or ".join(text[0] for text in found):
            continue
        types = ", ".join(text[2] for text in found)
        yield Rewrite(
            (Replacement(*code.span(node), f"isinstance({found[0][1]}, ({types}))"),), {"name": found[0][1]}
        )


def isinstance_tuples(code: Code) -> Iterator[Rewrite]:
    """``isinstance`` with a tuple, as calls joined with ``or``."""
    for node in code.find(ast.Call):
        assert isinstance(node, ast.Call)
        match = re.fullmatch(r"isinstance\(([\w.]+), \(([\w., ]+)\)\)", code.text(node))
        if match is None or isinstance(code.parents.get(node), ast.BoolOp | ast.UnaryOp):
            continue
        types = [text.strip() for text in match[2].split(",")]
        if 2 <= len(types) <= 3 and all(types):
            text = " or ".join(f"isinstance({match[1]}, {name})" for name in types)
            yield Rewrite((Replacement(*code.span(node), text),), {"name": match[1]})


_CHAIN: Final = re.compile(r"([\w.]+|\d+) (<=?) ([\w.]+) and ([\w.]+) (<=?) ([\w.]+|\d+)")
_CHAINED: Final = re.compile(r"([\w.]+|-?\d+) (<=?) ([\w.]+) (<=?) ([\w.]+|-?\d+)")


def joined_comparisons(code: Code) -> Iterator[Rewrite]:
    """``a < b and b < c`` as ``a < b < c``."""
    for node in code.find(ast.BoolOp):
        assert isinstance(node, ast.BoolOp)
        match = _CHAIN.fullmatch(code.text(node))
        if match and match[3] == match[4]:
            text = f"{match[1]} {match[2]} {match[3]} {match[5]} {match[6]}"
            yield Rewrite((Replacement(*code.span(node), text),), {"seen": match[0], "name": match[3]})


def chained_comparisons(code: Code) -> Iterator[Rewrite]:
    """``a < b < c`` as ``a < b and b < c``."""
    for node in code.find(ast.Compare):
        assert isinstance(node, ast.Compare)
        match = _CHAINED.fullmatch(code.text(node))
        if match and not isinstance(code.parents.get(node), ast.BoolOp | ast.UnaryOp):
            text = f"{match[1]} {match[2]} {match[3]} and {match[3]} {match[4]} {match[5]}"
            yield Rewrite((Replacement(*code.span(node), text),), {"seen": match[0], "name": match[3]})


def key_checks(code: Code) -> Iterator[Rewrite]:
    """``if`` and ``else`` on a key, as ``dict.get``."""
    for node in code.find(ast.If):
        assert isinstance(node, ast.If)
        lines, sides = code.whole(node), code.comparison(node.test)
        if lines is None or sides is None or sides[1] != "in" or len(node.body) != 1 or len(node.orelse) != 1:
            continue
        one, other = code.text(node.body[0]), code.text(node.orelse[0])
        ends = f" = {sides[2]}[{sides[0]}]"
        target = one.removesuffix(ends)
        if not one.endswith(ends) or not other.startswith(f"{target} = ") or "\n" in one + other:
            continue
        if not code.text(node).startswith("if "):
            continue
        default = other[len(target) + 3 :]
        arguments = sides[0] if default == "None" else f"{sides[0]}, {default}"
        text = f"{code.indent(node)}{target} = {sides[2]}.get({arguments})\n"
        if len(text) <= WIDTH:
            yield Rewrite((Replacement(*lines, text),), {"name": target, "owner": sides[2], "key": sides[0]})


def key_gets(code: Code) -> Iterator[Rewrite]:
    """Assigned calls of ``dict.get``, as ``if`` and ``else`` on the key."""
    for node in code.find(ast.Assign):
        assert isinstance(node, ast.Assign)
        call, lines = node.value, code.whole(node)
        if lines is None or not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        if call.func.attr != "get" or not 1 <= len(call.args) <= 2 or call.keywords or "\n" in code.text(node):
            continue
        owner, key, indent = code.text(call.func.value), code.text(call.args[0]), code.indent(node)
        default = code.text(call.args[1]) if len(call.args) == 2 else "None"
        target = code.text(node.targets[0])
        text = (
            f"{indent}if {key} in {owner}:\n{indent}{code.tab}{target} = {owner}[{key}]\n"
            f"{indent}else:\n{indent}{code.tab}{target} = {default}\n"
        )
        yield Rewrite((Replacement(*lines, text),), {"name": target, "owner": owner, "key": key})


def _loops(code: Code) -> Iterator[tuple[ast.For, str, str, tuple[int, int]]]:
    """Loops whose header is one line: target, iterable and the header's bytes."""
    for node in code.find(ast.For):
        assert isinstance(node, ast.For)
        target, iterable, indent = code.simple(node.target), code.simple(node.iter), code.indent(node)
        line = code.starts[node.lineno - 1], code.starts[node.lineno]
        if target and iterable and code.between(*line) == f"{indent}for {target} in {iterable}:\n":
            yield node, target, iterable, line


def _loads(stmt: ast.stmt) -> tuple[str, str, str] | None:
    """Name, owner and index of ``name = owner[index]``."""
    if isinstance(stmt, ast.Assign) and len(stmt.targets) == 1 and isinstance(stmt.value, ast.Subscript):
        match = re.fullmatch(r"(\w+) = ([\w.]+)\[(\w+)\]", ast.unparse(stmt))
        return (match[1], match[2], match[3]) if match else None
    return None


def counted_loops(code: Code) -> Iterator[Rewrite]:
    """Loops over the indices of a sequence that first take the element, with ``enumerate``."""
    for node, target, iterable, line in _loops(code):
        match = re.fullmatch(r"range\(len\(([\w.]+)\)\)", iterable)
        first = _loads(node.body[0])
        lines = code.whole(node.body[0])
        if match is None or first is None or lines is None or first[1:] != (match[1], target) or len(node.body) < 2:
            continue
        if not uses(node.body[1:], target) or lines[0] != line[1]:
            continue
        text = f"{code.indent(node)}for {target}, {first[0]} in enumerate({match[1]}):\n"
        yield Rewrite((Replacement(line[0], lines[1], text),), {"iter": match[1]})


def enumerations(code: Code) -> Iterator[Rewrite]:
    """Loops with ``enumerate``, over the indices."""
    for node, target, iterable, line in _loops(code):
        match = re.fullmatch(r"enumerate\(([\w.]+)\)", iterable)
        names = re.fullmatch(r"(\w+), (\w+)", target)
        if match and names and node.body[0].lineno > node.lineno:
            indent, inner = code.indent(node), code.indent(node.body[0])
            text = f"{indent}for {names[1]} in range(len({match[1]})):\n{inner}{names[2]} = {match[1]}[{names[1]}]\n"
            yield Rewrite((Replacement(*line, text),), {"iter": match[1]})


def parallel_loops(code: Code) -> Iterator[Rewrite]:
    """Loops over indices that first take the elements of two sequences, with ``zip``."""
    for node, target, iterable, line in _loops(code):
        match = re.fullmatch(r"range\(len\(([\w.]+)\)\)", iterable)
        if match is None or len(node.body) < 3:
            continue
        one, other, lines = _loads(node.body[0]), _loads(node.body[1]), code.whole(node.body[0], node.body[1])
        if one is None or other is None or lines is None or one[1:] != (match[1], target) or other[2] != target:
            continue
        if uses(node.body[2:], target) or lines[0] != line[1]:
            continue
        text = f"{code.indent(node)}for {one[0]}, {other[0]} in zip({one[1]}, {other[1]}):\n"
        yield Rewrite((Replacement(line[0], lines[1], text),), {"iter": one[1], "other": other[1]})


def zips(code: Code) -> Iterator[Rewrite]:
    """Loops with ``zip``, over the indices."""
    index = next((name for name in ("i", "j", "k", "idx", "index") if name not in code.names), None)
    for node, target, iterable, line in _loops(code):
        match, names = re.fullmatch(r"zip\(([\w.]+), ([\w.]+)\)", iterable), re.fullmatch(r"(\w+), (\w+)", target)
        if index and match and names and node.body[0].lineno > node.lineno:
            indent, inner = code.indent(node), code.indent(node.body[0])
            text = (
                f"{indent}for {index} in range(len({match[1]})):\n"
                f"{inner}{names[1]} = {match[1]}[{index}]\n{inner}{names[2]} = {match[2]}[{index}]\n"
            )
            yield Rewrite((Replacement(*line, text),))


def key_loops(code: Code) -> Iterator[Rewrite]:
    """Loops over keys that first take the value, over ``items()``."""
    for node, target, iterable, line in _loops(code):
        first, lines = _loads(node.body[0]), code.whole(node.body[0])
        if first is None or lines is None or first[1:] != (iterable, target) or lines[0] != line[1]:
            continue
        if len(node.body) > 1:
            text = f"{code.indent(node)}for {target}, {first[0]} in {iterable}.items():\n"
            yield Rewrite((Replacement(line[0], lines[1], text),), {"iter": iterable})


def item_loops(code: Code) -> Iterator[Rewrite]:
    """Loops over ``items()``, over the keys."""
    for node, target, iterable, line in _loops(code):
        match, names = re.fullmatch(r"([\w.]+)\.items\(\)", iterable), re.fullmatch(r"(\w+), (\w+)", target)
        if match and names and node.body[0].lineno > node.lineno:
            indent, inner = code.indent(node), code.indent(node.body[0])
            text = f"{indent}for {names[1]} in {match[1]}:\n{inner}{names[2]} = {match[1]}[{names[1]}]\n"
            yield Rewrite((Replacement(*line, text),), {"iter": match[1]})


def keys_calls(code: Code) -> Iterator[Rewrite]:
    """Loops over ``keys()``, over the dictionary."""
    for node, _, iterable, _ in _loops(code):
        if iterable.endswith(".keys()"):
            end = code.span(node.iter)[1]
            yield Rewrite((Replacement(end - 7, end, ""),), {"iter": iterable.removesuffix(".keys()")})


def opened(code: Code) -> Iterator[Rewrite]:
    """Files that are closed at the end, in a ``with`` statement."""
    for block in code.blocks():
        for i, first in enumerate(block[:-2]):
            match = re.fullmatch(r"(\w+) = (open\(.*\)|[\w.]+\.open\(.*\))", code.text(first))
            if match is None:
                continue
            name = match[1]
            for j in range(i + 2, len(block)):
                if code.text(block[j]) == f"{name}.close()":
                    start, end = code.whole(first), code.whole(block[j])
                    if start is None or end is None:
                        break
                    indent = code.indent(first)
                    body = moved(code.between(start[1], end[0]), indent, indent + code.tab)
                    if body is not None:
                        text = f"{indent}with {match[2]} as {name}:\n{body}"
                        yield Rewrite((Replacement(start[0], end[1], text),), {"name": name})
                    break


def with_opened(code: Code) -> Iterator[Rewrite]:
    """Files in a ``with`` statement, opened and closed."""
    for node in code.find(ast.With):
        assert isinstance(node, ast.With)
        line = code.starts[node.lineno - 1], code.starts[node.lineno]
        match = re.fullmatch(r"with (open\(.*\)|[\w.]+\.open\(.*\)) as (\w+):", code.between(*line).strip())
        if match is None or len(node.items) != 1 or isinstance(node.body[-1], ast.Return | ast.Raise):
            continue
        assert node.end_lineno is not None
        end, indent = code.starts[node.end_lineno], code.indent(node)
        body = moved(code.between(line[1], end), code.indent(node.body[0]), indent)
        if body is not None and body.endswith("\n"):
            text = f"{indent}{match[2]} = {match[1]}\n{body}{indent}{match[2]}.close()\n"
            yield Rewrite((Replacement(line[0], end, text),), {"name": match[2]})


def tested_assignments(code: Code) -> Iterator[Rewrite]:
    """Assignments that the next ``if`` tests, with ``:=``."""
    for block in code.blocks():
        for first, second in itertools.pairwise(block):
            if not isinstance(first, ast.Assign) or not isinstance(second, ast.If) or len(first.targets) != 1:
                continue
            target, lines, test = first.targets[0], code.whole(first), code.text(second.test)
            value = code.simple(first.value)
            if not isinstance(target, ast.Name) or lines is None or value is None:
                continue
            if isinstance(first.value, ast.Tuple | ast.Lambda | ast.Yield | ast.IfExp):
                continue
            if code.starts[second.lineno - 1] != lines[1]:
                continue
            name = target.id
            if test == name:
                text = f"{name} := {value}"
            elif test in {f"not {name}", f"{name} is None", f"{name} is not None"}:
                text = test.replace(name, f"({name} := {value})", 1)
            else:
                continue
            if len(text) <= 84:
                yield Rewrite((Replacement(*lines, ""), Replacement(*code.span(second.test), text)), {"name": name})


def walruses(code: Code) -> Iterator[Rewrite]:
    """``:=`` in the condition of an ``if``, as an assignment before it."""
    for block in code.blocks():
        for node in block:
            if not isinstance(node, ast.If) or code.data[code.span(node)[0] : code.span(node)[0] + 3] != b"if ":
                continue
            match = re.fullmatch(r"(not )?\(?(\w+) := (.+?)\)?( is (?:not )?None)?", code.text(node.test))
            start = code.starts[node.lineno - 1]
            if match is None or code.data[start : code.span(node)[0]].strip():
                continue
            bare = match[1] is None and match[4] is None
            walrus = node.test if bare else getattr(node.test, "left", getattr(node.test, "operand", None))
            if not isinstance(walrus, ast.NamedExpr):
                continue
            test = f"{match[1] or ''}{match[2]}{match[4] or ''}"
            line = f"{code.indent(node)}{match[2]} = {code.text(walrus.value)}\n"
            yield Rewrite(
                (Replacement(start, start, line), Replacement(*code.span(node.test), test)), {"name": match[2]}
            )


def type_checks(code: Code) -> Iterator[Rewrite]:
    """Types compared, with ``isinstance``."""
    for node in code.find(ast.Compare):
        assert isinstance(node, ast.Compare)
        match = re.fullmatch(r"type\(([\w.]+)\) (==|is) ([\w.]+)", code.text(node))
        if match:
            text = f"isinstance({match[1]}, {match[3]})"
            yield Rewrite((Replacement(*code.span(node), text),), {"seen": match[0], "name": match[1]})


def isinstances(code: Code) -> Iterator[Rewrite]:
    """``isinstance`` of one type, as a comparison of types."""
    for node in code.find(ast.Call):
        assert isinstance(node, ast.Call)
        match = re.fullmatch(r"isinstance\(([\w.]+), ([\w.]+)\)", code.text(node))
        if match and not isinstance(code.parents.get(node), ast.UnaryOp):
            yield Rewrite((Replacement(*code.span(node), f"type({match[1]}) == {match[2]}"),))


def literal_calls(code: Code) -> Iterator[Rewrite]:
    """``dict()``, ``list()`` and ``tuple()`` as literals."""
    for node in code.find(ast.Call):
        assert isinstance(node, ast.Call)
        new = {"dict()": "{}", "list()": "[]", "tuple()": "()"}.get(code.text(node))
        if new:
            yield Rewrite((Replacement(*code.span(node), new),), {"seen": code.text(node), "new": new})


def empty_literals(code: Code) -> Iterator[Rewrite]:
    """Empty literals as calls."""
    for node in code.find(ast.Dict, ast.List):
        assert isinstance(node, ast.Dict | ast.List)
        new = {"{}": "dict()", "[]": "list()"}.get(code.text(node))
        if new and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            yield Rewrite((Replacement(*code.span(node), new),), {"seen": code.text(node), "new": new})


_PAIRS: Final[tuple[tuple[str, Finder, Finder, tuple[str, ...], tuple[str, ...]], ...]] = (
    ("use-is-none", none_equal, none_is, IS_NONE, IS_NONES),
    ("remove-boolean-comparison", truth_compared, truth_bare, TRUTH, ()),
    ("use-truthiness", length_compared, length_bare, EMPTY, ()),
    ("explicit-length-check", length_bare, length_compared, LENGTH, ()),
    ("use-not-in", not_in_front, not_inside, NOT_IN, ()),
    ("augmented-assignment", long_assignments, augmented_assignments, AUGMENTED, ()),
    ("plain-assignment", augmented_assignments, long_assignments, NOT_AUGMENTED, ()),
    ("list-to-tuple", literals("list", "tuple"), literals("tuple", "list"), literal_wordings("list", "tuple"), ()),
    ("tuple-to-list", literals("tuple", "list"), literals("list", "tuple"), literal_wordings("tuple", "list"), ()),
    ("list-to-set", literals("list", "set"), literals("set", "list"), literal_wordings("list", "set"), ()),
    ("tuple-to-set", literals("tuple", "set"), literals("set", "tuple"), literal_wordings("tuple", "set"), ()),
    ("set-to-tuple", literals("set", "tuple"), literals("tuple", "set"), literal_wordings("set", "tuple"), ()),
    ("merge-isinstance", isinstance_chains, isinstance_tuples, ISINSTANCE_TUPLE, ()),
    ("split-isinstance", isinstance_tuples, isinstance_chains, ISINSTANCE_OR, ()),
    ("chain-comparisons", joined_comparisons, chained_comparisons, CHAIN_WORDS, ()),
    ("split-chained-comparison", chained_comparisons, joined_comparisons, UNCHAIN, ()),
    ("use-dict-get", key_checks, key_gets, DICT_GET, ()),
    ("dict-get-to-if", key_gets, key_checks, NO_GET, ()),
    ("use-enumerate", counted_loops, enumerations, ENUMERATE, ()),
    ("enumerate-to-range", enumerations, counted_loops, NO_ENUMERATE, ()),
    ("use-zip", parallel_loops, zips, ZIP, ()),
    ("use-items", key_loops, item_loops, ITEMS, ()),
    ("items-to-keys", item_loops, key_loops, NO_ITEMS, ()),
    ("use-with", opened, with_opened, WITH, ()),
    ("use-walrus", tested_assignments, walruses, WALRUS, ()),
    ("remove-walrus", walruses, tested_assignments, NO_WALRUS, ()),
    ("use-isinstance", type_checks, isinstances, ISINSTANCE, ()),
    ("literal-for-call", literal_calls, empty_literals, LITERAL_FOR_CALL, ()),
)

TRANSFORMS: Final[dict[str, Transform]] = {
    kind: forward(kind, find, wordings, every) for kind, find, _, wordings, every in _PAIRS
} | {"remove-keys-call": forward("remove-keys-call", keys_calls, KEYS)}
"""The edits whose replacements lead from the code to what was asked for."""

INVERSE: Final[dict[str, Transform]] = {
    kind: inverse(kind, undo, find, wordings, every) for kind, find, undo, wordings, every in _PAIRS
}
"""The edits whose replacements lead from real code, which is the AFTER, to the BEFORE."""
