"""Literals and operators of curly-brace languages."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from tools.edit_model.edit import Edit, Replacement
from tools.edit_model.phrasing import Phrasing
from tools.edit_model.source import Unit
from tools.edit_model.transforms import words
from tools.edit_model.transforms.braces_view import Node, View, edit, mention, replace, text, view
from tools.edit_model.transforms.grammar import JAVASCRIPT

_NUMBER: Final = re.compile(r"\d+(\.\d+)?")
_FLIPPED: Final = {
    "<": ("<=", ">", ">="),
    "<=": ("<", ">=", ">"),
    ">": (">=", "<", "<="),
    ">=": (">", "<=", "<"),
    "==": ("!=",),
    "!=": ("==",),
    "===": ("!==",),
    "!==": ("===",),
    "&&": ("||",),
    "||": ("&&",),
    "+": ("-", "*"),
    "-": ("+", "*"),
    "*": ("+", "/"),
    "/": ("*",),
    "<<": (">>",),
    ">>": ("<<",),
    "&": ("|",),
    "|": ("&",),
    "%": ("/",),
}
_CALLED: Final = {
    "<": "less than",
    "<=": "less than or equal",
    ">": "greater than",
    ">=": "greater than or equal",
    "&&": "and",
    "||": "or",
    "+": "plus",
    "-": "minus",
    "*": "times",
    "/": "division",
}


def _place(seen: View, node: Node, phrasing: Phrasing) -> str | None:
    """Where the literal is, if its text alone doesn't tell; None if that can't be told shortly."""
    same = [n for n in seen.nodes if n.type == node.type and text(n) == text(node)]
    if len(same) == 1:
        return seen.within(node, phrasing) or "" if phrasing.random.random() < 0.2 else ""
    function = seen.function(node)
    if function is not None and len([n for n in same if seen.function(n) == function]) == 1:
        where = seen.within(node, phrasing)
        if where:
            return where
    for parent in seen.ancestors(node):
        if not seen.single(parent) or len(text(parent)) > 70:
            return None
        inside = [n for n in same if parent.start_byte <= n.start_byte < parent.end_byte]
        if len(inside) == 1 and len(text(parent)) > len(text(node)) + 2 and seen.once(text(parent)):
            return f" in {mention(phrasing, text(parent).rstrip(';'))}"
    return None


def change_constant(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A number becomes another one."""
    seen = view(unit)
    if seen is None:
        return None
    random = phrasing.random
    numbers = [n for n in seen.of(seen.grammar.integers | {"float_literal"}) if _NUMBER.fullmatch(text(n))]
    for node in random.sample(numbers, min(len(numbers), 5)):
        old = text(node)
        value = float(old) if "." in old else int(old)
        made = words.number(random, value)
        new = str(made)
        if not _NUMBER.fullmatch(new) or new == old:
            continue
        where = _place(seen, node, phrasing)
        if where is None:
            continue
        a, b = phrasing.code(old), phrasing.code(new)
        wordings = [
            f"change {a} to {b}{where}",
            f"replace {a} with {b}{where}",
            f"make the {a} a {b}{where}",
            f"use {b} instead of {a}{where}",
            f"set it to {b} instead of {a}{where}",
            f"the {a} should be {b}{where}",
            f"turn {a} into {b}{where}",
            f"{'bump' if made > value else 'lower'} {a} to {b}{where}",
            f"put {b} where {a} is now{where}",
            f"swap the number {a} for {b}{where}",
            f"update the constant {a} to {b}{where}",
        ]
        parent = seen.parent(node)
        if parent is not None and parent.type in {"variable_declarator", "assignment_expression", "let_declaration"}:
            target = parent.child_by_field_name("name") or parent.child_by_field_name("left")
            if (
                target is not None
                and seen.single(target)
                and len(re.findall(rf"{re.escape(text(target))}\s*=", unit.text)) == 1
            ):
                name = phrasing.code(text(target))
                wordings = [f"set {name} to {b}", f"change {name} to {b}", f"{name} should be {b}", *wordings]
                wordings[2] = f"make {name} {b}"
        return edit("change-constant", phrasing.pick(*wordings), replace(node, new))
    return None


def change_boolean(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A literal truth value becomes the other one."""
    seen = view(unit)
    if seen is None:
        return None
    found = seen.of(seen.grammar.booleans)
    for node in phrasing.random.sample(found, min(len(found), 5)):
        old = text(node)
        new = "false" if old == "true" else "true"
        parent = seen.parent(node)
        if (
            parent is None
            or not seen.single(parent)
            or len(text(parent)) > 70
            or text(parent) == old
            or not seen.once(text(parent))
        ):
            continue
        shown = mention(phrasing, text(parent).rstrip(";"))
        wordings = [
            f"in {shown}, change {old} to {new}",
            f"flip the {old} in {shown}",
            f"change {shown} to {new}",
            f"make it {new} in {shown}",
            f"replace {old} with {new} in {shown}",
            f"use {new} instead of {old} in {shown}",
            f"set {new} in {shown}",
            f"invert the flag in {shown}",
        ]
        wordings[2] = f"turn {old} into {new} in {shown}"
        key = (
            parent.child_by_field_name("key")
            or parent.child_by_field_name("name")
            or parent.child_by_field_name("left")
        )
        if key is not None and key != node:
            name = phrasing.code(text(key))
            wordings = (
                [f"set {name} to {new}", f"make {name} {new}", *wordings]
                if seen.unit.text.count(text(key)) == 1
                else wordings
            )
        return edit("change-boolean", phrasing.pick(*wordings), replace(node, new))
    return None


def change_string(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A string becomes another one, or a part of it does."""
    seen = view(unit)
    if seen is None:
        return None
    random = phrasing.random
    contents = [n for n in seen.of(seen.grammar.contents) if _changeable(seen, n)]
    for node in random.sample(contents, min(len(contents), 5)):
        old = text(node)
        if unit.text.count(old) != 1:
            continue
        kind = "string"
        if " " in old.strip():
            parts = re.findall(r"[A-Za-z]{3,}", old)
            once = [part for part in parts if old.count(part) == 1]
            if once and random.random() < 0.45:
                part = random.choice(once)
                made = words.word(random)
                made = made.capitalize() if part[0].isupper() else made
                if made == part:
                    continue
                new = old.replace(part, made)
                a, b, whole = phrasing.code(part), phrasing.code(made), mention(phrasing, old)
                instruction = phrasing.pick(
                    f"change {a} to {b} in {whole}",
                    f"in the string {whole}, replace {a} with {b}",
                    f"say {b} instead of {a} in {whole}",
                    f"replace the word {a} with {b} in {whole}",
                    f"use the word {b} rather than {a} in the text {whole}",
                )
                return edit("change-string", instruction, replace(node, new))
            new = words.message(random)
            new = new[0].upper() + new[1:] if old[0].isupper() else new
            kind = "message"
        else:
            style = words.style_of(old, "snake")
            new = (
                words.new_name(old, random, {old}, style) if re.fullmatch(r"\w+", old) else words.phrase(random, 1, 2)
            )
            if "-" in old:
                new = new.replace(" ", "-")
        if new == old or not new:
            continue
        if any(char in new for char in "'\"`\\$%{}") or "\\" in old:
            continue
        a, b = mention(phrasing, old), mention(phrasing, new)
        instruction = phrasing.pick(
            f"change the {kind} {a} to {b}",
            f"replace {a} with {b}",
            f"change {a} to {b}",
            f"use {b} instead of {a}",
            f"the {kind} {a} should be {b}",
            f"update the text {a} to say {b}",
            f"swap the {kind} {a} for {b}",
            f"make the {kind} {b} instead of {a}",
            f"put {b} where it says {a}",
            f"it shouldn't say {a} but {b}",
        )
        return edit("change-string", instruction, replace(node, new))
    return None


def _changeable(seen: View, node: Node) -> bool:
    parent = seen.parent(node)
    return (
        parent is not None
        and parent.type in seen.grammar.strings
        and seen.single(node)
        and 2 <= len(text(node)) <= 80
        and parent.named_child_count == 1
        and not any(ancestor.type in {"import_statement", "export_statement"} for ancestor in seen.ancestors(node))
    )


def change_message(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """The message of an exception or of a log call is changed, told by what it is."""
    seen = view(unit)
    if seen is None:
        return None
    random = phrasing.random
    found = []
    for call in seen.of(
        {"new_expression", "object_creation_expression", "call_expression", "method_invocation", "macro_invocation"}
    ):
        shown = text(call)
        match = re.match(
            r"(?:new (\w*(?:Error|Exception))|(console\.\w+|log(?:ger)?\.\w+|printf|panic!|println!|eprintln!|bail!"
            r"|errors\.New|fmt\.Errorf))\(",
            shown,
        )
        if match is None:
            continue
        inner = [
            n for n in seen.nodes if n.type in seen.grammar.strings and call.start_byte < n.start_byte < call.end_byte
        ]
        if (
            len(inner) == 1
            and inner[0].named_child_count == 1
            and "%" not in text(inner[0])
            and "{" not in text(inner[0])
        ):
            found.append((match.group(1) or match.group(2), call, inner[0].named_children[0]))
    if not found:
        return None
    name, call, node = random.choice(found)
    if node.type not in seen.grammar.contents or "\\" in text(node):
        return None
    if len([1 for other, _, _ in found if other == name]) != 1 or unit.text.count(name + "(") != 1:
        return None
    new = words.message(random)
    if text(node)[0].isupper() and random.random() < 0.7:
        new = new[0].upper() + new[1:]
    if any(char in new for char in "'\"`\\$"):
        return None
    what = phrasing.code(name)
    quote = random.choice(["'", '"', '"', "`"])
    said = f"{quote}{new}{quote}"
    instruction = phrasing.pick(
        f"change the message of the {what} to {said}",
        f"change the {what} message to {said}",
        f"make the {what} say {said}",
        f"let {what} say {said}",
        f"use {said} as the message of {what}",
        f"the message of {what} should be {said}",
        f"set the {what} text to {said}",
        f"replace the text of {what} with {said}",
        f"reword the {what} to {said}",
    )
    return edit("change-message", instruction, replace(node, new))


def change_operator(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """An operator becomes another one."""
    seen = view(unit)
    if seen is None:
        return None
    random = phrasing.random
    binaries = [
        n
        for n in seen.of(seen.grammar.binaries)
        if (operator := n.child_by_field_name("operator")) is not None and text(operator) in _FLIPPED
    ]
    for node in random.sample(binaries, min(len(binaries), 6)):
        operator = node.child_by_field_name("operator")
        assert operator is not None
        old = text(operator)
        new = random.choice(_FLIPPED[old])
        if (old in "+-" or new in "+-") and any(n.type in seen.grammar.strings for n in node.children):
            continue
        shown = text(node)
        lone = unit.text.count(f" {old} ") == 1
        if not seen.single(node) or len(shown) > 70 or not seen.once(shown):
            continue
        if len([n for n in node.children if n.type in seen.grammar.binaries]) and shown.count(f" {old} ") != 1:
            continue
        a, b = phrasing.code(old), phrasing.code(new)
        where = f" in {mention(phrasing, shown)}"
        if lone and random.random() < 0.5:
            where = ""
        wordings = [
            f"change {a} to {b}{where}",
            f"use {b} instead of {a}{where}",
            f"replace {a} with {b}{where}",
            f"it should be {b}, not {a}{where}",
            f"make the {a} a {b}{where}",
            f"swap {a} for {b}{where}",
            f"turn the {a} into {b}{where}",
            f"replace the operator {a} by {b}{where}",
        ]
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is not None and right is not None and random.random() < 0.25:
            gap_left = seen.file.source(left.end_byte, operator.start_byte)
            gap_right = seen.file.source(operator.end_byte, right.start_byte)
            goal = text(left) + gap_left + new + gap_right + text(right)
            wordings = [
                f"change {mention(phrasing, shown)} to {mention(phrasing, goal)}",
                f"make it {mention(phrasing, goal)} instead of {mention(phrasing, shown)}",
                f"replace {mention(phrasing, shown)} with {mention(phrasing, goal)}",
            ]
        elif old in _CALLED and new in _CALLED and random.random() < 0.2:
            wordings.append(f"use {_CALLED[new]} instead of {_CALLED[old]}{where}")
            wordings[0] = f"make it {_CALLED[new]} rather than {_CALLED[old]}{where}"
        return edit("change-operator", phrasing.pick(*wordings), replace(operator, new))
    return None


def remove_negation(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A condition loses its ``!``, or gets one."""
    seen = view(unit)
    if seen is None or seen.language == "rust":
        return None
    random = phrasing.random
    ifs = seen.of(seen.grammar.ifs)
    for node in random.sample(ifs, min(len(ifs), 4)):
        condition = node.child_by_field_name("condition")
        if condition is None:
            continue
        if condition.type == "parenthesized_expression":
            condition = condition.named_children[0]
        shown = text(condition)
        if (
            len(shown) > 60
            or not seen.single(condition)
            or (not seen.once(f"if ({shown})") and seen.language != "go")
        ):
            continue
        where = mention(phrasing, f"if ({shown})" if seen.language != "go" else f"if {shown}")
        if condition.type == "unary_expression" and shown.startswith("!"):
            instruction = phrasing.pick(
                f"remove the negation in {where}",
                f"drop the ! in {where}",
                f"remove the not from {where}",
                f"the ! in {where} is wrong, remove it",
                f"take the negation out of {where}",
            )
            end = condition.start_byte + 1
            inner = condition.named_children[0]
            if inner.type == "parenthesized_expression":
                return edit("remove-negation", instruction, replace(condition, text(inner)[1:-1]))
            return edit("remove-negation", instruction, Replacement(condition.start_byte, end, ""))
    return None


def add_negation(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A condition gets a ``!``."""
    seen = view(unit)
    if seen is None:
        return None
    random = phrasing.random
    ifs = seen.of(seen.grammar.ifs)
    plain = {
        "identifier",
        "call_expression",
        "member_expression",
        "method_invocation",
        "field_expression",
        "selector_expression",
        "subscript_expression",
        "field_access",
    }
    for node in random.sample(ifs, min(len(ifs), 4)):
        condition = node.child_by_field_name("condition")
        if condition is None:
            continue
        if condition.type == "parenthesized_expression":
            condition = condition.named_children[0]
        shown = text(condition)
        around = f"if {shown}" if seen.language in {"go", "rust"} else f"if ({shown})"
        if condition.type not in plain or len(shown) > 60 or not seen.single(condition) or not seen.once(around):
            continue
        where = mention(phrasing, around)
        instruction = phrasing.pick(
            f"negate the condition in {where}",
            f"add a ! to {where}",
            f"negate {where}",
            f"put a not before the condition {where}",
            f"invert the check {where} with a !",
            f"the condition {where} should be negated",
        )
        return edit("add-negation", instruction, Replacement(condition.start_byte, condition.start_byte, "!"))
    return None


def add_property(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """An object literal gets a property at its end."""
    seen = view(unit)
    if seen is None or seen.language not in JAVASCRIPT:
        return None
    random = phrasing.random
    objects = [n for n in seen.of({"object"}) if n.named_child_count >= 1]
    for node in random.sample(objects, min(len(objects), 5)):
        pairs = [n for n in node.named_children if n.type != "comment"]
        if len(pairs) != node.named_child_count or pairs[-1].type not in {"pair", "shorthand_property_identifier"}:
            continue
        name = words.new_name(words.word(random), random, seen.words, "camel")
        value = random.choice(
            [
                str(words.number(random, random.choice([1, 10, 100]))),
                "true",
                "false",
                "null",
                "[]",
                "{}",
                seen.string(words.word(random)),
                seen.string(words.word(random)),
                *[text(n) for n in seen.of({"identifier"}) if len(text(n)) > 2][:3],
            ]
        )
        where = ""
        if len(objects) > 1:
            told = _object(seen, node, phrasing)
            if told is None:
                continue
            where = f" to {told}"
        target = where or random.choice([" to the object", " to the object literal", ""])
        a, b = phrasing.code(name), phrasing.code(value)
        full = mention(phrasing, f"{name}: {value}")
        instruction = phrasing.pick(
            f"add {full}{target}",
            f"add the property {full}{target}",
            f"add a property {a} with the value {b}{target}",
            f"append {full}{target}",
            f"add a {a} of {b}{target}",
            f"add {a} = {b}{target}",
            f"add a key {a} set to {b}{target}",
            f"put {full} at the end{target.replace(' to ', ' of ') or ' of the object'}",
            f"include {a} with {b}{target.replace(' to ', ' in ')}",
        )
        return edit("add-property", instruction, *_appended(seen, node, pairs, f"{name}: {value}"))
    return None


def _object(seen: View, node: Node, phrasing: Phrasing) -> str | None:
    """Words for one of several objects or arrays."""
    noun = "object" if node.type == "object" else "array"
    parent = seen.parent(node)
    if parent is None:
        return None
    named = (
        parent.child_by_field_name("name") or parent.child_by_field_name("key") or parent.child_by_field_name("left")
    )
    if (
        named is not None
        and named != node
        and len(re.findall(rf"{re.escape(text(named))}\s*[:=]", seen.unit.text)) == 1
    ):
        return phrasing.random.choice([phrasing.code(text(named)), f"the {phrasing.code(text(named))} {noun}"])
    if parent.type == "arguments":
        call = seen.parent(parent)
        called = call.child_by_field_name("function") if call is not None else None
        same = [n for n in parent.named_children if n.type == node.type]
        if called is not None and seen.single(called) and len(same) == 1 and seen.once(text(called) + "("):
            return f"the {noun} passed to {phrasing.code(text(called))}"
    if parent.type == "return_statement":
        returned = [
            n for n in seen.of({"return_statement"}) if n.named_children and n.named_children[0].type == node.type
        ]
        where = seen.within(node, phrasing)
        if len(returned) == 1 and where is not None:
            return f"the returned {noun}"
    return None


def _appended(seen: View, node: Node, items: list[Node], new: str) -> list[Replacement]:
    last = items[-1]
    tail = seen.file.source(last.end_byte, node.end_byte)
    comma = tail.find(",")
    if last.start_point.row == node.start_point.row:
        end = last.end_byte
        return [Replacement(end, end, f", {new}")]
    separator = "\n" + seen.indent(last)
    if last.start_point.row == items[0].start_point.row and len(items) > 1:
        separator = " "
    if comma >= 0:
        at = last.end_byte + comma + 1
        return [Replacement(at, at, f"{separator}{new},")]
    return [Replacement(last.end_byte, last.end_byte, f",{separator}{new}")]


def remove_property(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """An object literal loses a property."""
    seen = view(unit)
    if seen is None or seen.language not in JAVASCRIPT:
        return None
    pairs = [
        n for n in seen.of({"pair", "shorthand_property_identifier"}) if (p := seen.parent(n)) and p.type == "object"
    ]
    for node in phrasing.random.sample(pairs, min(len(pairs), 6)):
        parent = seen.parent(node)
        key = node.child_by_field_name("key") or node
        assert parent is not None
        siblings = list(parent.named_children)
        if len(siblings) < 2 or any(n.type == "comment" for n in siblings):
            continue
        name = text(key)
        same = [n for n in pairs if text(n.child_by_field_name("key") or n) == name]
        if len(same) != 1:
            continue
        removed = _without(seen, parent, siblings, siblings.index(node))
        if removed is None:
            continue
        a = phrasing.code(name.strip("'\""))
        instruction = phrasing.pick(
            f"remove the property {a}",
            f"remove {a} from the object",
            f"drop the {a} property",
            f"delete the {a} key",
            f"delete {a} from the object literal",
            f"get rid of the {a} property",
            f"take {a} out of the object",
            f"remove the {a} entry",
            f"leave the {a} property out",
        )
        return edit("remove-property", instruction, removed)
    return None


def _without(seen: View, parent: Node, siblings: list[Node], index: int) -> Replacement | None:
    node = siblings[index]
    data = seen.file.data
    alone = (index == 0 or siblings[index - 1].end_point.row != node.start_point.row) and (
        index + 1 == len(siblings) or siblings[index + 1].start_point.row != node.end_point.row
    )
    if alone and node.start_point.row != parent.start_point.row and node.end_point.row != parent.end_point.row:
        first = data.rfind(b"\n", 0, node.start_byte) + 1
        last = data.find(b"\n", node.end_byte) + 1
        tail = data[node.end_byte : last].strip()
        if data[first : node.start_byte].strip() or tail not in (b"", b","):
            return None
        if index + 1 == len(siblings) and not tail:
            before = siblings[index - 1]
            return Replacement(before.end_byte, node.end_byte, "")
        return Replacement(first, last, "")
    if index + 1 < len(siblings):
        return Replacement(node.start_byte, siblings[index + 1].start_byte, "")
    return Replacement(siblings[index - 1].end_byte, node.end_byte, "")


def add_array_item(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """An array literal gets another item at its end or start."""
    seen = view(unit)
    if seen is None or seen.language not in JAVASCRIPT:
        return None
    random = phrasing.random
    arrays = [n for n in seen.of({"array"}) if n.named_child_count >= 1]
    for node in random.sample(arrays, min(len(arrays), 5)):
        items = list(node.named_children)
        last = items[-1]
        if last.type == "string":
            new = text(last)[0] + words.word(random) + text(last)[0]
        elif last.type == "number" and text(last).isdigit():
            new = str(words.number(random, int(text(last))))
        elif last.type == "identifier":
            new = words.new_name(text(last), random, seen.words, words.style_of(text(last), "camel"))
        else:
            continue
        if any(n.type == "comment" for n in items) or any(text(n) == new for n in items):
            continue
        where = random.choice(["the array", "the list"])
        if len(seen.of({"array"})) > 1:
            told = _object(seen, node, phrasing)
            if told is None:
                continue
            where = told
        a = phrasing.code(new)
        if random.random() < 0.25:
            instruction = phrasing.pick(
                f"add {a} at the start of {where}",
                f"prepend {a} to {where}",
                f"put {a} first in {where}",
                f"insert {a} as the first item of {where}",
            )
            first = items[0]
            gap = " "
            if first.start_point.row != node.start_point.row:
                if len(items) > 1 and items[1].start_point.row == first.start_point.row:
                    continue
                gap = "\n" + seen.indent(first)
            at = first.start_byte
            return edit("add-array-item", instruction, Replacement(at, at, f"{new},{gap}"))
        instruction = phrasing.pick(
            f"add {a} to {where}",
            f"append {a} to {where}",
            f"add {a} at the end of {where}",
            f"put {a} at the end of {where}",
            f"include {a} as the last item of {where}",
            f"extend {where} with {a}",
        )
        return edit("add-array-item", instruction, *_appended(seen, node, items, new))
    return None


TRANSFORMS: Final[dict[str, Callable[[Unit, Phrasing], Edit | None]]] = {
    "change-constant": change_constant,
    "change-boolean": change_boolean,
    "change-string": change_string,
    "change-message": change_message,
    "change-operator": change_operator,
    "add-negation": add_negation,
    "remove-negation": remove_negation,
    "add-property": add_property,
    "remove-property": remove_property,
    "add-array-item": add_array_item,
}
