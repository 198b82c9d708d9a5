"""Statements of curly-brace code wrapped into others."""

from __future__ import annotations

from typing import Final

from tools.edit_model.edit import Edit, Replacement
from tools.edit_model.phrasing import Phrasing
from tools.edit_model.source import Unit
from tools.edit_model.transforms import words
from tools.edit_model.transforms.braces_guards import (
    check,
    if_line,
    variables,
)
from tools.edit_model.transforms.braces_view import (
    Node,
    View,
    describe,
    edit,
    text,
    view,
)
from tools.edit_model.transforms.grammar import JAVASCRIPT


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
        names = variables(seen, node)
        if lines is None or told is None:
            continue
        body = indented(seen, *lines, seen.step)
        if body is None:
            continue
        indent = seen.indent(node)
        if names and random.random() < 0.6:
            name = random.choice(names)
            condition, said = check(seen, phrasing, name)
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
        new = f"{indent}{if_line(seen, condition)}\n{body}{indent}}}\n"
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
