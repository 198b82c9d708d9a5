"""Variables of curly-brace code extracted and inlined."""

from __future__ import annotations

import re

from tools.edit_model.edit import Edit, Replacement
from tools.edit_model.phrasing import Phrasing
from tools.edit_model.source import Unit
from tools.edit_model.transforms import words
from tools.edit_model.transforms.braces_ifs import (
    ATOMS,
    condition_of,
)
from tools.edit_model.transforms.braces_view import (
    Node,
    binding,
    edit,
    mention,
    references,
    replace,
    text,
    view,
)


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
        if value.type not in ATOMS | seen.grammar.strings | seen.grammar.integers and not tight:
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
