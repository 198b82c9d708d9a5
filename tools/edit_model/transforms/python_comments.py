"""Edits of Python comments and docstrings."""

from __future__ import annotations

import ast
from random import Random
from typing import Final

from tools.edit_model.edit import Edit, Replacement
from tools.edit_model.phrasing import Phrasing
from tools.edit_model.source import Unit
from tools.edit_model.transforms.python_code import (
    TEXT,
    Definition,
    Place,
    Transform,
    ask,
    before,
    definition,
    describe,
    edit,
    function_node,
    indent,
    indented,
    is_docstring,
    line,
    node_text,
    own_lines,
    pick,
    place,
    statements,
    table,
    top,
    walk_tree,
)
from tools.edit_model.transforms.words import ADJECTIVES, NOUNS, VERBS, message, phrase, split_words


def remark(random: Random) -> str:
    """What a comment may say."""
    noun, other, verb, adjective = (random.choice(w) for w in (NOUNS, NOUNS, VERBS, ADJECTIVES))
    text = random.choice((
        f"{verb} the {adjective} {noun}", f"{verb} the {noun} first", f"keep the {noun} {adjective}",
        f"the {noun} is {adjective} here", f"TODO: {verb} the {noun}", f"NOTE: {noun} may be {adjective}",
        f"FIXME: {adjective} {noun}", f"no {noun} yet", f"{noun} and {other} must match", phrase(random, 2, 5),
        f"only for the {adjective} {noun}", f"{verb} {noun}s by {other}", f"see the {noun} {other}",
        f"skip {noun}s",
        f"make sure the {noun} is {adjective}", f"avoid a {adjective} {noun}", f"this {verb}s the {noun}",
        f"TODO: handle {adjective} {noun}s", f"{adjective} {noun} goes first", f"needed by the {noun} {other}",
    ))  # fmt: skip
    roll = random.random()
    if roll < 0.4:
        text = text[0].upper() + text[1:]
    return text + "." if roll < 0.15 else text


def summary(random: Random, name: str) -> str:
    """A docstring's first line, often about what the name says."""
    words = split_words(name)
    noun, other, verb, adjective = (random.choice(w) for w in (NOUNS, NOUNS, VERBS, ADJECTIVES))
    choices = [
        f"{verb} the {noun}", f"{verb} the {adjective} {noun} of the {other}", f"{verb} a {noun} and its {other}",
        f"return the {adjective} {noun}", f"return the {noun} for the given {other}", f"{verb} {noun}s by {other}",
        f"{verb} the {noun} or raise an error", f"the {noun}'s {other}", f"{adjective} {noun} {other}",
        f"check whether the {noun} is {adjective}",
        f"{verb} every {noun} in the {other}", message(random).rstrip("!"),
    ]  # fmt: skip
    if len(words) > 1:
        rest = " ".join(words[1:])
        choices += [
            f"{words[0]} the {rest}",
            f"{words[0]} the {adjective} {rest}",
            f"{words[0]} {rest} of the {noun}",
        ]
    text = random.choice(choices)
    text = text[0].upper() + text[1:] if random.random() < 0.9 else text
    return text.rstrip(".") + "." if random.random() < 0.85 else text.rstrip(".")


def _noun(own: Definition) -> str:
    return "class" if isinstance(own, ast.ClassDef) else "function"


def add_docstring(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Adds the docstring given, on one line; a blank line follows it in a class."""
    own = definition(unit)
    if own is None or is_docstring(own.body, own) or function_node(unit.file, own) is None:
        return None
    node = function_node(unit.file, own)
    colon = next((child for child in node.children if child.type == ":"), None) if node else None
    if colon is None:
        return None
    offset = unit.file.line_starts[colon.start_point.row + 1]
    text, noun = summary(phrasing.random, own.name), _noun(own)
    instruction = pick(
        phrasing,
        f"add the docstring {TEXT}",
        f"add a docstring: {TEXT}",
        f"add a docstring saying {TEXT}",
        f"add a docstring to the {noun}: {TEXT}",
        f"document the {noun} with {TEXT}",
        f"give this {noun} the docstring {TEXT}",
        f"write {TEXT} as the docstring",
        f"insert the docstring {TEXT}",
        f"the {noun} lacks a docstring, use {TEXT}",
        f"put in a docstring: {TEXT}",
        f"set the docstring to {TEXT}",
        f"docstring: {TEXT}",
        f"document this: {TEXT}",
        text=text,
    )
    made = indented(f'"""{text}"""', indent(unit.file, own.body[0]))
    if isinstance(own, ast.ClassDef):
        made += "\n"
    return edit("add-docstring", instruction, Replacement(offset, offset, made))


def remove_docstring(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Removes the docstring, and the blank lines after it."""
    own = definition(unit)
    if own is None or not is_docstring(own.body, own) or len(own.body) == 1:
        return None
    lines = own_lines(unit.file, own.body[0])
    if lines is None:
        return None
    end = lines[1]
    while unit.file.data[end : end + 1] == b"\n":
        end += 1
    noun = _noun(own)
    instruction = pick(
        phrasing,
        "remove the docstring",
        "delete the docstring",
        f"drop the docstring of the {noun}",
        "get rid of the docstring",
        f"strip the docstring from this {noun}",
        "take out the docstring",
        "remove the doc string",
        f"this {noun} needs no docstring, remove it",
        "cut the docstring",
    )
    if own.name != "" and isinstance(own, ast.ClassDef) and any(is_docstring(n.body, n) for n in _inner(own)):
        instruction = pick(phrasing, "remove the class docstring", "delete the docstring of the class",
                           f"drop the docstring of {phrasing.code(own.name)}",
                           "remove the docstring of the class itself",
                           "take out the class's own docstring")  # fmt: skip
    return edit("remove-docstring", instruction, Replacement(lines[0], end, ""))


def _inner(own: Definition) -> list[Definition]:
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return [node for node in ast.walk(own) if isinstance(node, kinds) and node is not own]


def change_docstring(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Changes the first line of the docstring to the text given; the rest stays."""
    own = definition(unit)
    if own is None or not is_docstring(own.body, own):
        return None
    start, end = unit.file.span(own.body[0])
    text = unit.file.source(start, end)
    mark = text.lstrip("rRuU")[:3]
    if mark not in {'"""', "'''"} or not text.endswith(mark):
        return None
    head = text.index(mark) + 3
    body = text[head:-3]
    first = body.lstrip()
    skipped = len(body) - len(first)
    line_ = first.split("\n")[0]
    several = "\n" in first.rstrip()
    if not line_.strip() or (several and first.split("\n")[1].strip()):
        return None
    line_ = line_.rstrip()
    new = summary(phrasing.random, own.name)
    what = "first line of the docstring" if several else "docstring"
    instruction = pick(
        phrasing,
        f"change the {what} to {TEXT}",
        f"change the {what}: {TEXT}",
        f"replace the {what} with {TEXT}",
        f"set the {what} to {TEXT}",
        f"make the {what} {TEXT}",
        f"update the {what} to say {TEXT}",
        f"reword the {what}: {TEXT}",
        f"the {what} should be {TEXT}",
        f"use {TEXT} as the {what}",
        f"rewrite the {what} as {TEXT}",
        f"let the {what} read {TEXT}",
        text=new,
    )
    begin = start + len((text[:head] + body[:skipped]).encode())
    return edit("change-docstring", instruction, Replacement(begin, begin + len(line_.encode()), new))


def add_comment(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Adds the comment given above a statement or at the top of the function."""
    where = place(unit, phrasing)
    if where is None:
        return None
    text = remark(phrasing.random)
    if phrasing.random.random() < 0.2:
        spots, at = ["at the top", "at the start", "at the beginning of the body"], top(where)
        if at is None or line(unit.file, unit.file.data.count(b"\n", 0, at) + 1).strip().startswith("#"):
            return None
        made: Replacement | None = Replacement(
            at, at, indented(f"# {text}", indent(unit.file, where.function.body[0]))
        )
    else:
        chosen = statements(where.function)
        if not chosen:
            return None
        statement = phrasing.random.choice(chosen)
        name = describe(where, statement)
        made = before(unit.file, statement, f"# {text}")
        if name is None:
            return None
        spots = [f"above {name}", f"before {name}", f"above {name}"]
    spot = phrasing.random.choice(spots)
    instruction = ask(
        where,
        f"add a comment {spot}<in>: {TEXT}",
        f"add the comment {TEXT} {spot}<in>",
        f"put the comment {TEXT} {spot}<in>",
        f"comment {spot}<in>: {TEXT}",
        f"add a comment {spot}<in> saying {TEXT}",
        f"write {TEXT} as a comment {spot}<in>",
        f"insert a comment {spot}<in>: {TEXT}",
        f"insert the comment {TEXT} {spot}<in>",
        f"add comment {TEXT} {spot}<in>",
        f"{spot}<in>, add a comment that says {TEXT}"
        if spot.split()[0] in {"above", "before", "at"}
        else f"add {TEXT}",
        f"leave a comment {spot}<in> that says {TEXT}",
        f"note {spot}<in> in a comment: {TEXT}",
        text=text,
    )
    return edit("add-comment", instruction, made)


def _comments(unit: Unit) -> list[tuple[int, int, str]]:
    """The unit's comments: start, end, text."""
    return [(n.start_byte, n.end_byte, node_text(n)) for n in walk_tree(unit.node) if n.type == "comment"]


def _without(unit: Unit, start: int, end: int) -> Replacement | None:
    """Removes one comment: its line, or the blanks before it where code stands in front."""
    data = unit.file.data
    begin = data.rfind(b"\n", 0, start) + 1
    lead = data[begin:start]
    if lead.strip():
        return Replacement(begin + len(lead.rstrip()), end, "")
    return Replacement(begin, end + 1, "") if data[end : end + 1] == b"\n" else None


def remove_comments(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Removes all comments."""
    comments = _comments(unit)
    own = definition(unit)
    if not comments or own is None or comments[0][0] < unit.start:
        return None
    many = len(comments) > 1
    for start, _, text in comments:
        row = unit.file.data.count(b"\n", 0, start) + 1
        alone = line(unit.file, row).strip() == text
        if alone and not line(unit.file, row - 1).strip() and not line(unit.file, row + 1).strip():
            return None
        if any(mark in text for mark in ("noqa", "type:", "pragma", "pylint")):
            return None
    words = (
        "remove all comments",
        "remove the comments",
        "delete all the comments",
        "strip the comments",
        "get rid of the comments",
        "drop every comment",
        "clean out the comments",
        "no comments please, remove them",
        "take out all comments",
    )
    one = ("remove the comment", "delete the comment", "drop the comment", "get rid of the comment",
           "strip the comment", "take out the comment")  # fmt: skip
    instruction = pick(phrasing, *(words if many else one))
    return edit("remove-comments", instruction, *(_without(unit, start, end) for start, end, _ in comments))


def _one_comment(unit: Unit, phrasing: Phrasing) -> tuple[int, int, str] | None:
    """A comment that neither goes on in the next line nor comes twice."""
    comments = _comments(unit)
    if definition(unit) is None:
        return None
    texts = [text for _, _, text in comments]
    lines = {unit.file.data.count(b"\n", 0, start) for start, _, _ in comments}
    fitting = []
    for start, end, text in comments:
        row = unit.file.data.count(b"\n", 0, start)
        clean = text.lstrip("#").strip()
        if texts.count(text) == 1 and row - 1 not in lines and row + 1 not in lines and 3 < len(clean) <= 70:
            fitting.append((start, end, text))
    return phrasing.random.choice(fitting) if fitting else None


def remove_comment(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Removes the comment named by its text or what it is about."""
    found = _one_comment(unit, phrasing)
    if found is None:
        return None
    start, end, text = found
    row = unit.file.data.count(b"\n", 0, start) + 1
    if line(unit.file, row).strip() == text and not line(unit.file, row - 1).strip():
        return None
    clean = text.lstrip("#").strip()
    others = " ".join(other for _, _, other in _comments(unit) if other != text).lower()
    words = [word for word in clean.split() if word.isalpha() and len(word) > 3 and word.lower() not in others]
    code = phrasing.code
    about = [
        f"remove the comment about {phrasing.random.choice(words)}",
        f"delete the comment that mentions {phrasing.random.choice(words)}",
        f"drop the {code(phrasing.random.choice(words))} comment",
        f"get rid of the comment with {code(phrasing.random.choice(words))}",
    ] if words else []  # fmt: skip
    instruction = pick(
        phrasing,
        *about,
        f"remove the comment {TEXT}",
        f"delete the comment {TEXT}",
        f"remove the comment that says {TEXT}",
        f"drop the comment {TEXT}",
        f"take out the comment {TEXT}",
        f"remove this comment: {TEXT}",
        f"cut the comment {TEXT}",
        text=clean,
    )
    return edit("remove-comment", instruction, _without(unit, start, end))


def change_comment(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Changes a comment's text."""
    found = _one_comment(unit, phrasing)
    if found is None:
        return None
    start, end, text = found
    clean = text.lstrip("#").strip()
    if not text.startswith("# ") or "|" in clean:
        return None
    new = remark(phrasing.random)
    only = len(_comments(unit)) == 1
    old = "the comment" if only and phrasing.random.random() < 0.5 else f"the comment '{clean}'"
    instruction = pick(
        phrasing,
        f"change {old} to {TEXT}",
        f"replace {old} with {TEXT}",
        f"reword {old}: {TEXT}",
        f"make {old} say {TEXT}",
        f"update {old} to {TEXT}",
        f"let {old} read {TEXT}",
        f"rewrite {old} as {TEXT}",
        text=new,
    )
    return edit("change-comment", instruction, Replacement(start, end, f"# {new}"))


def add_trailing_comment(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Adds the comment given at the end of a statement's line, two blanks after it."""
    where = place(unit, phrasing)
    chosen = [s for s in statements(where.function) if s.lineno == s.end_lineno] if where else []
    if where is None or not chosen:
        return None
    statement = phrasing.random.choice(chosen)
    name, lines = describe(where, statement), own_lines(unit.file, statement)
    end = unit.file.span(statement)[1]
    if name is None or lines is None or unit.file.data[end : lines[1]] != b"\n":
        return None
    text = remark(phrasing.random)
    return edit("add-trailing-comment", _ask_trailing(where, name, text), Replacement(end, end, f"  # {text}"))


def _ask_trailing(where: Place, name: str, text: str) -> str:
    return ask(
        where,
        f"add a trailing comment to {name}<in>: {TEXT}",
        f"add the comment {TEXT} at the end of the line of {name}<in>",
        f"add an inline comment {TEXT} to {name}<in>",
        f"put the comment {TEXT} behind {name}<in>, on the same line",
        f"comment {name}<in> on its own line's end with {TEXT}",
        f"append the comment {TEXT} to {name}<in>",
        f"add an end-of-line comment after {name}<in>: {TEXT}",
        text=text,
    )


TRANSFORMS: Final[dict[str, Transform]] = table(
    ("add-docstring", add_docstring),
    ("remove-docstring", remove_docstring),
    ("change-docstring", change_docstring),
    ("add-comment", add_comment),
    ("add-trailing-comment", add_trailing_comment),
    ("remove-comments", remove_comments),
    ("remove-comment", remove_comment),
    ("change-comment", change_comment),
)
