"""Whether source text parses: Python by its own parser, other languages by tree-sitter where it is installed."""

from __future__ import annotations

import ast
import importlib
import warnings
from collections.abc import Callable
from functools import cache
from textwrap import dedent
from typing import Final, TypeAlias

_GRAMMARS: Final = {
    "c": ("tree_sitter_c", "language"),
    "go": ("tree_sitter_go", "language"),
    "java": ("tree_sitter_java", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "jsx": ("tree_sitter_javascript", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
}

_CLASSES: Final = dict.fromkeys(("java", "javascript", "jsx", "tsx", "typescript"), "class A {\n") | {
    "rust": "impl A {\n"
}
"""What opens a type whose members a range may hold, where they can't stand alone."""

Parses: TypeAlias = Callable[[str], bool]


@cache
def parser(language: str) -> Parses | None:
    """What tells whether text of a language parses; None if that can't be known here."""
    if language == "python":
        return _python_parses
    if language not in _GRAMMARS:
        return None
    module, function = _GRAMMARS[language]
    try:
        tree_sitter = importlib.import_module("tree_sitter")
        grammar = tree_sitter.Language(getattr(importlib.import_module(module), function)())
    except ImportError:
        return None
    parse = tree_sitter.Parser(grammar).parse
    return lambda text: not parse(text.encode("utf-8", "replace")).root_node.has_error


def parses(language: str, prefix: str, before: str, after: str, suffix: str, answer: str) -> bool | None:
    """Whether the file parses with the answer in the place of the range.

    Where a file that is only known in part doesn't parse even with the texts that are right, the range is taken
    alone, or as members of a class. None if that doesn't help, or if nothing here parses the language.
    """
    parse = parser(language)
    if parse is None:
        return None
    frames = [(prefix, suffix), ("", "")]
    if language in _CLASSES:
        frames.append((_CLASSES[language], "\n}\n"))
    for opening, closing in frames:
        texts = [
            opening + (text if opening or closing else dedent(text)) + closing for text in (before, after, answer)
        ]
        if parse(texts[0]) and parse(texts[1]):
            return parse(texts[2])
    return None


def _python_parses(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
