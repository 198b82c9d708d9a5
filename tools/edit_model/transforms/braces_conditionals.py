"""Curly-brace ifs, ternaries and conditions turned into each other."""

from __future__ import annotations

import re

from tools.edit_model.edit import Edit, Replacement
from tools.edit_model.phrasing import Phrasing
from tools.edit_model.source import Unit
from tools.edit_model.transforms.braces_ifs import (
    condition_of,
    else_block,
    if_words,
    negated,
    statement_ifs,
)
from tools.edit_model.transforms.braces_view import (
    edit,
    mention,
    text,
    view,
)


def return_condition(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """``if (c) { return true; } return false;`` becomes ``return c;``."""
    seen = view(unit)
    if seen is None:
        return None
    for node, outer in statement_ifs(seen):
        block, parent, condition = node.child_by_field_name("consequence"), seen.parent(outer), condition_of(node)
        if (
            block is None
            or parent is None
            or condition is None
            or node.child_by_field_name("alternative") is not None
        ):
            continue
        inner = text(block).strip("{} \n\t;")
        statements = seen.statements(parent)
        at = statements.index(outer)
        if at + 1 >= len(statements) or inner not in {"return true", "return false"}:
            continue
        after = text(statements[at + 1]).rstrip(";")
        if {inner, after} != {"return true", "return false"}:
            continue
        code = text(condition) if inner == "return true" else negated(condition)
        lines, last = seen.whole_lines(outer), seen.whole_lines(statements[at + 1])
        told = if_words(seen, phrasing, node)
        if code is None or lines is None or last is None or told is None:
            continue
        if condition.type not in {"binary_expression", "unary_expression"}:
            continue
        instruction = phrasing.pick(
            f"return the condition of {told} directly",
            f"simplify {told} to a single return",
            f"replace {told} and the return after it with one return of the condition",
            "simplify: return the condition itself",
            f"make {told} one return statement",
        )
        return edit(
            "return-condition",
            instruction,
            Replacement(lines[0], last[1], f"{seen.indent(outer)}return {code}{seen.semicolon}\n"),
        )
    return None


def ternary_to_if(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A conditional expression that is returned or assigned becomes an ``if``."""
    seen = view(unit)
    if seen is None or seen.language in {"go", "rust"}:
        return None
    nodes = seen.of({"ternary_expression", "conditional_expression"})
    for node in phrasing.random.sample(nodes, len(nodes)):
        condition, one, two = (node.child_by_field_name(f) for f in ("condition", "consequence", "alternative"))
        parent = seen.parent(node)
        if condition is None or one is None or two is None or parent is None or "?" in text(one) + text(two):
            continue
        shown = text(condition)
        if condition.type == "parenthesized_expression":
            shown = shown[1:-1]
        if not seen.single(node):
            continue
        end = seen.semicolon
        if parent.type == "return_statement":
            statement, lead = parent, "return "
        elif (
            parent.type == "assignment_expression"
            and text(node.parent or node).count("=")
            and seen.field(node) == "right"
        ):
            outer, left, operator = (
                seen.parent(parent),
                parent.child_by_field_name("left"),
                parent.child_by_field_name("operator"),
            )
            if (
                outer is None
                or outer.type != "expression_statement"
                or left is None
                or (operator is not None and text(operator) != "=")
            ):
                continue
            statement, lead = outer, f"{text(left)} = "
        else:
            continue
        lines, holder = seen.whole_lines(statement), seen.parent(statement)
        if lines is None or holder is None or holder.type not in seen.grammar.bodies:
            continue
        i, step = seen.indent(statement), seen.step
        new = f"{i}if ({shown}) {{\n{i}{step}{lead}{text(one)}{end}\n"
        if lead == "return ":
            new += f"{i}}}\n{i}return {text(two)}{end}\n"
            tail = ""
        else:
            new += f"{i}}} else {{\n{i}{step}{lead}{text(two)}{end}\n{i}}}\n"
            tail = "/else"
        which = f" on {mention(phrasing, shown)}" if len(nodes) > 1 else ""
        if which and (len(shown) > 60 or not seen.once(shown + " ?")):
            continue
        noun = phrasing.random.choice(["ternary", "conditional expression", "ternary"])
        instruction = phrasing.pick(
            f"replace the {noun}{which} with an if{tail}",
            f"turn the {noun}{which} into an if{tail}",
            f"convert the {noun}{which} to an if{tail}",
            f"use an if{tail} instead of the {noun}{which}",
            f"write the {noun}{which} as an if{tail}",
            f"expand the {noun}{which} to an if{tail} statement",
            f"unroll the {noun}{which} into an if{tail}",
        )
        return edit("ternary-to-if", instruction, Replacement(*lines, new))
    return None


def if_to_ternary(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """An ``if`` whose branches return or assign becomes a conditional expression."""
    seen = view(unit)
    if seen is None or seen.language in {"go", "rust"}:
        return None
    for node, outer in statement_ifs(seen):
        block, parent, condition = node.child_by_field_name("consequence"), seen.parent(outer), condition_of(node)
        told = if_words(seen, phrasing, node)
        if block is None or parent is None or condition is None or told is None:
            continue
        one = seen.statements(block) if block.type in seen.grammar.blocks else [block]
        if len(one) != 1 or not seen.single(one[0]) or not seen.single(condition):
            continue
        other = else_block(seen, node)
        last = outer
        if other is not None:
            two = seen.statements(other)
        elif node.child_by_field_name("alternative") is None and text(one[0]).startswith("return "):
            statements = seen.statements(parent)
            two = statements[statements.index(outer) + 1 :][:1]
            last = two[0] if two else outer
        else:
            continue
        if len(two) != 1 or not seen.single(two[0]):
            continue
        a, b = text(one[0]).rstrip(";"), text(two[0]).rstrip(";")
        lead = _common(a, b)
        if lead is None or "?" in a + b or any(n.type in seen.grammar.comments for n in [*block.named_children]):
            continue
        first, final = seen.whole_lines(outer), seen.whole_lines(last)
        if first is None or final is None or len(re.findall("//|/[*]", seen.file.source(first[0], final[1]))):
            continue
        shown = text(condition)
        if condition.type in {"assignment_expression", "ternary_expression"} or len(shown) + len(a) + len(b) > 100:
            continue
        code = f"{seen.indent(outer)}{lead}{shown} ? {a[len(lead) :]} : {b[len(lead) :]}{seen.semicolon}\n"
        instruction = phrasing.pick(
            f"turn {told} into a ternary",
            f"use a ternary instead of {told}",
            f"replace {told} with a conditional expression",
            f"convert {told} to a ternary",
            f"write {told} as a ternary",
            f"collapse {told} to a ternary",
        )
        return edit("if-to-ternary", instruction, Replacement(first[0], final[1], code))
    return None


def _common(a: str, b: str) -> str | None:
    if a.startswith("return ") and b.startswith("return "):
        return "return "
    one, two = re.match(r"[\w.\[\]]+ = (?!=)", a), re.match(r"[\w.\[\]]+ = (?!=)", b)
    return one.group() if one and two and one.group() == two.group() else None
