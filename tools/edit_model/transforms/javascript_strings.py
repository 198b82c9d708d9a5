"""Strings, defaults and comparisons of JavaScript in its newer notation."""

from __future__ import annotations

import re

from tools.edit_model.edit import Edit, Replacement
from tools.edit_model.phrasing import Phrasing
from tools.edit_model.source import Unit
from tools.edit_model.transforms.braces_view import (
    Node,
    edit,
    javascript,
    mention,
    replace,
    text,
)


def _terms(node: Node) -> list[Node] | None:
    operator = node.child_by_field_name("operator")
    if node.type == "binary_expression" and operator is not None and text(operator) == "+":
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None:
            return None
        one = _terms(left)
        return None if one is None else [*one, right]
    return [node]


def to_template(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A concatenation becomes a template literal."""
    seen = javascript(unit)
    if seen is None:
        return None
    nodes = []
    for node in seen.of({"binary_expression"}):
        parent = seen.parent(node)
        terms = _terms(node)
        if (
            parent is None
            or terms is None
            or len(terms) < 2
            or parent.type == "parenthesized_expression"
            or (parent.type == "binary_expression" and "+" in text(parent))
        ):
            continue
        if not any(n.type == "string" for n in terms[:2]) or "\n" in text(node):
            continue
        if any("`" in text(n) or "\\" in text(n) or "${" in text(n) for n in terms):
            continue
        if any(n.type in {"binary_expression", "ternary_expression", "number"} for n in terms):
            continue
        nodes.append((node, terms))
    if not nodes:
        return None
    node, terms = phrasing.random.choice(nodes)
    parts = []
    for term in terms:
        inner = text(term)[1:-1] if term.type in {"string", "parenthesized_expression"} else text(term)
        parts.append(inner if term.type == "string" else f"${{{inner}}}")
    which = ""
    if len(nodes) > 1 or phrasing.random.random() < 0.3:
        if not seen.once(text(node)) or len(text(node)) > 90:
            return None
        which = f" for {mention(phrasing, text(node))}"
    of = which.replace(" for ", " ", 1)
    instruction = phrasing.pick(
        f"use a template literal{which}",
        f"convert the concatenation{of} to a template literal",
        f"turn the string concatenation{of} into a template literal",
        f"use a template string instead of +{which}",
        f"replace the concatenation{of} by a template literal",
        f"write a template literal instead of concatenating{which}",
        f"interpolate instead of concatenating{which}",
    )
    return edit("template-literal", instruction, replace(node, "`" + "".join(parts) + "`"))


def from_template(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A template literal becomes a concatenation."""
    seen = javascript(unit)
    if seen is None:
        return None
    nodes = []
    for node in seen.of({"template_string"}):
        inner = list(node.named_children)
        parent = seen.parent(node)
        if not seen.single(node) or "\\" in text(node) or not any(n.type == "template_substitution" for n in inner):
            continue
        if any(seen.quote in text(n) for n in inner if n.type == "string_fragment"):
            continue
        simple = {"identifier", "member_expression", "call_expression", "subscript_expression"}
        if any(n.named_children[0].type not in simple for n in inner if n.type == "template_substitution"):
            continue
        if parent is None or parent.type not in {
            "arguments",
            "return_statement",
            "variable_declarator",
            "pair",
            "assignment_expression",
        }:
            continue
        nodes.append((node, inner))
    if not nodes:
        return None
    node, inner = phrasing.random.choice(nodes)
    quote = seen.quote
    parts = [f"{quote}{text(n)}{quote}" if n.type == "string_fragment" else text(n)[2:-1] for n in inner]
    if inner[0].type != "string_fragment" and (len(inner) < 2 or inner[1].type != "string_fragment"):
        parts.insert(0, quote * 2)
    which = ""
    if len(nodes) > 1:
        if not seen.once(text(node)) or len(text(node)) > 90:
            return None
        which = f" {text(node)}"
    instruction = phrasing.pick(
        f"use string concatenation instead of the template literal{which}",
        f"convert the template literal{which} to a concatenation",
        f"turn the template literal{which} into a concatenation with +",
        f"concatenate with + instead of the template literal{which}",
        f"write the template literal{which} with +",
        f"replace the template string{which} by a + concatenation",
    )
    return edit("string-concatenation", instruction, replace(node, " + ".join(parts)))


def optional_chaining(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """``a && a.b`` becomes ``a?.b``."""
    seen = javascript(unit)
    if seen is None:
        return None
    for node in seen.of({"binary_expression"}):
        left, operator, right = (node.child_by_field_name(f) for f in ("left", "operator", "right"))
        if left is None or operator is None or right is None or text(operator) != "&&":
            continue
        test = left.child_by_field_name("right") if left.type == "binary_expression" and "&&" in text(left) else left
        if (
            test is None
            or not re.fullmatch(r"[\w.$]+", text(test))
            or not text(right).startswith((text(test) + ".", text(test) + "["))
        ):
            continue
        if right.type not in {"member_expression", "call_expression", "subscript_expression"} or not seen.single(
            node
        ):
            continue
        tail = text(right)[len(text(test)) :]
        new = text(test) + ("?" if tail.startswith(".") else "?.") + tail
        shown = f"{text(test)} && {text(right)}"
        if len(shown) > 80 or not seen.once(shown):
            continue
        target = mention(phrasing, shown)
        if unit.text.count("&&") == 1 and phrasing.random.random() < 0.5:
            target = "the &&"
        instruction = phrasing.pick(
            f"use optional chaining for {target}",
            f"use optional chaining instead of {target}",
            f"replace {target} with ?.",
            f"simplify {target} with optional chaining",
            f"rewrite {target} using ?.",
            f"turn {target} into an optional chain",
        )
        return edit("optional-chaining", instruction, Replacement(test.start_byte, right.end_byte, new))
    return None


def nullish(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """``a || b`` becomes ``a ?? b``."""
    seen = javascript(unit)
    if seen is None:
        return None
    nodes = []
    for node in seen.of({"binary_expression"}):
        operator, parent = node.child_by_field_name("operator"), seen.parent(node)
        if operator is None or parent is None or text(operator) not in {"||", "??"} or not seen.single(node):
            continue
        if any(s in text(node).replace(text(operator), "", 1) for s in ("||", "&&", "??")) or len(text(node)) > 70:
            continue
        left = node.child_by_field_name("left")
        if left is None or left.type not in {
            "identifier",
            "member_expression",
            "call_expression",
            "subscript_expression",
        }:
            continue
        if parent.type in {"variable_declarator", "assignment_expression", "return_statement", "pair", "arguments"}:
            nodes.append((node, operator))
    if not nodes:
        return None
    node, operator = phrasing.random.choice(nodes)
    old = text(operator)
    if not seen.once(text(node)):
        return None
    target = mention(phrasing, text(node))
    if old == "??":
        instruction = phrasing.pick(
            f"use || instead of ?? in {target}",
            f"replace ?? with || in {target}",
            f"don't use nullish coalescing in {target}, use ||",
            f"fall back with || in {target}",
            f"use a plain or in {target}",
        )
        return edit("logical-or", instruction, replace(operator, "||"))
    instruction = phrasing.pick(
        f"use nullish coalescing in {target}",
        f"use ?? instead of || in {target}",
        f"replace || with ?? in {target}",
        f"switch {target} to nullish coalescing",
        f"make {target} fall back only for null and undefined with ??",
        f"turn the || of {target} into ??",
    )
    return edit("nullish-coalescing", instruction, replace(operator, "??"))


def strict_equality(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """``==`` becomes ``===``, everywhere or in one place."""
    seen = javascript(unit)
    if seen is None:
        return None
    operators = [
        o
        for n in seen.of({"binary_expression"})
        if (o := n.child_by_field_name("operator"))
        and text(o) in {"==", "!="}
        and not re.search(r"\bnull$|^null\b|undefined$", text(n))
    ]
    if not operators:
        return None
    signs = {text(o) for o in operators}
    if len(operators) == 1 or phrasing.random.random() < 0.6:
        instruction = phrasing.pick(
            "use strict equality",
            "use === and !== instead of == and !="
            if len(signs) == 2
            else f"use {next(iter(signs))}= instead of {next(iter(signs))}",
            "make the comparisons strict",
            "use strict comparison operators",
            "replace loose equality with strict equality",
            "compare strictly",
            "no loose comparisons, use strict ones",
        )
        return edit("strict-equality", instruction, *(replace(o, text(o) + "=") for o in operators))
    operator = phrasing.random.choice(operators)
    node = seen.parent(operator)
    if node is None or not seen.once(text(node)) or not seen.single(node) or len(text(node)) > 80:
        return None
    target = mention(phrasing, text(node))
    instruction = phrasing.pick(
        f"use strict equality in {target}",
        f"make {target} strict",
        f"use {text(operator)}= in {target}",
        f"compare strictly in {target}",
        f"make the comparison {target} a strict one",
    )
    return edit("strict-equality", instruction, replace(operator, text(operator) + "="))
