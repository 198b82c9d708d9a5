"""Which texts close what an editor closed by itself behind the cursor."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.realtime.auto_closing import closes, may_close


@pytest.mark.parametrize(
    ("typed", "rest", "tail"),
    [
        ("foo(", "a, b)", ")"),
        ("foo(", "bar(a), b)", ")"),
        ("foo(bar(", "a), b)", "))"),
        ("foo(bar(", "a), b)", ")"),  # one of the two was closed by the editor
        ("a[{'", "k': 1}]", "'}]"),
        ("a[(", "1)]", "]"),
        ("if (x) {\n    ", "return 1;\n}", "\n}"),  # Enter between the braces
        ("f({\r\n  ", "a: 1\r\n})", "\r\n})"),
        ("`${", "name}`", "}`"),
        ('print("(', '", end="")', '")'),  # a bracket in a text needs no closer
        ('f"{d[', "'k']}\"", ']}"'),
        ('"', '""Doc."""', '"'),  # the first of three quotes
        ('"""', 'Doc."""', '"""'),
        ('"""Doc."', '""', '""'),  # the second of the closing three
        ("print('it\\'s", "', x)", "')"),
        ("don't(\n  call(", "x)", ")"),  # the apostrophe ends with its line
    ],
)
def test_a_text_closes_what_it_opened_itself(typed: str, rest: str, tail: str) -> None:
    """In the order of the tail; the nearest bracket of a kind first."""
    assert closes(typed, rest, tail)
    assert may_close(typed, rest, tail)


@pytest.mark.parametrize(
    ("typed", "rest", "tail"),
    [
        ("foo(", "a, b", ")"),
        ("foo(", "", ")"),
        ("foo(", "bar(a), ", ")"),  # that closes its own
        ("foo(bar(", "a), b", "))"),
        ('f("', "%s", '")'),
        ('"""', 'a "b"', '"""'),
        ("f(", "\\)", ")"),
    ],
)
def test_a_text_may_close_it_yet(typed: str, rest: str, tail: str) -> None:
    """While the bracket is open."""
    assert not closes(typed, rest, tail)
    assert may_close(typed, rest, tail)


@pytest.mark.parametrize(
    ("typed", "rest", "tail"),
    [
        ("foo", "(a)", ")"),  # nothing is open
        ("foo()", ")", ")"),
        ("foo(", "a)", "]"),
        ("foo([", "a])", ")]"),  # the other way round
        ("foo(", "a)", "))"),
        ("foo(", "a)", ");"),  # not all of it are closers
        ("foo(", "a)", ") "),
        ("foo(", "a)", " "),
        ("a[(", "1]", ")]"),  # the outer one is closed, so the inner one never will be
        ('f("', '\n")', '"'),  # a quote doesn't outlast its line
        ("f(\\(", "a)", "))"),
    ],
)
def test_a_text_that_never_closes_it(typed: str, rest: str, tail: str) -> None:
    """Whatever follows."""
    assert not closes(typed, rest, tail)
    assert not may_close(typed, rest, tail)


MARKS = st.text("ab()[]{}'\"`\\\n ", max_size=12)


@given(MARKS, MARKS, MARKS, MARKS)
def test_what_can_close_it_could_before(typed: str, rest: str, more: str, tail: str) -> None:
    """What is closed stays so when more follows, and was possible before that came."""
    if closes(typed, rest, tail) and not rest.endswith(("\\", '"', "'")):  # those may be part of what follows
        assert closes(typed, rest + more, tail)
    if closes(typed, rest + more, tail) and not (typed + rest).endswith(("\\", '"', "'")):
        assert may_close(typed, rest, tail)


@given(MARKS)
def test_a_tail_of_nothing_is_always_closed(text: str) -> None:
    """And one that doesn't consist of closers never is."""
    assert closes(text, "", "")
    assert not may_close(text, ")", "x")
