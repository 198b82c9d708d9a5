"""Changes of structure that keep the meaning, in all curly-brace languages."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from tools.edit_model.edit import Edit, Replacement
from tools.edit_model.phrasing import Phrasing
from tools.edit_model.source import Unit
from tools.edit_model.transforms import words
from tools.edit_model.transforms.braces_statements import dedented
from tools.edit_model.transforms.braces_view import (
    Node,
    View,
    binding,
    edit,
    mention,
    references,
    replace,
    text,
    view,
)

_OPPOSITE: Final = {"==": "!=", "!=": "==", "===": "!==", "!==": "===", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_ATOMS: Final = {
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
    if node.type in _ATOMS:
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
        if right.type not in _ATOMS | seen.grammar.integers | seen.grammar.strings or "." in text(left)[6:]:
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


def extract_variable(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """An expression gets a name of its own on the line before."""
    seen = view(unit)
    if seen is None or seen.language == "c":
        return None
    random = phrasing.random
    kinds = {
        "call_expression",
        "binary_expression",
        "member_expression",
        "method_invocation",
        "field_access",
        "template_string",
        "subscript_expression",
        "ternary_expression",
        "selector_expression",
        "object",
        "array",
        "macro_invocation",
        "unary_expression",
        "parenthesized_expression",
    }
    nodes = [n for n in seen.of(kinds) if seen.single(n) and 6 <= len(text(n)) <= 60]
    for node in random.sample(nodes, min(len(nodes), 12)):
        parent = seen.parent(node)
        statement = next(
            (p for p in seen.ancestors(node) if (q := seen.parent(p)) and q.type in seen.grammar.bodies), None
        )
        if parent is None or statement is None or node.type == "parenthesized_expression":
            continue
        between = []
        for above in seen.ancestors(node):
            if above == statement:
                break
            between.append(above.type)
        if any(
            t in seen.grammar.lambdas | seen.grammar.functions | {"ternary_expression", "pair_pattern"}
            for t in between
        ):
            continue
        if statement.type not in seen.grammar.statements and statement.type not in seen.grammar.ifs:
            continue
        if statement.type in seen.grammar.ifs and not _within(node, condition_of(statement)):
            continue
        operators = [
            text(o)
            for a in seen.ancestors(node)
            if a.type == "binary_expression" and (o := a.child_by_field_name("operator"))
        ]
        if any(o in {"&&", "||", "??"} for o in operators) or "await" in text(node):
            continue
        field = seen.field(node)
        if parent.type == "expression_statement" or field in {
            "function",
            "left",
            "object",
            "name",
            "operand",
            "pattern",
        }:
            continue
        if parent.type in {
            "variable_declarator",
            "let_declaration",
            "short_var_declaration",
            "macro_invocation",
            "assignment_pattern",
            "expression_list",
            "update_expression",
            "await_expression",
            "type_annotation",
        }:
            continue
        if any(
            t in {"decorator", "type_annotation", "type_arguments", "token_tree", "literal_type"} for t in between
        ):
            continue
        lines = seen.whole_lines(statement)
        if lines is None or not seen.once(text(node)):
            continue
        source = [
            w
            for w in re.findall(r"[A-Za-z]{3,}", text(node))
            if w not in {"this", "self", "new", "typeof", "true", "false"}
        ]
        base = words.join_words(words.split_words(source[-1]), seen.grammar.names) if source else "value"
        name = (
            base
            if random.random() < 0.3 and base not in seen.words and words.split_words(base)
            else words.new_name(
                words.word(random) if random.random() < 0.4 else base, random, seen.words, seen.grammar.names
            )
        )
        keyword = {"rust": "let ", "java": "var ", "go": ""}.get(seen.language, "const ")
        equals = ":=" if seen.language == "go" else "="
        code = f"{seen.indent(statement)}{keyword}{name} {equals} {text(node)}{seen.semicolon}\n"
        a, b = mention(phrasing, text(node)), phrasing.code(name)
        what = {"": "variable"}.get(keyword, keyword.strip() if keyword == "const " else "variable")
        instruction = phrasing.pick(
            f"extract {a} into a {what} {b}",
            f"extract {a} to a {what} called {b}",
            f"pull {a} out into a {what} {b}",
            f"assign {a} to a {what} {b} first",
            f"introduce a {what} {b} for {a}",
            f"put {a} into a {what} named {b}",
            f"store {a} in a {what} {b} and use that",
            f"give {a} a name: {b}",
            f"move {a} out to a {what} {b}",
        )
        return edit("extract-variable", instruction, Replacement(lines[0], lines[0], code), replace(node, name))
    return None


def _within(node: Node, other: Node | None) -> bool:
    return other is not None and other.start_byte <= node.start_byte and node.end_byte <= other.end_byte


def inline_variable(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A variable used once, in the next statement, gives way to its value."""
    seen = view(unit)
    if seen is None or seen.language == "c":
        return None
    random = phrasing.random
    declared = [n for n in seen.nodes if n.type == "identifier" and binding(seen, n) == "local"]
    for name in random.sample(declared, min(len(declared), 8)):
        holder = seen.parent(name)
        if holder is None:
            continue
        if seen.language == "go" and holder.type == "expression_list":
            if holder.named_child_count != 1:
                continue
            holder = seen.parent(holder)
        if holder is None:
            continue
        value = holder.child_by_field_name("value") or holder.child_by_field_name("right")
        if value is not None and value.type == "expression_list" and value.named_child_count == 1:
            value = value.named_children[0]
        statement = next(
            (p for p in [name, *seen.ancestors(name)] if (q := seen.parent(p)) and q.type in seen.grammar.bodies),
            None,
        )
        if value is None or statement is None or not seen.single(value) or len(text(value)) > 70:
            continue
        if statement.named_child_count > (2 if seen.language in {"java", "go", "rust"} else 1) or "mut " in text(
            statement
        ):
            continue
        uses = references(seen, seen.scope(name), text(name))
        if uses is None or len(uses) != 2:
            continue
        use = next(u for u in uses if u != name)
        block = seen.parent(statement)
        assert block is not None
        statements = seen.statements(block)
        at = statements.index(statement)
        if at + 1 >= len(statements) or not _within(use, statements[at + 1]) or use.type != "identifier":
            continue
        lines = seen.whole_lines(statement)
        parent = seen.parent(use)
        if (
            lines is None
            or parent is None
            or any(
                a.type in seen.grammar.lambdas | seen.grammar.functions | set(seen.grammar.loops)
                for a in seen.ancestors(use)
                if _within(a, statements[at + 1])
            )
        ):
            continue
        if parent.type in {"assignment_expression", "update_expression"} and seen.field(use) in {"left", "argument"}:
            continue
        if parent.type == "token_tree":
            continue
        new = text(value)
        tight = parent.type in {
            "arguments",
            "argument_list",
            "parenthesized_expression",
            "return_statement",
            "variable_declarator",
            "pair",
            "expression_list",
            "let_declaration",
            "template_substitution",
            "array",
            "assignment_expression",
        }
        if value.type not in _ATOMS | seen.grammar.strings | seen.grammar.integers and not tight:
            new = f"({new})"
        if seen.file.data[lines[1] : lines[1] + 1] == b"\n":
            continue
        a = phrasing.code(text(name))
        instruction = phrasing.pick(
            f"inline {a}",
            f"inline the variable {a}",
            f"get rid of the variable {a} by inlining it",
            f"use the value of {a} directly, without the variable",
            f"replace {a} by its value and drop it",
            f"remove the temporary {a}, use its value directly",
            f"fold {a} into where it is used",
        )
        return edit("inline-variable", instruction, Replacement(*lines, ""), replace(use, new))
    return None


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
