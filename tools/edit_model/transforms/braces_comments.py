"""Comments and documentation comments of curly-brace languages."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from tools.edit_model.edit import Edit, Replacement
from tools.edit_model.phrasing import Phrasing
from tools.edit_model.source import Unit
from tools.edit_model.transforms import words
from tools.edit_model.transforms.braces_view import Node, View, edit, places, removal, text, view

_QUOTES: Final = ('"', '"', "'", "`", "")


def _said(phrasing: Phrasing, content: str) -> str:
    """The words of a comment inside an instruction."""
    quote = phrasing.random.choice(_QUOTES)
    if quote and quote in content:
        quote = "" if '"' in content else '"'
    return f"{quote}{content}{quote}" if quote else f": {content}"


def _content(phrasing: Phrasing) -> str:
    random = phrasing.random
    roll = random.random()
    made = words.message(random) if roll < 0.4 else words.phrase(random, 2, 8)
    if roll > 0.85:
        return f"{random.choice(['TODO', 'FIXME', 'NOTE', 'HACK', 'XXX'])}: {made}"
    return made[0].upper() + made[1:] if random.random() < 0.6 else made


def add_comment(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A line comment is put before a statement or at the start of a function."""
    seen = view(unit)
    if seen is None:
        return None
    for place in places(seen, phrasing, after=False):
        if place.words.startswith(("after", "right after", "below")):
            continue
        content = _content(phrasing)
        said = _said(phrasing, content)
        if said.startswith(":"):
            content = content.rstrip(".!")
            said = f": {content}"
            instruction = phrasing.pick(
                f"add a comment {place.words}{said}",
                f"comment {place.words}{said}",
                f"put a comment {place.words}{said}",
                f"write a comment {place.words}{said}",
                f"insert the comment {place.words}{said}",
            ).rstrip(".?")
        else:
            instruction = phrasing.pick(
                f"add a comment {place.words} saying {said}",
                f"add the comment {said} {place.words}",
                f"add a comment {said} {place.words}",
                f"put the comment {said} {place.words}",
                f"write a comment {place.words} that says {said}",
                f"insert {said} as a comment {place.words}",
                f"add a line comment {said} {place.words}",
                f"{place.words}, add the comment {said}",
                f"comment {said} {place.words}",
                f"leave a comment {place.words} reading {said}",
            )
        new = f"{place.indent}// {content}\n"
        return edit("add-comment", instruction, Replacement(place.offset, place.offset, new))
    return None


def _comments(seen: View) -> list[Node]:
    return [
        n
        for n in seen.of(seen.grammar.comments)
        if not text(n).startswith(("//!", "#!")) and not re.search(r"eslint|@ts-|prettier|istanbul|@license", text(n))
    ]


def _gone(seen: View, comment: Node) -> Replacement | None:
    end = comment.end_byte - (1 if text(comment).endswith("\n") else 0)
    lines = seen.lines(comment.start_byte, end)
    if lines is not None:
        return removal(seen, *lines)
    data = seen.file.data
    line_end = data.find(b"\n", end)
    if not data[data.rfind(b"\n", 0, comment.start_byte) + 1 : comment.start_byte].strip():
        return None
    if line_end < 0 or data[end:line_end].strip() or comment.start_point.row != comment.end_point.row:
        return None
    begin = comment.start_byte
    while data[begin - 1 : begin] in (b" ", b"\t"):
        begin -= 1
    return Replacement(begin, line_end, "")


def remove_comments(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """All comments go."""
    seen = view(unit)
    if seen is None:
        return None
    comments = _comments(seen)
    if not comments or len(comments) != len(seen.of(seen.grammar.comments)):
        return None
    removals = [_gone(seen, comment) for comment in comments]
    if any(removal is None for removal in removals):
        return None
    first = seen.file.data[unit.start : unit.node.start_byte]
    if b"//" in first or b"/*" in first:
        return None
    noun = phrasing.random.choice(["function", "code", "block"])
    instruction = phrasing.pick(
        "remove all comments",
        "remove the comments",
        "delete all the comments here",
        "strip the comments",
        f"drop every comment in this {noun}",
        f"get rid of the comments in this {noun}",
        "no comments please, remove them",
        "take out all comments",
        "clean up: delete the comments",
        "leave no comments in here",
    )
    return edit("remove-comments", instruction, *(r for r in removals if r is not None))


def remove_comment(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """One comment goes."""
    seen = view(unit)
    if seen is None:
        return None
    comments = _comments(seen)
    rows = {row for n in comments for row in (n.start_point.row, n.end_point.row)}
    for comment in phrasing.random.sample(comments, min(len(comments), 5)):
        content = text(comment).lstrip("/* \t").rstrip("*/ \t\n")
        if not content or "\n" in text(comment).rstrip("\n") or len(content) > 90:
            continue
        if {comment.start_point.row - 1, comment.start_point.row + 1} & rows or not seen.once(content):
            continue
        gone = _gone(seen, comment)
        if gone is None:
            continue
        said = _said(phrasing, content).lstrip(": ")
        part = re.findall(r"[A-Za-z][\w ]+[A-Za-z]", content)
        about = phrasing.random.choice(part) if part else content
        if not seen.once(about) or len(about) < 5:
            about = content
        begin = " ".join(content.split()[:3])
        begin = begin if seen.once(begin) else content
        choices = [
            f"remove the comment {said}",
            f"delete the comment {said}",
            f"drop the comment {said}",
            f"remove the comment about {about}",
            f'delete the comment that starts with "{begin}"',
            f"get rid of the comment {said}",
            f"take out the comment {said}",
            f"remove the {said} comment",
        ]
        if len(seen.of(seen.grammar.comments)) == 1:
            choices = ["remove the comment", "delete the comment", "drop the comment here", *choices]
        return edit("remove-comment", phrasing.pick(*choices), gone)
    return None


def change_comment(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """The text of a one-line comment is replaced."""
    seen = view(unit)
    if seen is None:
        return None
    comments = _comments(seen)
    rows = [n.start_point.row for n in comments]
    for comment in phrasing.random.sample(comments, min(len(comments), 5)):
        match = re.fullmatch(r"(//+\s?|/\*\*?\s*)(\S.*?\S)(\s*\*/|\s*\n?)", text(comment))
        if match is None or comment.start_point.row - 1 in rows or comment.start_point.row + 1 in rows:
            continue
        old = match.group(2)
        if len(old) > 90 or not seen.once(old):
            continue
        new = _content(phrasing)
        if old == new:
            continue
        quote = phrasing.random.choice(['"', "'", "`"])
        if quote in old + new:
            continue
        a, b = f"{quote}{old}{quote}", f"{quote}{new}{quote}"
        choices = [
            f"change the comment {a} to {b}",
            f"replace the comment {a} with {b}",
            f"reword the comment {a} as {b}",
            f"make the comment say {b} instead of {a}",
            f"the comment {a} should say {b}",
            f"update the comment {a} to {b}",
            f"let the comment {a} read {b}",
        ]
        if len(seen.of(seen.grammar.comments)) == 1:
            choices = [
                f"change the comment to {b}",
                f"replace the comment with {b}",
                f"make the comment say {b}",
                *choices,
            ]
        begin = comment.start_byte + len(match.group(1).encode())
        instruction = phrasing.pick(*choices)
        return edit("change-comment", instruction, Replacement(begin, begin + len(old.encode()), new))
    return None


def _documented(seen: View, function: Node) -> tuple[int, Node] | None:
    """The line a function's documentation goes before, and the node of its declaration, if it could have some."""
    node = function
    parent = seen.parent(node)
    if function.type in seen.grammar.lambdas:
        if parent is None or parent.type != "variable_declarator":
            return None
        declaration = seen.parent(parent)
        if declaration is None or declaration.named_child_count != 1:
            return None
        node = declaration
    outer = node.parent
    if outer is not None and outer.type == "export_statement":
        node = outer
    before = node.prev_sibling
    while before is not None and not before.is_named and before.type not in {"{"}:
        before = before.prev_sibling
    if before is not None and before.type in {
        "decorator",
        "attribute_item",
        "comment",
        "line_comment",
        "block_comment",
    }:
        return None
    line = seen.file.line_starts[node.start_point.row]
    if line < seen.unit.start or seen.file.data[line : node.start_byte].strip():
        return None
    return line, node


def _documentation(seen: View, content: str, indent: str) -> str:
    if seen.language == "rust":
        return f"{indent}/// {content}\n"
    if seen.language == "go":
        return f"{indent}// {content}\n"
    return f"{indent}/** {content} */\n"


def add_docstring(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A function gets a one-line documentation comment with the text that is given."""
    seen = view(unit)
    if seen is None:
        return None
    random = phrasing.random
    for function in random.sample(seen.functions, min(len(seen.functions), 4)):
        name = seen.name(function)
        found = _documented(seen, function)
        if found is None or name not in seen.named_once:
            continue
        line, node = found
        noun = words.phrase(random, 2, 7) if random.random() < 0.6 else words.message(random)
        content = noun[0].upper() + noun[1:] + random.choice([".", ".", ".", ""])
        if seen.language == "go":
            content = f"{name} {random.choice(['returns', 'makes', 'checks', 'reads', 'writes', 'holds'])} {noun}."
        quote = random.choice(['"', "'", "`"])
        if quote in content:
            continue
        said = f"{quote}{content}{quote}"
        kinds = {
            "rust": ["doc comment", "documentation comment"],
            "go": ["doc comment"],
            "java": ["Javadoc comment", "Javadoc", "doc comment"],
            "c": ["doc comment", "documentation comment"],
        }
        what = random.choice(kinds.get(seen.language, ["JSDoc comment", "doc comment", "JSDoc", "docstring"]))
        target = phrasing.code(name) if len(seen.functions) > 1 or random.random() < 0.5 else "the function"
        instruction = phrasing.pick(
            f"add a {what} to {target}: {said}",
            f"document {target} as {said}",
            f"add a {what} {said} to {target}",
            f"add the {what} {said} above {target}",
            f"give {target} a {what} saying {said}",
            f"write a {what} for {target} that says {said}",
            f"put a {what} {said} on {target}",
            f"{target} needs a {what}: {said}"
            if target == "the function"
            else f"add {said} as the {what} of {target}",
            f"describe {target} in a {what}: {said}",
        )
        new = _documentation(seen, content, seen.indent(node))
        return edit("add-docstring", instruction, Replacement(line, line, new))
    return None


def remove_docstring(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """The documentation comment of a function inside the unit goes."""
    seen = view(unit)
    if seen is None:
        return None
    for function in phrasing.random.sample(seen.functions, min(len(seen.functions), 6)):
        name = seen.name(function)
        before = function.prev_sibling
        if before is None or not text(before).startswith(("/**", "///")) or name not in seen.named_once:
            continue
        if before.end_point.row + (0 if text(before).endswith("\n") else 1) != function.start_point.row:
            continue
        earlier = before.prev_sibling
        if text(before).startswith("///") and earlier is not None and earlier.type in seen.grammar.comments:
            continue
        gone = _gone(seen, before)
        if gone is None:
            continue
        target = phrasing.code(name)
        instruction = phrasing.pick(
            f"remove the doc comment of {target}",
            f"delete the documentation of {target}",
            f"drop the doc comment above {target}",
            f"remove the docs on {target}",
            f"strip the documentation comment from {target}",
            f"take the doc comment off {target}",
            f"leave {target} without its doc comment",
        )
        return edit("remove-docstring", instruction, gone)
    return None


def fix_typo(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """A misspelt word in a comment or string is put right (the change makes the misspelling: see ``INVERSE``)."""
    seen = view(unit)
    if seen is None:
        return None
    random = phrasing.random
    holders = [*_comments(seen), *seen.of(seen.grammar.contents)]
    for node in random.sample(holders, min(len(holders), 6)):
        content = text(node)
        if node.type in seen.grammar.contents and " " not in content.strip():
            continue
        found = [m for m in re.finditer(r"\b[A-Za-z][a-z]{4,}\b", content) if seen.once(m.group())]
        if not found:
            continue
        match = random.choice(found)
        right = match.group()
        wrong = _misspelt(right, random.randrange(4), random.randrange(1, len(right) - 2))
        if wrong == right or wrong in unit.text:
            continue
        begin = node.start_byte + len(content[: match.start()].encode())
        kind = "comment" if node.type in seen.grammar.comments else "string"
        good, bad = phrasing.code(right), phrasing.code(wrong)
        instruction = phrasing.pick(
            "fix the typo",
            f"fix the typo in the {kind}",
            f"there's a typo in the {kind}, fix it",
            f"correct the spelling in the {kind}",
            f"fix the spelling of {bad}",
            f"typo: {bad} should be {good}",
            f"correct {bad} to {good}",
            f"fix the typo {bad}",
            f"spell {good} correctly",
            f"fix the misspelt {bad}",
            f"correct the misspelling in the {kind}",
        )
        return edit("fix-typo", instruction, Replacement(begin, begin + len(right), wrong))
    return None


def _misspelt(word: str, how: int, at: int) -> str:
    if how == 0:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    if how == 1:
        return word[:at] + word[at + 1 :]
    if how == 2:
        return word[:at] + word[at] + word[at:]
    near = {"a": "s", "e": "r", "i": "o", "o": "i", "u": "y", "t": "r", "n": "m", "s": "a", "r": "e", "l": "k"}
    return word[:at] + near.get(word[at], "e") + word[at + 1 :]


TRANSFORMS: Final[dict[str, Callable[[Unit, Phrasing], Edit | None]]] = {
    "add-comment": add_comment,
    "remove-comments": remove_comments,
    "remove-comment": remove_comment,
    "change-comment": change_comment,
    "add-docstring": add_docstring,
    "remove-docstring": remove_docstring,
}

INVERSE: Final[dict[str, Callable[[Unit, Phrasing], Edit | None]]] = {"fix-typo": fix_typo}
"""Their replacements make the code before of good code: an example's sides are swapped."""
