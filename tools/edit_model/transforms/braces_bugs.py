"""Mistakes put into good code of curly-brace languages, so that mending them is the edit.

The replacements of these transformations make the code before; an example's sides are swapped.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from tools.edit_model.edit import Edit, Replacement
from tools.edit_model.phrasing import Phrasing
from tools.edit_model.source import Unit, parser
from tools.edit_model.transforms.braces_ifs import condition_of
from tools.edit_model.transforms.braces_view import (
    Node,
    View,
    binding,
    child,
    describe,
    edit,
    mention,
    replace,
    text,
    view,
)


def _line(seen: View, node: Node) -> str | None:
    """The code of the node's statement or condition as far as it stands on one line."""
    for parent in [node, *seen.ancestors(node)]:
        if parent.type in seen.grammar.statements:
            return text(parent).rstrip(";") if seen.single(parent) and len(text(parent)) < 80 else None
    return None


def off_by_one(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A loop's bound is compared with the wrong operator."""
    seen = view(unit)
    if seen is None:
        return None
    found = []
    for loop in seen.of({"for_statement", "while_statement", "while_expression"}):
        for node in seen.of(seen.grammar.binaries):
            operator, condition = node.child_by_field_name("operator"), child(loop, "condition")
            if operator is None or text(operator) not in {"<", "<=", ">", ">="}:
                continue
            holder = condition if condition is not None else loop
            body = child(loop, "body")
            if not (holder.start_byte <= node.start_byte and node.end_byte <= holder.end_byte):
                continue
            if body is not None and node.start_byte >= body.start_byte:
                continue
            found.append((loop, operator))
    if not found:
        return None
    loop, operator = phrasing.random.choice(found)
    good = text(operator)
    bad = good[0] if len(good) == 2 else good + "="
    told = describe(seen, loop, phrasing)
    where = f" in {told}" if told is not None and told.startswith("the ") else ""
    if not where and len(found) > 1:
        return None
    far = good in {"<", ">"}
    other = where if where != " in the loop" else ""
    instruction = phrasing.pick(
        f"fix the off-by-one error{where or ' in the loop condition'}",
        f"fix the off by one{where or ' in the loop'}",
        f"there's an off-by-one error{where}, fix the loop condition",
        f"the bound{where or ' of the loop'} is off by one, fix the comparison",
        f"the loop {'runs once too often' if far else 'stops one too early'}{other}, fix it",
        f"correct the loop condition{where}: it's off by one",
        f"fix the loop{other}: it runs one time {'too many' if far else 'too few'}",
        f"mend the comparison{where or ' in the loop'}, it is off by one",
    )
    return edit("fix-off-by-one", instruction, replace(operator, bad))


_WRONG: Final = {
    "<": ">",
    ">": "<",
    "<=": ">=",
    ">=": "<=",
    "&&": "||",
    "||": "&&",
    "===": "!==",
    "!==": "===",
    "==": "!=",
    "!=": "==",
    "+": "-",
    "-": "+",
}


def wrong_operator(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A comparison or a connective is the opposite of what it should be."""
    seen = view(unit)
    if seen is None:
        return None
    random = phrasing.random
    nodes = [
        n for n in seen.of(seen.grammar.binaries) if (o := n.child_by_field_name("operator")) and text(o) in _WRONG
    ]
    for node in random.sample(nodes, min(len(nodes), 6)):
        operator, left, right = (node.child_by_field_name(f) for f in ("operator", "left", "right"))
        if operator is None or left is None or right is None or not seen.single(node) or len(text(node)) > 60:
            continue
        if any(s in text(left) + text(right) for s in (" && ", " || ", " + ", " - ", " < ", " > ", "==", "!=")):
            continue
        good = text(operator)
        if good in "+-" and (left.type in seen.grammar.strings or right.type in seen.grammar.strings):
            continue
        bad = _WRONG[good]
        gap = seen.file.source(operator.end_byte, right.start_byte)
        shown = text(left) + seen.file.source(left.end_byte, operator.start_byte) + bad + gap + text(right)
        if shown in unit.text or not seen.once(text(node)):
            continue
        a, b, c = mention(phrasing, shown), phrasing.code(good), phrasing.code(bad)
        wordings = [
            f"the operator in {a} is wrong, it should be {b}",
            f"fix {a}: it must be {b}",
            f"in {a} use {b} instead of {c}",
            f"wrong operator in {a}, use {b}",
            f"fix the operator in {a}, it has to be {b}",
        ]
        if good in {"===", "!==", "==", "!="}:
            wordings += [
                f"the check {a} is the wrong way round, fix it",
                f"fix the inverted comparison {a}",
                f"the comparison {a} should be the opposite",
                f"invert the comparison {a}",
                f"the test {a} is backwards",
            ]
        elif good in {"&&", "||"}:
            word = "and" if good == "&&" else "or"
            other = "or" if good == "&&" else "and"
            wordings += [
                f"the {other} in {a} should be an {word}",
                f"use {word} rather than {other} in {a}",
                f"fix the condition {a}: it needs an {word}",
            ]
        elif good in {"<", ">", "<=", ">="}:
            wordings += [
                f"the comparison {a} points the wrong way, flip it",
                f"turn the comparison {a} around",
                f"fix the direction of the comparison {a}",
            ]
        else:
            word = "add" if good == "+" else "subtract"
            wordings += [f"it should {word} in {a}", f"fix the sign in {a}", f"the sign in {a} is wrong"]
        return edit("fix-operator", phrasing.pick(*wordings), replace(operator, bad))
    return None


def missing_word(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """An ``await``, ``return`` or ``new`` is missing."""
    seen = view(unit)
    if seen is None:
        return None
    random = phrasing.random
    found: list[tuple[str, Node, Node]] = []
    awaited = set() if seen.language == "rust" else {"await_expression"}
    for node in seen.of({"new_expression", "return_statement"} | awaited):
        if not node.named_child_count or not seen.single(node):
            continue
        inner = node.named_children[-1] if node.type != "new_expression" else node.named_children[0]
        word = {"await_expression": "await", "new_expression": "new", "return_statement": "return"}[node.type]
        if word == "return" and inner.type not in {
            "call_expression",
            "method_invocation",
            "await_expression",
            "identifier",
        }:
            continue
        if seen.language == "go" and word == "return":
            continue
        found.append((word, node, inner))
    for word, node, inner in random.sample(found, min(len(found), 5)):
        rest = seen.file.source(inner.start_byte, node.end_byte)
        shown = rest.rstrip(";")
        if len(shown) > 70 or not seen.once(shown):
            continue
        a = mention(phrasing, shown)
        where = seen.within(node, phrasing) or ""
        verb = {"await": "awaited", "return": "returned", "new": "constructed with new"}[word]
        article = "an" if word == "await" else "a"
        wordings = [
            f"add the missing {word} before {a}",
            f"there's {article} {word} missing before {a}",
            f"fix: {a} isn't {verb}",
            f"the {word} is missing in front of {a}",
            f"insert the {word} that {a} lacks",
            f"{a} should be {verb}" if a[:1] in "`'\"" else f"make sure {a} is {verb}",
            f"don't forget to {word} {a}" if word != "new" else f"call {a} with new",
            f"put the missing {word} in front of {a}",
        ]
        if word == "return":
            function = seen.function(node)
            if (
                function is not None
                and len([n for n in seen.of({"return_statement"}) if seen.function(n) == function]) == 1
            ):
                wordings = [
                    f"the result isn't returned{where}, fix it"
                    if inner.type == "call_expression"
                    else f"fix the missing return{where}",
                    f"add the missing return{where}",
                    f"it forgets to return the result{where}",
                    *wordings,
                ]
        elif len([1 for w, _, _ in found if w == word]) == 1:
            wordings = [
                f"fix the missing {word}" if word != "return" else wordings[0],
                f"there's {article} {word} missing, add it",
                *wordings,
            ]
            if word == "await" and len(seen.of({"call_expression"})) > 2:
                wordings = wordings[2:]
        return edit(
            f"fix-missing-{word}", phrasing.pick(*wordings), Replacement(node.start_byte, inner.start_byte, "")
        )
    return None


def negation(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A condition lacks its ``!`` or has one too many."""
    seen = view(unit)
    if seen is None:
        return None
    ifs = seen.of(seen.grammar.ifs)
    for node in phrasing.random.sample(ifs, min(len(ifs), 5)):
        condition = condition_of(node)
        if condition is None or not seen.single(condition) or len(text(condition)) > 60:
            continue
        shown = text(condition)
        if shown.startswith("!") and condition.type in {"unary_expression"}:
            bad, missing = shown[1:], True
        elif condition.type in {
            "identifier",
            "call_expression",
            "member_expression",
            "method_invocation",
            "field_expression",
            "selector_expression",
        }:
            bad, missing = "!" + shown, False
        else:
            continue
        around = f"if {bad}" if seen.language in {"go", "rust"} else f"if ({bad})"
        good = f"if {shown}" if seen.language in {"go", "rust"} else f"if ({shown})"
        if unit.text.count(good) != 1 or around in unit.text:
            continue
        a = mention(phrasing, around)
        wordings = [
            f"the condition {a} is inverted, fix it",
            f"fix the inverted condition {a}",
            f"the check {a} is the wrong way round",
            f"{'negate' if missing else 'don’t negate'} {a}".replace("’", "'"),
            f"the test {a} has it backwards, fix that",
        ]
        if missing:
            wordings += [
                f"there's a not missing in {a}",
                f"add the missing negation in {a}",
                f"a ! is missing in {a}",
            ]
        else:
            wordings += [
                f"remove the wrong negation in {a}",
                f"the ! in {a} shouldn't be there",
                f"drop the bogus ! in {a}",
            ]
        if len(ifs) == 1:
            wordings += ["the condition is inverted, fix it", "fix the inverted condition"]
            wordings += [wordings[0]]
        return edit("fix-negation", phrasing.pick(*wordings), replace(condition, bad))
    return None


def swapped_arguments(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Two arguments of a call are in the wrong order."""
    seen = view(unit)
    if seen is None:
        return None
    calls = seen.of({*seen.grammar.calls, "new_expression", "object_creation_expression"})
    for call in phrasing.random.sample(calls, min(len(calls), 8)):
        arguments = call.child_by_field_name("arguments")
        called = (
            call.child_by_field_name("function")
            or call.child_by_field_name("name")
            or call.child_by_field_name("constructor")
        )
        if arguments is None or called is None or arguments.named_child_count != 2 or not seen.single(arguments):
            continue
        one, two = arguments.named_children
        if (
            text(one) == text(two)
            or "=>" in text(arguments)
            or "function" in text(arguments)
            or len(text(called)) > 40
        ):
            continue
        name = text(called)
        if not seen.single(called) or unit.text.count(f"{name}(") != 1:
            continue
        c = phrasing.code(name)
        instruction = phrasing.pick(
            f"the arguments of {c} are swapped, fix it",
            f"swap the arguments of {c}",
            f"fix the argument order in the call to {c}",
            f"the arguments of {c} are in the wrong order",
            f"{c} gets its arguments the wrong way round" if c[0] in "`'\"" else f"exchange the two arguments of {c}",
            f"correct the order of the arguments of {c}",
            f"turn the arguments of {c} around",
        )
        return edit("fix-argument-order", instruction, replace(one, text(two)), replace(two, text(one)))
    return None


def wrong_variable(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A statement uses another variable than it should."""
    seen = view(unit)
    if seen is None:
        return None
    random = phrasing.random
    names = sorted(
        {text(n) for n in seen.nodes if n.type == "identifier" and binding(seen, n) in {"local", "parameter"}}
    )
    uses = [n for n in seen.nodes if n.type == "identifier" and text(n) in names and not binding(seen, n)]
    for use in random.sample(uses, min(len(uses), 8)):
        good = text(use)
        line = _line(seen, use)
        others = [name for name in names if name != good]
        if line is None or not others or len(re.findall(rf"\b{re.escape(good)}\b", line)) != 1 or not seen.once(line):
            continue
        bad = random.choice(others)
        if re.search(rf"\b{re.escape(bad)}\b", line):
            continue
        shown = re.sub(rf"\b{re.escape(good)}\b", bad, line)
        if shown in unit.text:
            continue
        a, g, b = mention(phrasing, shown), phrasing.code(good), phrasing.code(bad)
        instruction = phrasing.pick(
            f"wrong variable in {a}, it should be {g}",
            f"fix {a}: it should use {g}",
            f"it uses {b} in {a} but should use {g}",
            f"in {a} it has to be {g}",
            f"use {g} instead of {b} in {a}",
            f"the line {a} should use {g}, not {b}",
            f"fix the wrong variable in {a}, use {g}",
            f"correct {a} to use {g}",
        )
        return edit("fix-variable", instruction, replace(use, bad))
    return None


def missing_break(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A ``case`` lacks its ``break``."""
    seen = view(unit)
    if seen is None or seen.language in {"go", "rust"}:
        return None
    for node in seen.of({"break_statement"}):
        parent = seen.parent(node)
        lines = seen.whole_lines(node)
        if (
            parent is None
            or parent.type not in {"switch_case", "switch_block_statement_group", "case_statement"}
            or lines is None
        ):
            continue
        head = text(parent).split(":")[0].strip()
        if len(head) > 50 or not head.startswith("case") or not seen.once(head + ":"):
            continue
        if text(parent).split(":", 1)[1].strip().startswith("case") or text(parent).count("break;") != 1:
            continue
        a = mention(phrasing, head)
        instruction = phrasing.pick(
            f"{a} falls through, add a break" if a[0] in "`'\"" else f"add a break to {a}",
            f"add the missing break to {a}",
            f"the break of {a} is missing",
            f"fix the fall-through in {a}",
            f"there's a break missing in {a}",
            f"put a break at the end of {a}",
            f"end {a} with a break",
        )
        return edit("fix-missing-break", instruction, Replacement(*lines, ""))
    return None


def wrong_number(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A loop begins one too late, or a ``+ 1`` or ``- 1`` is missing."""
    seen = view(unit)
    if seen is None:
        return None
    for node in phrasing.random.sample(seen.of(seen.grammar.binaries), len(seen.of(seen.grammar.binaries))):
        operator, left, right = (node.child_by_field_name(f) for f in ("operator", "left", "right"))
        if (
            operator is None
            or left is None
            or right is None
            or text(right) != "1"
            or text(operator) not in {"+", "-"}
        ):
            continue
        line = _line(seen, node)
        if line is None or not seen.once(line) or line.count(text(node)) != 1:
            continue
        shown = line.replace(text(node), text(left))
        if shown in unit.text:
            continue
        a, one = mention(phrasing, shown), phrasing.code(f"{text(operator)} 1")
        word = "too small" if text(operator) == "+" else "too large"
        instruction = phrasing.pick(
            f"{phrasing.code(text(left))} is off by one in {a}, it's {word}"
            if a[0] in "`'\"" and phrasing.code("x")[0] in "`'\""
            else f"add the missing {one} to {phrasing.code(text(left))} in {a}",
            f"there's a {one} missing after {phrasing.code(text(left))} in {a}",
            f"fix {a}: {phrasing.code(text(left))} needs a {one}",
            f"put {one} after {phrasing.code(text(left))} in {a}",
            f"in {a}, {phrasing.code(text(left))} lacks a {one}",
        )
        return edit("fix-missing-one", instruction, replace(node, text(left)))
    return None


def _derivable(data: bytes, what: str, code: str, begin: int, end: int) -> bool:
    """Whether what is missing, and where, can be seen by a reader."""
    before = data[begin - 1 : begin].decode(errors="replace")
    after = data[end : end + 1].decode(errors="replace")
    line_end = data[end : data.find(b"\n", end)].strip()
    if what == "quote":
        return re.fullmatch(r"[\w .:!?/-]+", code[1:-1]) is not None and after in ");]\n},"
    if code == "(":
        return not (re.match(r"\w", before) and re.match(r"\w", after)) and before not in "(,"
    if code in ")]":
        return line_end in (b"", b";", b",", b"{", b") {", b");", b"),", b"];")
    if code == "{":
        return not line_end
    if code == "}":
        return not data[data.rfind(b"\n", 0, begin) + 1 : begin].strip()
    return True


def fix_syntax(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A bracket, a quote or a comma is missing."""
    seen = view(unit)
    if seen is None:
        return None
    random = phrasing.random
    tokens = [n for n in seen.nodes if not n.is_named and text(n) in {")", "]", "}", "(", "{"}]
    commas = [
        n
        for n in seen.nodes
        if not n.is_named
        and text(n) == ","
        and (p := seen.parent(n))
        and p.type
        in {"arguments", "argument_list", "object", "array", "formal_parameters", "parameters", "parameter_list"}
        and (s := n.next_sibling)
        and s.is_named
    ]
    strings = [n for n in seen.of(seen.grammar.strings) if seen.single(n) and len(text(n)) > 3]
    pool = [
        *[("bracket", n) for n in random.sample(tokens, min(len(tokens), 4))],
        *[("comma", n) for n in random.sample(commas, min(len(commas), 2))],
        *[("quote", n) for n in random.sample(strings, min(len(strings), 2))],
    ]
    for what, node in random.sample(pool, len(pool)):
        row = unit.file.source(
            unit.file.line_starts[node.start_point.row], unit.file.line_starts[node.start_point.row + 1]
        ).strip()
        code = text(node)
        if what == "quote":
            begin, end = node.end_byte - 1, node.end_byte
            names = ["quote", "closing quote"]
            broken = row.replace(text(node), text(node)[:-1], 1)
            if broken == row:
                continue
            if text(node)[0] not in "'\"":
                continue
        else:
            begin, end = node.start_byte, node.end_byte
            names = {
                ")": ["parenthesis", "closing parenthesis", "paren", ")"],
                "]": ["bracket", "closing bracket", "]"],
                "}": ["brace", "closing brace", "curly bracket", "}"],
                "(": ["opening parenthesis", "paren", "("],
                "{": ["opening brace", "brace", "{"],
                ",": ["comma", ","],
            }[code]
            offset = node.start_byte - unit.file.line_starts[node.start_point.row]
            line = unit.file.data[
                unit.file.line_starts[node.start_point.row] : unit.file.line_starts[node.start_point.row + 1]
            ]
            broken = (line[:offset] + line[offset + 1 :]).decode().strip()
        if begin < unit.start or end > unit.end or not _derivable(unit.file.data, what, code, begin, end):
            continue
        if code in {"{", "}"} and what == "bracket":
            parent = seen.parent(node)
            if parent is None or parent.type == "template_substitution":
                continue
            if code == "}" and row == "}":
                if parent.end_byte < unit.node.end_byte - 2:
                    continue
                lines = seen.lines(begin, end)
                if lines is None:
                    continue
                begin, end = lines
            elif code == "{" and unit.file.data[begin - 1 : begin] == b" " and row.endswith("{"):
                begin -= 1
        data = unit.file.data
        if not parser(unit.file.language).parse(data[:begin] + data[end:]).root_node.has_error:
            continue
        wordings = [
            "fix the syntax error",
            "fix the syntax",
            "this doesn't parse, fix it",
            "there's a syntax error, correct it",
            f"add the missing {names[0]}",
            f"there's a {names[0]} missing",
            f"fix the missing {random.choice(names)}",
            f"a {random.choice(names)} is missing, add it",
            "make this parse again",
            "repair the syntax",
        ]
        if broken and 4 < len(broken) <= 80 and begin == node.start_byte:
            a = mention(phrasing, broken)
            wordings = [
                *wordings[:-1],
                f"fix the syntax error in {a}",
                f"add the missing {random.choice(names)} in {a}",
                f"the line {a} lacks a {names[0]}",
                wordings[-1],
            ]
        return edit("fix-syntax", phrasing.pick(*wordings), Replacement(begin, end, ""))
    return None


TRANSFORMS: Final[dict[str, Callable[[Unit, Phrasing], Edit | None]]] = {}

INVERSE: Final[dict[str, Callable[[Unit, Phrasing], Edit | None]]] = {
    "fix-off-by-one": off_by_one,
    "fix-operator": wrong_operator,
    "fix-missing-word": missing_word,
    "fix-negation": negation,
    "fix-argument-order": swapped_arguments,
    "fix-variable": wrong_variable,
    "fix-missing-break": missing_break,
    "fix-missing-one": wrong_number,
    "fix-syntax": fix_syntax,
}
"""Their replacements make the code before of good code: an example's sides are swapped."""
