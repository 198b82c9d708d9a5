"""Renaming in curly-brace languages, and one name used for another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tools.edit_model.edit import Edit
from tools.edit_model.phrasing import Phrasing
from tools.edit_model.source import Unit
from tools.edit_model.transforms import words
from tools.edit_model.transforms.braces_view import (
    Node,
    View,
    binding,
    edit,
    mention,
    references,
    renamed,
    replace,
    text,
    view,
)

_RENAME: Final = (
    "rename {old} to {new}{where}",
    "rename {old} to {new}{where}",
    "rename {old} -> {new}{where}",
    "rename the {noun} {old} to {new}{where}",
    "call {old} {new} instead{where}",
    "change the name of {old} to {new}{where}",
    "use {new} instead of {old} as the name{where}",
    "rename {noun} {old} as {new}{where}",
    "replace the name {old} with {new} everywhere{where}",
    "the {noun} {old} should be called {new}{where}",
    "give {old} the name {new}{where}",
    "I'd rather have {old} named {new}{where}",
    "rename: {old} => {new}{where}",
    "the name {old} is bad, call it {new}{where}",
    "let's name {old} {new}{where}",
    "switch the name {old} over to {new}{where}",
)


def _words(phrasing: Phrasing, noun: str, old: str, new: str, where: str) -> str:
    quoted = {"old": phrasing.code(old), "new": phrasing.code(new), "noun": noun, "where": where}
    return phrasing.pick(*(wording.format(**quoted) for wording in _RENAME))


def _rename_binding(seen: View, phrasing: Phrasing, kind: str, noun: str) -> tuple[str, str, str, list[Node]] | None:
    random = phrasing.random
    declared = [
        node
        for node in seen.nodes
        if node.type in {"identifier", "shorthand_property_identifier_pattern"} and binding(seen, node) == kind
    ]
    for node in random.sample(declared, min(len(declared), 6)):
        old = text(node)
        if (len(old) < 2 and old not in "abcdefghijklmnopqrstuvwxyz") or old in {"_", "self", "this"}:
            continue
        if (
            kind == "local"
            and seen.scope(node) == seen.unit.node
            and seen.unit.node.type not in (seen.grammar.functions)
        ):
            continue
        holder = seen.parent(node)
        if holder is not None and any(child.type == "accessibility_modifier" for child in holder.children):
            continue
        scope = seen.scope(node)
        inner = [other for other in seen.nodes if _declares(seen, other, old)]
        if len([d for d in inner if scope.start_byte <= d.start_byte < scope.end_byte]) != 1:
            continue
        uses = references(seen, scope, old)
        if not uses or (len(uses) < 2 and kind == "local"):
            continue
        everywhere = references(seen, seen.unit.node, old)
        if everywhere is None:
            continue
        where = ""
        if len(everywhere) != len(uses):
            function = seen.function(node)
            if function is None or function != scope or seen.name(function) not in seen.named_once:
                continue
            where = f" in {phrasing.code(seen.name(function))}"
            if any(d != node for d in inner) and len(inner) < 2:
                continue
        style = words.style_of(old, seen.grammar.names)
        return old, words.new_name(old, random, seen.words, style), where, uses
    return None


def _declares(seen: View, node: Node, name: str) -> bool:
    return (
        node.type in {"identifier", "shorthand_property_identifier_pattern"}
        and text(node) == name
        and bool(binding(seen, node))
    )


def rename_variable(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A local variable gets another name, everywhere it is used."""
    seen = view(unit)
    found = _rename_binding(seen, phrasing, "local", "variable") if seen else None
    if found is None:
        return None
    old, new, where, uses = found
    noun = phrasing.random.choice(["variable", "local variable", "variable", "local"])
    return edit("rename-variable", _words(phrasing, noun, old, new, where), *(renamed(use, new) for use in uses))


def rename_parameter(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A parameter gets another name, everywhere it is used."""
    seen = view(unit)
    found = _rename_binding(seen, phrasing, "parameter", "parameter") if seen else None
    if found is None:
        return None
    old, new, where, uses = found
    noun = phrasing.random.choice(["parameter", "argument", "parameter", "param"])
    return edit("rename-parameter", _words(phrasing, noun, old, new, where), *(renamed(use, new) for use in uses))


def rename_function(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A function or method gets another name, and so do its calls in the unit."""
    seen = view(unit)
    if seen is None:
        return None
    random = phrasing.random
    for function in random.sample(seen.functions, len(seen.functions)):
        name = seen.name_node(function)
        if name is None:
            continue
        old = text(name)
        if old in {"constructor", "main", "new", "fmt", "default", "init"} or old not in seen.named_once:
            continue
        if function.type == "constructor_declaration":
            continue
        uses = []
        for node in seen.nodes:
            if node.child_count or text(node) != old or not node.is_named:
                continue
            if node == name:
                uses.append(node)
                continue
            if node.type in {"comment", "string_fragment", "string_content"}:
                continue
            if (
                (node.type == "shorthand_property_identifier" and name.type == "identifier")
                or (node.type == name.type and _called(seen, node))
                or (name.type == "identifier" == node.type)
            ):
                uses.append(node)
            else:
                break
        else:
            style = words.style_of(old, seen.grammar.names)
            new = words.new_name(old, random, seen.words, style)
            noun = "method" if "method" in function.type else "function"
            return edit("rename-function", _words(phrasing, noun, old, new, ""), *(renamed(use, new) for use in uses))
    return None


def _called(seen: View, node: Node) -> bool:
    parent = seen.parent(node)
    if parent is None:
        return False
    if (parent.type, seen.field(node)) == ("method_invocation", "name"):
        target = parent.child_by_field_name("object")
        return target is None or text(target) == "this"
    holder = seen.grammar.fields.get((parent.type, seen.field(node)))
    if holder is None:
        return False
    target = parent.child_by_field_name(holder)
    return target is not None and text(target) in {"this", "self"}


def rename_attribute(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """An attribute of ``this`` or ``self`` (in C of a pointer) gets another name, everywhere in the unit."""
    seen = view(unit)
    if seen is None:
        return None
    random = phrasing.random
    used: dict[str, list[Node]] = {}
    for node in seen.nodes:
        parent = seen.parent(node)
        if parent is None:
            continue
        holder = seen.grammar.fields.get((parent.type, seen.field(node)))
        target = parent.child_by_field_name(holder) if holder is not None else None
        if target is None:
            continue
        outer = seen.parent(parent)
        if outer is not None and outer.type in seen.grammar.calls and seen.field(parent) == "function":
            continue
        used.setdefault(f"{text(target)}\0{text(node)}", []).append(node)
    keys = [key for key in used if key.split("\0")[0] in {"this", "self"} or seen.language in {"c", "go"}]
    for key in random.sample(keys, len(keys)):
        base, old = key.split("\0")
        if len(base) > 12:
            continue
        if base not in {"this", "self"} and not any(_declares(seen, node, base) for node in seen.nodes):
            continue
        same = [
            node
            for node in seen.nodes
            if not node.child_count and node.is_named and text(node) == old and "identifier" in node.type
        ]
        uses = list(used[key])
        fine = True
        for node in same:
            parent = seen.parent(node)
            if node in uses:
                continue
            if parent is not None and parent.type in {"public_field_definition", "field_definition"}:
                uses.append(node)
            elif node.type == "identifier" and seen.language != "java":
                continue
            else:
                fine = False
        if not fine:
            continue
        style = words.style_of(old, seen.grammar.names if seen.language != "go" else words.style_of(old, "camel"))
        new = words.new_name(old, random, seen.words, style)
        dot = "->" if seen.language == "c" and f"{base}->{old}" in unit.text else "."
        full = random.random() < 0.5 or any(node.type == "identifier" for node in same if node not in uses)
        noun = random.choice(["attribute", "property", "field"])
        shown = f"{base}{dot}{old}" if full else old
        other = f"{base}{dot}{new}" if full else new
        return edit(
            "rename-attribute", _words(phrasing, noun, shown, other, ""), *(replace(use, new) for use in uses)
        )
    return None


def change_called_function(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """One call calls another function."""
    seen = view(unit)
    if seen is None:
        return None
    random = phrasing.random
    calls = seen.of(seen.grammar.calls)
    for call in random.sample(calls, min(len(calls), 6)):
        called = call.child_by_field_name(seen.grammar.calls[call.type])
        if called is None:
            continue
        if (called.type, "property") in seen.grammar.fields:
            called = called.child_by_field_name("property")
        elif (called.type, "field") in seen.grammar.fields:
            called = called.child_by_field_name("field")
        if called is None or called.child_count:
            continue
        old = text(called)
        if old in {"super", "require", "import"} or "identifier" not in called.type:
            continue
        style = words.style_of(old, seen.grammar.names)
        new = words.new_name(old, random, seen.words, style)
        same = [node for node in seen.nodes if not node.child_count and text(node) == old]
        where = ""
        if len(same) > 1:
            shown = text(call)
            if len(shown) > 60 or not seen.once(shown):
                continue
            where = f" in {mention(phrasing, shown)}"
        name = new
        old, new = phrasing.code(old), phrasing.code(new)
        instruction = phrasing.pick(
            f"call {new} instead of {old}{where}",
            f"use {new} instead of {old}{where}",
            f"replace the call to {old} with {new}{where}",
            f"replace {old} with {new}{where}, same arguments",
            f"this should call {new}, not {old}{where}",
            f"switch from {old} to {new}{where}",
            f"swap {old} for {new}{where}",
            f"invoke {new} rather than {old}{where}",
            f"change the call of {old} to {new}{where}",
            f"don't call {old}{where}, call {new} with the same arguments",
        )
        return edit("change-called-function", instruction, replace(called, name))
    return None


def change_variable(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """One use of a variable becomes a use of another one of the unit."""
    seen = view(unit)
    if seen is None:
        return None
    random = phrasing.random
    names = sorted(
        {text(n) for n in seen.nodes if n.type == "identifier" and binding(seen, n) in {"local", "parameter"}}
    )
    uses = [n for n in seen.nodes if n.type == "identifier" and text(n) in names and not binding(seen, n)]
    for use in random.sample(uses, min(len(uses), 8)):
        line = next((p for p in seen.ancestors(use) if p.type in seen.grammar.statements), None)
        if line is None or not seen.single(line) or len(text(line)) > 80 or not seen.once(text(line)):
            continue
        old = text(use)
        if len([n for n in uses if text(n) == old and line.start_byte <= n.start_byte < line.end_byte]) != 1:
            continue
        others = [name for name in names if name != old]
        if not others or text(line).count(old) != 1:
            continue
        new = random.choice(others)
        shown, a, b = mention(phrasing, text(line)), phrasing.code(old), phrasing.code(new)
        instruction = phrasing.pick(
            f"use {b} instead of {a} in {shown}",
            f"replace {a} by {b} in {shown}",
            f"in {shown}, change {a} to {b}",
            f"the line {shown} should use {b}, not {a}",
            f"wrong variable in {shown}: it should be {b} instead of {a}",
            f"in {shown} it must be {b} rather than {a}",
        )
        return edit("change-variable", instruction, replace(use, new))
    return None


TRANSFORMS: Final[dict[str, Callable[[Unit, Phrasing], Edit | None]]] = {
    "rename-variable": rename_variable,
    "rename-parameter": rename_parameter,
    "rename-function": rename_function,
    "rename-attribute": rename_attribute,
    "change-called-function": change_called_function,
    "change-variable": change_variable,
}
