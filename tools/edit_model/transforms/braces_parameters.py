"""Parameters, types and modifiers of functions in curly-brace languages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from tools.edit_model.edit import Edit, Replacement
from tools.edit_model.phrasing import Phrasing
from tools.edit_model.source import Unit
from tools.edit_model.transforms import words
from tools.edit_model.transforms.braces_view import (
    Node,
    View,
    binding,
    child,
    edit,
    javascript,
    mention,
    references,
    replace,
    text,
    typescript,
    view,
)
from tools.edit_model.transforms.grammar import JAVASCRIPT, TYPESCRIPT

_TYPES: Final = {
    "typescript": (
        "string",
        "number",
        "boolean",
        "string[]",
        "unknown",
        "Date",
        "Record<string, string>",
        "any",
        "number[]",
        "Map<string, number>",
        "string | null",
        "() => void",
    ),
    "java": ("int", "String", "boolean", "long", "List<String>", "double", "Object", "Map<String, String>"),
    "rust": ("u32", "&str", "bool", "usize", "String", "Option<u32>", "&[u8]", "Vec<String>", "i64"),
    "c": ("int", "const char *", "size_t", "bool", "unsigned", "void *", "long"),
    "go": ("int", "string", "bool", "error", "[]byte", "float64", "context.Context", "[]string"),
}
_DEFAULTS: Final = ("null", "false", "true", "0", "1", "[]", "{}", "''", "10", "undefined")


def _lists(seen: View) -> Iterator[tuple[Node, Node, str]]:
    """Named functions with their list of parameters, and words that tell which it is (after "to" or "of")."""
    for function in seen.functions:
        parameters = function.child_by_field_name("parameters")
        if seen.language == "c":
            declarator = function.child_by_field_name("declarator")
            while declarator is not None and declarator.type != "function_declarator":
                declarator = declarator.child_by_field_name("declarator")
            parameters = child(declarator, "parameters")
        name = seen.name(function)
        if parameters is None or parameters.type not in seen.grammar.parameters or name not in seen.named_once:
            continue
        if any(n.type in seen.grammar.comments for n in parameters.named_children):
            continue
        yield function, parameters, name


def _target(seen: View, phrasing: Phrasing, name: str) -> str:
    if len(seen.functions) == 1 and phrasing.random.random() < 0.4:
        return phrasing.random.choice(["the function", "this function"])
    return phrasing.code(name)


def _declared(seen: View, name: str, kind: str) -> str:
    if seen.language in JAVASCRIPT | {"rust"}:
        return f"{name}: {kind}"
    if seen.language == "go":
        return f"{name} {kind}"
    return f"{kind}{name}" if kind.endswith("*") else f"{kind} {name}"


def add_parameter(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A function gets another parameter at the end (or the start) of its list."""
    seen = view(unit)
    if seen is None:
        return None
    random = phrasing.random
    lists = list(_lists(seen))
    for _, parameters, name in random.sample(lists, min(len(lists), 4)):
        items = list(parameters.named_children)
        if items and ("..." in text(items[-1]) or text(items[-1]) in {"void", "*args"}):
            continue
        new = words.new_name(words.word(random), random, seen.words, seen.grammar.names)
        kind, default = "", ""
        if seen.language != "javascript":
            kind = random.choice(_TYPES["typescript" if seen.language == "tsx" else seen.language])
            plain = seen.language in TYPESCRIPT and items and all(":" not in text(item) for item in items)
            kind = "" if plain else kind
        optional = any("?" in text(item).split(":")[0] or "=" in text(item) for item in items)
        if seen.language in JAVASCRIPT and (random.random() < 0.35 or optional):
            default = random.choice(_DEFAULTS).replace("''", seen.quote * 2)
            if kind:
                default, kind = (
                    {
                        "string": seen.quote * 2,
                        "number": str(random.randint(0, 20)),
                        "boolean": "false",
                        "string[]": "[]",
                        "number[]": "[]",
                        "string | null": "null",
                    }.get(kind, ""),
                    kind,
                )
                if not default:
                    continue
        code = _declared(seen, new, kind) if kind else new
        code += f" = {default}" if default else ""
        lead = bool(items) and random.random() < 0.2 and text(items[0]) not in {"self", "&self", "&mut self"}
        lead = lead and not default and not text(items[0]).startswith(("this", "mut self"))
        target = _target(seen, phrasing, name)
        a = phrasing.code(new)
        extra = ""
        if kind:
            extra += f" of type {phrasing.code(kind)}"
        if default:
            extra += random.choice([" with the default {}", " defaulting to {}", ", by default {}"]).format(
                phrasing.code(default)
            )
        if lead:
            instruction = phrasing.pick(
                f"add {a}{extra} as the first parameter of {target}",
                f"add a first parameter {a}{extra} to {target}",
                f"put a new parameter {a}{extra} first in {target}",
                f"let {target} take {a}{extra} as its first parameter",
                f"insert the parameter {a}{extra} before the others of {target}",
            )
        else:
            full = mention(phrasing, code)
            instruction = phrasing.pick(
                f"add a parameter {a}{extra} to {target}",
                f"add the parameter {full} to {target}",
                f"add an argument {a}{extra} to {target}",
                f"give {target} a parameter {a}{extra}",
                f"let {target} take {a}{extra} too",
                f"extend {target} by a parameter {full}",
                f"make {target} accept {a}{extra}",
                f"append the parameter {a}{extra} to {target}",
                f"have {target} take another parameter {full}",
                f"put a last parameter {full} into the signature of {target}",
            )
        return edit("add-parameter", instruction, _inserted(seen, parameters, items, code, lead))
    return None


def _inserted(seen: View, parameters: Node, items: list[Node], code: str, lead: bool) -> Replacement:
    if not items:
        return Replacement(parameters.start_byte + 1, parameters.end_byte - 1, code)
    first, last = items[0], items[-1]
    spread = first.start_point.row != parameters.start_point.row
    if lead:
        at = first.start_byte
        return Replacement(at, at, f"{code},\n{seen.indent(first)}" if spread else f"{code}, ")
    tail = seen.file.source(last.end_byte, parameters.end_byte)
    if spread and last.start_point.row != parameters.end_point.row:
        separator = (
            "\n" + seen.indent(last) if len(items) == 1 or items[-2].end_point.row != last.start_point.row else " "
        )
        if "," in tail:
            at = last.end_byte + tail.index(",") + 1
            return Replacement(at, at, f"{separator}{code},")
        return Replacement(last.end_byte, last.end_byte, f",{separator}{code}")
    return Replacement(last.end_byte, last.end_byte, f", {code}")


def remove_parameter(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A parameter that the body doesn't use goes."""
    seen = view(unit)
    if seen is None:
        return None
    random = phrasing.random
    lists = list(_lists(seen))
    for function, parameters, name in random.sample(lists, min(len(lists), 4)):
        items = [n for n in parameters.named_children if n.type != "decorator"]
        for index in random.sample(range(len(items)), len(items)):
            item = items[index]
            bound = _bound(seen, item)
            if bound is None or not seen.single(item):
                continue
            old = text(bound)
            uses = references(seen, function, old)
            if uses is None or (len(uses) > 1 and random.random() < 0.6):
                continue
            if "this" in old or old in {"void", "self"}:
                continue
            if index + 1 < len(items):
                if items[index + 1].start_point.row != item.start_point.row:
                    lines = seen.lines(item.start_byte, items[index].end_byte + 1)
                    if lines is None:
                        continue
                    gone = Replacement(*lines, "")
                else:
                    gone = Replacement(item.start_byte, items[index + 1].start_byte, "")
            elif index:
                gone = Replacement(items[index - 1].end_byte, item.end_byte, "")
            else:
                gone = Replacement(parameters.start_byte + 1, parameters.end_byte - 1, "")
            target = _target(seen, phrasing, name)
            a = phrasing.code(old)
            tail = ", leave the body alone" if len(uses) > 1 else ""
            noun = random.choice(["parameter", "parameter", "argument", "param"])
            instruction = phrasing.pick(
                f"remove the {noun} {a} from {target}{tail}",
                f"remove the {noun} {a}{tail}" if len(lists) == 1 else f"remove the {noun} {a} of {target}{tail}",
                f"drop the {noun} {a} of {target}{tail}",
                f"delete {a} from the parameters of {target}{tail}",
                f"get rid of the {noun} {a} in {target}{tail}",
                f"take {a} out of the signature of {target}{tail}",
                f"make {target} not take {a} any more{tail}",
                f"remove {a} from the signature of {target}{tail}",
            )
            return edit("remove-parameter", instruction, gone)
    return None


def _bound(seen: View, item: Node) -> Node | None:
    if item.type == "identifier":
        return item
    found = [
        n
        for n in seen.nodes
        if item.start_byte <= n.start_byte < item.end_byte
        and n.type in {"identifier", "shorthand_property_identifier_pattern"}
        and binding(seen, n) == "parameter"
    ]
    return found[0] if len(found) == 1 and found[0].type == "identifier" else None


def _defaulted(seen: View) -> list[tuple[Node, Node, Node]]:
    """Each parameter with a default: its node, its name and the default."""
    found = []
    for node in seen.of({"assignment_pattern", "required_parameter"}):
        name = node.child_by_field_name("left") or node.child_by_field_name("pattern")
        value = node.child_by_field_name("right") or node.child_by_field_name("value")
        parent = seen.parent(node)
        if name is None or value is None or parent is None or parent.type != "formal_parameters":
            continue
        if name.type == "identifier" and seen.single(value):
            found.append((node, name, value))
    return found


def change_default(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A parameter gets another default."""
    seen = javascript(unit)
    if seen is None:
        return None
    random = phrasing.random
    found = _defaulted(seen)
    for _, name, value in random.sample(found, min(len(found), 4)):
        if len([n for _, n, _ in found if text(n) == text(name)]) > 1:
            continue
        old = text(value)
        if value.type == "number" and re.fullmatch(r"\d+", old):
            new = str(words.number(random, int(old)))
        elif value.type in {"true", "false"}:
            new = "false" if old == "true" else "true"
        elif value.type == "string" and "\\" not in old:
            new = old[0] + words.new_name("value", random, {old}, "snake") + old[0]
        else:
            new = random.choice(_DEFAULTS).replace("''", seen.quote * 2)
        if new == old:
            continue
        a, b, c = phrasing.code(text(name)), phrasing.code(new), mention(phrasing, old)
        instruction = phrasing.pick(
            f"change the default of {a} to {b}",
            f"make {b} the default of {a}",
            f"default {a} to {b}",
            f"let {a} default to {b} instead of {c}",
            f"set the default of {a} to {b}",
            f"use {b} as the default for {a}",
            f"the default of {a} should be {b}",
            f"change the default value for {a} from {c} to {b}",
            f"have {a} be {b} by default",
        )
        return edit("change-default", instruction, replace(value, new))
    return None


def add_default(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """The last parameter gets a default."""
    seen = javascript(unit)
    if seen is None:
        return None
    random = phrasing.random
    lists = list(_lists(seen))
    for _, parameters, name in random.sample(lists, min(len(lists), 4)):
        items = list(parameters.named_children)
        if not items:
            continue
        item = items[-1]
        bound = item if item.type == "identifier" else item.child_by_field_name("pattern")
        if bound is None or bound.type != "identifier" or item.child_by_field_name("value") is not None:
            continue
        if item.type == "optional_parameter":
            continue
        kind = child(item, "type")
        value = random.choice(_DEFAULTS).replace("''", seen.quote * 2)
        if kind is not None:
            value = {
                "string": seen.quote * 2,
                "number": str(random.randint(0, 30)),
                "boolean": random.choice(["true", "false"]),
                "string[]": "[]",
            }.get(text(kind).lstrip(": "), "")
            if not value:
                continue
        elif random.random() < 0.4:
            value = random.choice([str(words.number(random, 10)), seen.string(words.word(random))])
        a, b = phrasing.code(text(bound)), phrasing.code(value)
        where = f" in {phrasing.code(name)}" if len(seen.functions) > 1 else ""
        instruction = phrasing.pick(
            f"give {a} the default {b}{where}",
            f"default {a} to {b}{where}",
            f"make {a} default to {b}{where}",
            f"add a default of {b} for {a}{where}",
            f"make {a} optional with {b} as default{where}",
            f"let {a} be {b} by default{where}",
            f"add the default value {b} to {a}{where}",
            f"the parameter {a} should default to {b}{where}",
            f"have {a} fall back to {b} by a default{where}",
        )
        return edit("add-default", instruction, Replacement(item.end_byte, item.end_byte, f" = {value}"))
    return None


def remove_default(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A parameter loses its default."""
    seen = javascript(unit)
    if seen is None:
        return None
    found = _defaulted(seen)
    for node, name, _ in phrasing.random.sample(found, min(len(found), 4)):
        if len([n for _, n, _ in found if text(n) == text(name)]) > 1:
            continue
        end = node.child_by_field_name("type") or name
        a = phrasing.code(text(name))
        instruction = phrasing.pick(
            f"remove the default of {a}",
            f"make {a} required",
            f"drop the default value of {a}",
            f"delete the default for {a}",
            f"take away the default of {a}",
            f"let {a} have no default",
        )
        return edit("remove-default", instruction, Replacement(end.end_byte, node.end_byte, ""))
    return None


def add_type_hints(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A parameter, a return value or a variable gets a type."""
    seen = typescript(unit)
    if seen is None:
        return None
    random = phrasing.random
    kind = random.choice(_TYPES["typescript"][:-1])
    spots: list[tuple[str, Node, int]] = []
    for function, parameters, _ in _lists(seen):
        if function.child_by_field_name("return_type") is None and function.type != "constructor":
            spots.append(("return", function, parameters.end_byte))
    for node in seen.of({"required_parameter", "variable_declarator"}):
        name = node.child_by_field_name("pattern") or node.child_by_field_name("name")
        value = node.child_by_field_name("value")
        if name is None or name.type != "identifier" or node.child_by_field_name("type") is not None:
            continue
        if value is not None and value.type in {"arrow_function", "function_expression"}:
            continue
        declared = [n for n in seen.nodes if n.type == "identifier" and text(n) == text(name) and binding(seen, n)]
        if len(declared) == 1:
            spots.append(("name", name, name.end_byte))
    random.shuffle(spots)
    for spot, node, at in spots:
        t = phrasing.code(kind)
        if spot == "return":
            called = seen.name(node)
            if called == "constructor":
                continue
            target = _target(seen, phrasing, called)
            instruction = phrasing.pick(
                f"annotate the return type of {target} as {t}",
                f"add the return type {t} to {target}",
                f"give {target} the return type {t}",
                f"declare that {target} returns {t}",
                f"type the return value of {target} as {t}",
                f"add a return type of {t} to {target}",
            )
        else:
            a = phrasing.code(text(node))
            instruction = phrasing.pick(
                f"annotate {a} as {t}",
                f"type {a} as {t}",
                f"add the type {t} to {a}",
                f"declare {a} as {t}",
                f"give {a} the type {t}",
                f"add a type annotation to {a}: {t}",
                f"make the type of {a} explicit: {t}",
            )
        return edit("add-type-hints", instruction, Replacement(at, at, f": {kind}"))
    return None


def remove_type_hints(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A type goes, or all of a signature do."""
    seen = typescript(unit)
    if seen is None:
        return None
    random = phrasing.random
    spots: list[tuple[str, Node]] = []
    for function, _, name in _lists(seen):
        kind = function.child_by_field_name("return_type")
        if kind is not None and kind.type == "type_annotation":
            spots.append((f"the return type of {_target(seen, phrasing, name)}", kind))
    for node in seen.of({"required_parameter", "variable_declarator"}):
        bound = node.child_by_field_name("pattern") or node.child_by_field_name("name")
        kind = node.child_by_field_name("type")
        if bound is None or bound.type != "identifier" or kind is None:
            continue
        declared = [n for n in seen.nodes if n.type == "identifier" and text(n) == text(bound) and binding(seen, n)]
        if len(declared) == 1:
            spots.append((f"the type of {phrasing.code(text(bound))}", kind))
    if not spots:
        return None
    told, node = random.choice(spots)
    instruction = phrasing.pick(
        f"remove {told}",
        f"drop {told}",
        f"delete {told}",
        f"leave out {told}",
        f"take away {told}",
        f"let {told} be inferred",
        f"strip {told}",
        f"get rid of {told}",
    )
    return edit("remove-type-hints", instruction, replace(node, ""))


def change_type(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A declared type becomes another one."""
    seen = view(unit)
    if seen is None or seen.language == "javascript":
        return None
    random = phrasing.random
    spots: list[tuple[str, Node]] = []
    for node in seen.of(
        {
            "required_parameter",
            "optional_parameter",
            "variable_declarator",
            "parameter",
            "formal_parameter",
            "parameter_declaration",
            "property_signature",
            "field_declaration",
            "public_field_definition",
            "let_declaration",
        }
    ):
        bound = (
            node.child_by_field_name("pattern")
            or node.child_by_field_name("name")
            or node.child_by_field_name("declarator")
        )
        kind = node.child_by_field_name("type")
        if bound is None or kind is None or bound.child_count or not seen.single(kind):
            continue
        if len(node.children_by_field_name("name")) > 1:
            continue
        if kind.type == "type_annotation":
            kind = kind.named_children[0]
        if len(
            re.findall(rf"\b{re.escape(text(bound))}\??\s*:", unit.text)
        ) == 1 or seen.language not in TYPESCRIPT | {"rust"}:
            same = [n for n in seen.nodes if text(n) == text(bound) and not n.child_count]
            if seen.language not in TYPESCRIPT | {"rust"} and len([n for n in same if binding(seen, n)]) > 1:
                continue
            spots.append((text(bound), kind))
    for name, node in random.sample(spots, min(len(spots), 3)):
        old = text(node)
        new = random.choice(_TYPES["typescript" if seen.language == "tsx" else seen.language])
        if seen.language in TYPESCRIPT and random.random() < 0.3:
            new = f"{old} | {random.choice(['null', 'undefined'])}"
        if new == old or "*" in new or "null" in old or len(old) > 50 or "=>" in old:
            continue
        a, b, c = phrasing.code(name), mention(phrasing, new), mention(phrasing, old)
        instruction = phrasing.pick(
            f"change the type of {a} to {b}",
            f"make {a} a {b}",
            f"make the type of {a} {b}",
            f"declare {a} as {b} instead of {c}",
            f"type {a} as {b}, not {c}",
            f"change {a} from {c} to {b}",
            f"the type of {a} should be {b}",
            f"let {a} be of type {b}",
            f"give {a} the type {b} in place of {c}",
        )
        return edit("change-type", instruction, replace(node, new))
    return None


def make_async(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A function becomes ``async``."""
    seen = javascript(unit)
    if seen is None:
        return None
    random = phrasing.random
    for function in random.sample(seen.functions, len(seen.functions)):
        name = seen.name(function)
        if text(function).startswith("async") or name == "constructor" or name not in seen.named_once:
            continue
        if function.child_by_field_name("return_type") is not None or "generator" in function.type:
            continue
        named = function.child_by_field_name("name")
        at = function.start_byte
        if function.type == "method_definition":
            if named is None or re.search(r"\b(get|set|async)\b|\*", seen.file.source(at, named.start_byte)):
                continue
            at = named.start_byte
        target = _target(seen, phrasing, name)
        instruction = phrasing.pick(
            f"make {target} async",
            f"make {target} an async function",
            f"turn {target} into an async function",
            f"add async to {target}",
            f"mark {target} as async",
            f"declare {target} async",
            f"convert {target} to an async function",
        )
        return edit("make-async", instruction, Replacement(at, at, "async "))
    return None


def change_declaration(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """``var`` or ``let`` becomes ``const`` or ``let``."""
    seen = javascript(unit)
    if seen is None:
        return None
    random = phrasing.random
    nodes = seen.of({"lexical_declaration", "variable_declaration"})
    if random.random() < 0.4:
        old = random.choice(["var", "var", "let"])
        new = "const" if old == "let" else random.choice(["let", "const"])
        chosen = [n for n in nodes if text(n).startswith(old + " ")]
        if any(text(kind) == old for n in seen.of({"for_in_statement"}) if (kind := n.child_by_field_name("kind"))):
            return None
        if len(chosen) < 2 or (new == "const" and not all(_constant(seen, n) for n in chosen)):
            return None
        a, b = phrasing.code(old), phrasing.code(new)
        instruction = phrasing.pick(
            f"replace all {a} with {b}",
            f"use {b} instead of {a} everywhere",
            f"change every {a} to {b}",
            f"convert {a} to {b}",
            f"turn all {a}s into {b}",
            f"no {a}, use {b}",
            f"switch from {a} to {b}",
        )
        return edit(
            f"{old}-to-{new}", instruction, *(Replacement(n.start_byte, n.start_byte + 3, new) for n in chosen)
        )
    for node in random.sample(nodes, min(len(nodes), 5)):
        old = text(node).split()[0]
        names = [n for n in node.named_children if n.type == "variable_declarator"]
        if old not in {"var", "let", "const"} or len(names) != 1:
            continue
        name = names[0].child_by_field_name("name")
        if name is None or name.type != "identifier":
            continue
        new = "let" if old == "const" else random.choice(["const", "let"] if old == "var" else ["const"])
        if new == "const" and not _constant(seen, node):
            continue
        if len(re.findall(rf"\b(?:var|let|const) {re.escape(text(name))}\b", unit.text)) != 1:
            continue
        a = phrasing.code(text(name))
        instruction = phrasing.pick(
            f"make {a} a {new}",
            f"use {new} for {a}",
            f"declare {a} with {new}",
            f"change {a} from {old} to {new}",
            f"turn {a} into a {new}",
            f"use {new} instead of {old} for {a}",
            f"let {a} be declared by {new}, not {old}",
        )
        return edit(f"{old}-to-{new}", instruction, Replacement(node.start_byte, node.start_byte + len(old), new))
    return None


def _constant(seen: View, declaration: Node) -> bool:
    """Whether nothing it declares is assigned again, and everything has a value."""
    for declarator in declaration.named_children:
        name = declarator.child_by_field_name("name")
        if name is None or name.type != "identifier" or declarator.child_by_field_name("value") is None:
            return False
        for node in seen.of({"assignment_expression", "augmented_assignment_expression", "update_expression"}):
            target = node.child_by_field_name("left") or node.child_by_field_name("argument")
            if target is not None and text(target) == text(name):
                return False
    parent = declaration.parent
    return parent is None or parent.type != "for_statement"


def change_modifier(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A member of a class gets or changes a modifier."""
    seen = view(unit)
    if seen is None or seen.language not in TYPESCRIPT | {"java"}:
        return None
    random = phrasing.random
    members = seen.of(
        {"public_field_definition", "method_definition"}
        if seen.language != "java"
        else {"field_declaration", "method_declaration"}
    )
    for node in random.sample(members, min(len(members), 5)):
        name = node.child_by_field_name("name") or child(node, "declarator", "name")
        if name is None or not re.fullmatch(r"\w+", text(name)) or text(name) == "constructor":
            continue
        if (
            len(
                [
                    n
                    for n in members
                    if text(name) == text(n.child_by_field_name("name") or child(n, "declarator", "name") or n)
                ]
            )
            > 1
        ):
            continue
        head = seen.file.source(node.start_byte, name.start_byte)
        if "@" in head or "(" in head:
            continue
        a = phrasing.code(text(name))
        access = re.search(r"\b(public|private|protected)\b", head)
        options = ["public", "private", "protected"]
        readonly = "final" if seen.language == "java" else "readonly"
        if (
            "field" in node.type
            and random.random() < 0.5
            and not re.search(rf"\b({readonly}|volatile|declare)\b", head)
        ):
            at = name.start_byte
            if seen.language == "java":
                kind = node.child_by_field_name("type")
                at = kind.start_byte if kind is not None else at
            instruction = phrasing.pick(
                f"make {a} {readonly}",
                f"mark {a} as {readonly}",
                f"add {readonly} to {a}",
                f"declare {a} {readonly}",
                f"let {a} be {readonly}",
            )
            return edit(f"add-{readonly}", instruction, Replacement(at, at, f"{readonly} "))
        new = random.choice([option for option in options if access is None or option != access.group()])
        if access is None:
            at = begin = node.start_byte
            end, code = begin, f"{new} "
        else:
            begin = at = node.start_byte + access.start()
            end, code = node.start_byte + access.end(), new
        instruction = phrasing.pick(
            f"make {a} {new}",
            f"mark {a} as {new}",
            f"declare {a} {new}",
            f"change {a} to {new}",
            f"let {a} be {new}",
            f"turn {a} into a {new} member",
        )
        return edit("change-visibility", instruction, Replacement(begin, end, code))
    return None


TRANSFORMS: Final[dict[str, Callable[[Unit, Phrasing], Edit | None]]] = {
    "add-parameter": add_parameter,
    "remove-parameter": remove_parameter,
    "change-default": change_default,
    "add-default": add_default,
    "remove-default": remove_default,
    "add-type-hints": add_type_hints,
    "remove-type-hints": remove_type_hints,
    "change-type": change_type,
    "make-async": make_async,
    "change-declaration": change_declaration,
    "change-modifier": change_modifier,
}
