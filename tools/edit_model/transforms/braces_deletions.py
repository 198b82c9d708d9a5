"""Statements and branches of curly-brace code taken out."""

from __future__ import annotations

import re

from tools.edit_model.edit import Edit, Replacement
from tools.edit_model.phrasing import Phrasing
from tools.edit_model.source import Unit
from tools.edit_model.transforms.braces_view import (
    Node,
    View,
    describe,
    edit,
    mention,
    removal,
    text,
    view,
)
from tools.edit_model.transforms.braces_wrapping import dedented


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


def if_nodes(seen: View) -> list[tuple[Node, Node]]:
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


def condition_text(node: Node) -> str:
    """What an if asks, without its parentheses."""
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
    ifs = if_nodes(seen)
    for node, outer in random.sample(ifs, min(len(ifs), 5)):
        shown = condition_text(node)
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
    ifs = if_nodes(seen)
    for node, outer in random.sample(ifs, min(len(ifs), 5)):
        shown = condition_text(node)
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
