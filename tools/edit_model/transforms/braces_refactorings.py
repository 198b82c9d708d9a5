"""Changes of structure that keep the meaning, in all curly-brace languages."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from tools.edit_model.edit import Edit, Replacement
from tools.edit_model.phrasing import Phrasing
from tools.edit_model.source import Unit
from tools.edit_model.transforms.braces_conditionals import if_to_ternary, return_condition, ternary_to_if
from tools.edit_model.transforms.braces_ifs import (
    ATOMS,
    body_lines,
    condition_of,
    else_block,
    header,
    if_words,
    negated,
    statement_ifs,
)
from tools.edit_model.transforms.braces_variables import extract_variable, inline_variable
from tools.edit_model.transforms.braces_view import (
    Node,
    View,
    edit,
    mention,
    replace,
    text,
    view,
)
from tools.edit_model.transforms.braces_wrapping import dedented


def _ends(seen: View, block: Node) -> bool:
    statements = seen.statements(block)
    return bool(statements) and re.match(r"return\b|throw\b|continue\b|break\b", text(statements[-1])) is not None


def early_return(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """An ``if`` around the rest of a function becomes an early return."""
    seen = view(unit)
    if seen is None:
        return None
    for node, outer in statement_ifs(seen):
        block = node.child_by_field_name("consequence")
        lines, inner = seen.whole_lines(outer), body_lines(seen, block)
        parent, condition = seen.parent(outer), condition_of(node)
        if lines is None or inner is None or parent is None or condition is None:
            continue
        if node.child_by_field_name("alternative") is not None:
            continue
        if seen.language == "go" and parent.type == "statement_list":
            parent = seen.parent(parent)
            if parent is None:
                continue
        holder = seen.parent(parent)
        if holder is None or "let " in text(condition) or ":=" in text(condition):
            continue
        if block is None or _ends(seen, block):
            continue
        in_loop = holder.type in seen.grammar.loops
        if not in_loop and holder.type not in seen.grammar.functions | seen.grammar.lambdas:
            continue
        if seen.statements(parent)[-1] != outer or (
            seen.language == "rust" and seen.file.data[outer.end_byte - 1 : outer.end_byte] != b"}"
        ):
            continue
        if not in_loop and any(
            n.named_child_count and seen.scope(n) == holder for n in seen.of(seen.grammar.returns)
        ):
            continue
        if seen.language == "rust" and (holder.child_by_field_name("return_type") is not None):
            continue
        opposite = negated(condition)
        body = dedented(seen, *inner, seen.step)
        told = if_words(seen, phrasing, node)
        if opposite is None or body is None or told is None or not seen.single(condition):
            continue
        leave = "continue" if in_loop else "return"
        end = seen.semicolon
        indent = seen.indent(outer)
        new = f"{indent}{header(seen, opposite)}\n{indent}{seen.step}{leave}{end}\n{indent}}}\n{body}"
        if in_loop:
            instruction = phrasing.pick(
                f"invert {told} and continue early",
                f"use an early continue instead of nesting under {told}",
                f"reduce the nesting: turn {told} into a continue guard",
                f"replace {told} by a guard with continue",
                f"flip {told} and continue, so that the body is less indented",
            )
        else:
            instruction = phrasing.pick(
                f"invert {told} and return early",
                f"use an early return instead of nesting under {told}",
                f"reduce the nesting: turn {told} into an early return",
                f"turn {told} into a guard clause",
                f"replace {told} by a guard that returns",
                f"convert {told} to an early return",
                f"flip {told} and return early, so that the body is less indented",
            )
        return edit("early-return" if not in_loop else "early-continue", instruction, Replacement(*lines, new))
    return None


def swap_branches(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A condition is negated and its branches change places."""
    seen = view(unit)
    if seen is None:
        return None
    ifs = statement_ifs(seen)
    for node, _ in phrasing.random.sample(ifs, len(ifs)):
        one, two = node.child_by_field_name("consequence"), else_block(seen, node)
        condition, told = condition_of(node), if_words(seen, phrasing, node)
        if one is None or two is None or condition is None or told is None or one.type not in seen.grammar.blocks:
            continue
        opposite = negated(condition)
        if opposite is None or text(one) == text(two) or "let " in text(condition) or ":=" in text(condition):
            continue
        instruction = phrasing.pick(
            f"invert {told} and swap the branches",
            f"negate {told} and swap its branches",
            f"swap the branches of {told} and negate its condition",
            f"flip {told}: negate it and exchange if and else",
            f"put the else branch of {told} first by negating the condition",
            f"turn {told} around, with the branches swapped",
        )
        return edit(
            "invert-condition",
            instruction,
            replace(condition, opposite),
            replace(one, text(two)),
            replace(two, text(one)),
        )
    return None


def remove_else(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """An ``else`` after a branch that returns is dropped and its body moves out."""
    seen = view(unit)
    if seen is None:
        return None
    ifs = statement_ifs(seen)
    for node, outer in phrasing.random.sample(ifs, len(ifs)):
        one, two = node.child_by_field_name("consequence"), else_block(seen, node)
        if one is None or two is None or one.type not in seen.grammar.blocks or not _ends(seen, one):
            continue
        inner, lines, told = body_lines(seen, two), seen.whole_lines(outer), if_words(seen, phrasing, node)
        if inner is None or lines is None or told is None:
            continue
        body = dedented(seen, *inner, seen.step)
        if body is None or "else" in seen.file.source(one.start_byte, one.end_byte):
            continue
        whole = phrasing.random.random() < 0.5 and len(re.findall(r"\belse\b", unit.text)) == 1
        of = "" if whole else f" of {told}"
        instruction = phrasing.pick(
            f"remove the unnecessary else{of}",
            f"drop the needless else{of}, keep its body",
            f"the else{of} isn't needed, dedent its body",
            f"remove the else{of} and dedent what is in it",
            f"get rid of the superfluous else{of} and keep its code",
            f"unwrap the else{of}",
            f"flatten the else{of}, the branch before it leaves anyway",
        )
        return edit("remove-else", instruction, Replacement(one.end_byte, lines[1], "\n" + body))
    return None


def merge_ifs(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Two nested conditions become one."""
    seen = view(unit)
    if seen is None:
        return None
    for node, outer in statement_ifs(seen):
        block = node.child_by_field_name("consequence")
        if block is None or block.type not in seen.grammar.blocks or node.child_by_field_name("alternative"):
            continue
        statements = seen.statements(block)
        inner_lines = body_lines(seen, block)
        if len(statements) != 1 or inner_lines is None:
            continue
        inner = statements[0]
        if inner.type == "expression_statement" and inner.named_child_count == 1:
            inner = inner.named_children[0]
        if inner.type not in seen.grammar.ifs or inner.child_by_field_name("alternative") is not None:
            continue
        lines, deep = seen.whole_lines(outer), body_lines(seen, inner.child_by_field_name("consequence"))
        one, two = condition_of(node), condition_of(inner)
        if lines is None or deep is None or one is None or two is None:
            continue
        if inner_lines != seen.whole_lines(inner) or not seen.single(one) or not seen.single(two):
            continue
        body = dedented(seen, *deep, seen.step)
        parts = []
        for part in (one, two):
            operator = part.child_by_field_name("operator")
            loose = part.type in {"assignment_expression", "ternary_expression", "conditional_expression"}
            loose = loose or (operator is not None and text(operator) in {"||", "??"})
            parts.append(f"({text(part)})" if loose else text(part))
        if body is None or any("let " in part or ":=" in part for part in parts):
            continue
        told = mention(phrasing, text(one))
        other = mention(phrasing, text(two))
        if len(text(one)) > 60 or len(text(two)) > 60:
            continue
        indent = seen.indent(outer)
        new = f"{indent}{header(seen, ' && '.join(parts))}\n{body}{indent}}}\n"
        instruction = phrasing.pick(
            f"merge the nested ifs on {told} and {other}",
            f"combine the ifs {told} and {other} into one",
            f"join the two conditions {told} and {other} with &&",
            "merge the nested ifs" if len(seen.of(seen.grammar.ifs)) == 2 else f"merge the ifs {told} and {other}",
            f"collapse the nested ifs on {told} and {other}",
            f"make one if of the nested ones on {told} and {other}",
        )
        return edit("merge-ifs", instruction, Replacement(*lines, new))
    return None


_COMPOUND: Final = {"+", "-", "*", "/", "%", "|", "&", "<<", ">>"}


def compound_assignment(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """``x = x + y`` becomes ``x += y``."""
    seen = view(unit)
    if seen is None:
        return None
    for node in seen.of({"assignment_expression", "assignment_statement"}):
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if right is not None and right.type == "expression_list" and right.named_child_count == 1:
            right = right.named_children[0]
        if left is None or right is None or right.type not in seen.grammar.binaries:
            continue
        operator, one, two = (right.child_by_field_name(f) for f in ("operator", "left", "right"))
        if (
            operator is None
            or one is None
            or two is None
            or text(one) != text(left)
            or text(operator) not in _COMPOUND
        ):
            continue
        if not seen.single(node) or len(text(node)) > 70 or not seen.once(text(node)):
            continue
        sign = phrasing.code(text(operator) + "=")
        shown = mention(phrasing, text(node))
        instruction = phrasing.pick(
            f"use {sign} in {shown}",
            f"write {shown} with {sign}",
            f"shorten {shown} to a compound assignment",
            f"use a compound assignment for {shown}",
            f"turn {shown} into a {sign}",
            f"simplify {shown} using {sign}",
        )
        return edit("compound-assignment", instruction, replace(node, f"{text(left)} {text(operator)}= {text(two)}"))
    return None


def expand_assignment(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """``x += y`` becomes ``x = x + y``."""
    seen = view(unit)
    if seen is None:
        return None
    for node in seen.of(
        {
            "augmented_assignment_expression",
            "compound_assignment_expr",
            "assignment_statement",
            "assignment_expression",
        }
    ):
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = node.child_by_field_name("operator")
        if left is None or right is None or operator is None or text(operator)[:-1] not in _COMPOUND:
            continue
        if right.type == "expression_list" and right.named_child_count == 1:
            right = right.named_children[0]
        if not seen.single(node) or len(text(node)) > 60 or not seen.once(text(node)):
            continue
        if right.type not in ATOMS | seen.grammar.integers | seen.grammar.strings or "." in text(left)[6:]:
            continue
        shown = mention(phrasing, text(node))
        sign = phrasing.code(text(operator))
        instruction = phrasing.pick(
            f"write out {shown} without {sign}",
            f"expand {shown} to a plain assignment",
            f"don't use {sign} in {shown}",
            f"replace the compound assignment {shown} with a plain one",
            f"spell {shown} out as a plain assignment",
        )
        new = f"{text(left)} = {text(left)} {text(operator)[:-1]} {text(right)}"
        return edit("expand-assignment", instruction, replace(node, new))
    return None


def add_braces(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A branch on one line gets braces."""
    seen = view(unit)
    if seen is None or seen.language in {"go", "rust"}:
        return None
    ifs = statement_ifs(seen)
    for node, outer in phrasing.random.sample(ifs, len(ifs)):
        branch, condition = node.child_by_field_name("consequence"), node.child_by_field_name("condition")
        told = if_words(seen, phrasing, node)
        if branch is None or condition is None or told is None or branch.type in seen.grammar.blocks:
            continue
        if node.child_by_field_name("alternative") is not None or not seen.single(branch):
            continue
        if not seen.file.source(condition.end_byte, branch.start_byte).isspace() or seen.whole_lines(outer) is None:
            continue
        indent = seen.indent(outer)
        instruction = phrasing.pick(
            f"add braces to {told}",
            f"put braces around the body of {told}",
            f"use braces in {told}",
            f"wrap the body of {told} in braces",
            f"give {told} curly braces",
            f"make the body of {told} a block",
        )
        new = f" {{\n{indent}{seen.step}{text(branch)}\n{indent}}}"
        return edit("add-braces", instruction, Replacement(condition.end_byte, branch.end_byte, new))
    return None


TRANSFORMS: Final[dict[str, Callable[[Unit, Phrasing], Edit | None]]] = {
    "early-return": early_return,
    "invert-condition": swap_branches,
    "remove-else": remove_else,
    "merge-ifs": merge_ifs,
    "compound-assignment": compound_assignment,
    "expand-assignment": expand_assignment,
    "add-braces": add_braces,
    "extract-variable": extract_variable,
    "inline-variable": inline_variable,
    "return-condition": return_condition,
    "ternary-to-if": ternary_to_if,
    "if-to-ternary": if_to_ternary,
}
