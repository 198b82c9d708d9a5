"""Order and annotations in Python: entries sorted, parameters and statements moved, hints and super() updated."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from typing import Final

from tools.edit_model.edit import Replacement
from tools.edit_model.transforms.python_rewrites import (
    Code,
    Finder,
    Rewrite,
    Transform,
    forward,
    inverse,
    uses,
)


def _entries(code: Code, node: ast.AST) -> tuple[list[tuple[int, int]], list[str]] | None:
    """The bytes of the entries of a literal and what they are sorted by."""
    spans: list[tuple[int, int]] = []
    keys: list[ast.expr] = []
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                return None
            spans.append((code.span(key)[0], code.span(value)[1]))
            keys.append(key)
    elif isinstance(node, ast.List | ast.Tuple | ast.Set):
        spans, keys = [code.span(element) for element in node.elts], list(node.elts)
    if not 3 <= len(keys) <= 10:
        return None
    strings = [key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    names = [code.text(key) for key in keys if isinstance(key, ast.Name)]
    sort_keys = max(strings, names, key=len)
    if (
        len(sort_keys) != len(keys)
        or len(set(sort_keys)) != len(keys)
        or any("\n" in code.between(*s) for s in spans)
    ):
        return None
    if len({key.lower() for key in sort_keys}) != len(keys) or sorted(sort_keys) != sorted(sort_keys, key=str.lower):
        return None
    return spans, sort_keys


def _ordered(code: Code, node: ast.AST, order: list[int], spans: list[tuple[int, int]]) -> tuple[Replacement, ...]:
    return tuple(
        Replacement(*spans[place], code.between(*spans[source]))
        for place, source in enumerate(order)
        if place != source
    )


def _label(code: Code, node: ast.AST) -> dict[str, str]:
    above = code.parents.get(node)
    if isinstance(above, ast.Assign) and isinstance(above.targets[0], ast.Name):
        return {"name": above.targets[0].id}
    if isinstance(above, ast.keyword) and above.arg:
        return {"name": above.arg}
    return {}


def _collections(code: Code) -> Iterator[tuple[ast.AST, list[tuple[int, int]], list[str]]]:
    for node in code.find(ast.Dict, ast.List, ast.Tuple, ast.Set):
        if isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            found = _entries(code, node)
            if found and not (isinstance(node, ast.Tuple) and not code.text(node).startswith("(")):
                yield node, *found


def _words(node: ast.AST) -> dict[str, str]:
    return {
        "literal": type(node).__name__.lower(),
        "entries": "keys" if isinstance(node, ast.Dict) else "items",
    }


def unsorted_entries(code: Code) -> Iterator[Rewrite]:
    """Literals whose entries are not in alphabetical order, sorted."""
    for node, spans, keys in _collections(code):
        order = sorted(range(len(keys)), key=keys.__getitem__)
        yield Rewrite(_ordered(code, node, order, spans), _label(code, node), _words(node))


def sorted_entries(code: Code) -> Iterator[Rewrite]:
    """Literals whose entries are in alphabetical order, out of it."""
    for node, spans, keys in _collections(code):
        if keys == sorted(keys):
            order = list(range(len(keys)))
            code.random.shuffle(order)
            if order != sorted(order):
                yield Rewrite(_ordered(code, node, order, spans), _label(code, node), _words(node))


_SORT: Final = (
    "Sort the {entries} alphabetically",
    "Sort the {entries} of {name}",
    "Sort {name} alphabetically",
    "Put the {literal} in alphabetical order",
    "Sort the {literal}",
    "Order the {entries} of {name} alphabetically",
    "Sort the {entries} of the {literal}",
    "Alphabetize the {literal} {name}",
    "Alphabetical order for {name} please",
    "Keep the {entries} in {name} sorted",
    "Rearrange {name} in alphabetical order",
    "Arrange the {entries} of the {literal} alphabetically",
)


def _parameters(
    code: Code,
) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, list[tuple[str, tuple[int, int], bool]]]]:
    """Functions with their positional parameters: name, bytes and whether there is a default."""
    for node in code.find(ast.FunctionDef, ast.AsyncFunctionDef):
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        arguments = node.args
        if arguments.posonlyargs:
            continue
        plain = len(arguments.args) - len(arguments.defaults)
        found = []
        for i, argument in enumerate(arguments.args):
            start, end = code.span(argument)
            if i >= plain:
                end = code.span(arguments.defaults[i - plain])[1]
            if "\n" in code.between(start, end) or code.data[end : end + 1] not in {b",", b")", b"\n"}:
                break
            if not (i == 0 and argument.arg in {"self", "cls", "mcs"}):
                found.append((argument.arg, (start, end), i >= plain))
        else:
            yield node, found


def movable_parameters(code: Code) -> Iterator[Rewrite]:
    """Functions with one parameter moved."""
    for node, parameters in _parameters(code):
        if not 2 <= len(parameters) <= 8 or len(re.findall(rf"(?<!\w){node.name}\(", code.lines.decode())) > 1:
            continue
        source = code.random.randrange(len(parameters))
        place = code.random.choice([i for i in range(len(parameters)) if i != source])
        order = [i for i in range(len(parameters)) if i != source]
        order.insert(place, source)
        defaults = [parameters[i][2] for i in order]
        if defaults != sorted(defaults):
            continue
        replacements = tuple(
            Replacement(*parameters[to][1], code.between(*parameters[origin][1]))
            for to, origin in enumerate(order)
            if to != origin
        )
        slots = {"name": parameters[source][0], "function": node.name}
        if place > 0:
            slots["before"] = parameters[order[place - 1]][0]
        if place == len(order) - 1:
            slots["last"] = parameters[source][0]
        if place < len(order) - 1:
            slots["next"] = parameters[order[place + 1]][0]
        if place == 0:
            slots["first"] = parameters[source][0]
        if abs(place - source) == 1:
            slots["other"] = parameters[place][0]
        yield Rewrite(replacements, slots)


_MOVE_PARAMETER: Final = (
    "Move the parameter {name} before {next}",
    "Move {name} before {next} in the parameters of {function}",
    "Put the argument {name} after {before}",
    "Make {first} the first parameter of {function}",
    "Make {last} the last parameter",
    "Swap the parameters {name} and {other}",
    "Move the {name} argument of {function} to go after {before}",
    "Reorder the parameters: {name} should come before {next}",
    "Reorder the arguments of {function} so that {name} follows {before}",
    "Make {last} the last argument of {function}",
    "Swap {name} and {other} in the signature of {function}",
    "Take {first} as the first argument",
    "Move the parameter {name} right behind {before}",
)


def movable_statements(code: Code) -> Iterator[Rewrite]:
    """Two adjacent statements on one line each, the second put first."""
    text = code.lines.decode()
    for block in code.blocks():
        for first, second in itertools.pairwise(block):
            if not all(
                isinstance(stmt, ast.Assign | ast.Expr | ast.AugAssign | ast.Assert) for stmt in (first, second)
            ):
                continue
            one, other = code.simple(first), code.simple(second)
            lines = code.whole(first), code.whole(second)
            if one is None or other is None or lines[0] is None or lines[1] is None or lines[0][1] != lines[1][0]:
                continue
            if (isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)) or one == other:
                continue
            if any(
                isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and uses(second, node.id)
                for node in ast.walk(first)
            ):
                continue
            if text.count(one) != 1 or text.count(other) != 1 or len(one) > 60 or len(other) > 60:
                continue
            slots = {"one": one, "other": other}
            if isinstance(first, ast.Assign) and isinstance(second, ast.Assign):
                slots["target"], slots["later"] = code.text(second.targets[0]), code.text(first.targets[0])
                if text.count(f"{slots['target']} =") != 1 or text.count(f"{slots['later']} =") != 1:
                    del slots["target"]
            replacements = (
                Replacement(*lines[0], code.between(*lines[1])),
                Replacement(*lines[1], code.between(*lines[0])),
            )
            yield Rewrite(replacements, slots)


_MOVE_STATEMENT: Final = (
    "Move {other} before {one}",
    "Put {other} above {one}",
    "Swap the lines {one} and {other}",
    "Do {other} before {one}",
    "Set {target} before {later}",
    "Swap {one} and {other}",
    "Assign {target} first, then {later}",
    "Move {one} below {other}",
    "Reorder: {other} comes before {one}",
    "Move the line {other} up by one",
    "Exchange the order of {one} and {other}",
    "Run {other} ahead of {one}",
)

_BUILTINS: Final = {
    "List": "list",
    "Dict": "dict",
    "Set": "set",
    "Tuple": "tuple",
    "FrozenSet": "frozenset",
    "Type": "type",
}


def _annotation(code: Code, node: ast.Subscript) -> bool:
    """Whether it stands in an annotation."""
    below: ast.AST = node
    above = code.parents.get(below)
    while isinstance(above, ast.expr):
        below, above = above, code.parents.get(above)
    if isinstance(above, ast.arg):
        return True
    if isinstance(above, ast.AnnAssign):
        return above.annotation is below
    return isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef) and above.returns is below


def old_generics(code: Code) -> Iterator[Rewrite]:
    """Annotations with the capitalised generics of ``typing``, with the built-in ones."""
    for node in code.find(ast.Name):
        assert isinstance(node, ast.Name)
        above = code.parents.get(node)
        if (
            node.id in _BUILTINS
            and isinstance(above, ast.Subscript)
            and above.value is node
            and _annotation(code, above)
        ):
            new = _BUILTINS[node.id]
            yield Rewrite(
                (Replacement(*code.span(node), new),), {"old": node.id, "new": new, "seen": code.text(above)}
            )


def new_generics(code: Code) -> Iterator[Rewrite]:
    """Annotations with built-in generics, with those of ``typing``."""
    back = {new: old for old, new in _BUILTINS.items()}
    for node in code.find(ast.Name):
        assert isinstance(node, ast.Name)
        above = code.parents.get(node)
        if node.id in back and isinstance(above, ast.Subscript) and above.value is node and _annotation(code, above):
            yield Rewrite((Replacement(*code.span(node), back[node.id]),), {"old": node.id, "seen": code.text(above)})


def optionals(code: Code) -> Iterator[Rewrite]:
    """``Optional[X]`` in annotations as ``X | None``."""
    for node in code.find(ast.Subscript):
        assert isinstance(node, ast.Subscript)
        if code.text(node.value) != "Optional" or not _annotation(code, node) or "\n" in code.text(node):
            continue
        inner = code.text(node.slice)
        if "Optional[" not in inner and '"' not in inner and "'" not in inner:
            yield Rewrite((Replacement(*code.span(node), f"{inner} | None"),), {"seen": code.text(node)}, {})


def none_unions(code: Code) -> Iterator[Rewrite]:
    """``X | None`` in annotations as ``Optional[X]``."""
    for node in code.find(ast.BinOp):
        assert isinstance(node, ast.BinOp)
        left = code.text(node.left)
        if not isinstance(node.op, ast.BitOr) or code.text(node) != f"{left} | None" or "\n" in left:
            continue
        if not isinstance(node.left, ast.Name | ast.Attribute | ast.Subscript):
            continue
        if _annotation_of(code, node):
            yield Rewrite((Replacement(*code.span(node), f"Optional[{left}]"),), {"seen": code.text(node)})


def _annotation_of(code: Code, node: ast.expr) -> bool:
    above = code.parents.get(node)
    if isinstance(above, ast.AnnAssign):
        return above.annotation is node
    return isinstance(above, ast.arg) or (
        isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef) and above.returns is node
    )


_GENERICS: Final = (
    "Use {new} instead of {old}",
    "Use the built-in {new} instead of {old}",
    "Replace {old} with {new}",
    "Modernize the type hint {seen}",
    "Use the builtin generic in {seen}",
    "Use {new} rather than {old} from typing",
    "Update the annotation {seen} to use {new}",
    "Change {old} to {new} in the annotation",
    "Use the lower-case {new} in the type hint {seen}",
)
_ALL_GENERICS: Final = (
    "Use built-in generics in the type hints",
    "Use list, dict, tuple and so on instead of those from typing",
    "Modernize the generic type hints",
    "Replace typing generics with the builtin ones",
    "Use PEP 585 annotations",
    "Use lower-case generics in the annotations",
)
_OPTIONAL: Final = (
    "Use | None instead of Optional",
    "Replace Optional with | None",
    "Rewrite {seen} with | None",
    "Use X | None instead of Optional[X]",
    "Modernize the annotation {seen}",
    "Use a union with None for {seen}",
    "Convert {seen} to PEP 604 syntax",
    "Use the new union syntax for {seen}",
    "Change {seen} to the | None form",
)
_OPTIONALS: Final = (
    "Use | None instead of Optional everywhere",
    "Replace all Optional[X] with X | None",
    "Use PEP 604 unions instead of Optional",
    "No more Optional, use | None",
)
_TO_OPTIONAL: Final = (
    "Use Optional instead of | None",
    "Rewrite {seen} with Optional",
    "Use Optional[X] instead of X | None",
    "Replace {seen} by Optional[...]",
    "Make the annotation {seen} use Optional",
    "Change {seen} to the Optional form",
    "Use typing's Optional for {seen}",
)
_TO_OPTIONALS: Final = (
    "Use Optional instead of | None everywhere",
    "Replace every X | None with Optional[X]",
    "Use Optional in all annotations",
)


def super_calls(code: Code) -> Iterator[Rewrite]:
    """``super(Class, self)`` as ``super()``."""
    for node in code.find(ast.Call):
        if isinstance(node, ast.Call) and re.fullmatch(r"super\(\w+, (self|cls)\)", code.text(node)):
            yield Rewrite((Replacement(*code.span(node), "super()"),), {"seen": code.text(node)})


def bare_supers(code: Code) -> Iterator[Rewrite]:
    """``super()`` with its arguments."""
    for node in code.find(ast.Call):
        if isinstance(node, ast.Call) and code.text(node) == "super()":
            function = code.function(node)
            owner = code.parents.get(function) if function else None
            if function and function.args.args and isinstance(owner, ast.ClassDef):
                text = f"super({owner.name}, {function.args.args[0].arg})"
                yield Rewrite((Replacement(*code.span(node), text),))


_SUPER: Final = (
    "Use super() without arguments",
    "Replace {seen} with super()",
    "Modernize the super call",
    "Use plain super()",
    "Simplify {seen}",
    "Use the Python 3 form of super",
    "Drop the arguments of super",
    "No arguments for super()",
)
_SUPERS: Final = (
    "Use super() without arguments everywhere",
    "Modernize all super calls",
    "Drop the arguments of all super() calls",
)


def object_bases(code: Code) -> Iterator[Rewrite]:
    """Classes without the base ``object``."""
    for node in code.find(ast.ClassDef):
        assert isinstance(node, ast.ClassDef)
        line = code.starts[node.lineno - 1], code.starts[node.lineno]
        match = re.fullmatch(r"class \w+(\(object\)):", code.between(*line).strip())
        if match:
            start = code.span(node)[0] + match.start(1)
            yield Rewrite((Replacement(start, start + 8, ""),), {"name": node.name})


def baseless_classes(code: Code) -> Iterator[Rewrite]:
    """Classes with the base ``object``."""
    for node in code.find(ast.ClassDef):
        assert isinstance(node, ast.ClassDef)
        line = code.starts[node.lineno - 1], code.starts[node.lineno]
        if re.fullmatch(rf"class {node.name}:", code.between(*line).strip()):
            at = code.span(node)[0] + len(f"class {node.name}".encode())
            yield Rewrite((Replacement(at, at, "(object)"),))


_OBJECT: Final = (
    "Remove the redundant base class object",
    "Remove (object)",
    "Don't inherit from object",
    "Drop object from the bases of {name}",
    "Make {name} a plain class without object",
    "The base object is not needed, remove it",
    "Simplify the class statement of {name}",
    "Get rid of the explicit object base",
    "Use a Python 3 style class statement for {name}",
)

_PAIRS: Final[tuple[tuple[str, Finder, Finder, tuple[str, ...], tuple[str, ...]], ...]] = (
    ("sort-entries", unsorted_entries, sorted_entries, _SORT, ()),
    ("use-builtin-generics", old_generics, new_generics, _GENERICS, _ALL_GENERICS),
    ("use-union-none", optionals, none_unions, _OPTIONAL, _OPTIONALS),
    ("use-optional", none_unions, optionals, _TO_OPTIONAL, _TO_OPTIONALS),
    ("use-bare-super", super_calls, bare_supers, _SUPER, _SUPERS),
    ("remove-object-base", object_bases, baseless_classes, _OBJECT, ()),
)

TRANSFORMS: Final[dict[str, Transform]] = {
    kind: forward(kind, find, wordings, every) for kind, find, _, wordings, every in _PAIRS
} | {
    "move-parameter": forward("move-parameter", movable_parameters, _MOVE_PARAMETER),
    "swap-statements": forward("swap-statements", movable_statements, _MOVE_STATEMENT),
}
"""The edits whose replacements lead from the code to what was asked for."""

INVERSE: Final[dict[str, Transform]] = {
    kind: inverse(kind, undo, find, wordings, every) for kind, find, undo, wordings, every in _PAIRS
}
"""The edits whose replacements lead from real code, which is the AFTER, to the BEFORE."""
