"""Mistakes of typing planted in real Python: syntax errors and misspelt words; the fix is the real code."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from random import Random
from typing import Final

from tools.edit_model.edit import Replacement
from tools.edit_model.transforms.python_rewrites import (
    Code,
    Finder,
    Rewrite,
    Transform,
    planted,
)

_HEADS: Final = (
    ast.If,
    ast.For,
    ast.While,
    ast.With,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Try,
)


def _headers(code: Code) -> Iterator[tuple[ast.stmt, int, str]]:
    """Compound statements whose header is one line: the offset of the line and its text."""
    for node in code.find(*_HEADS):
        assert isinstance(node, ast.stmt)
        start, end = code.starts[node.lineno - 1], code.starts[node.lineno]
        text = code.between(start, end).rstrip("\n")
        body = getattr(node, "body", None)
        if text.endswith(":") and body and body[0].lineno > node.lineno and "#" not in text:
            yield node, start, text


def missing_colons(code: Code) -> Iterator[Rewrite]:
    """Headers without the colon."""
    for _, start, text in _headers(code):
        end = start + len(text.encode())
        shown = text.strip()[:-1]
        slots = {"line": shown} if len(shown) <= 70 else {}
        word = shown.split()[0]
        yield Rewrite((Replacement(end - 1, end, ""),), slots, {"what": "colon", "word": word})


_COLON: Final = (
    "Fix the syntax error",
    "Add the missing colon",
    "Missing colon after {line}",
    "Fix the missing colon",
    "SyntaxError: expected ':'",
    "There's a colon missing, add it",
    "Add the colon after {line}",
    "The colon is missing at the end of {line}",
    "It doesn't parse, fix it",
    "Fix the syntax of the {word} statement",
)


def missing_brackets(code: Code) -> Iterator[Rewrite]:
    """Simple statements on one line without the last closing bracket."""
    names = {")": "parenthesis", "]": "square bracket", "}": "curly brace"}
    for node in code.find(ast.Expr, ast.Assign, ast.Return, ast.Raise, ast.AugAssign):
        assert isinstance(node, ast.stmt)
        text, lines = code.simple(node), code.whole(node)
        if text is None or lines is None or text[-1] not in names:
            continue
        end = code.span(node)[1]
        shown = text[:-1]
        slots = {"line": shown} if len(shown) <= 70 else {}
        yield Rewrite((Replacement(end - 1, end, ""),), slots | {"bracket": text[-1]}, {"name": names[text[-1]]})


_BRACKET: Final = (
    "Fix the syntax error",
    "Add the missing closing {name}",
    "Close the {name}",
    "Fix the unclosed {name}",
    "Missing {bracket} at the end of {line}",
    "There's a closing {name} missing",
    "Fix the unbalanced brackets",
    "SyntaxError: the {name} was never closed",
    "Add the missing {bracket}",
    "The line {line} lacks its {bracket}",
    "It doesn't parse because a {name} isn't closed",
)


def extra_brackets(code: Code) -> Iterator[Rewrite]:
    """Simple statements with one closing bracket too many."""
    for node in code.find(ast.Expr, ast.Assign, ast.Return, ast.Raise):
        assert isinstance(node, ast.stmt)
        text, lines = code.simple(node), code.whole(node)
        if text is not None and lines is not None and text.endswith(")"):
            end = code.span(node)[1]
            slots = {"line": text + ")"} if len(text) <= 70 else {}
            yield Rewrite((Replacement(end, end, ")"),), slots)


_EXTRA: Final = (
    "Fix the syntax error",
    "Remove the extra parenthesis",
    "SyntaxError: unmatched ')'",
    "There's one closing parenthesis too many",
    "Remove the unmatched )",
    "Fix the unbalanced parentheses",
    "Drop the stray ) at the end of {line}",
    "The parentheses in {line} don't match",
    "Delete the superfluous parenthesis",
)


def missing_quotes(code: Code) -> Iterator[Rewrite]:
    """Strings at the end of a line without the closing quote."""
    for node in code.find(ast.Constant):
        assert isinstance(node, ast.Constant)
        if not isinstance(node.value, str):
            continue
        match = re.fullmatch(r"""(['"])([\w .,:/-]+)\1""", code.text(node))
        end = code.span(node)[1]
        line_end = code.starts[node.lineno]
        rest = code.between(end, line_end).strip()
        if match and match[2].strip() == match[2] and rest in {"", ")", "]", "}", ":", "):"} and len(match[2]) <= 50:
            name = "double quote" if match[1] == '"' else "single quote"
            yield Rewrite((Replacement(end - 1, end, ""),), {"text": match[2]}, {"name": name})


_QUOTE: Final = (
    "Fix the syntax error",
    "Close the string",
    "Add the missing quote",
    "Fix the unterminated string",
    "The string {text} isn't closed",
    "SyntaxError: unterminated string literal",
    "Missing {name} after {text}",
    "Add the missing closing {name}",
    "Close the string {text}",
    "Terminate the string {text}",
)


def missing_commas(code: Code) -> Iterator[Rewrite]:
    """Arguments and elements without the comma between them."""
    for node in code.find(ast.Call, ast.List, ast.Tuple, ast.Dict):
        parts: list[ast.expr] = []
        if isinstance(node, ast.Call):
            parts = node.args
        elif isinstance(node, ast.List | ast.Tuple):
            parts = node.elts
        elif isinstance(node, ast.Dict):
            pairs = list(zip(node.values, node.keys[1:], strict=False))
            for value, key in pairs:
                if key is not None:
                    yield from _comma(code, value, key)
        for first, second in itertools.pairwise(parts):
            if isinstance(first, ast.Name | ast.Attribute | ast.Constant):
                yield from _comma(code, first, second)


def _comma(code: Code, first: ast.expr, second: ast.expr) -> Iterator[Rewrite]:
    start, end = code.span(first)[1], code.span(second)[0]
    gap = code.between(start, end)
    if gap.startswith(",") and not gap[1:].strip() and gap != ",":
        one, other = code.text(first), code.text(second)
        slots = {"one": one, "other": other} if len(one) + len(other) <= 60 and "\n" not in one + other else {}
        yield Rewrite((Replacement(start, start + 1, ""),), slots)


_COMMA: Final = (
    "Fix the syntax error",
    "Add the missing comma",
    "There is a comma missing",
    "Missing comma after {one}",
    "Add a comma between {one} and {other}",
    "SyntaxError: perhaps you forgot a comma?",
    "Fix the missing comma",
    "The comma between {one} and {other} is missing",
    "Separate {one} and {other} with a comma",
)


def single_equals(code: Code) -> Iterator[Rewrite]:
    """Comparisons with one equals sign."""
    for node in code.find(ast.Compare):
        assert isinstance(node, ast.Compare)
        sides = code.comparison(node)
        if sides and sides[1] == "==" and isinstance(code.parents.get(node), ast.If | ast.While):
            seen = f"{sides[0]} = {sides[2]}"
            if "\n" not in seen and len(seen) <= 70:
                yield Rewrite((Replacement(*code.span(node), seen),), {"line": seen})


_EQUALS: Final = (
    "Fix the syntax error",
    "Use == in the condition",
    "SyntaxError: maybe you meant '==' instead of '='?",
    "Fix the comparison, it uses = instead of ==",
    "The condition {line} should compare, not assign",
    "Compare with == in {line}",
    "There's a = that should be ==",
    "Replace = with == in {line}",
)


def lost_indents(code: Code) -> Iterator[Rewrite]:
    """Bodies of one line that are not indented."""
    for node, start, text in _headers(code):
        body = getattr(node, "body", [])
        if len(body) != 1 or (lines := code.whole(body[0])) is None or lines[0] != start + len(text.encode()) + 1:
            continue
        if body[0].end_lineno != body[0].lineno:
            continue
        shown = code.text(body[0])
        tab = len(code.indent(body[0])) - len(code.indent(node))
        slots = {"line": shown} if len(shown) <= 70 else {}
        if tab > 0:
            yield Rewrite((Replacement(lines[0], lines[0] + tab, ""),), slots, {"word": text.split()[0]})


_INDENT: Final = (
    "Fix the syntax error",
    "Fix the indentation",
    "IndentationError: expected an indented block",
    "Indent {line}",
    "The body of the {word} is not indented",
    "Fix the indentation of {line}",
    "Indent the line after the {word}",
    "The line {line} needs to be indented",
    "Correct the indentation error",
)


def else_ifs(code: Code) -> Iterator[Rewrite]:
    """``elif`` written as in other languages."""
    for node in code.find(ast.If):
        assert isinstance(node, ast.If)
        start = code.span(node)[0]
        if code.data[start : start + 5] == b"elif ":
            bad = code.random.choice(("else if", "elseif", "elsif"))
            yield Rewrite((Replacement(start, start + 4, bad),), {"bad": bad})


_ELIF: Final = (
    "Fix the syntax error",
    "Use elif",
    "Replace {bad} with elif",
    "It's elif in Python",
    "Should be elif, not {bad}",
    "Fix {bad}, that's no Python",
    "Change {bad} to elif",
    "Correct the invalid {bad}",
)


def _misspelt(random: Random, word: str) -> str | None:
    """The word with one slip in it."""
    i = random.randrange(1, len(word) - 1)
    slip = random.randrange(4)
    if slip == 0:
        made = word[:i] + word[i + 1] + word[i] + word[i + 2 :]
    elif slip == 1:
        made = word[:i] + word[i + 1 :]
    elif slip == 2:
        made = word[:i] + word[i] + word[i:]
    else:
        made = word[:i] + random.choice("aeiourstnl") + word[i + 1 :]
    return made if made != word else None


_WORD: Final = re.compile(r"(?<![\w.\\%{<`'\"/-])[A-Za-z][a-z]{4,13}(?![\w(\\=/`'\"-])")


def _slips(code: Code, start: int, text: str, words: dict[str, str]) -> Iterator[Rewrite]:
    found = list(_WORD.finditer(text))
    if not found:
        return
    match = code.random.choice(found)
    word = match[0]
    bad = _misspelt(code.random, word)
    if bad is None or bad in code.names:
        return
    at = start + len(text[: match.start()].encode())
    yield Rewrite((Replacement(at, at + len(word), bad),), {"seen": bad, "bad": bad, "good": word}, words)


def comment_typos(code: Code) -> Iterator[Rewrite]:
    """Misspelt words in comments."""
    spans = [code.span(node) for node in code.nodes if isinstance(node, ast.Constant | ast.JoinedStr)]
    for i in range(len(code.starts) - 1):
        text = code.between(code.starts[i], code.starts[i + 1])
        match = re.search(r"(?:^|\s)#[^!:].*", text)
        if match:
            at = code.starts[i] + len(text[: match.start()].encode())
            if not any(start <= at < end for start, end in spans):
                yield from _slips(code, at, match[0], {"place": "comment"})


def docstring_typos(code: Code) -> Iterator[Rewrite]:
    """Misspelt words in docstrings."""
    for node in code.find(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef):
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        first = node.body[0]
        if (
            isinstance(first, ast.Expr)
            and isinstance(first.value, ast.Constant)
            and isinstance(first.value.value, str)
        ):
            yield from _slips(code, code.span(first)[0], code.text(first), {"place": "docstring"})


def string_typos(code: Code) -> Iterator[Rewrite]:
    """Misspelt words in messages."""
    for node in code.find(ast.Constant):
        assert isinstance(node, ast.Constant)
        if isinstance(node.value, str) and " " in node.value and not isinstance(code.parents.get(node), ast.Expr):
            text = code.simple(node)
            if text is not None:
                above = code.parents.get(node)
                owner = code.parents.get(above) if above else None
                place = "error message" if isinstance(owner, ast.Raise) else "string"
                yield from _slips(code, code.span(node)[0], text, {"place": place})


_TYPO: Final = (
    "Fix the typo",
    "Fix the typo in the {place}",
    "Fix the spelling of {bad}",
    "There is a typo in the {place}, fix it",
    "Correct the spelling in the {place}",
    "Fix the typo {bad}",
    "Typo: {bad} should be {good}",
    "Spell {good} correctly",
    "Fix {bad} in the {place}",
    "Correct {bad} to {good}",
    "Typo in the {place}",
    "The word {bad} is misspelt, fix it",
    "Fix the spelling mistake in the {place}",
    "It's {good}, not {bad}",
    "Replace the misspelt {bad} in the {place}",
    "Fix the misspelling of {good}",
)


def name_typos(code: Code) -> Iterator[Rewrite]:
    """Misspelt uses of local names."""
    names = [
        node
        for node in code.find(ast.Name)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and len(node.id) >= 5 and code.function(node)
    ]
    code.random.shuffle(names)
    text = code.lines.decode()
    for node in names[:6]:
        if len(re.findall(rf"(?<!\w){node.id}(?!\w)", text)) < 2:
            continue
        bad = _misspelt(code.random, node.id)
        if bad and bad not in code.names and bad.isidentifier():
            yield Rewrite((Replacement(*code.span(node), bad),), {"seen": bad, "bad": bad, "good": node.id})


_NAME_TYPO: Final = (
    "Fix the typo",
    "Fix the misspelt name {bad}",
    "NameError: name {bad} is not defined",
    "Fix the typo in {bad}",
    "Typo: {bad} should be {good}",
    "The name {bad} is misspelt",
    "Fix the NameError",
    "It's {good}, not {bad}",
    "Correct the spelling of {bad}",
    "Fix {bad}, it doesn't exist",
    "There's a typo in a variable name, fix it",
    "Fix the undefined name {bad}",
)


_TABLE: Final[tuple[tuple[str, Finder, tuple[str, ...], bool], ...]] = (
    ("fix-missing-colon", missing_colons, _COLON, False),
    ("fix-missing-bracket", missing_brackets, _BRACKET, False),
    ("fix-extra-bracket", extra_brackets, _EXTRA, False),
    ("fix-missing-quote", missing_quotes, _QUOTE, False),
    ("fix-missing-comma", missing_commas, _COMMA, False),
    ("fix-single-equals", single_equals, _EQUALS, False),
    ("fix-indentation", lost_indents, _INDENT, False),
    ("fix-else-if", else_ifs, _ELIF, False),
    ("fix-typo-in-comment", comment_typos, _TYPO, True),
    ("fix-typo-in-docstring", docstring_typos, _TYPO, True),
    ("fix-typo-in-string", string_typos, _TYPO, True),
    ("fix-typo-in-name", name_typos, _NAME_TYPO, True),
)

TRANSFORMS: Final[dict[str, Transform]] = {}
"""None: real code is taken to be right."""

INVERSE: Final[dict[str, Transform]] = {
    kind: planted(kind, find, wordings, parses) for kind, find, wordings, parses in _TABLE
}
"""The edits whose replacements lead from real code, which is the AFTER, to the BEFORE."""
