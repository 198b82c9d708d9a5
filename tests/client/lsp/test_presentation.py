"""What of a suggestion is shown."""

from __future__ import annotations

import pytest
from warmline.client.lsp.presentation import first_line, presentable


@pytest.mark.parametrize(
    ("text", "before", "after", "shown"),
    [
        ("return x\n", "def f(x):\n    ", "\n", "return x"),
        ("return x\r\n    y", "def f(x):\n    ", "", "return x\n    y"),
        ("  \n\n", "", "", ""),
        ("x  ", "a = ", "\n", "x"),
        ("x  ", "a = ", " + y", "x  "),
        # what follows is not said again
        ("a, b)", "f(", ")", "a, b"),
        ("    return x\nprint(1)", "def f(x):\n", "\nprint(1)\n", "    return x"),
        ("print(1)", "def f():\n    ", "\nprint(1)\n", ""),
        ("{\n  y\n}\n}", "{ if (x) ", "\n}\n", "{\n  y\n}"),
        # a bracket that closes nothing
        ("x)", "a = ", "", "x"),
        ("x])", "f([", "", "x])"),
        ("x)]", "f(", "", "x)"),
        ("g(x))", "f(", ")", "g(x)"),
        ('")")', "f(", "", '")")'),
        (")", "a = ", "", ""),
    ],
)
def test_it_fits_between_what_stands_around_it(text, before, after, shown) -> None:
    """Lines end in LF: editors put in their own."""
    assert presentable(text, before, after) == shown


def test_the_first_line_is_what_comes_before_any_line_end() -> None:
    """All of it where there is none."""
    assert [first_line(text) for text in ("a\nb", "a\r\nb", "a\rb", "ab", "")] == ["a", "a", "a", "ab", ""]
