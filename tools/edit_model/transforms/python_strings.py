"""Formatting of Python's strings: f-strings, ``format``, ``%`` and ``+``, and the arguments of logging calls."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from tools.edit_model.edit import Replacement
from tools.edit_model.transforms.python_rewrites import (
    Code,
    Rewrite,
    Transform,
    forward,
    inverse,
)

_LITERAL: Final = re.compile(r"""(['"])((?:(?!\1)[^\\\n]|\\[^\nN])*)\1""")
_FSTRING: Final = re.compile(r"""f(['"])((?:(?!\1)[^\\\n]|\\[^\nN])*)\1""")
_PERCENT: Final = re.compile(r"%(?:%|([-+0 #]*)(\d*)((?:\.\d+)?)([sdrxXfFeEgG]))|(%)")
_BRACES: Final = re.compile(r"\{\{|\}\}|\{(\w*)(![rsa])?(:[^{}]*)?\}|([{}])")
_LOGGING: Final = {"debug", "info", "warning", "error", "exception", "critical"}
_OPERANDS: Final = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.BinOp, ast.Constant)

# What stands in a string: literal text as written, or an expression with its conversion and format.
Part = str | tuple[str, str, str]


def _fits(text: str, quote: str) -> bool:
    return not re.search(r"[\\#\n{}!]|lambda|:=", text) and quote not in text and text.strip() == text != ""


def _f_string(parts: list[Part], quote: str) -> str | None:
    out = []
    for part in parts:
        if isinstance(part, str):
            out.append(part.replace("{", "{{").replace("}", "}}"))
        elif not _fits(part[0], quote):
            return None
        else:
            out.append("{" + "".join(part) + "}")
    return f"f{quote}{''.join(out)}{quote}"


def _percent_parts(template: str, values: list[str]) -> list[Part] | None:
    parts: list[Part] = []
    position, left = 0, list(reversed(values))
    for match in _PERCENT.finditer(template):
        parts.append(template[position : match.start()])
        position = match.end()
        flags, width, precision, letter, stray = match.groups()
        if stray:
            return None
        if letter is None:
            parts.append("%")
            continue
        if not left or (letter in "sr" and (flags or width or precision)):
            return None
        if set(flags) - {"0"} or (letter == "d" and precision):
            return None
        bare = letter in "sr" or (letter == "d" and not flags and not width)
        spec = "" if bare else ":" + flags + width + precision + ("" if letter == "d" else letter)
        parts.append((left.pop(), "!r" if letter == "r" else "", spec))
    parts.append(template[position:])
    return None if left else parts


def _values(code: Code, node: ast.expr) -> list[str] | None:
    values = node.elts if isinstance(node, ast.Tuple) else [node]
    if isinstance(node, ast.Dict) or not all(isinstance(value, _OPERANDS) for value in values):
        return None
    return [code.text(value) for value in values]


def _literal(code: Code, node: ast.expr) -> tuple[str, str] | None:
    """Quote and inner text of a plain string literal on one line."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return None
    match = _LITERAL.fullmatch(code.text(node))
    return (match[1], match[2]) if match and "\\N" not in match[2] else None


def _inside_string(code: Code, node: ast.AST) -> bool:
    above = code.parents.get(node)
    return isinstance(above, ast.BinOp | ast.JoinedStr)


def percents(code: Code) -> Iterator[Rewrite]:
    """Strings formatted with ``%``, as f-strings."""
    for node in code.find(ast.BinOp):
        assert isinstance(node, ast.BinOp)
        if not isinstance(node.op, ast.Mod) or not isinstance(node.left, ast.Constant):
            continue
        if not isinstance(node.left.value, str):
            continue
        literal, values = _literal(code, node.left), _values(code, node.right)
        text: str | None = None
        if literal and values and not _inside_string(code, node) and code.between(*code.span(node)).count("\n") == 0:
            parts = _percent_parts(literal[1], values)
            text = _f_string(parts, literal[0]) if parts else None
        yield _placed(code, node, text, literal, "% formatting")


def _placed(code: Code, node: ast.expr, text: str | None, literal: tuple[str, str] | None, style: str) -> Rewrite:
    label = {"literal": literal[1]} if literal and 0 < len(literal[1].strip()) <= 48 else {}
    if literal and (literal[1] != literal[1].strip() or "\\" in literal[1]):
        label = {}
    replacements = (Replacement(*code.span(node), text),) if text else ()
    return Rewrite(replacements, label, {"style": style})


def formats(code: Code) -> Iterator[Rewrite]:
    """Strings formatted with ``str.format``, as f-strings."""
    for node in code.find(ast.Call):
        assert isinstance(node, ast.Call)
        if not isinstance(node.func, ast.Attribute) or node.func.attr != "format":
            continue
        if not isinstance(node.func.value, ast.Constant):
            continue
        literal, text = _literal(code, node.func.value), None
        if literal and not _inside_string(code, node):
            text = _format_text(code, node, *literal)
        yield _placed(code, node, text, literal, "str.format")


def _format_text(code: Code, node: ast.Call, quote: str, template: str) -> str | None:
    values: dict[str, str] = {}
    for i, argument in enumerate(node.args):
        if not isinstance(argument, _OPERANDS):
            return None
        values[str(i)] = code.text(argument)
    for keyword in node.keywords:
        if keyword.arg is None or not isinstance(keyword.value, _OPERANDS):
            return None
        values[keyword.arg] = code.text(keyword.value)
    parts: list[Part] = []
    position, automatic, used = 0, 0, set()
    for match in _BRACES.finditer(template):
        parts.append(template[position : match.start()])
        position = match.end()
        if match[4]:
            return None
        if match[0] in {"{{", "}}"}:
            parts.append(match[0][0])
            continue
        name = match[1]
        if not name:
            name, automatic = str(automatic), automatic + 1
        if name not in values:
            return None
        used.add(name)
        parts.append((values[name], match[2] or "", match[3] or ""))
    parts.append(template[position:])
    return _f_string(parts, quote) if used == set(values) and used else None


def _terms(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*_terms(node.left), node.right]
    return [node]


def concatenations(code: Code) -> Iterator[Rewrite]:
    """Strings joined with ``+``, as f-strings."""
    for node in code.find(ast.BinOp):
        assert isinstance(node, ast.BinOp)
        if not isinstance(node.op, ast.Add) or isinstance(code.parents.get(node), ast.BinOp):
            continue
        terms = _terms(node)
        literals = [literal for term in terms if (literal := _literal(code, term))]
        if not any(isinstance(term, ast.Constant) and isinstance(term.value, str) for term in terms):
            continue
        text = None
        if literals and len({quote for quote, _ in literals}) == 1 and "(" not in code.text(node)[:1]:
            text = _concatenated(code, node, terms, literals[0][0])
        longest = max(literals, key=lambda literal: len(literal[1]), default=None)
        yield _placed(code, node, text, longest, "concatenation")


def _concatenated(code: Code, node: ast.expr, terms: list[ast.expr], quote: str) -> str | None:
    parts: list[Part] = []
    written = []
    for term in terms:
        written.append(code.text(term))
        if literal := _literal(code, term):
            parts.append(literal[1])
        elif isinstance(term, ast.Call) and isinstance(term.func, ast.Name) and term.func.id in {"str", "repr"}:
            if len(term.args) != 1 or term.keywords or not isinstance(term.args[0], _OPERANDS):
                return None
            parts.append((code.text(term.args[0]), "!r" if term.func.id == "repr" else "", ""))
        elif isinstance(term, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
            parts.append((code.text(term), "", ""))
        else:
            return None
    if code.text(node) != " + ".join(written) or all(isinstance(part, str) for part in parts):
        return None
    return _f_string(parts, quote)


def unformatted(code: Code) -> Iterator[Rewrite]:
    """Strings formatted in any older way, as f-strings."""
    yield from percents(code)
    yield from formats(code)
    yield from concatenations(code)


def old_formatting(code: Code) -> Iterator[Rewrite]:
    """Strings formatted with ``%`` or ``str.format``, as f-strings."""
    yield from percents(code)
    yield from formats(code)


def _parsed(text: str) -> tuple[str, list[Part]] | None:
    """Quote and parts of an f-string's text."""
    match = _FSTRING.fullmatch(text)
    if match is None:
        return None
    quote, body = match[1], match[2]
    parts: list[Part] = []
    literal, i = "", 0
    while i < len(body):
        if body[i : i + 2] in {"{{", "}}"}:
            literal, i = literal + body[i], i + 2
        elif body[i] == "{":
            end = _closing(body, i + 1)
            field = re.fullmatch(r"(.+?)(![rsa])?(:[^{}]*)?", body[i + 1 : end]) if end else None
            if field is None or end is None or "=" in field[1] or ":" in field[1] or "{" in field[1]:
                return None
            parts += [literal, (field[1], field[2] or "", field[3] or "")]
            literal, i = "", end + 1
        elif body[i] == "}":
            return None
        else:
            literal, i = literal + body[i], i + 1
    parts.append(literal)
    return quote, parts


def _closing(body: str, start: int) -> int | None:
    depth = 0
    for i in range(start, len(body)):
        if body[i] in "([":
            depth += 1
        elif body[i] in ")]":
            depth -= 1
        elif body[i] == "}" and depth == 0:
            return i
    return None


def _expressions(parts: list[Part]) -> list[tuple[str, str, str]] | None:
    fields = [part for part in parts if isinstance(part, tuple)]
    for field in fields:
        try:
            node = ast.parse(field[0], mode="eval").body
        except (SyntaxError, ValueError):
            return None
        if not isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript) or field[0].strip() != field[0]:
            return None
    return fields


def _f_strings(code: Code) -> Iterator[tuple[ast.JoinedStr, tuple[str, list[Part]] | None]]:
    for node in code.find(ast.JoinedStr):
        assert isinstance(node, ast.JoinedStr)
        above = code.parents.get(node)
        parsed = None if isinstance(above, ast.BinOp | ast.Attribute) else _parsed(code.text(node))
        yield node, parsed if parsed and _expressions(parsed[1]) else None


def _shown(parsed: tuple[str, list[Part]] | None) -> tuple[str, str] | None:
    if parsed is None:
        return None
    texts = [part for part in parsed[1] if isinstance(part, str)]
    longest = max(texts, key=len).strip()
    return (parsed[0], longest) if len(longest) > 2 else None


def to_format(code: Code) -> Iterator[Rewrite]:
    """F-strings, as calls of ``str.format``."""
    for node, parsed in _f_strings(code):
        text = None
        if parsed:
            quote, parts = parsed
            out = [
                part.replace("{", "{{").replace("}", "}}") if isinstance(part, str) else "{" + part[1] + part[2] + "}"
                for part in parts
            ]
            values = ", ".join(part[0] for part in parts if isinstance(part, tuple))
            text = f"{quote}{''.join(out)}{quote}.format({values})"
        yield _placed(code, node, text, _shown(parsed), "f-string")


def to_percent(code: Code) -> Iterator[Rewrite]:
    """F-strings, as ``%`` formatting."""
    for node, parsed in _f_strings(code):
        template = _template(parsed[1]) if parsed else None
        text = None
        if parsed and template:
            values = [part[0] for part in parsed[1] if isinstance(part, tuple)]
            right = values[0] if len(values) == 1 else f"({', '.join(values)})"
            text = f"{parsed[0]}{template}{parsed[0]} % {right}"
        yield _placed(code, node, text, _shown(parsed), "f-string")


def _template(parts: list[Part]) -> str | None:
    out = []
    for part in parts:
        if isinstance(part, str):
            out.append(part.replace("%", "%%"))
        elif not part[2] and part[1] in {"", "!r"}:
            out.append("%r" if part[1] else "%s")
        elif not part[1] and re.fullmatch(r":0?\d*(\.\d+)?[xXfFeEgG]", part[2]):
            out.append("%" + part[2][1:])
        else:
            return None
    return "".join(out)


def to_concatenation(code: Code) -> Iterator[Rewrite]:
    """F-strings, as sums."""
    for node, parsed in _f_strings(code):
        text = None
        if parsed and all(isinstance(part, str) or not part[2] for part in parsed[1]):
            quote, parts = parsed
            terms = [
                f"{quote}{part}{quote}"
                if isinstance(part, str)
                else f"repr({part[0]})"
                if part[1] == "!r"
                else f"str({part[0]})"
                for part in parts
                if part
            ]
            if len(terms) > 1 and all(part[1] in {"", "!r"} for part in parts if isinstance(part, tuple)):
                text = " + ".join(terms)
        yield _placed(code, node, text, _shown(parsed), "f-string")


def _log_calls(code: Code) -> Iterator[ast.Call]:
    for node in code.find(ast.Call):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _LOGGING
            and node.args
            and "log" in code.text(node.func.value).lower()
        ):
            yield node


def eager_logs(code: Code) -> Iterator[Rewrite]:
    """Logging calls whose message is an f-string, with ``%`` arguments instead."""
    for node in _log_calls(code):
        first = node.args[0]
        if isinstance(first, ast.JoinedStr) and len(node.args) == 1:
            parsed = _parsed(code.text(first))
            template = _template(parsed[1]) if parsed and _expressions(parsed[1]) else None
            replacements: tuple[Replacement, ...] = ()
            if parsed and template:
                values = [part[0] for part in parsed[1] if isinstance(part, tuple)]
                text = f"{parsed[0]}{template}{parsed[0]}, {', '.join(values)}"
                replacements = (Replacement(*code.span(first), text),)
            assert isinstance(node.func, ast.Attribute)
            yield Rewrite(replacements, {"call": code.text(node.func)})


def lazy_logs(code: Code) -> Iterator[Rewrite]:
    """Logging calls with ``%`` arguments, with f-strings instead."""
    for node in _log_calls(code):
        if len(node.args) < 2 or (literal := _literal(code, node.args[0])) is None:
            continue
        text = None
        values = [code.text(argument) for argument in node.args[1:]]
        if all(isinstance(argument, _OPERANDS) for argument in node.args[1:]):
            parts = _percent_parts(literal[1], values)
            text = parts and _f_string(parts, literal[0])
        start, end = code.span(node.args[0])[0], code.span(node.args[-1])[1]
        assert isinstance(node.func, ast.Attribute)
        replacements = (Replacement(start, end, text),) if text and "\n" not in code.between(start, end) else ()
        yield Rewrite(replacements, {"call": code.text(node.func)})


_USE_F_STRING: Final = (
    "Use an f-string",
    "Use an f-string instead of {style}",
    "Convert to an f-string",
    "Turn the {style} into an f-string",
    "Replace {style} with an f-string",
    "Make this an f-string",
    "Rewrite the string {literal} as an f-string",
    "Use an f-string for {literal}",
    "Switch from {style} to an f-string",
    "F-string please",
    "Format {literal} with an f-string",
    "Modernize the string formatting, use an f-string",
    "Change {literal} to an f-string",
    "Prefer an f-string over {style} here",
)
_USE_F_STRINGS: Final = (
    "Use f-strings",
    "Use f-strings everywhere",
    "Convert all string formatting to f-strings",
    "Turn all the formatted strings into f-strings",
    "Make all of these f-strings",
    "F-strings throughout",
    "Replace all old style formatting with f-strings",
    "Switch every formatted string to an f-string",
)
_USE_FORMAT: Final = (
    "Use .format() instead of the f-string",
    "Use str.format",
    "Convert the f-string to .format",
    "Replace the f-string with a call of format",
    "Rewrite the f-string with str.format()",
    "No f-string here, use format",
    "Turn the f-string about {literal} into a .format() call",
    "Format {literal} with str.format instead of an f-string",
    "F-string to .format",
    "Make this work without f-strings, with .format",
)
_USE_FORMATS: Final = (
    "Use .format() instead of f-strings",
    "Convert all f-strings to str.format",
    "Replace every f-string with .format()",
    "No f-strings, use format",
    "Turn all the f-strings into .format calls",
)
_USE_PERCENT: Final = (
    "Use % formatting instead of the f-string",
    "Use percent formatting",
    "Convert the f-string to % formatting",
    "Replace the f-string with % formatting",
    "Rewrite the f-string in the old % style",
    "Format {literal} with % instead of an f-string",
    "F-string to %s",
    "Turn the f-string with {literal} into %-formatting",
    "Go back to % formatting here",
)
_USE_PERCENTS: Final = (
    "Use % formatting instead of f-strings",
    "Convert all f-strings to % formatting",
    "Replace every f-string with %-formatting",
    "No f-strings, use % everywhere",
)
_USE_PLUS: Final = (
    "Use string concatenation instead of the f-string",
    "Replace the f-string with concatenation",
    "Convert the f-string to + with str()",
    "Concatenate with + instead of using an f-string",
    "Rewrite the f-string as concatenation",
    "Build {literal} with + and str() rather than an f-string",
    "No f-string, just concatenate with +",
    "Turn the f-string into a sum of strings, with str() around the values",
)
_LAZY: Final = (
    "Use lazy % arguments for logging",
    "Pass the values as arguments to {call} instead of using an f-string",
    "Don't use an f-string in {call}",
    "Use %-style logging arguments",
    "Use lazy logging in {call}",
    "Let logging do the formatting",
    "Replace the f-string in the log call with % arguments",
    "Convert the {call} call to lazy formatting",
    "No f-strings in logging calls, pass arguments with %s",
    "Make the log message lazy",
)
_LAZIES: Final = (
    "Use lazy % arguments in all logging calls",
    "No f-strings in log calls, use %s arguments",
    "Convert all the logging f-strings to lazy formatting",
    "Pass the values as logging arguments everywhere",
    "Make all log calls lazy",
)
_EAGER: Final = (
    "Use an f-string in the log call",
    "Use an f-string in {call}",
    "Replace the logging arguments with an f-string",
    "Make the message of {call} an f-string",
    "Convert the {call} call to an f-string",
    "F-string instead of % arguments in {call}",
    "Log with an f-string",
    "Turn the log message into an f-string",
)
_EAGERS: Final = (
    "Use f-strings in all the log calls",
    "Replace % arguments of logging with f-strings",
    "Convert the logging calls to f-strings",
    "Log with f-strings everywhere",
)

TRANSFORMS: Final[dict[str, Transform]] = {
    "use-f-string": forward("use-f-string", unformatted, _USE_F_STRING),
    "use-f-strings": forward("use-f-strings", old_formatting, (), _USE_F_STRINGS),
    "f-string-to-format": forward("f-string-to-format", to_format, _USE_FORMAT, _USE_FORMATS),
    "f-string-to-percent": forward("f-string-to-percent", to_percent, _USE_PERCENT, _USE_PERCENTS),
    "f-string-to-concatenation": forward("f-string-to-concatenation", to_concatenation, _USE_PLUS),
    "use-lazy-logging": forward("use-lazy-logging", eager_logs, _LAZY, _LAZIES),
    "log-with-f-string": forward("log-with-f-string", lazy_logs, _EAGER, _EAGERS),
}
"""The edits whose replacements lead from the code to what was asked for."""

INVERSE: Final[dict[str, Transform]] = {
    "use-f-string-for-format": inverse("use-f-string", to_format, unformatted, _USE_F_STRING),
    "use-f-string-for-percent": inverse("use-f-string", to_percent, unformatted, _USE_F_STRING),
    "use-f-string-for-concatenation": inverse("use-f-string", to_concatenation, unformatted, _USE_F_STRING),
    "use-f-strings-for-format": inverse("use-f-strings", to_format, old_formatting, (), _USE_F_STRINGS),
    "use-f-strings-for-percent": inverse("use-f-strings", to_percent, old_formatting, (), _USE_F_STRINGS),
    "f-string-to-format": inverse("f-string-to-format", formats, to_format, _USE_FORMAT, _USE_FORMATS),
    "f-string-to-percent": inverse("f-string-to-percent", percents, to_percent, _USE_PERCENT, _USE_PERCENTS),
    "f-string-to-concatenation": inverse("f-string-to-concatenation", concatenations, to_concatenation, _USE_PLUS),
    "use-lazy-logging": inverse("use-lazy-logging", lazy_logs, eager_logs, _LAZY, _LAZIES),
    "log-with-f-string": inverse("log-with-f-string", eager_logs, lazy_logs, _EAGER, _EAGERS),
}
"""The edits whose replacements lead from real code, which is the AFTER, to the BEFORE."""
