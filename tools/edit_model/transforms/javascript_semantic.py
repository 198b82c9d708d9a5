"""Newer or other forms of the same JavaScript and TypeScript code."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from tools.edit_model.edit import Edit, Replacement
from tools.edit_model.phrasing import Phrasing
from tools.edit_model.source import Unit
from tools.edit_model.transforms import words
from tools.edit_model.transforms.braces_view import (
    Node,
    View,
    child,
    describe,
    edit,
    javascript,
    mention,
    references,
    removal,
    replace,
    text,
)


def _uses(seen: View, node: Node, names: set[str]) -> bool:
    """Whether the words appear in the node's own code (in nested functions too)."""
    return any(text(n) in names for n in seen.nodes if not n.child_count and _in(n, node))


def _in(node: Node, other: Node) -> bool:
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
        if parameters is None or body is None or _uses(seen, node, {"this", "arguments", "super", "new.target"}):
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
            or _uses(seen, node, {"this", "arguments"})
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


def for_of(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A loop over indices becomes one over the items."""
    seen = javascript(unit)
    if seen is None:
        return None
    random = phrasing.random
    for node in seen.of({"for_statement"}):
        body = node.child_by_field_name("body")
        head = re.match(
            r"for \((?:let|var) (\w+) = 0(?:, (\w+) = ([\w.$]+)\.length)?; "
            r"\1 < (?:([\w.$]+)\.length|(\w+)); (?:\1\+\+|\+\+\1|\1 \+= 1)\) ",
            text(node),
        )
        if body is None or head is None:
            continue
        index, size, first, second, bound = head.groups()
        array = first or second
        if array is None or (size and bound != size) or (first and second):
            continue
        uses = [n for n in seen.of({"identifier"}) if text(n) == index and _in(n, body)]
        items = [
            p
            for n in uses
            if (p := seen.parent(n)) is not None
            and p.type == "subscript_expression"
            and seen.field(n) == "index"
            and text(p) == f"{array}[{index}]"
        ]
        if not items or len(items) != len(uses) or (size and _uses(seen, body, {size})):
            continue
        if any(
            (q := seen.parent(p))
            and q.type in {"assignment_expression", "update_expression", "augmented_assignment_expression"}
            and seen.field(p) in {"left", "argument"}
            for p in items
        ):
            continue
        if len([1 for n in seen.of({"identifier"}) if text(n) == index and not _in(n, node)]):
            continue
        told = describe(seen, node, phrasing)
        if told is None or not told.startswith("the "):
            continue
        statements = seen.statements(body)
        first_statement = statements[0] if statements else None
        match = (
            re.fullmatch(
                r"(?:const|let|var) ([\w$]+) = " + re.escape(f"{array}[{index}]") + ";?", text(first_statement)
            )
            if (first_statement is not None)
            else None
        )
        begin = Replacement(node.start_byte, body.start_byte, "")
        if match is not None and len(items) == 1 and first_statement is not None:
            lines = seen.whole_lines(first_statement)
            if lines is None:
                continue
            name = match.group(1)
            keyword = "let" if not _once_assigned(seen, body, name) else "const"
            rest = [removal(seen, *lines)]
            said = ""
        else:
            last = words.split_words(array)[-1]
            name = words.new_name("item", random, seen.words, "camel")
            if (
                re.search(r"[^sei]s$|[^sixc]es$", last)
                and len(last) > 3
                and last[:-1] not in seen.words
                and random.random() < 0.6
            ):
                name = last[:-1]
            elif "item" not in seen.words and random.random() < 0.4:
                name = "item"
            keyword = "const"
            rest = [replace(p, name) for p in items]
            said = random.choice([" with {}", " and name the item {}", ", calling the item {}"]).format(
                phrasing.code(name)
            )
        new = f"for ({keyword} {name} of {array}) "
        instruction = phrasing.pick(
            f"use for...of instead of the index in {told}{said}",
            f"turn {told} into a for...of{said}",
            f"convert {told} to for-of{said}",
            f"make {told} a for-of loop{said}",
            f"iterate directly over {phrasing.code(array)} in {told}{said}",
            f"rewrite {told} with for...of{said}",
            f"loop over the items of {phrasing.code(array)} instead of indices{said}",
            f"change {told} to iterate with of{said}",
        )
        return edit("for-of", instruction, Replacement(begin.start, begin.end, new), *rest)
    return None


def _once_assigned(seen: View, body: Node, name: str) -> bool:
    for node in seen.of({"assignment_expression", "augmented_assignment_expression", "update_expression"}):
        target = node.child_by_field_name("left") or node.child_by_field_name("argument")
        if _in(node, body) and target is not None and text(target) == name:
            return False
    return True


def for_each_to_for_of(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A ``forEach`` with a callback becomes a ``for...of``."""
    seen = javascript(unit)
    if seen is None:
        return None
    for call in seen.of({"call_expression"}):
        called, arguments = call.child_by_field_name("function"), call.child_by_field_name("arguments")
        statement = seen.parent(call)
        if called is None or arguments is None or statement is None or statement.type != "expression_statement":
            continue
        if text(child(called, "property") or called) != "forEach" or arguments.named_child_count != 1:
            continue
        callback, target = arguments.named_children[0], child(called, "object")
        body = callback.child_by_field_name("body")
        if callback.type not in {"arrow_function", "function_expression"} or target is None or body is None:
            continue
        if body.type != "statement_block" or text(callback).startswith("async") or not seen.single(target):
            continue
        if any(seen.scope(n) == callback for n in seen.of({"return_statement"})) or "?." in text(called):
            continue
        if callback.type == "function_expression" and _uses(seen, callback, {"this", "arguments"}):
            continue
        one = child(callback, "parameter")
        if one is None:
            parameters = child(callback, "parameters")
            if parameters is None or parameters.named_child_count != 1:
                continue
            one = parameters.named_children[0]
        name = text(one.child_by_field_name("pattern") or one)
        if "=" in name or "..." in name:
            continue
        shown = text(called)
        told = "the forEach" if unit.text.count(".forEach(") == 1 else mention(phrasing, shown)
        if told != "the forEach" and not seen.once(shown + "("):
            continue
        instruction = phrasing.pick(
            f"use for...of instead of {told}",
            f"convert {told} to a for...of loop",
            f"turn {told} into a for-of loop",
            f"replace {told} with a for...of loop",
            f"rewrite {told} as a for-of loop",
            f"make {told} a plain for...of",
        )
        new = f"for (const {name} of {text(target)}) "
        return edit(
            "for-each-to-for-of",
            instruction,
            Replacement(statement.start_byte, body.start_byte, new),
            Replacement(body.end_byte, statement.end_byte, ""),
        )
    return None


def for_of_to_for_each(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A ``for...of`` becomes a ``forEach``."""
    seen = javascript(unit)
    if seen is None:
        return None
    for node in seen.of({"for_in_statement"}):
        left, right, body, kind, operator = (
            node.child_by_field_name(f) for f in ("left", "right", "body", "kind", "operator")
        )
        if (
            left is None
            or right is None
            or body is None
            or kind is None
            or operator is None
            or text(operator) != "of"
        ):
            continue
        if body.type != "statement_block" or not re.fullmatch(r"[\w.$]+", text(right)) or "await" in text(node):
            continue
        if re.search(r"\b(break|continue|return|yield|arguments)\b", text(body)):
            continue
        told = describe(seen, node, phrasing)
        if told is None or not told.startswith("the "):
            continue
        instruction = phrasing.pick(
            f"use forEach instead of {told}",
            f"convert {told} to a forEach",
            f"turn {told} into a forEach with an arrow function",
            f"replace {told} with forEach",
            f"rewrite {told} as a forEach call",
            f"make {told} a forEach",
        )
        return edit(
            "for-of-to-for-each",
            instruction,
            Replacement(node.start_byte, body.start_byte, f"{text(right)}.forEach(({text(left)}) => "),
            Replacement(body.end_byte, body.end_byte, f"){seen.semicolon}"),
        )
    return None


def destructuring(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """``const a = o.a`` (or several in a row) becomes ``const { a } = o``."""
    seen = javascript(unit)
    if seen is None:
        return None
    pattern = r"(const|let|var) (\w+) = ([\w.$]+)\.(\w+);?"
    runs: list[list[Node]] = []
    before: tuple[str, str, int] | None = None
    for node in seen.of({"lexical_declaration", "variable_declaration"}):
        match = re.fullmatch(pattern, text(node))
        parent = seen.parent(node)
        if (
            match is None
            or match.group(2) != match.group(4)
            or match.group(3) == "arguments"
            or parent is None
            or parent.type not in seen.grammar.bodies
        ):
            before = None
            continue
        key = (match.group(1), match.group(3), node.start_point.row)
        if (
            before is not None
            and key[:2] == before[:2]
            and key[2] == before[2] + 1
            and seen.parent(runs[-1][0]) == parent
        ):
            runs[-1].append(node)
        else:
            runs.append([node])
        before = key
    for run in phrasing.random.sample(runs, len(runs)):
        matches = [re.fullmatch(pattern, text(n)) for n in run]
        lines = [seen.whole_lines(n) for n in run]
        if any(line is None for line in lines) or matches[0] is None:
            continue
        names = [m.group(2) for m in matches if m is not None]
        source = matches[0].group(3)
        new = f"{seen.indent(run[0])}{matches[0].group(1)} {{ {', '.join(names)} }} = {source}{seen.semicolon}\n"
        listed = (
            " and ".join(phrasing.code(n) for n in names)
            if len(names) < 4
            else phrasing.code(names[0]) + " and those below"
        )
        o = phrasing.code(source)
        choices = [
            f"use destructuring for {listed}",
            f"destructure {listed} from {o}",
            f"get {listed} out of {o} by destructuring",
            f"use object destructuring to get {listed}",
            f"declare {listed} by destructuring {o}",
            f"take {listed} from {o} with a destructuring pattern",
        ]
        if len(runs) == 1:
            choices = ["use destructuring", "use object destructuring", f"destructure {o}", *choices]
        begin, end = lines[0], lines[-1]
        assert begin is not None and end is not None
        return edit("destructuring", phrasing.pick(*choices), Replacement(begin[0], end[1], new))
    return None


def shorthand(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """``{a: a}`` becomes ``{a}``."""
    seen = javascript(unit)
    if seen is None:
        return None
    pairs = []
    for node in seen.of({"pair"}):
        key, value = node.child_by_field_name("key"), node.child_by_field_name("value")
        if key is None or value is None or (key.type, value.type) != ("property_identifier", "identifier"):
            continue
        if text(key) == text(value):
            pairs.append(node)
    if not pairs:
        return None
    if len(pairs) == 1 or phrasing.random.random() < 0.5:
        instruction = phrasing.pick(
            "use property shorthand",
            "use object shorthand",
            "use shorthand properties",
            "shorten the object literal with shorthand properties",
            "use the shorthand syntax for object properties",
            "apply object-shorthand",
            "write the properties in shorthand",
        )
        return edit("object-shorthand", instruction, *(replace(n, text(n).split(":")[0]) for n in pairs))
    node = phrasing.random.choice(pairs)
    if not seen.once(text(node)):
        return None
    name = phrasing.code(text(node).split(":")[0])
    instruction = phrasing.pick(
        f"use shorthand for {name}",
        f"use the property shorthand for {name}",
        f"shorten {mention(phrasing, text(node))}",
        f"write {name} as a shorthand property",
        f"use object shorthand for the property {name}",
    )
    return edit("object-shorthand", instruction, replace(node, text(node).split(":")[0]))


def longhand(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """``{a}`` becomes ``{a: a}``."""
    seen = javascript(unit)
    if seen is None:
        return None
    found = seen.of({"shorthand_property_identifier"})
    if not found:
        return None
    node = phrasing.random.choice(found)
    if len([n for n in found if text(n) == text(node)]) != 1:
        return None
    name = phrasing.code(text(node))
    instruction = phrasing.pick(
        f"write out the shorthand property {name}",
        f"don't use shorthand for {name}",
        f"expand the property {name} to key and value",
        f"replace the shorthand {name} by a full property",
        f"spell out the property {name}",
    )
    return edit("object-longhand", instruction, replace(node, f"{text(node)}: {text(node)}"))


def spread(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """``Object.assign({}, a, b)`` becomes ``{ ...a, ...b }``."""
    seen = javascript(unit)
    if seen is None:
        return None
    for call in seen.of({"call_expression"}):
        called, arguments = call.child_by_field_name("function"), call.child_by_field_name("arguments")
        if called is None or arguments is None or not seen.single(call):
            continue
        values = list(arguments.named_children)
        name = text(called)
        if name in {"Object.assign", "_.assign", "_.extend"} and len(values) > 1 and text(values[0]) == "{}":
            if any(v.type == "object" or v.type == "spread_element" for v in values[1:]):
                continue
            new = "{ " + ", ".join(f"...{text(v)}" for v in values[1:]) + " }"
            parent = seen.parent(call)
            if parent is not None and parent.type in {"expression_statement", "arrow_function"}:
                continue
            what = phrasing.code(name)
        elif (
            name.endswith(".apply")
            and len(values) == 2
            and text(values[0]) in {"null", "undefined", name.rsplit(".", 2)[0]}
        ):
            if name.count(".") == 1 and text(values[0]) not in {"null", "undefined"}:
                continue
            if name.count(".") == 2 and text(values[0]) in {"null", "undefined"}:
                continue
            new = f"{name[: -len('.apply')]}(...{text(values[1])})"
            what = phrasing.code(name)
        else:
            continue
        if unit.text.count(name + "(") != 1:
            continue
        instruction = phrasing.pick(
            f"use spread instead of {what}",
            f"use the spread syntax instead of {what}",
            f"replace {what} with spread",
            f"turn the {what} call into a spread",
            f"rewrite {what} using ...",
            f"get rid of {what}, spread instead",
        )
        return edit("spread", instruction, replace(call, new))
    return None


def includes(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """``a.indexOf(b) !== -1`` becomes ``a.includes(b)``."""
    seen = javascript(unit)
    if seen is None:
        return None
    for node in seen.of({"binary_expression"}):
        match = re.fullmatch(
            r"([\w.$()\[\]]+)\.indexOf\(([^()]*|[^()]*\([^()]*\)[^()]*)\) (!==? -1|>= 0|> -1|===? -1|< 0)", text(node)
        )
        if match is None or unit.text.count(".indexOf(") != 1:
            continue
        new = f"{match.group(1)}.includes({match.group(2)})"
        if match.group(3)[0] in "=<":
            new = "!" + new
        instruction = phrasing.pick(
            "use includes instead of indexOf",
            "replace indexOf with includes",
            "use includes",
            "simplify the indexOf check with includes",
            f"use includes in {mention(phrasing, text(node))}",
            "turn the indexOf comparison into an includes call",
        )
        return edit("includes", instruction, replace(node, new))
    return None


def drop_await(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A call is awaited."""
    seen = javascript(unit)
    if seen is None:
        return None
    calls = []
    for call in seen.of({"call_expression"}):
        parent, called = seen.parent(call), call.child_by_field_name("function")
        function = seen.inside(call, seen.grammar.functions | seen.grammar.lambdas)
        if parent is None or called is None or function is None or "async" not in text(function).split("{")[0]:
            continue
        if parent.type not in {"expression_statement", "variable_declarator", "return_statement"}:
            continue
        if seen.single(called) and seen.once(text(called) + "("):
            calls.append((call, text(called)))
    if not calls:
        return None
    call, name = phrasing.random.choice(calls)
    c = phrasing.code(name)
    instruction = phrasing.pick(
        f"await {c}",
        f"await the call of {c}",
        f"add await before {c}",
        f"wait for {c} with await",
        f"put an await in front of {c}",
        f"use await for the call to {c}",
    )
    return edit("add-await", instruction, Replacement(call.start_byte, call.start_byte, "await "))


TRANSFORMS: Final[dict[str, Callable[[Unit, Phrasing], Edit | None]]] = {
    "function-to-arrow": function_to_arrow,
    "arrow-to-function": arrow_to_function,
    "implicit-return": block_to_expression,
    "explicit-return": expression_to_block,
    "template-literal": to_template,
    "string-concatenation": from_template,
    "optional-chaining": optional_chaining,
    "nullish-coalescing": nullish,
    "strict-equality": strict_equality,
    "for-of": for_of,
    "for-each-to-for-of": for_each_to_for_of,
    "for-of-to-for-each": for_of_to_for_each,
    "destructuring": destructuring,
    "object-shorthand": shorthand,
    "object-longhand": longhand,
    "spread": spread,
    "includes": includes,
    "add-await": drop_await,
}
