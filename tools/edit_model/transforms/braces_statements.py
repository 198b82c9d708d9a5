"""Statements of curly-brace languages: put in, taken out, wrapped and moved."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final

from tools.edit_model.edit import Edit, Replacement
from tools.edit_model.phrasing import Phrasing
from tools.edit_model.source import Unit
from tools.edit_model.transforms import words
from tools.edit_model.transforms.braces_view import (
    Node,
    View,
    binding,
    describe,
    edit,
    mention,
    places,
    removal,
    replace,
    start,
    text,
    view,
)
from tools.edit_model.transforms.grammar import JAVASCRIPT

_LOGS: Final = {
    "javascript": (
        ("console.log", "console.log"),
        ("console.log", "log"),
        ("console.warn", "console.warn"),
        ("console.error", "console.error"),
        ("console.debug", "console.debug"),
        ("console.info", "console.info"),
    ),
    "java": (
        ("System.out.println", "print"),
        ("System.out.println", "System.out.println"),
        ("log.debug", "log.debug"),
        ("log.info", "log.info"),
        ("logger.warn", "logger.warn"),
        ("logger.debug", "logger.debug"),
    ),
    "rust": (
        ("println!", "println!"),
        ("println!", "print"),
        ("eprintln!", "eprintln!"),
        ("log::debug!", "log::debug!"),
        ("log::warn!", "log::warn!"),
        ("debug!", "debug!"),
        ("info!", "info!"),
    ),
    "c": (("printf", "printf"), ("printf", "print")),
    "go": (
        ("fmt.Println", "print"),
        ("fmt.Println", "fmt.Println"),
        ("log.Println", "log"),
        ("log.Println", "log.Println"),
    ),
}
_LOGS_OF: Final = {**_LOGS, "typescript": _LOGS["javascript"], "tsx": _LOGS["javascript"]}


def _variables(seen: View, node: Node) -> list[str]:
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


def add_log(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A call that logs a message or a variable."""
    seen = view(unit)
    if seen is None:
        return None
    random = phrasing.random
    for place in places(seen, phrasing):
        call, said = random.choice(_LOGS_OF[seen.language])
        names = _variables(seen, place.node)
        roll = random.random()
        end = seen.semicolon
        if names and roll < 0.3:
            name = random.choice(names)
            values = {"rust": f'"{{:?}}", {name}', "c": f'"%d\\n", {name}'}
            code = f"{call}({values.get(seen.language, name)}){end}"
            if seen.language == "c":
                continue
            instruction = phrasing.pick(
                *_verbs(said, phrasing.code(name), place.words),
                f"add a {said} of {phrasing.code(name)} {place.words}",
                f"add a {said} call for {phrasing.code(name)} {place.words}",
                f"let me see {phrasing.code(name)}: {said} it {place.words}",
            )
        else:
            content = words.message(random)
            if "'" in content or '"' in content:
                continue
            literal = seen.string(content)
            line = content + "\\n" if seen.language == "c" else content
            quote = random.choice(["'", '"', '"', "`"])
            quoted = f"{quote}{content}{quote}"
            if names and roll > 0.75 and seen.language in JAVASCRIPT:
                name = random.choice(names)
                code = f"{call}({literal}, {name}){end}"
                quoted = f"{quoted} and {phrasing.code(name)}"
            else:
                code = f"{call}({seen.string(line)}){end}"
            instruction = phrasing.pick(
                *_verbs(said, quoted, place.words),
                f"add a {said} of {quoted} {place.words}",
                f"add a {said} with {quoted} {place.words}",
                f"insert a {said} saying {quoted} {place.words}",
                f"put a {said} {place.words} that says {quoted}",
                f"{place.words}, {said} {quoted}",
                f"{said} the text {quoted} {place.words}"
                if said in {"log", "print"}
                else f"call {said} with {quoted} {place.words}",
            )
        return edit("add-log", instruction, Replacement(place.offset, place.offset, f"{place.indent}{code}\n"))
    return None


def _verbs(said: str, what: str, where: str) -> list[str]:
    if said in {"log", "print"}:
        return [f"{said} {what} {where}", f"{said} {what} {where}", f"{where}, {said} {what}"]
    return [f"{said} {what} {where}", f"use {said} to log {what} {where}", f"log {what} with {said} {where}"]


def add_statement(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A statement that is given goes somewhere."""
    seen = view(unit)
    if seen is None:
        return None
    random = phrasing.random
    for place in places(seen, phrasing):
        names = _variables(seen, place.node)
        code = _statement(seen, phrasing, names)
        shown = mention(phrasing, code.rstrip(";") if random.random() < 0.5 else code)
        if "`" not in shown and "'" not in shown and '"' not in shown[:1] and " " in code:
            shown = f"`{code}`"
        wordings = [
            f"add {shown} {place.words}",
            f"insert {shown} {place.words}",
            f"put {shown} {place.words}",
            f"add the line {shown} {place.words}",
            f"{place.words}, add {shown}",
            f"add the statement {shown} {place.words}",
            f"{place.words} put {shown}",
            f"write {shown} {place.words}",
            f"there should be a {shown} {place.words}",
        ]
        if code.endswith(f"(){seen.semicolon}") and random.random() < 0.5:
            called = phrasing.code(code[: -2 - len(seen.semicolon)])
            wordings = [
                f"call {called} {place.words}",
                f"add a call to {called} {place.words}",
                f"{place.words}, call {called}",
                f"insert a call of {called} {place.words}",
                f"make a call to {called} {place.words}",
            ]
        new = f"{place.indent}{code}\n"
        return edit("add-statement", phrasing.pick(*wordings), Replacement(place.offset, place.offset, new))
    return None


_RESERVED: Final = {
    "match",
    "map",
    "move",
    "type",
    "range",
    "select",
    "delete",
    "import",
    "export",
    "switch",
    "default",
    "try",
    "return",
    "continue",
    "break",
    "print",
    "assert",
    "throw",
    "use",
    "go",
    "defer",
    "yield",
    "do",
    "for",
}


def _statement(seen: View, phrasing: Phrasing, names: list[str]) -> str:
    random = phrasing.random
    style = seen.grammar.names
    verb = words.join_words([random.choice(words.VERBS), words.word(random)], style)
    plain = random.choice(words.VERBS)
    if random.random() < 0.3 and plain not in _RESERVED:
        verb = plain
    fresh = words.new_name(words.word(random), random, seen.words, style)
    value = random.choice(
        [str(words.number(random, random.choice([1, 10, 100]))), *names, seen.string(words.word(random))]
    )
    end = seen.semicolon
    this = "self" if seen.language == "rust" else "this"
    has_this = f"{this}." in seen.unit.text
    options = [f"{verb}(){end}", f"{verb}({random.choice([*names, value])}){end}"]
    if has_this:
        options += [f"{this}.{verb}(){end}", f"{this}.{fresh} = {value}{end}"]
    if names and seen.language != "c":
        options += [f"{random.choice(names)}.{verb}(){end}"] * 2
    declare = {
        "javascript": ["const {n} = {v}", "let {n} = {v}"],
        "rust": ["let {n} = {v}", "let mut {n} = {v}"],
        "java": ["var {n} = {v}"],
        "go": ["{n} := {v}"],
        "c": ["int {n} = 0", "size_t {n} = 1"],
    }
    forms = declare.get(seen.language, declare["javascript"])
    options.append(random.choice(forms).format(n=fresh, v=value) + end)
    return random.choice(options)


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


def _check(seen: View, phrasing: Phrasing, name: str) -> tuple[str, str]:
    """A condition on a variable, and the words for it after the name."""
    random = phrasing.random
    code, said = random.choice(_CHECKS.get(seen.language, _CHECKS["javascript"]))
    number = str(words.number(random, random.choice([1, 10, 100])))
    if seen.quote == '"':
        code = code.replace("'", '"')
    return code.format(x=name, n=number), said.format(n=number)


def _if(seen: View, condition: str) -> str:
    return f"if {condition} {{" if seen.language in {"go", "rust"} else f"if ({condition}) {{"


def _guarded(seen: View, phrasing: Phrasing) -> Iterator[tuple[Node, int, str, str]]:
    """Functions and where their first statement goes, with its indentation and one of their parameters."""
    for function in phrasing.random.sample(seen.functions, len(seen.functions)):
        at = start(seen, function)
        names = _variables(seen, function)
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
        condition, said = _check(seen, phrasing, name)
        value = random.choice(_VALUES.get(seen.language, _VALUES["javascript"]))
        value = value.replace("''", seen.quote * 2)
        body = seen.body(function)
        assert body is not None
        gives = any(n.named_child_count and seen.scope(n) == function for n in seen.of(seen.grammar.returns))
        if not gives and random.random() < 0.8:
            value = ""
        elif gives and names_like(value, name):
            value = name
        code = _if(seen, condition)
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
        condition, said = _check(seen, phrasing, name)
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
        new = f"{indent}{_if(seen, condition)}\n{indent}{seen.step}{line}\n{indent}}}\n"
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


def _simple(seen: View) -> list[Node]:
    """Statements that take whole lines and declare nothing."""
    found = []
    for node in seen.of({"expression_statement", "assignment_statement"}):
        parent = seen.parent(node)
        if parent is None or parent.type not in seen.grammar.bodies or seen.whole_lines(node) is None:
            continue
        if seen.function(node) is None or ("(" not in text(node) and "=" not in text(node)):
            continue
        if text(node).startswith(("super(", "'", '"', "return", "yield")):
            continue
        if seen.language == "rust" and not text(node).endswith(";"):
            continue
        found.append(node)
    return found


_STRINGS: Final = {"template_string", "string", "raw_string_literal", "string_literal", "interpreted_string_literal"}


def _long_string(seen: View, start_byte: int, end_byte: int) -> bool:
    """Whether a string of several lines begins between the two bytes."""
    return any(not seen.single(node) and start_byte <= node.start_byte < end_byte for node in seen.of(_STRINGS))


def indented(seen: View, start_byte: int, end_byte: int, step: str) -> str | None:
    """The lines with one more level of indentation; None where a string of several lines forbids it."""
    if _long_string(seen, start_byte, end_byte):
        return None
    lines = seen.file.source(start_byte, end_byte).split("\n")
    return "\n".join(step + line if line.strip() else line for line in lines)


def dedented(seen: View, start_byte: int, end_byte: int, step: str) -> str | None:
    """The lines with one level of indentation less; None where that can't be."""
    if _long_string(seen, start_byte, end_byte):
        return None
    lines = seen.file.source(start_byte, end_byte).split("\n")
    if any(line.strip() and not line.startswith(step) for line in lines):
        return None
    return "\n".join(line[len(step) :] if line.strip() else line for line in lines)


def wrap_try(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A statement goes into a ``try``."""
    seen = view(unit)
    if seen is None or seen.language not in JAVASCRIPT | {"java"}:
        return None
    random = phrasing.random
    simple = _simple(seen)
    for node in random.sample(simple, min(len(simple), 6)):
        lines = seen.whole_lines(node)
        told = describe(seen, node, phrasing)
        if lines is None or told is None:
            continue
        body = indented(seen, *lines, seen.step)
        if body is None:
            continue
        indent, end = seen.indent(node), seen.semicolon
        variable = random.choice(["error", "error", "err", "e"]) if seen.language != "java" else "e"
        if variable in seen.words and seen.language != "java":
            continue
        content = words.message(random)
        if "'" in content:
            continue
        quote = random.choice(['"', "'", "`"])
        m = f"{quote}{content}{quote}"
        v = phrasing.code(variable)
        java = seen.language == "java"
        kind = (
            random.choice(["Exception", "IOException", "RuntimeException", "IllegalStateException"]) if java else ""
        )
        caught = f"{kind} {variable}" if java else variable
        catching = f" catching {phrasing.code(kind)}" if java else ""
        log = random.choice(["System.err.println", "logger.error"] if java else ["console.error", "console.warn"])
        handlers = [
            (f"{log}({seen.string(content)}){end}", f"that logs {m} with {phrasing.code(log)}"),
            (f"throw {variable}{end}", f"that rethrows {v}"),
            (f"return null{end}", "that returns null"),
        ]
        if java:
            handlers.append(("e.printStackTrace();", "that prints the stack trace"))
            handlers.append(
                (
                    f"throw new IllegalStateException({seen.string(content)}, e);",
                    f"that throws an IllegalStateException with {m} and the cause",
                )
            )
        else:
            handlers.append((f"console.error({variable}){end}", f"that passes {v} to console.error"))
            handlers.append((f"throw new Error({seen.string(content)}){end}", f"that throws an Error with {m}"))
        code, said = random.choice(handlers)
        bound = f" ({variable})" if variable not in said and not java else ""
        bound = random.choice([f" ({variable})", f" as {v}"]) if bound else ""
        new = f"{indent}try {{\n{body}{indent}}} catch ({caught}) {{\n{indent}{seen.step}{code}\n{indent}}}\n"
        instruction = phrasing.pick(
            f"wrap {told} in a try with a catch{bound}{catching} {said}",
            f"wrap {told} in a try/catch{bound}{catching} {said}",
            f"put {told} into a try block with a catch{bound}{catching} {said}",
            f"put a try around {told} and a catch{bound}{catching} {said}",
            f"surround {told} with a try and a catch{bound}{catching} {said}",
            f"add a try/catch{bound}{catching} around {told} {said}",
            f"enclose {told} in a try block, and add a catch{bound}{catching} {said}",
        )
        return edit("wrap-try", instruction, Replacement(*lines, new))
    return None


def wrap_if(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A statement goes into an ``if``."""
    seen = view(unit)
    if seen is None:
        return None
    random = phrasing.random
    simple = _simple(seen)
    for node in random.sample(simple, min(len(simple), 6)):
        lines = seen.whole_lines(node)
        told = describe(seen, node, phrasing)
        names = _variables(seen, node)
        if lines is None or told is None:
            continue
        body = indented(seen, *lines, seen.step)
        if body is None:
            continue
        indent = seen.indent(node)
        if names and random.random() < 0.6:
            name = random.choice(names)
            condition, said = _check(seen, phrasing, name)
            when = f"{phrasing.code(name)} {said}"
        else:
            condition = (
                random.choice(names)
                if names and random.random() < 0.4
                else words.new_name(words.word(random), random, seen.words, seen.grammar.names)
            )
            if seen.language in JAVASCRIPT | {"c", "java"} and random.random() < 0.25:
                condition = "!" + condition
            when = phrasing.code(condition)
        new = f"{indent}{_if(seen, condition)}\n{body}{indent}}}\n"
        instruction = phrasing.pick(
            f"only do {told} if {when}",
            f"wrap {told} in an if that checks whether {when}",
            f"do {told} only when {when}",
            f"put {told} in an if for when {when}",
            f"make {told} conditional: only if {when}",
            f"run {told} only if {when}",
            f"execute {told} just when {when}",
            f"guard {told} with an if: {when}",
        )
        return edit("wrap-if", instruction, Replacement(*lines, new))
    return None


def delete_statement(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A statement goes."""
    seen = view(unit)
    if seen is None:
        return None
    random = phrasing.random
    candidates = [n for n in seen.of(seen.grammar.statements) if seen.function(n) is not None]
    for node in random.sample(candidates, min(len(candidates), 6)):
        parent = seen.parent(node)
        if parent is None or parent.type not in seen.grammar.bodies or len(seen.statements(parent)) < 2:
            continue
        lines = seen.whole_lines(node)
        told = describe(seen, node, phrasing)
        if lines is None or told is None:
            continue
        noun = random.choice(["line", "statement", "line"])
        shown = told if told.startswith("the ") else f"the {noun} {told}"
        wordings = [
            f"remove {told}",
            f"delete {told}",
            f"remove {shown}",
            f"drop {told}",
            f"delete {shown}",
            f"get rid of {told}",
            f"take out {told}",
            f"remove {told}, it isn't needed",
            f"cut {told}",
            f"we don't need {told}, remove it",
            f"kick out {shown}",
        ]
        call = re.match(r"(console\.\w+|[\w.]*log(?:ger)?\.\w+|printf|println!|System\.out\.println)\(", text(node))
        if call is not None and len(re.findall(re.escape(call.group(1)) + r"\(", unit.text)) == 1:
            c = phrasing.code(call.group(1))
            wordings = [f"remove the {c}", f"remove the {c} call", f"drop the {c}", *wordings]
        return edit("delete-statement", phrasing.pick(*wordings), removal(seen, *lines))
    return None


def _if_nodes(seen: View) -> list[tuple[Node, Node]]:
    """Each ``if`` that is a statement of a block, with the statement's node."""
    found = []
    for node in seen.of(seen.grammar.ifs):
        outer = node
        parent = seen.parent(node)
        if parent is not None and parent.type == "expression_statement":
            outer, parent = parent, seen.parent(parent)
        if node.child_by_field_name("initializer") is not None:
            continue
        if parent is not None and parent.type in seen.grammar.bodies and seen.function(node) is not None:
            found.append((node, outer))
    return found


def _condition(node: Node) -> str:
    condition = node.child_by_field_name("condition")
    shown = text(condition) if condition is not None else ""
    if condition is not None and condition.type == "parenthesized_expression":
        shown = shown[1:-1]
    return shown


def delete_branch(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A whole ``if``, or only its ``else``, goes."""
    seen = view(unit)
    if seen is None:
        return None
    random = phrasing.random
    ifs = _if_nodes(seen)
    for node, outer in random.sample(ifs, min(len(ifs), 5)):
        shown = _condition(node)
        if not shown or "\n" in shown or len(shown) > 70:
            continue
        if len(re.findall(r"if \(?" + re.escape(shown) + r"[ )]", unit.text)) != 1:
            continue
        code = f"if {shown}" if seen.language in {"go", "rust"} else f"if ({shown})"
        a = mention(phrasing, code)
        alternative = node.child_by_field_name("alternative")
        if alternative is not None:
            consequence = node.child_by_field_name("consequence")
            simple = (
                alternative
                if alternative.type in seen.grammar.blocks
                else next((n for n in alternative.named_children), None)
            )
            if consequence is None or simple is None or simple.type not in seen.grammar.blocks:
                continue
            if consequence.type not in seen.grammar.blocks:
                continue
            only = len(re.findall(r"\belse\b", unit.text)) == 1
            of = "" if only and random.random() < 0.6 else f" of {a}"
            instruction = phrasing.pick(
                f"remove the else branch{of}",
                f"drop the else{of}",
                f"delete the else block{of}",
                f"remove the else{of}",
                f"get rid of the else part{of}",
                f"take the else branch{of} away",
                f"cut the else{of}",
            )
            return edit("delete-branch", instruction, Replacement(consequence.end_byte, node.end_byte, ""))
        lines = seen.whole_lines(outer)
        parent = seen.parent(outer)
        if lines is None or parent is None or len(seen.statements(parent)) < 2:
            continue
        only = len(seen.of(seen.grammar.ifs)) == 1
        told = random.choice([f"the if on {mention(phrasing, shown)}", f"the block {a}", a, f"the check {a}"])
        if only and random.random() < 0.5:
            told = random.choice(["the if", "the if block", "the if statement"])
        instruction = phrasing.pick(
            f"remove {told}",
            f"delete {told} with what is in it",
            f"drop {told} and its body",
            f"delete {told}",
            f"get rid of {told} altogether",
            f"take out {told}",
            f"remove {told} and its whole body",
        )
        return edit("delete-branch", instruction, removal(seen, *lines))
    return None


def unwrap_if(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """The body of an ``if`` stays and the condition goes."""
    seen = view(unit)
    if seen is None:
        return None
    random = phrasing.random
    ifs = _if_nodes(seen)
    for node, outer in random.sample(ifs, min(len(ifs), 5)):
        shown = _condition(node)
        block = node.child_by_field_name("consequence")
        if node.child_by_field_name("alternative") is not None or block is None or seen.single(block) or not shown:
            continue
        if block.type not in seen.grammar.blocks or "\n" in shown or len(shown) > 70 or "let " in shown:
            continue
        if len(re.findall(r"if \(?" + re.escape(shown) + r"[ )]", unit.text)) != 1:
            continue
        lines = seen.whole_lines(outer)
        if lines is None:
            continue
        first = seen.file.line_starts[block.start_point.row + 1]
        last = seen.file.line_starts[block.end_point.row]
        body = dedented(seen, first, last, seen.step)
        if body is None or not body.strip():
            continue
        if seen.file.data[block.start_byte + 1 : first].strip():
            continue
        a = mention(phrasing, f"if {shown}" if seen.language in {"go", "rust"} else f"if ({shown})")
        instruction = phrasing.pick(
            f"unwrap {a}",
            f"remove the condition {a} but keep its body",
            f"always do what is in {a}",
            f"remove {a} and keep what is inside",
            f"take the body out of {a}, without the check",
            f"drop the check {a}, keep the body",
            f"make the body of {a} unconditional",
            f"run the code in {a} in any case, remove the if",
        )
        return edit("unwrap-if", instruction, Replacement(*lines, body))
    return None


def add_else(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """An ``if`` without one gets an ``else``."""
    seen = view(unit)
    if seen is None:
        return None
    random = phrasing.random
    ifs = _if_nodes(seen)
    for node, _ in random.sample(ifs, min(len(ifs), 5)):
        shown = _condition(node)
        block = node.child_by_field_name("consequence")
        if node.child_by_field_name("alternative") is not None or block is None or seen.single(block) or not shown:
            continue
        if block.type not in seen.grammar.blocks or "\n" in shown or len(shown) > 60:
            continue
        if len(re.findall(r"if \(?" + re.escape(shown) + r"[ )]", unit.text)) != 1:
            continue
        line_end = seen.file.data.find(b"\n", block.end_byte)
        if seen.file.data[block.end_byte : line_end].strip():
            continue
        end, indent = seen.semicolon, seen.indent(node)
        content = words.message(random)
        if "'" in content:
            continue
        quote = random.choice(['"', "'", "`"])
        m = f"{quote}{content}{quote}"
        statement = _statement(seen, phrasing, _variables(seen, node))
        options = [(statement, f"with `{statement}`"), (statement, f"that does `{statement}`")]
        if seen.language in JAVASCRIPT:
            options += [
                (f"throw new Error({seen.string(content)}){end}", f"that throws an Error {m}"),
                (f"return null{end}", "that returns null"),
                (f"console.log({seen.string(content)}){end}", f"that console.logs {m}"),
            ]
        code, said = random.choice(options)
        a = mention(phrasing, f"if {shown}" if seen.language in {"go", "rust"} else f"if ({shown})")
        only = len(seen.of(seen.grammar.ifs)) == 1 and random.random() < 0.6
        a = "the if" if only else a
        instruction = phrasing.pick(
            f"add an else branch to {a} {said}",
            f"add an else to {a} {said}",
            f"give {a} an else {said}",
            f"extend {a} by an else branch {said}",
            f"put an else after {a} {said}",
            f"append an else block to {a} {said}",
        )
        new = f" else {{\n{indent}{seen.step}{code}\n{indent}}}"
        return edit("add-else", instruction, Replacement(block.end_byte, block.end_byte, new))
    return None


def swap_statements(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A statement moves before or after its neighbour."""
    seen = view(unit)
    if seen is None:
        return None
    random = phrasing.random
    pairs = []
    for block in seen.of(seen.grammar.bodies):
        statements = seen.statements(block)
        for one, two in pairwise(statements):
            if seen.function(one) and {one.type, two.type} <= seen.grammar.statements - seen.grammar.returns:
                pairs.append((one, two))
    for one, two in random.sample(pairs, min(len(pairs), 5)):
        first, second = seen.whole_lines(one), seen.whole_lines(two)
        if first is None or second is None or first[1] != second[0] or text(one) == text(two):
            continue
        if text(one).startswith(("throw", "break", "continue")) or text(two).startswith(
            ("throw", "break", "continue")
        ):
            continue
        if not text(two).endswith(seen.semicolon or text(two)[-1]):
            continue
        a, b = describe(seen, one, phrasing), describe(seen, two, phrasing)
        if a is None or b is None:
            continue
        instruction = phrasing.pick(
            f"move {b} before {a}",
            f"move {b} above {a}",
            f"swap {a} and {b}",
            f"move {a} after {b}",
            f"put {b} before {a}",
            f"do {b} before {a}",
            f"move {a} below {b}",
            f"exchange {a} and {b}",
            f"have {b} come first and then {a}",
        )
        new = seen.file.source(*second) + seen.file.source(*first)
        return edit("move-statement", instruction, Replacement(first[0], second[1], new))
    return None


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
        values = [*_VALUES.get(seen.language, _VALUES["javascript"]), *_variables(seen, node)]
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


TRANSFORMS: Final[dict[str, Callable[[Unit, Phrasing], Edit | None]]] = {
    "add-log": add_log,
    "add-statement": add_statement,
    "add-guard": add_guard,
    "add-raise": add_raise,
    "wrap-try": wrap_try,
    "wrap-if": wrap_if,
    "delete-statement": delete_statement,
    "delete-branch": delete_branch,
    "unwrap-if": unwrap_if,
    "add-else": add_else,
    "move-statement": swap_statements,
    "change-exception": change_exception,
    "change-return": change_return,
}
