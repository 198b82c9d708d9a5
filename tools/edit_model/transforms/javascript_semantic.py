"""Newer or other forms of the same JavaScript and TypeScript code."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

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
from tools.edit_model.transforms.javascript_functions import (
    arrow_to_function,
    block_to_expression,
    expression_to_block,
    function_to_arrow,
)
from tools.edit_model.transforms.javascript_loops import for_each_to_for_of, for_of, for_of_to_for_each
from tools.edit_model.transforms.javascript_strings import (
    from_template,
    nullish,
    optional_chaining,
    strict_equality,
    to_template,
)


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
