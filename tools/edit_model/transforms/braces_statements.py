"""Statements of curly-brace languages: put in, taken out, wrapped and moved."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Final

from tools.edit_model.edit import Edit, Replacement
from tools.edit_model.phrasing import Phrasing
from tools.edit_model.source import Unit
from tools.edit_model.transforms import words
from tools.edit_model.transforms.braces_deletions import (
    condition_text,
    delete_branch,
    delete_statement,
    if_nodes,
    unwrap_if,
)
from tools.edit_model.transforms.braces_guards import (
    add_guard,
    add_raise,
    change_exception,
    change_return,
    variables,
)
from tools.edit_model.transforms.braces_view import (
    View,
    describe,
    edit,
    mention,
    places,
    text,
    view,
)
from tools.edit_model.transforms.braces_wrapping import wrap_if, wrap_try
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


def add_log(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A call that logs a message or a variable."""
    seen = view(unit)
    if seen is None:
        return None
    random = phrasing.random
    for place in places(seen, phrasing):
        call, said = random.choice(_LOGS_OF[seen.language])
        names = variables(seen, place.node)
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
        names = variables(seen, place.node)
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


def add_else(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """An ``if`` without one gets an ``else``."""
    seen = view(unit)
    if seen is None:
        return None
    random = phrasing.random
    ifs = if_nodes(seen)
    for node, _ in random.sample(ifs, min(len(ifs), 5)):
        shown = condition_text(node)
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
        statement = _statement(seen, phrasing, variables(seen, node))
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
