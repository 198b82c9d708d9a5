"""Which texts close what an editor closed by itself behind the cursor."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from warmline.realtime.completing import auto_closing
from warmline.realtime.completing.auto_closing import MAX_READ, closes, may_close


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


@pytest.mark.parametrize(
    ("typed", "rest", "tail", "full"),
    [
        ("s.split(", '")', ")", '")")[0]'),
        ("print(", '":)', ")", '":)")'),
        ("f(", "a,  # smile :)", ")", "a,  # smile :)\n)"),
        ("f(", "a  // smile :)", ")", "a  // smile :)\n)"),
        ('f("(', 'a)b", x', ")", 'a)b", x)'),  # begun in what was typed
        ("f(a  # (see ", "b)", ")", "b)\n)"),
        ("f(a,  # smile :)", "\nb", ")", "\nb)"),
        ("f(", "a,  // (or so)", ")", "a,  // (or so)\n)"),
        ("m[", '"]', "]", '"]"]'),
        ("f({", '"}" + ")', "})", '"}" + ")"})'),
        ("f(", "|x: &'a (T, &'b U)", ")", "|x: &'a (T, &'b U)| x)"),
    ],
)
def test_a_closer_in_a_string_or_a_comment_closes_nothing(typed: str, rest: str, tail: str, full: str) -> None:
    """A text that is cut there would lose the editor's own; once it is closed behind, all is well."""
    assert not closes(typed, rest, tail)
    assert may_close(typed, rest, tail)
    assert closes(typed, full, tail)


@pytest.mark.parametrize(
    ("typed", "rest", "tail"),
    [
        ('log("', "can't read\")", '")'),
        ('log("', 'a // b # c `d`")', '")'),
        ('"""', 'it\'s "so".\n"""', '"""'),
        ("log('", "a \"b')", "')"),
        ('f("', ':(", x)', '")'),
    ],
)
def test_what_stands_in_a_string_that_is_being_typed_opens_nothing(typed: str, rest: str, tail: str) -> None:
    """An apostrophe, for one."""
    assert closes(typed, rest, tail)


@pytest.mark.parametrize("rest", ["a // b)", "(a) // b)", "a[0] // 2, b)"])
def test_two_slashes_behind_an_operand_divide(rest: str) -> None:
    """As in Python, where a comment begins with another mark."""
    assert closes("f(", rest, ")")


@pytest.mark.parametrize(
    ("typed", "rest", "tail"),
    [
        ("# see (", "below)", ")"),
        ("x = 1  // as in [", "1]", "]"),
        ("don't (", "do that)", ")"),
        ('"(', "a)", ')"'),
        ('# say "', "yes", '"'),
    ],
)
def test_a_tail_may_close_what_was_opened_in_a_string_or_a_comment(typed: str, rest: str, tail: str) -> None:
    """Where nothing else is open that it could close."""
    assert may_close(typed, rest, tail)
    assert closes(typed, rest + '"', tail)


@given(st.sampled_from(["(", "[(", "f({"]), st.sampled_from("\"'`"), st.text("ab()[]{} ", max_size=12), st.data())
def test_brackets_in_a_string_that_was_begun_change_nothing_outside(before, quote, inside, data) -> None:
    """Wherever in the string the person stands. A string of words is read as one by both ways."""
    tail = "".join({"(": ")", "[": "]", "{": "}"}.get(bracket, "") for bracket in reversed(before))
    at = data.draw(st.integers(0, len(inside)))
    typed, in_string = before + quote + inside[:at], inside[at:]
    assert not closes(typed, in_string, tail)
    if not set("()[]{}") & set(inside):
        assert may_close(typed, in_string, tail)
        assert closes(typed, in_string + quote + tail, tail)


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


def plainly_read(typed: str, rest: str) -> tuple[list[str], list[str]]:
    """The rule as it is said, which looks through all that is open for each mark."""
    opened: list[tuple[str, int]] = []
    closed: list[str] = []
    for found in auto_closing._MARK.finditer(typed + rest):
        mark = found[0]
        if mark == "\n":
            opened = [entry for entry in opened if entry[0] not in "\"'"]
        elif mark in "([{":
            opened.append((auto_closing._CLOSERS[mark], found.start()))
        elif mark[0] != "\\":
            depth = next((depth for depth in reversed(range(len(opened))) if opened[depth][0] == mark), None)
            if depth is not None:
                if opened[depth][1] < len(typed) < found.end():
                    closed.append(mark)
                del opened[depth:]
            elif mark not in ")]}":
                opened.append((mark, found.start()))
    return closed, [closer for closer, at in reversed(opened) if at < len(typed)]


MANY_MARKS = st.text("a()[]{}'\"`\\\n", max_size=60)


@given(MANY_MARKS, MANY_MARKS)
@example("(\"[{'", '\n}"])')
@example('(["(', ')\n"](\n)"')
def test_it_reads_what_the_plain_rule_reads(typed: str, rest: str) -> None:
    """Which closers the text has, and which it waits for."""
    assert auto_closing._read(typed, rest, opaque=False) == plainly_read(typed, rest)


@given(
    st.lists(st.tuples(MANY_MARKS.filter(bool), st.integers(1, 99)), max_size=6).map(
        lambda parts: "".join(part * times for part, times in parts)
    )
)
@example("[" * 2000 + "}" * 2000)
@example("(" * 1000 + '"\n' * 1000)
@example("'" + '("\n' * 1000)
@example("([" * 1000 + ")" * 2000)
def test_its_cost_is_linear(text: str) -> None:
    """All its searches pass by three entries a character at most."""
    passed, search = 0, auto_closing._innermost

    def counted(opened: list[tuple[str, int]], closer: str) -> int:
        nonlocal passed
        depth = search(opened, closer)
        passed += len(opened) - depth
        return depth

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(auto_closing, "_innermost", counted)
        may_close(text, "", ")")
    assert passed <= 3 * min(len(text), MAX_READ)


def test_closers_count_at_the_beginning_of_a_text_only() -> None:
    """Up to the limit. Behind it nothing is closed, and what is closed before stays so."""
    room = MAX_READ - len("f()")
    assert closes("f(", "a" * room + ")", ")")
    assert closes("f(", "a" * room + ")" + "]" * 9999, ")")
    assert may_close("f(", "a" * room, ")")
    for rest in ("a" * (room + 1), "a" * (room + 1) + ")", "[" * 99999):
        assert not closes("f(", rest, ")")
        assert not may_close("f(", rest, ")")
    assert not may_close("f(" + "a" * MAX_READ, ")", ")")
