"""Loops of JavaScript written in another way."""

from __future__ import annotations

import re

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
    removal,
    replace,
    text,
)
from tools.edit_model.transforms.javascript_functions import (
    holds,
    inside,
)


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
        uses = [n for n in seen.of({"identifier"}) if text(n) == index and inside(n, body)]
        items = [
            p
            for n in uses
            if (p := seen.parent(n)) is not None
            and p.type == "subscript_expression"
            and seen.field(n) == "index"
            and text(p) == f"{array}[{index}]"
        ]
        if not items or len(items) != len(uses) or (size and holds(seen, body, {size})):
            continue
        if any(
            (q := seen.parent(p))
            and q.type in {"assignment_expression", "update_expression", "augmented_assignment_expression"}
            and seen.field(p) in {"left", "argument"}
            for p in items
        ):
            continue
        if len([1 for n in seen.of({"identifier"}) if text(n) == index and not inside(n, node)]):
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
        if inside(node, body) and target is not None and text(target) == name:
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
        if callback.type == "function_expression" and holds(seen, callback, {"this", "arguments"}):
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
