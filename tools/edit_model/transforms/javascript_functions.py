"""Functions of JavaScript turned into arrow functions and back, their bodies into expressions."""

from __future__ import annotations

from tools.edit_model.edit import Edit, Replacement
from tools.edit_model.phrasing import Phrasing
from tools.edit_model.source import Unit
from tools.edit_model.transforms.braces_view import (
    Node,
    View,
    child,
    edit,
    javascript,
    references,
    replace,
    text,
)


def holds(seen: View, node: Node, names: set[str]) -> bool:
    """Whether the words appear in the node's own code (in nested functions too)."""
    return any(text(n) in names for n in seen.nodes if not n.child_count and inside(n, node))


def inside(node: Node, other: Node) -> bool:
    """Whether a node is another one or a part of it."""
    return other.start_byte <= node.start_byte and node.end_byte <= other.end_byte


def function_to_arrow(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A function becomes an arrow function with the same body."""
    seen = javascript(unit)
    if seen is None:
        return None
    random = phrasing.random
    nodes = seen.of({"function_expression", "function_declaration"})
    for node in random.sample(nodes, len(nodes)):
        parameters, body, name = (node.child_by_field_name(f) for f in ("parameters", "body", "name"))
        if parameters is None or body is None or holds(seen, node, {"this", "arguments", "super", "new.target"}):
            continue
        head = seen.file.source(parameters.start_byte, body.start_byte).rstrip()
        lead = "async " if text(node).startswith("async") else ""
        generics = child(node, "type_parameters")
        head = (text(generics) if generics is not None else "") + head
        if node.type == "function_declaration":
            if name is None or (seen.parent(node) is None and text(node.parent or node).startswith("export default")):
                continue
            if unit.text.count(f"new {text(name)}") or (node != unit.node and seen.parent(node) is None):
                continue
            told = random.choice([phrasing.code(text(name)), f"the function {phrasing.code(text(name))}"])
            instruction = phrasing.pick(
                f"convert {told} to an arrow function",
                f"make {told} an arrow function",
                f"turn {told} into a const arrow function",
                f"rewrite {told} as an arrow function",
                f"use an arrow function for {told}",
                f"write {told} as a const with an arrow function",
                f"change {told} into an arrow function",
                f"have {told} be an arrow function",
            )
            new = f"const {text(name)} = {lead}{head} => "
            return edit(
                "function-to-arrow",
                instruction,
                Replacement(node.start_byte, body.start_byte, new),
                Replacement(node.end_byte, node.end_byte, seen.semicolon),
            )
        bound = seen.name_node(node)
        if name is not None:
            if len(references(seen, node, text(name)) or [1, 2]) > 1:
                continue
            bound = None
        parent = seen.parent(node)
        if parent is None or parent.type in {"new_expression", "member_expression", "parenthesized_expression"}:
            continue
        call = seen.parent(parent) if parent.type == "arguments" else None
        called = child(call, "function")
        if bound is not None and len(seen.of({"function_expression"})) >= 1 and text(bound) in seen.named_once:
            told = phrasing.code(text(bound))
        elif called is not None and seen.single(called) and seen.once(text(called) + "(") and len(text(called)) < 40:
            if len([n for n in parent.named_children if n.type == "function_expression"]) != 1:
                continue
            told = f"the callback of {phrasing.code(text(called))}"
        elif len(seen.of({"function_expression"})) == 1:
            told = random.choice(
                ["the function expression", "the anonymous function" if name is None else "the inner function"]
            )
        else:
            continue
        instruction = phrasing.pick(
            f"convert {told} to an arrow function",
            f"make {told} an arrow function",
            f"use an arrow function for {told}",
            f"turn {told} into an arrow function",
            f"rewrite {told} as an arrow function",
            f"change {told} to arrow syntax",
            f"have {told} be an arrow function",
        )
        return edit(
            "function-to-arrow", instruction, Replacement(node.start_byte, body.start_byte, f"{lead}{head} => ")
        )
    return None


def arrow_to_function(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A constant that holds an arrow function becomes a function declaration."""
    seen = javascript(unit)
    if seen is None:
        return None
    for node in seen.of({"arrow_function"}):
        body, parameters = node.child_by_field_name("body"), node.child_by_field_name("parameters")
        declarator = seen.parent(node)
        declaration = seen.parent(declarator) if declarator is not None else None
        name = child(declarator, "name")
        if body is None or parameters is None or declarator is None or declaration is None or name is None:
            continue
        if body.type != "statement_block" or declarator.type != "variable_declarator" or child(declarator, "type"):
            continue
        if (
            declaration.named_child_count != 1
            or holds(seen, node, {"this", "arguments"})
            or name.type != "identifier"
        ):
            continue
        head = seen.file.source(parameters.start_byte, parameters.end_byte)
        kind = child(node, "return_type")
        generics = child(node, "type_parameters")
        head = (text(generics) if generics is not None else "") + head + (text(kind) if kind is not None else "")
        lead = "async " if text(node).startswith("async") else ""
        told = phrasing.code(text(name))
        instruction = phrasing.pick(
            f"convert {told} to a function declaration",
            f"make {told} a regular function",
            f"turn {told} into a function declaration",
            f"write {told} as a normal function",
            f"rewrite {told} as a function declaration",
            f"don't use an arrow function for {told}, declare a function",
            f"change the arrow function {told} into a function declaration",
        )
        return edit(
            "arrow-to-function",
            instruction,
            Replacement(declaration.start_byte, body.start_byte, f"{lead}function {text(name)}{head} "),
            Replacement(body.end_byte, declaration.end_byte, ""),
        )
    return None


def _arrow_words(seen: View, node: Node, phrasing: Phrasing) -> str | None:
    bound = seen.name_node(node)
    if bound is not None and seen.unit.text.count(f"{text(bound)} = ") == 1:
        return phrasing.code(text(bound))
    parent = seen.parent(node)
    call = seen.parent(parent) if parent is not None and parent.type == "arguments" else None
    called = child(call, "function")
    if called is not None and parent is not None and seen.single(called) and len(text(called)) < 40:
        callbacks = [n for n in parent.named_children if n.type == "arrow_function"]
        if len(callbacks) == 1 and seen.once(text(called) + "("):
            return f"the callback of {phrasing.code(text(called))}"
    if len(seen.of({"arrow_function"})) == 1:
        return "the arrow function"
    return None


def block_to_expression(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """An arrow function that only returns loses its braces."""
    seen = javascript(unit)
    if seen is None:
        return None
    for node in seen.of({"arrow_function"}):
        body = node.child_by_field_name("body")
        told = _arrow_words(seen, node, phrasing)
        if body is None or told is None or body.type != "statement_block" or body.named_child_count != 1:
            continue
        only = body.named_children[0]
        if only.type != "return_statement" or only.named_child_count != 1 or not seen.single(only):
            continue
        value = only.named_children[0]
        new = f"({text(value)})" if value.type in {"object", "sequence_expression"} else text(value)
        instruction = phrasing.pick(
            f"use an expression body in {told}",
            f"drop the braces and the return of {told}",
            f"shorten {told} to an expression body",
            f"make {told} return implicitly",
            f"use an implicit return in {told}",
            f"write {told} without braces and return",
        )
        return edit("implicit-return", instruction, replace(body, new))
    return None


def expression_to_block(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """An arrow function's expression goes into a block with a ``return``."""
    seen = javascript(unit)
    if seen is None:
        return None
    nodes = seen.of({"arrow_function"})
    for node in phrasing.random.sample(nodes, len(nodes)):
        body = node.child_by_field_name("body")
        told = _arrow_words(seen, node, phrasing)
        if body is None or told is None or body.type == "statement_block" or not seen.single(node):
            continue
        value = body.named_children[0] if body.type == "parenthesized_expression" else body
        if body.type == "parenthesized_expression" and value.type != "object":
            continue
        i = seen.indent(node)
        new = f"{{\n{i}{seen.step}return {text(value)}{seen.semicolon}\n{i}}}"
        instruction = phrasing.pick(
            f"give {told} a block body",
            f"use a block body with a return in {told}",
            f"add braces and a return to {told}",
            f"expand {told} to a block with an explicit return",
            f"make the return in {told} explicit, with braces",
            f"write {told} with braces and a return statement",
        )
        return edit("explicit-return", instruction, replace(body, new))
    return None
