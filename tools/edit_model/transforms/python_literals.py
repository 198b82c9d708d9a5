"""Edits of Python values: numbers, strings, collections, what is assigned and returned."""

from __future__ import annotations

import ast
import re
from collections import Counter
from typing import Final

import tree_sitter

from tools.edit_model.edit import Edit, Replacement
from tools.edit_model.phrasing import Phrasing
from tools.edit_model.source import Unit
from tools.edit_model.transforms.python_code import (
    TEXT,
    Place,
    Transform,
    ask,
    describe,
    edit,
    function_node,
    literal,
    names_in,
    node_text,
    own_lines,
    place,
    quote,
    source,
    statements,
    table,
    walk_tree,
)
from tools.edit_model.transforms.python_parameters import a_default
from tools.edit_model.transforms.words import fresh, message, new_name, number, phrase, word


def _statement_of(where: Place, start: int) -> ast.stmt | None:
    """The innermost statement that holds the byte."""
    found = None
    for statement in statements(where.function):
        first, last = where.file.span(statement)
        if first <= start < last:
            found = statement
    return found


def _site(where: Place, text: str, start: int, count: int) -> str | None:
    """Words that tell this occurrence of a text from the others, with a blank in front; empty for the only one."""
    if count == 1:
        return ""
    statement = _statement_of(where, start)
    if statement is None:
        return None
    begin, end = where.file.span(statement)
    if isinstance(statement, ast.If | ast.For | ast.While | ast.With | ast.Try):
        return None
    if len(re.findall(rf"(?<![\w.]){re.escape(text)}(?![\w.])", where.file.source(begin, end))) != 1:
        return None
    name = describe(where, statement)
    return None if name is None else f" in {name}"


def change_number(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Changes a number."""
    where = place(unit, phrasing)
    root = function_node(unit.file, where.function) if where else None
    if where is None or root is None:
        return None
    nodes = [
        n for n in walk_tree(root) if n.type in {"integer", "float"} and node_text(n).replace(".", "", 1).isdigit()
    ]
    counts = Counter(node_text(n) for n in nodes)
    first = unit.file.offset(where.function.body[0].lineno, 0)
    nodes = [n for n in nodes if n.start_byte >= first]
    if not nodes:
        return None
    node = phrasing.random.choice(nodes)
    old = node_text(node)
    if old.startswith("0") and old.isdigit() and len(old) > 1:
        return None
    new = repr(number(phrasing.random, float(old) if "." in old else int(old)))
    site = _site(where, old, node.start_byte, counts[old])
    if site is None or new in counts:
        return None
    a, b = phrasing.code(old), phrasing.code(new)
    wordings = [
        f"change {a} to {b}{site}<in>",
        f"replace {a} with {b}{site}<in>",
        f"use {b} instead of {a}{site}<in>",
        f"make the {a} {b}{site}<in>",
        f"set the {a} to {b}{site}<in>",
        f"turn {a} into {b}{site}<in>",
        f"it should be {b}, not {a}{site}<in>",
        f"put {b} in place of {a}{site}<in>",
        f"swap the {a} for {b}{site}<in>",
        f"update the number {a} to {b}{site}<in>",
    ]
    owner = _number_owner(unit, node)
    if owner and len([n for n in nodes if _number_owner(unit, n) == owner]) == 1:
        c = phrasing.code(owner)
        wordings += [f"set {c} to {b}<in>", f"change {c} to {b}<in>", f"change {c} from {a} to {b}<in>",
                     f"make {c} {b}<in>", f"use {b} for {c}<in>"] * 2  # fmt: skip
    wordings.append(f"let the number be {b} rather than {a}{site}<in>")
    return edit("change-constant", ask(where, *wordings), Replacement(node.start_byte, node.end_byte, new))


def _number_owner(unit: Unit, node: tree_sitter.Node) -> str:
    """The variable or keyword argument the number is given to directly."""
    parent = node.parent
    if parent is None or parent.type not in {"keyword_argument", "assignment"}:
        return ""
    name = parent.child_by_field_name("name" if parent.type == "keyword_argument" else "left")
    return node_text(name) if name and len(node_text(name)) < 30 else ""


def _plain_strings(where: Place) -> list[tuple[int, int, str]]:
    """The text of each one-line, plain string, as [start, end) without the quotes; docstrings left out."""
    root = function_node(where.file, where.function)
    found = []
    for node in walk_tree(root) if root else ():
        parent = node.parent
        if node.type != "string" or parent is None or parent.type in {"expression_statement", "concatenated_string"}:
            continue
        text = node_text(node)
        if re.fullmatch(r"""('[^'\\\n{}%]*'|"[^"\\\n{}%]*")""", text) and not text.startswith(('"""', "'''")):
            found.append((node.start_byte + 1, node.end_byte - 1, text[1:-1]))
    return found


def change_string(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Changes a string's text."""
    where = place(unit, phrasing)
    if where is None:
        return None
    strings = _plain_strings(where)
    texts = Counter(text for _, _, text in strings)
    chosen = [
        (start, end, text)
        for start, end, text in strings
        if texts[text] == 1 and 0 < len(text) <= 60 and text.strip() == text and not set("`[") & set(text)
    ]
    if not chosen:
        return None
    random = phrasing.random
    start, end, old = random.choice(chosen)
    mark = unit.file.source(start - 1, start)
    new = (
        message(random)
        if " " in old
        else random.choice((word(random), new_name(old, random, names_in(unit)), word(random)))
    )
    if not old.isidentifier() and " " not in old:
        new = random.choice(
            (word(random), phrase(random, 1, 2), f"{word(random)}-{word(random)}", f"{word(random)}/{word(random)}")
        )
    if mark in new or new in texts or (unit.text.count(old) > 1 and len(old) < 3):  # fmt: skip
        return None
    m = random.choice(("'", '"', mark, mark)) if not {"'", '"'} & set(old) else mark
    a, b = f"{m}{old}{m}", f"{m}{new}{m}"
    wordings = [
        f"change {a} to {b}<in>",
        f"change the string {a} to {b}<in>",
        f"replace {a} with {b}<in>",
        f"use {b} instead of {a}<in>",
        f"replace the string {a} by {b}<in>",
        f"make it {b} instead of {a}<in>",
        f"the text {a} should be {b}<in>",
        f"turn {a} into {b}<in>",
        f"write {b} where it says {a}<in>",
    ]
    if " " in old:
        wordings += [
            f"change the message {a} to {b}<in>",
            f"reword {a} as {b}<in>",
            f"change the text {a} to: {TEXT}",
        ]
    if len([t for t in texts.elements() if " " in t]) == 1 and " " in old:
        wordings += [
            f"change the message<in> to {TEXT}",
            f"reword the message<in>: {TEXT}",
            f"let the message<in> say {TEXT}",
        ]
    wordings.append(f"put {b} in place of {a}<in>")
    return edit("change-string", ask(where, *wordings, text=new), Replacement(start, end, new))


def change_word(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Replaces one word inside a longer string."""
    where = place(unit, phrasing)
    if where is None:
        return None
    random = phrasing.random
    found = []
    for start, _, text in _plain_strings(where):
        words = re.finditer(r"[A-Za-z]{3,}", text) if " " in text else ()
        found += [
            (start + len(text[: match.start()].encode()), match.group())
            for match in words
            if len(re.findall(rf"\b{match.group()}\b", unit.text)) == 1
        ]
    if not found:
        return None
    at, old = random.choice(found)
    new = word(random)
    new = new.capitalize() if old[0].isupper() else new
    if new == old:
        return None
    a, b = phrasing.code(old), phrasing.code(new)
    instruction = ask(
        where,
        f"replace the word {a} with {b} in the message<in>",
        f"change {a} to {b} in the text<in>",
        f"in the string, write {b} instead of {a}<in>",
        f"say {b} instead of {a} in the message<in>",
        f"change the word {a} in the string to {b}<in>",
        f"the message should say {b}, not {a}<in>",
        f"use the word {b} for {a} in the text<in>",
    )
    return edit("change-word-in-string", instruction, Replacement(at, at + len(old), new))


def _collection(where: Place) -> tuple[ast.Dict | ast.List | ast.Set, str] | None:
    """A non-empty collection that a variable is set to, and the variable."""
    found = []
    for statement in statements(where.function):
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Dict | ast.List | ast.Set):
            value, name = statement.value, source(where.file, statement.targets[0])
            elements = value.keys if isinstance(value, ast.Dict) else value.elts
            if elements and own_lines(where.file, statement) and len(name) < 30:
                found.append((value, name))
    names = Counter(name for _, name in found)
    found = [f for f in found if names[f[1]] == 1]
    return where.random.choice(found) if found else None


def _appended(where: Place, value: ast.expr, last: ast.expr, text: str) -> Replacement | None:
    """The text as the last element, on its own line where the others are."""
    file = where.file
    end = file.span(last)[1]
    rest = file.source(end, file.span(value)[1])
    if value.lineno == value.end_lineno:
        return Replacement(end, end, f", {text}") if rest in {"]", "}"} else None
    start = file.line_starts[last.lineno - 1]
    lead = file.source(start, file.offset(last.lineno, last.col_offset))
    if isinstance(value, ast.Dict):
        lead = file.source(start, start + len(lead) - len(lead.lstrip()))
    elif lead.strip():
        return None
    lead = lead[: len(lead) - len(lead.lstrip())] if lead.strip() else lead
    if not re.fullmatch(r",\s*[\]}]", rest) or "\n" not in rest:
        return None
    return Replacement(end, end, f",\n{lead}{text}")


def add_item(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Adds an element at the end of a list or set."""
    where = place(unit, phrasing)
    found = _collection(where) if where else None
    if where is None or found is None:
        return None
    value, name = found
    if isinstance(value, ast.Dict):
        return None
    random, last = phrasing.random, value.elts[-1]
    kinds = {type(e.value) for e in value.elts if isinstance(e, ast.Constant)}
    text = fresh(random, names_in(unit))
    if kinds == {str}:
        text = literal(random.choice((word(random), phrase(random, 1, 2))), quote(unit))
    elif kinds == {int}:
        text = str(number(random, 10))
    a, b, noun = phrasing.code(text), phrasing.code(name), "list" if isinstance(value, ast.List) else "set"
    instruction = ask(
        where,
        f"add {a} to {b}<in>",
        f"add {a} to the {noun} {b}<in>",
        f"append {a} to the {b} {noun}<in>",
        f"include {a} in {b}<in>",
        f"put {a} at the end of {b}<in>",
        f"add the element {a} at the end of {b}<in>",
        f"extend the {noun} {b} with {a}<in>",
        f"let {b} contain {a} too<in>",
    )
    return edit("add-list-item", instruction, _appended(where, value, last, text))


def _key(random_word: str, keys: list[ast.expr | None], unit: Unit) -> str:
    return literal(random_word, quote(unit)) if all(isinstance(k, ast.Constant) for k in keys) else random_word


def add_entry(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Adds an entry at the end of a dict."""
    where = place(unit, phrasing)
    found = _collection(where) if where else None
    if where is None or found is None:
        return None
    value, name = found
    if not isinstance(value, ast.Dict):
        return None
    random = phrasing.random
    if not all(isinstance(k, ast.Constant) and isinstance(k.value, str) for k in value.keys):
        return None
    key = _key(fresh(random, names_in(unit)), value.keys, unit)
    entry = random.choice(
        (fresh(random, names_in(unit)), a_default(random, quote(unit)), a_default(random, quote(unit)))
    )
    text = f"{key}: {entry}"
    a, b, c, d = (phrasing.code(t) for t in (text, name, key, entry))
    instruction = ask(
        where,
        f"add {a} to {b}<in>",
        f"add the entry {a} to {b}<in>",
        f"add the key {c} with value {d} to {b}<in>",
        f"add an entry {c} to the dict {b} with the value {d}<in>",
        f"put {a} at the end of {b}<in>",
        f"extend {b} with {a}<in>",
        f"include {a} in the dictionary {b}<in>",
        f"let {b} have {d} under {c}<in>",
    )
    return edit("add-dict-entry", instruction, _appended(where, value, value.values[-1], text))


def remove_entry(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Removes an entry of a dict or an element of a list."""
    where = place(unit, phrasing)
    found = _collection(where) if where else None
    if where is None or found is None:
        return None
    value, name = found
    spans: list[tuple[int, int, str]] = []
    if isinstance(value, ast.Dict):
        for key, item in zip(value.keys, value.values, strict=True):
            if key is not None:
                spans.append((unit.file.span(key)[0], unit.file.span(item)[1], source(unit.file, key)))
    else:
        spans = [(*unit.file.span(element), source(unit.file, element)) for element in value.elts]
    if len(spans) < 2 or len({text for _, _, text in spans}) < len(spans):
        return None
    index = phrasing.random.randrange(len(spans))
    start, end, text = spans[index]
    if len(text) > 40 or "\n" in text or "#" in source(unit.file, value):
        return None
    change = Replacement(spans[index - 1][1], end, "") if index else Replacement(start, spans[1][0], "")
    a, b = phrasing.code(text), phrasing.code(name)
    noun = "key" if isinstance(value, ast.Dict) else "element"
    instruction = ask(
        where,
        f"remove {a} from {b}<in>",
        f"remove the {noun} {a} from {b}<in>",
        f"delete {a} from {b}<in>",
        f"drop the {noun} {a} of {b}<in>",
        f"take {a} out of {b}<in>",
        f"get rid of {a} in {b}<in>",
        f"leave {a} out of {b}<in>",
    )
    kind = "remove-dict-entry" if isinstance(value, ast.Dict) else "remove-list-item"
    return edit(kind, instruction, change)


def remove_dict_entry(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Removes an entry of a dict."""
    made = remove_entry(unit, phrasing)
    return made if made and made.kind == "remove-dict-entry" else None


def remove_list_item(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Removes an element of a list or set."""
    made = remove_entry(unit, phrasing)
    return made if made and made.kind == "remove-list-item" else None


def change_return(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Changes what is returned at the return named."""
    where = place(unit, phrasing)
    returns = [s for s in statements(where.function) if isinstance(s, ast.Return) and s.value] if where else []
    if where is None or not returns:
        return None
    random = phrasing.random
    statement = random.choice(returns)
    assert isinstance(statement, ast.Return) and statement.value is not None
    old = source(unit.file, statement.value)
    texts = [source(unit.file, s) for s in returns]
    if "\n" in old or len(old) > 40 or texts.count(f"return {old}") != 1:
        return None
    local = sorted(
        {n.id for n in ast.walk(where.function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    )
    name = random.choice(local) if local else fresh(random, names_in(unit))
    new = random.choice((a_default(random, quote(unit)), name, f"{old} or None", f"list({old})",
        f"({old}, {name})", f"len({old})",
                         f"{fresh(random, names_in(unit))}({old})", f"not {old}", f"{name}, {old}",
                         f"bool({old})"))  # fmt: skip
    if not isinstance(statement.value, ast.Name | ast.Attribute | ast.Call | ast.Constant) and old in new:
        return None
    if new == old:
        return None
    a, b = phrasing.code(new), phrasing.code(old)
    only = len(returns) == 1
    instruction = ask(
        where,
        f"return {a} instead of {b}<in>",
        f"change {phrasing.code('return ' + old)} to {phrasing.code('return ' + new)}<in>",
        f"make it return {a} instead of {b}<in>",
        f"return {a}<in>" if only else f"return {a}, not {b}<in>",
        f"it should return {a}, not {b}<in>",
        f"replace the returned {b} with {a}<in>",
        f"where it returns {b}, return {a}<in>",
        f"let it return {a} in place of {b}<in>",
    )
    return edit("change-return-value", instruction, Replacement(*unit.file.span(statement.value), new))


def change_assigned(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Changes the value that is given to a variable."""
    where = place(unit, phrasing)
    if where is None:
        return None
    chosen = [
        s for s in statements(where.function)
        if isinstance(s, ast.Assign) and len(s.targets) == 1 and s.value.lineno == s.value.end_lineno
    ]  # fmt: skip
    names = Counter(source(unit.file, s.targets[0]) for s in chosen if isinstance(s, ast.Assign))
    random = phrasing.random
    fitting = [s for s in chosen if isinstance(s, ast.Assign) and names[source(unit.file, s.targets[0])] == 1]
    if not fitting:
        return None
    statement = random.choice(fitting)
    name, old = source(unit.file, statement.targets[0]), source(unit.file, statement.value)
    taken = names_in(unit)
    other, made = fresh(random, taken), fresh(random, taken)
    new = random.choice((a_default(random, quote(unit)), f"{made}({other})", f"self.{other}", f"{other}.{made}()",
        f"{other} or {made}",
                         f"list({other})", f"[{other}]", f"len({other})", f"{other}[0]",
                         f"dict({other})", other))  # fmt: skip
    if len(name) > 30 or new == old:
        return None
    a, b = phrasing.code(name), phrasing.code(new)
    instruction = ask(
        where,
        f"set {a} to {b}<in>",
        f"assign {b} to {a}<in>",
        f"make {a} {b}<in>",
        f"change the assignment to {phrasing.code(f'{name} = {new}')}<in>",
        f"let {a} be {b}<in>",
        f"use {b} for {a}<in>",
        f"change the value of {a} to {b}<in>",
        f"initialize {a} with {b} instead<in>",
    )
    return edit("change-assigned-value", instruction, Replacement(*unit.file.span(statement.value), new))


TRANSFORMS: Final[dict[str, Transform]] = table(
    ("change-constant", change_number),
    ("change-string", change_string),
    ("change-word-in-string", change_word),
    ("change-return-value", change_return),
    ("change-assigned-value", change_assigned),
    ("add-list-item", add_item),
    ("add-dict-entry", add_entry),
    ("remove-dict-entry", remove_dict_entry),
    ("remove-list-item", remove_list_item),
)
