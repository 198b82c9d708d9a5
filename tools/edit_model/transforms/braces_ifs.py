"""The if statements of curly-brace code, their conditions and bodies."""

from __future__ import annotations

import re
from typing import Final

from tools.edit_model.phrasing import Phrasing
from tools.edit_model.transforms.braces_view import (
    Node,
    View,
    mention,
    text,
)

_OPPOSITE: Final = {"==": "!=", "!=": "==", "===": "!==", "!==": "===", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


ATOMS: Final = {
    "identifier",
    "member_expression",
    "call_expression",
    "subscript_expression",
    "field_expression",
    "method_invocation",
    "field_access",
    "array_access",
    "selector_expression",
    "index_expression",
    "parenthesized_expression",
    "this",
    "self",
    "true",
    "false",
    "string",
    "number",
    "non_null_expression",
    "boolean_literal",
}


def negated(node: Node) -> str | None:
    """The opposite of a condition as it is usually written: comparisons turned, ``!`` taken off or put on."""
    if node.type == "parenthesized_expression" and node.named_child_count == 1:
        return negated(node.named_children[0])
    operator = node.child_by_field_name("operator")
    if node.type == "binary_expression" and operator is not None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None:
            return None
        sign = text(operator)
        if sign in _OPPOSITE:
            source = text(node)
            at = len(text(node).encode()[: operator.start_byte - node.start_byte].decode())
            return source[:at] + _OPPOSITE[sign] + source[at + len(sign) :]
        if sign in {"&&", "||", "instanceof", "in"}:
            return f"!({text(node)})"
        return None
    if text(node).startswith("!"):
        inner = node.named_children[0] if node.named_children else None
        if inner is None:
            return None
        if inner.type == "parenthesized_expression":
            return text(inner)[1:-1]
        return text(inner)
    if node.type in ATOMS:
        return f"!{text(node)}"
    return None


def condition_of(node: Node) -> Node | None:
    """An ``if``'s condition without the parentheses that must be around it."""
    condition = node.child_by_field_name("condition")
    if node.child_by_field_name("initializer") is not None:
        return None
    if condition is not None and condition.type == "parenthesized_expression" and condition.named_child_count == 1:
        return condition.named_children[0]
    return condition if condition is not None and condition.type != "parenthesized_expression" else None


def if_words(seen: View, phrasing: Phrasing, node: Node) -> str | None:
    """Words for an ``if`` that tell it from the others."""
    condition = condition_of(node)
    if condition is None or not seen.single(condition):
        return None
    shown = text(condition)
    if len(seen.of(seen.grammar.ifs)) == 1 and phrasing.random.random() < 0.6:
        return phrasing.random.choice(["the if", "the if statement"])
    if len(shown) > 70 or len(re.findall(r"if \(?" + re.escape(shown) + r"[ )]", seen.unit.text)) != 1:
        return None
    code = f"if {shown}" if seen.language in {"go", "rust"} else f"if ({shown})"
    return mention(phrasing, code)


def body_lines(seen: View, block: Node | None) -> tuple[int, int] | None:
    """The lines between a block's braces, if its braces stand at the end and the start of lines."""
    if block is None or block.type not in seen.grammar.blocks or block.end_point.row <= block.start_point.row + 1:
        return None
    first = seen.file.line_starts[block.start_point.row + 1]
    last = seen.file.line_starts[block.end_point.row]
    data = seen.file.data
    if data[block.start_byte + 1 : first].strip() or data[last : block.end_byte - 1].strip():
        return None
    return first, last


def else_block(seen: View, node: Node) -> Node | None:
    """The block of an ``if``'s ``else``, if it isn't another ``if``."""
    alternative = node.child_by_field_name("alternative")
    if alternative is not None and alternative.type == "else_clause":
        alternative = next((n for n in alternative.named_children if n.type not in seen.grammar.comments), None)
    return alternative if alternative is not None and alternative.type in seen.grammar.blocks else None


def statement_ifs(seen: View) -> list[tuple[Node, Node]]:
    """Each ``if`` that stands in a block, and the node of its statement."""
    found = []
    for node in seen.of(seen.grammar.ifs):
        outer, parent = node, seen.parent(node)
        if parent is not None and parent.type == "expression_statement":
            outer, parent = parent, seen.parent(parent)
        if parent is not None and parent.type in seen.grammar.bodies:
            found.append((node, outer))
    return found


def header(seen: View, condition: str) -> str:
    """How an ``if`` on the condition begins."""
    return f"if {condition} {{" if seen.language in {"go", "rust"} else f"if ({condition}) {{"
