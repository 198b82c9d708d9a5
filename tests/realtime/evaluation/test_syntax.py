"""Whether a file parses with an answer in it."""

from __future__ import annotations

import sys

import pytest
from warmline.realtime.evaluation import syntax
from warmline.realtime.evaluation.syntax import parses

SMALL = {
    "c": ("int f(void) {\n", "return 1;\n", "return 2;\n", "}\n", "return (2;\n"),
    "go": ("package a\n\nfunc f() int {\n", "return 1\n", "return 2\n", "}\n", "return (2\n"),
    "java": ("class A {\n", "int a = 1;\n", "int a = 2;\n", "}\n", "int a = = 2;\n"),
    "javascript": ("function f() {\n", "return 1;\n", "return 2;\n", "}\n", "return {;\n"),
    "jsx": ("const a = (\n", "<b/>\n", "<c/>\n", ");\n", "<c\n"),
    "python": ("def f():\n", "    return 1\n", "    return 2\n", "\n", "    return (2\n"),
    "rust": ("fn f() -> i32 {\n", "1\n", "2\n", "}\n", "(2\n"),
    "tsx": ("const a = (\n", "<b/>\n", "<c/>\n", ");\n", "<c\n"),
    "typescript": ("function f(): number {\n", "return 1;\n", "return 2;\n", "}\n", "return {;\n"),
}


@pytest.mark.parametrize("language", SMALL)
def test_right_and_wrong_answers(language: str) -> None:
    """In the file around them."""
    prefix, before, after, suffix, wrong = SMALL[language]
    assert parses(language, prefix, before, after, suffix, after) is True
    assert parses(language, prefix, before, after, suffix, wrong) is False


def test_where_it_is_not_measured() -> None:
    """No parser, or an original that doesn't parse, alone either."""
    assert parses("cobol", "", "a", "b", "", "b") is None
    assert parses("python", "", "a = (\n", "a = 1\n", "", "a = 1\n") is None


def test_a_part_of_a_file() -> None:
    """A range whose surroundings are cut off is parsed alone, without its indentation."""
    before, after = "    a = 1\n", "    a = 2\n"
    assert parses("python", "'''a docstring's end\n", before, after, "", "    a = 3\n") is True
    assert parses("python", "'''a docstring's end\n", before, after, "", "    a = = 3\n") is False


def test_members_of_a_class_that_is_cut_off() -> None:
    """They are parsed in a class of their own."""
    before, after = "  private a(): void {}\n", "  private b(): void {}\n"
    assert (
        parses("typescript", "/* the end of a comment */ }\n", before, after, "", "  private c(): void {}\n") is True
    )
    assert (
        parses("typescript", "/* the end of a comment */ }\n", before, after, "", "  private c(: void {}\n") is False
    )


def test_python_that_warns_or_is_deep_or_has_a_null() -> None:
    """Warnings are no errors; what the parser can't take does not parse."""
    assert parses("python", "", "a\n", "b\n", "", "a = '\\d'\n") is True
    assert parses("python", "", "a\n", "b\n", "", "(" * 5000 + ")" * 5000) is False
    assert parses("python", "", "a\n", "b\n", "", "a\0") is False


def test_without_the_grammars(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only Python is measured."""
    monkeypatch.setitem(sys.modules, "tree_sitter", None)
    syntax.parser.cache_clear()
    try:
        assert syntax.parser("rust") is None
        assert syntax.parser("python") is not None
    finally:
        syntax.parser.cache_clear()
