"""Edits inside Python expressions: operators, conditions, calls and their arguments, exceptions."""

from __future__ import annotations

import ast
import builtins
import re
from collections import Counter
from typing import Final

import tree_sitter

from tools.edit_model.edit import Edit, Replacement
from tools.edit_model.phrasing import Phrasing
from tools.edit_model.source import Unit
from tools.edit_model.transforms.python_code import (
    Place,
    Transform,
    ask,
    edit,
    function_node,
    names_in,
    node_text,
    place,
    quote,
    source,
    table,
    walk_tree,
)
from tools.edit_model.transforms.python_parameters import a_default
from tools.edit_model.transforms.python_statements import an_error
from tools.edit_model.transforms.words import fresh, new_name, number, style_of

_OPERATORS: Final = {
    "<": ("<=", ">", ">="), "<=": ("<", ">=", "=="), ">": (">=", "<", "<="), ">=": (">", "<=", "=="),
    "==": ("!=", ">=", "<="), "!=": ("==", "<", ">"), "and": ("or",), "or": ("and",), "is": ("==",),
    "is not": ("!=", "is"), "in": ("not in",), "not in": ("in",), "+": ("-", "*"), "-": ("+", "*"), "*": ("+",
    "**"),
    "/": ("//", "*"), "//": ("/", "*"), "%": ("//", "&"), "+=": ("-=", "*="), "-=": ("+=", "*="), "*=": ("+=",
    "/="),
    "|": ("&", "^"), "&": ("|", "^"), "<<": (">>",), ">>": ("<<",), "|=": ("&=",), "&=": ("|=",), "/=": ("//=",
    "*="),
}  # fmt: skip


_WORDS: Final = {"<": "less than", "<=": "less or equal", ">": "greater than", ">=": "greater or equal",
                 "==": "equality", "!=": "inequality"}  # fmt: skip


def change_operator(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Changes an operator in the expression named."""
    where = place(unit, phrasing)
    root = function_node(unit.file, where.function) if where else None
    if where is None or root is None:
        return None
    found: list[tuple[str, int, int, str]] = []
    counts: Counter[str] = Counter()
    first = unit.file.offset(where.function.body[0].lineno, 0)
    for node in walk_tree(root):
        if node.type in {"comparison_operator", "boolean_operator", "binary_operator", "augmented_assignment"}:
            operators = [
                child for child in node.children if node_text(child) in _OPERATORS and child.type != "string"
            ]
            counts.update(node_text(o) for o in operators)
            text = node_text(node)
            if (
                len(operators) == 1
                and node.start_byte >= first
                and "\n" not in text
                and len(text) <= 50
                and unit.text.count(text) == 1
            ):
                found.append((text, operators[0].start_byte, operators[0].end_byte, node_text(operators[0])))
    if not found:
        return None
    text, start, end, old = phrasing.random.choice(found)
    new = phrasing.random.choice(_OPERATORS[old])
    begin = unit.file.data.index(text.encode(), unit.start)
    head, tail = text.encode()[: start - begin].decode(), text.encode()[end - begin :].decode()
    made = f"{head}{new}{tail}"
    a, b, c, d = (phrasing.code(t) for t in (old, new, text, made))
    wordings = [
        f"change {c} to {d}<in>",
        f"use {b} instead of {a} in {c}<in>",
        f"replace {c} with {d}<in>",
        f"make it {d} instead of {c}<in>",
        f"change the {a} in {c} to {b}<in>",
        f"in {c}, use {b} rather than {a}<in>",
        f"turn {c} into {d}<in>",
        f"the expression {c} should be {d}<in>",
    ]
    if counts[old] == 1 and (old[0].isalpha() or unit.text.count(old) == 1):
        wordings += [f"use {b} instead of {a}<in>", f"change {a} to {b}<in>", f"replace the {a} with {b}<in>",
                     f"change the operator {a} to {b}<in>", f"it should be {b}, not {a}<in>"]  # fmt: skip
        if old in _WORDS and new in _WORDS:
            wordings.append(f"compare with {b} instead of {a}<in>")
    wordings.append(f"let {c} use {b} in place of {a}<in>")
    return edit("change-operator", ask(where, *wordings), Replacement(start, end, new))


def negate_condition(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Puts ``not`` before the condition of an if or while, or takes it away."""
    where = place(unit, phrasing)
    if where is None:
        return None
    found = [
        n for n in ast.walk(where.function)
        if isinstance(n, ast.If | ast.While)
        and isinstance(n.test, ast.Name | ast.Attribute | ast.Call | ast.UnaryOp | ast.Subscript)
        and "\n" not in source(unit.file, n.test) and len(source(unit.file, n.test)) < 50
    ]  # fmt: skip
    tests = Counter(source(unit.file, n.test) for n in found)
    found = [n for n in found if tests[source(unit.file, n.test)] == 1]
    if not found:
        return None
    node = phrasing.random.choice(found)
    start, end = unit.file.span(node.test)
    text = source(unit.file, node.test)
    if isinstance(node.test, ast.UnaryOp):
        if not isinstance(node.test.op, ast.Not) or not text.startswith("not "):
            return None
        new = text[4:].lstrip()
        if isinstance(node.test.operand, ast.BoolOp | ast.Compare):
            return None
    else:
        new = f"not {text}"
    a, noun = phrasing.code(text), "if" if isinstance(node, ast.If) else "while"
    instruction = ask(
        where,
        f"negate the condition {a}<in>",
        f"invert the {noun} condition {a}<in>",
        f"negate {a} in the {noun}<in>",
        f"flip the {noun} {a}<in>",
        f"reverse the condition {a}<in>",
        f"make the {noun} check the opposite of {a}<in>",
        f"change the condition {a} to {phrasing.code(new)}<in>",
        f"the condition {a} is the wrong way round, negate it<in>",
    )
    return edit("negate-condition", instruction, Replacement(start, end, new))


def _calls(where: Place) -> list[tree_sitter.Node]:
    root = function_node(where.file, where.function)
    first = where.file.offset(where.function.body[0].lineno, 0)
    return [n for n in walk_tree(root) if n.type == "call" and n.start_byte >= first] if root else []


def _callee(node: tree_sitter.Node) -> tree_sitter.Node | None:
    callee = node.child_by_field_name("function")
    return callee if callee and callee.type in {"identifier", "attribute"} and "(" not in node_text(callee) else None


def change_called_function(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Has another function called, at the only call or at all of them."""
    where = place(unit, phrasing)
    if where is None:
        return None
    callees = [
        c
        for c in map(_callee, _calls(where))
        if c is not None and len(node_text(c)) < 40 and "\n" not in node_text(c)
    ]
    callees = [c for c in callees if node_text(c) not in {"super", where.function.name}]
    if not callees:
        return None
    random = phrasing.random
    old = node_text(random.choice(callees))
    spots = [c for c in callees if node_text(c) == old]
    if len(re.findall(rf"(?<![\w.]){re.escape(old)}(?!\w)", unit.text)) != len(spots):
        return None
    owner, _, name = old.rpartition(".")
    style = style_of(name)
    new = new_name(name, random, names_in(unit), style if style in {"camel", "pascal"} else "snake")
    if owner and random.random() < 0.8:
        new = f"{owner}.{new}"
    a, b = phrasing.code(old), phrasing.code(new)
    whole = random.choice(("all calls to ", "the calls to ", "every call of ")) if len(spots) > 1 else ""
    wordings = [
        f"call {b} instead of {a}<in>",
        f"use {b} instead of {a}<in>",
        f"replace {whole or 'the call to '}{a} with {b}<in>",
        f"replace {a} by {b}<in>",
        f"change {whole or 'the call to '}{a} to {b}<in>",
        f"switch from {a} to {b}<in>",
        f"let it call {b} rather than {a}<in>",
        f"it should call {b}, not {a}<in>",
        f"swap {a} for {b}<in>",
        f"make it use {b} in place of {a}<in>",
    ]
    changes = [Replacement(c.start_byte, c.end_byte, new) for c in spots]
    return edit("change-called-function", ask(where, *wordings), *changes)


def _one_call(where: Place) -> tuple[tree_sitter.Node, tree_sitter.Node, str] | None:
    """A call on one line to a function that is called once: the call, its arguments, its name."""
    calls = [(n, c) for n in _calls(where) if (c := _callee(n)) is not None]
    names = Counter(node_text(c) for _, c in calls)
    fitting = []
    for node, callee in calls:
        listed = node.child_by_field_name("arguments")
        if (
            listed is not None and listed.type == "argument_list" and names[node_text(callee)] == 1
            and "\n" not in node_text(node) and len(node_text(callee)) < 40 and node_text(callee) != "super"
        ):  # fmt: skip
            fitting.append((node, listed, node_text(callee)))
    return where.random.choice(fitting) if fitting else None


_NO_KEYWORDS: Final = {name for name in dir(builtins) if name.islower()} - {
    "print",
    "open",
    "sorted",
    "max",
    "min",
    "dict",
}


def add_keyword_argument(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Adds a keyword argument at the end of a call, before ``**`` arguments."""
    where = place(unit, phrasing)
    found = _one_call(where) if where else None
    if where is None or found is None:
        return None
    _, listed, name = found
    given = listed.named_children
    if any(child.type in {"generator_expression", "comment"} for child in given) or name in _NO_KEYWORDS:
        return None
    random = phrasing.random
    key, value = fresh(random, names_in(unit)), a_default(random, quote(unit))
    if random.random() < 0.2:
        value = fresh(random, names_in(unit))
    last = [child for child in given if child.type != "dictionary_splat"]
    if len(last) < len(given):
        return None
    full = f"{key}={value}"
    at = last[-1].end_byte if last else listed.start_byte + 1
    a, b, c, d = (phrasing.code(t) for t in (full, name, key, value))
    instruction = ask(
        where,
        f"pass {a} to {b}<in>",
        f"add {a} to the call of {b}<in>",
        f"add the keyword argument {a} to the {b} call<in>",
        f"call {b} with {a}<in>",
        f"also pass {a} to {b}<in>",
        f"pass {d} as {c} to {b}<in>",
        f"give {b} the argument {a}<in>",
        f"set {a} in the call to {b}<in>",
        f"add an argument {c} with value {d} to the call of {b}<in>",
        f"let the {b} call take {a} too<in>",
    )
    return edit("add-keyword-argument", instruction, Replacement(at, at, f", {full}" if last else full))


def _keyword_arguments(where: Place) -> list[tuple[tree_sitter.Node, str, str, str]]:
    """The keyword arguments that are the only ones of their name: node, function, name, value."""
    found = []
    for node in _calls(where):
        callee, listed = _callee(node), node.child_by_field_name("arguments")
        for child in listed.named_children if callee and listed else ():
            if child.type == "keyword_argument" and callee:
                key, value = child.child_by_field_name("name"), child.child_by_field_name("value")
                if key and value and len(node_text(value)) < 40 and "\n" not in node_text(child):
                    found.append((child, node_text(callee), node_text(key), node_text(value)))
    counts = Counter((callee_, key_) for _, callee_, key_, _ in found)
    return [f for f in found if counts[f[1], f[2]] == 1]


def change_keyword_argument(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Changes a keyword argument's value in a call."""
    where = place(unit, phrasing)
    found = _keyword_arguments(where) if where else []
    if where is None or not found:
        return None
    node, callee, key, old = phrasing.random.choice(found)
    value = node.child_by_field_name("value")
    random = phrasing.random
    new = a_default(random, quote(unit)) if random.random() < 0.7 else fresh(random, names_in(unit))
    if old in {"True", "False"} and random.random() < 0.7:
        new = "False" if old == "True" else "True"
    elif old.isdigit():
        new = str(number(random, int(old)))
    if value is None or new == old:
        return None
    only = len([f for f in found if f[2] == key]) == 1
    to = "" if only and random.random() < 0.4 else f" in the call to {phrasing.code(callee)}"
    a, b, c, d = (phrasing.code(t) for t in (key, new, old, f"{key}={new}"))
    instruction = ask(
        where,
        f"change {a} to {b}{to}<in>",
        f"set {a} to {b}{to}<in>",
        f"pass {d}{to}<in>",
        f"pass {b} as {a}{to}<in>",
        f"use {d} instead of {c}{to}<in>",
        f"change the argument {a} from {c} to {b}{to}<in>",
        f"make {a} {b}{to}<in>",
        f"use {b} for {a}{to}<in>",
        f"the {a} argument should be {b}{to}<in>",
    )
    return edit("change-keyword-argument", instruction, Replacement(value.start_byte, value.end_byte, new))


def remove_keyword_argument(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Removes a keyword argument from a call."""
    where = place(unit, phrasing)
    found = _keyword_arguments(where) if where else []
    found = [f for f in found if f[0].parent and "\n" not in node_text(f[0].parent)]
    if where is None or not found:
        return None
    node, callee, key, value = phrasing.random.choice(found)
    previous, following = node.prev_named_sibling, node.next_named_sibling
    if previous is not None:
        change = Replacement(previous.end_byte, node.end_byte, "")
    else:
        change = Replacement(node.start_byte, following.start_byte if following else node.end_byte, "")
    a, b, c = phrasing.code(key), phrasing.code(callee), phrasing.code(f"{key}={value}")
    instruction = ask(
        where,
        f"remove the {a} argument from the call to {b}<in>",
        f"don't pass {a} to {b}<in>",
        f"drop {c} from the {b} call<in>",
        f"remove {a} from the call of {b}<in>",
        f"call {b} without {a}<in>",
        f"delete the keyword argument {a} of {b}<in>",
        f"no longer pass {a} to {b}<in>",
        f"stop passing {c} to {b}<in>",
    )
    return edit("remove-keyword-argument", instruction, change)


def change_exception(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Changes the class that is raised or caught."""
    where = place(unit, phrasing)
    if where is None:
        return None
    found: list[tuple[str, ast.expr]] = []
    for node in ast.walk(where.function):
        if isinstance(node, ast.Raise) and node.exc is not None:
            target = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            if (
                isinstance(target, ast.Name | ast.Attribute)
                and source(unit.file, target).split(".")[-1][:1].isupper()
            ):
                found.append(("raise", target))
        if isinstance(node, ast.ExceptHandler) and isinstance(node.type, ast.Name | ast.Attribute):
            found.append(("catch", node.type))
    counts = Counter((verb, source(unit.file, target)) for verb, target in found)
    found = [f for f in found if counts[f[0], source(unit.file, f[1])] == 1]
    if not found:
        return None
    verb, target = phrasing.random.choice(found)
    old, new = source(unit.file, target), an_error(phrasing.random)
    if verb == "catch" and phrasing.random.random() < 0.25:
        new = f"({old}, {new})" if phrasing.random.random() < 0.6 else f"({new}, {an_error(phrasing.random)})"
    if old == new or (old in new and not new.startswith("(")):  # fmt: skip
        return None
    a, b = phrasing.code(old), phrasing.code(new)
    instruction = ask(
        where,
        f"{verb} {b} instead of {a}<in>",
        f"{verb} {b}, not {a}<in>",
        f"{verb} {b} rather than {a}<in>",
        f"make it {verb} {b} instead of {a}<in>",
        f"it should {verb} {b} instead of {a}<in>",
        f"change the exception to {verb} from {a} to {b}<in>",
        f"where it {verb}{'es' if verb == 'catch' else 's'} {a}, use {b}<in>",
        f"let it {verb} {b} in place of {a}<in>",
    )
    kind = "change-raised-exception" if verb == "raise" else "change-caught-exception"
    return edit(kind, instruction, Replacement(*unit.file.span(target), new))


def change_raised(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Changes the class that is raised."""
    made = change_exception(unit, phrasing)
    return made if made and made.kind == "change-raised-exception" else None


def change_caught(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Changes the class that is caught."""
    made = change_exception(unit, phrasing)
    return made if made and made.kind == "change-caught-exception" else None


TRANSFORMS: Final[dict[str, Transform]] = table(
    ("change-operator", change_operator),
    ("negate-condition", negate_condition),
    ("change-called-function", change_called_function),
    ("add-keyword-argument", add_keyword_argument),
    ("change-keyword-argument", change_keyword_argument),
    ("remove-keyword-argument", remove_keyword_argument),
    ("change-raised-exception", change_raised),
    ("change-caught-exception", change_caught),
)
