"""Checks and errors put into curly-brace code, and errors changed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tools.edit_model.edit import Edit, Replacement
from tools.edit_model.phrasing import Phrasing
from tools.edit_model.source import Unit
from tools.edit_model.transforms import words
from tools.edit_model.transforms.braces_view import (
    Node,
    View,
    binding,
    edit,
    mention,
    replace,
    start,
    text,
    view,
)
from tools.edit_model.transforms.grammar import JAVASCRIPT


def variables(seen: View, node: Node) -> list[str]:
    """Names that are surely bound at a node: the parameters of the function around it."""
    function = node if node in seen.functions else seen.function(node)
    if function is None:
        return []
    body = seen.body(function)
    return [
        text(n)
        for n in seen.nodes
        if n.type in {"identifier", "shorthand_property_identifier_pattern"}
        and function.start_byte <= n.start_byte < (body.start_byte if body is not None else function.end_byte)
        and binding(seen, n) == "parameter"
        and seen.scope(n) == function
        and text(n) not in {"_", "self", "this"}
    ]


_CHECKS: Final = {
    "javascript": (
        ("{x} === null", "is null"),
        ("{x} === undefined", "is undefined"),
        ("!{x}", "is falsy"),
        ("!{x}", "is missing"),
        ("!{x}", "is not set"),
        ("{x}.length === 0", "is empty"),
        ("typeof {x} !== 'string'", "is not a string"),
        ("typeof {x} !== 'number'", "is not a number"),
        ("typeof {x} !== 'function'", "is not a function"),
        ("!Array.isArray({x})", "is not an array"),
        ("{x} == null", "is null or undefined"),
        ("{x} < 0", "is negative"),
        ("{x} === 0", "is 0"),
        ("{x} > {n}", "is greater than {n}"),
        ("{x} < {n}", "is less than {n}"),
        ("{x} === {n}", "is {n}"),
    ),
    "java": (
        ("{x} == null", "is null"),
        ("{x}.isEmpty()", "is empty"),
        ("{x} < 0", "is negative"),
        ("{x} == 0", "is 0"),
        ("{x} > {n}", "is greater than {n}"),
    ),
    "rust": (
        ("{x}.is_empty()", "is empty"),
        ("{x}.is_none()", "is None"),
        ("{x} == 0", "is 0"),
        ("{x} > {n}", "is greater than {n}"),
    ),
    "c": (
        ("{x} == NULL", "is NULL"),
        ("!{x}", "is not set"),
        ("{x} < 0", "is negative"),
        ("{x} == 0", "is 0"),
        ("{x} > {n}", "is greater than {n}"),
    ),
    "go": (
        ("{x} == nil", "is nil"),
        ("len({x}) == 0", "is empty"),
        ("{x} < 0", "is negative"),
        ('{x} == ""', "is the empty string"),
        ("{x} > {n}", "is greater than {n}"),
    ),
}


_VALUES: Final = {
    "javascript": ("null", "undefined", "false", "true", "[]", "{}", "0", "-1", "''"),
    "java": ("null", "false", "true", "0", "-1", '""'),
    "rust": ("None", "false", "true", "0", "Vec::new()", "Ok(())", "String::new()"),
    "c": ("NULL", "0", "-1", "1", "false"),
    "go": ("nil", "false", "true", "0", '""', "-1"),
}


def check(seen: View, phrasing: Phrasing, name: str) -> tuple[str, str]:
    """A condition on a variable, and the words for it after the name."""
    random = phrasing.random
    code, said = random.choice(_CHECKS.get(seen.language, _CHECKS["javascript"]))
    number = str(words.number(random, random.choice([1, 10, 100])))
    if seen.quote == '"':
        code = code.replace("'", '"')
    return code.format(x=name, n=number), said.format(n=number)


def if_line(seen: View, condition: str) -> str:
    """The line that opens an if on a condition."""
    return f"if {condition} {{" if seen.language in {"go", "rust"} else f"if ({condition}) {{"


def _guarded(seen: View, phrasing: Phrasing) -> Iterator[tuple[Node, int, str, str]]:
    """Functions and where their first statement goes, with its indentation and one of their parameters."""
    for function in phrasing.random.sample(seen.functions, len(seen.functions)):
        at = start(seen, function)
        names = variables(seen, function)
        if at is not None and names and (len(seen.functions) == 1 or seen.name(function) in seen.named_once):
            yield function, at[0], at[1], phrasing.random.choice(names)


def add_guard(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A function returns at once under a condition on a parameter."""
    seen = view(unit)
    if seen is None:
        return None
    random = phrasing.random
    for function, offset, indent, name in _guarded(seen, phrasing):
        if seen.name(function) == "constructor" or function.type == "constructor_declaration":
            continue
        condition, said = check(seen, phrasing, name)
        value = random.choice(_VALUES.get(seen.language, _VALUES["javascript"]))
        value = value.replace("''", seen.quote * 2)
        body = seen.body(function)
        assert body is not None
        gives = any(n.named_child_count and seen.scope(n) == function for n in seen.of(seen.grammar.returns))
        if not gives and random.random() < 0.8:
            value = ""
        elif gives and names_like(value, name):
            value = name
        code = if_line(seen, condition)
        inner = f"{indent}{seen.step}return{' ' + value if value else ''}{seen.semicolon}"
        new = f"{indent}{code}\n{inner}\n{indent}}}\n"
        x, v = phrasing.code(name), phrasing.code(value)
        where = "" if len(seen.functions) == 1 else f" in {phrasing.code(seen.name(function))}"
        if value:
            instruction = phrasing.pick(
                f"return {v} if {x} {said}{where}",
                f"return {v} early when {x} {said}{where}",
                f"add a guard that returns {v} if {x} {said}{where}",
                f"if {x} {said}, return {v} at the start{where}",
                f"bail out with {v} if {x} {said}{where}",
                f"when {x} {said} return {v} first thing{where}",
                f"add an early return of {v} for when {x} {said}{where}",
                f"check at the start{where} whether {x} {said} and return {v} then",
                f"handle the case that {x} {said} by returning {v} at the top{where}",
            )
        else:
            instruction = phrasing.pick(
                f"return early if {x} {said}{where}",
                f"return if {x} {said}{where}",
                f"do nothing if {x} {said}{where}",
                f"add a guard that returns if {x} {said}{where}",
                f"if {x} {said}, return right away{where}",
                f"bail out if {x} {said}{where}",
                f"add an early return for when {x} {said}{where}",
                f"stop at the start{where} if {x} {said}",
            )
        return edit("add-guard", instruction, Replacement(offset, offset, new))
    return None


def names_like(value: str, name: str) -> bool:
    """Whether a guard may as well return the parameter (now and then, by their lengths)."""
    return (len(value) + len(name)) % 7 == 0


_ERRORS: Final = ("Error", "TypeError", "RangeError", "Error", "Error", "SyntaxError", "URIError")


_JAVA_ERRORS: Final = (
    "IllegalArgumentException",
    "IllegalStateException",
    "NullPointerException",
    "RuntimeException",
    "UnsupportedOperationException",
)


def add_raise(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A function throws under a condition on a parameter."""
    seen = view(unit)
    if seen is None or seen.language in {"c", "go"}:
        return None
    random = phrasing.random
    for function, offset, indent, name in _guarded(seen, phrasing):
        condition, said = check(seen, phrasing, name)
        content = words.message(random) if random.random() < 0.6 else f"{name} {random.choice(_TAILS)}"
        if "'" in content:
            continue
        error = random.choice(_JAVA_ERRORS if seen.language == "java" else _ERRORS)
        literal = seen.string(content)
        quote = random.choice(["'", '"', '"', "`"])
        m = f"{quote}{content}{quote}"
        x = phrasing.code(name)
        where = "" if len(seen.functions) == 1 else f" in {phrasing.code(seen.name(function))}"
        if seen.language == "rust":
            line = f"panic!({literal});"
            instruction = phrasing.pick(
                f"panic with {m} if {x} {said}{where}",
                f"panic if {x} {said}{where}, saying {m}",
                f"if {x} {said}, panic with {m}{where}",
                f"add a check{where}: panic with {m} if {x} {said}",
                f"let it panic with {m} when {x} {said}{where}",
            )
        else:
            line = f"throw new {error}({literal}){seen.semicolon}"
            article = "an" if error[0] in "EIU" else "a"
            e = phrasing.code(error)
            instruction = phrasing.pick(
                f"throw {article} {e} {m} if {x} {said}{where}",
                f"throw {article} {e} with {m} when {x} {said}{where}",
                f"if {x} {said}, throw {article} {e} saying {m}{where}",
                f"raise {e} {m} if {x} {said}{where}",
                f"add a check{where}: throw {e} {m} if {x} {said}",
                f"throw {article} {e} with the message {m} when {x} {said}{where}",
                f"add a guard{where} that throws {article} {e} {m} if {x} {said}",
                f"validate {x}{where}: {article} {e} with {m} if it {said}",
                f"make it fail with {article} {e} {m} if {x} {said}{where}",
            )
        new = f"{indent}{if_line(seen, condition)}\n{indent}{seen.step}{line}\n{indent}}}\n"
        return edit("add-raise", instruction, Replacement(offset, offset, new))
    return None


_TAILS: Final = (
    "is required",
    "must not be empty",
    "is missing",
    "is invalid",
    "must be given",
    "is out of range",
    "cannot be used here",
    "is of the wrong type",
    "must be positive",
)


def change_exception(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Another class of exception is thrown."""
    seen = view(unit)
    if seen is None or seen.language not in JAVASCRIPT | {"java"}:
        return None
    random = phrasing.random
    found = []
    for node in seen.of({"new_expression", "object_creation_expression"}):
        name = node.child_by_field_name("constructor") or node.child_by_field_name("type")
        parent = seen.parent(node)
        if name is not None and parent is not None and parent.type == "throw_statement":
            found.append(name)
    for name in random.sample(found, min(len(found), 4)):
        old = text(name)
        if not re.fullmatch(r"\w+", old):
            continue
        base = "Exception" if seen.language == "java" else "Error"
        made = words.word(random).capitalize() + words.word(random).capitalize() * random.randrange(2) + base
        new = random.choice([made, random.choice(_JAVA_ERRORS if seen.language == "java" else _ERRORS)])
        where = ""
        if len(re.findall(rf"\b{old}\b", unit.text)) != 1:
            throw = next((p for p in seen.ancestors(name) if p.type == "throw_statement"), None)
            if throw is None or not seen.single(throw) or not seen.once(text(throw)) or len(text(throw)) > 90:
                continue
            where = f" in {mention(phrasing, text(throw).rstrip(';'))}"
        if new == old:
            continue
        a, b = phrasing.code(old), phrasing.code(new)
        instruction = phrasing.pick(
            f"throw {b} instead of {a}{where}",
            f"change the exception {a} to {b}{where}",
            f"use {b} rather than {a}{where}",
            f"replace {a} with {b}{where}",
            f"make it throw {b} instead of {a}{where}",
            f"it should throw {b}, not {a}{where}",
            f"raise {b} in place of {a}{where}",
        )
        return edit("change-exception", instruction, replace(name, new))
    return None


def change_return(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """What is returned is replaced, or something is returned where nothing was."""
    seen = view(unit)
    if seen is None:
        return None
    random = phrasing.random
    returns = [n for n in seen.of(seen.grammar.returns) if seen.single(n) and seen.function(n) is not None]
    for node in random.sample(returns, min(len(returns), 5)):
        values = [*_VALUES.get(seen.language, _VALUES["javascript"]), *variables(seen, node)]
        names = [
            text(n)
            for n in seen.of({"identifier"})
            if binding(seen, n) == "local" and n.start_byte < node.start_byte and seen.scope(n) == seen.scope(node)
        ]
        value = random.choice([*values, *names]).replace("''", seen.quote * 2)
        end = ";" if text(node).endswith(";") else ""
        old = text(node)[len("return") : len(text(node)) - len(end)].strip()
        if old == value or len(old) > 60:
            continue
        same = [n for n in returns if seen.function(n) == seen.function(node)]
        where = seen.within(node, phrasing)
        v, o = phrasing.code(value), mention(phrasing, old)
        if not old:
            if len(same) != 1 or where is None:
                continue
            instruction = phrasing.pick(
                f"return {v}{where}",
                f"make the return{where} return {v}",
                f"return {v} instead of nothing{where}",
                f"add the value {v} to the return{where}",
                f"let the bare return{where} return {v}",
            )
            kind = "add-return-value"
        else:
            kind = "change-return"
            if len(same) == 1 and where is not None and random.random() < 0.6:
                instruction = phrasing.pick(
                    f"return {v} instead{where}",
                    f"return {v}{where}",
                    f"make it return {v}{where}",
                    f"change the return value to {v}{where}",
                    f"return just {v}{where}",
                )
            else:
                if not seen.once(f"return {old}"):
                    continue
                instruction = phrasing.pick(
                    f"return {v} instead of {o}",
                    f"change the return of {o} to {v}",
                    f"return {v}, not {o}",
                    f"replace the return value {o} with {v}",
                    f"where it returns {o}, return {v}",
                    f"it should return {v} where it returns {o}",
                )
        return edit(kind, instruction, replace(node, f"return {value}{end}"))
    return None
