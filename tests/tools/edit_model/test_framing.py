"""Ranges and contexts around a change."""

from __future__ import annotations

from random import Random

import pytest

from tools.edit_model import framing
from tools.edit_model.framing import (
    Change,
    Frame,
    asked_of,
    defines,
    frame,
    indentation,
    occurs,
    reindented,
    unit_name,
)
from tools.edit_model.source import SourceFile

FILE = b"""import os


def alpha(a):
    b = a + 1
    return b


def beta(a):
    c = a
    if c:
        c += 2

    return c


def gamma(b):
    return b
"""


def change(old: bytes, new: bytes, name: str, instruction: str, kind: str = "change-constant") -> Change:
    """The change of one place in one of the functions."""
    file = SourceFile("p", "a.py", "python", FILE)
    unit = next(u for u in file.units(2) if unit_name(u) == name)
    at = FILE.index(old, unit.start)
    after = FILE[:at] + new + FILE[at + len(old) :]
    return Change(
        "python",
        (FILE, after),
        (unit.start, unit.end),
        (at, at + len(old)),
        (old.decode(),),
        name,
        kind,
        (instruction,),
    )


def frames(made: Change, max_chars: int = 3000) -> list[Frame]:
    """Many ways to ask for it."""
    found = [frame(made, Random(seed), max_chars) for seed in range(300)]
    assert all(found)
    return [f for f in found if f is not None]


@pytest.fixture(autouse=True)
def unindented(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the file's indentation."""
    monkeypatch.setattr(framing, "_REINDENTED", 0.0)


def test_every_frame_is_a_piece_of_the_file() -> None:
    """Prefix, range and suffix stand in the file in this order, and the range's new text makes the new file."""
    made = change(b"2", b"30", "beta", "change 2 to 30 in beta")
    for f in frames(made):
        before, after = f.prefix + f.texts[0] + f.suffix, f.prefix + f.texts[1] + f.suffix
        assert before in FILE.decode()
        assert after in made.versions[1].decode()
        assert "2" in f.texts[0] and "30" in f.texts[1]


def test_ranges_vary() -> None:
    """The unit, parts of it, more than it, parts of a line and the whole file all occur, with and without context."""
    made = change(b"2", b"30", "beta", "change 2 to 30 in beta")
    found = frames(made)
    unit = "def beta(a):\n    c = a\n    if c:\n        c += 2\n\n    return c\n"
    texts = [f.texts[0] for f in found]
    assert 0.3 < sum(t == unit for t in texts) / len(texts) < 0.7
    assert any(t in unit and t != unit and t.endswith("\n") for t in texts)
    assert any(unit in t and t != unit for t in texts)
    assert any(not t.endswith("\n") for t in texts)
    assert FILE.decode() in texts
    assert 0.1 < sum(not f.prefix and not f.suffix for f in found) / len(found) < 0.35


def test_a_cut_range_keeps_the_lines_around_an_insertion() -> None:
    """What is inserted between two lines is asked for with both of them in the range."""
    made = change(b"", b"    log()\n", "beta", "call log() at the start of beta")
    at = FILE.index(b"    c = a\n")
    after = FILE[:at] + b"    log()\n" + FILE[at:]
    made = Change("python", (FILE, after), made.unit, (at, at), ("",), "beta", "add-log", made.instructions)
    for f in frames(made):
        assert "def beta(a):\n    c = a\n" in f.texts[0]


def test_an_ordinal_keeps_the_unit_whole() -> None:
    """Nothing is cut off an instruction's unit if it counts places in it."""
    made = change(b"2", b"30", "beta", "change the second number to 30")
    for f in frames(made):
        assert "def beta(a):" in f.texts[0] and "return c\n" in f.texts[0]


def test_a_longer_range_is_told_which_function_is_meant() -> None:
    """Where a range holds other functions in which the same could be done, the instruction names the one."""
    made = change(b"b", b"x", "gamma", "rename b to x")
    start = FILE.index(b"def gamma")
    after = FILE[:start] + FILE[start:].replace(b"b", b"x")
    first, last = FILE.index(b"(b):", start) + 1, FILE.rindex(b"b") + 1
    made = Change(
        "python", (FILE, after), made.unit, (first, last), ("b", "b"), "gamma", "rename-parameter", ("rename b to x",)
    )
    longer = [f for f in frames(made) if f.texts[0].count("def ") > 1]
    assert longer
    assert all("gamma" in f.instructions[0] or "def alpha" not in f.texts[0] for f in longer)


def test_a_short_limit_drops_context_first() -> None:
    """The range is kept as long as it fits and the context gives way."""
    made = change(b"2", b"30", "beta", "change 2 to 30 in beta")
    for f in frames(made, 230):
        assert len(f.texts[0]) + len(f.texts[1]) + len(f.prefix) + len(f.suffix) <= 230


def test_a_record_is_reindented_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Range, new text and context get the same other unit of indentation."""
    monkeypatch.setattr(framing, "_REINDENTED", 1.0)
    made = change(b"2", b"30", "beta", "change 2 to 30 in beta")
    whole = [f for f in frames(made) if f.texts[0].startswith("def beta") and f.texts[0].endswith("return c\n")]
    assert {f.texts[1] for f in whole} == {
        f"def beta(a):\n{i}c = a\n{i}if c:\n{i}{i}c += 30\n\n{i}return c\n" for i in ("  ", "\t")
    }
    assert all("    b = a" not in f.prefix for f in whole)


def test_a_change_outside_its_span_is_refused() -> None:
    """Versions that differ elsewhere raise."""
    with pytest.raises(ValueError, match="leaves its span"):
        Change("python", (b"a\nb\n", b"c\nd\n"), (0, 4), (0, 1), ("a",), "", "k", ("i",))
    with pytest.raises(ValueError, match="leaves its unit"):
        Change("python", (b"a\nb\n", b"a\nc\n"), (0, 2), (2, 3), ("b",), "", "k", ("i",))


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("a\n    b\n        c\n", "    "),
        ("a\n  b\n    c\n", "  "),
        ("\ta\n\t\tb\n", "\t"),
        ("a\n   b\n", None),
        ("a\n\tb\n    c\n", None),
        ("\t  a\n", None),
        ("a\nb\n", None),
    ],
)
def test_indentation_is_known_only_where_uniform(text: str, unit: str | None) -> None:
    """All leading white space has to be a multiple of one unit."""
    assert indentation(text) == unit


def test_reindenting_keeps_depth() -> None:
    """Every leading unit is replaced, and nothing within a line."""
    assert reindented("a\n    b =    1\n        c\n", "    ", "\t") == "a\n\tb =    1\n\t\tc\n"
    assert reindented("    b\n    c\n", "    ", "  ", fresh=False) == "    b\n  c\n"


def test_names_are_found_whole() -> None:
    """A name within a longer one isn't meant."""
    assert occurs("item", "the item.") and not occurs("item", "items") and not occurs("item", "$item")
    assert defines("run", "def run(self):") and defines("run", "  async run(a) {\n") and not defines("run", "run(a)")


@pytest.mark.parametrize(
    ("language", "code", "name"),
    [
        ("python", "@cache\ndef one():\n    pass\n", "one"),
        ("typescript", "export const two = () => {\n  go()\n}\n", "two"),
        ("javascript", "describe('x', () => {\n  go()\n})\n", ""),
        ("c", "static int three(int a)\n{\n  return a;\n}\n", "three"),
        ("go", "func (s *S) Four() {\n\ts.x()\n}\n", "Four"),
    ],
)
def test_units_are_named(language: str, code: str, name: str) -> None:
    """A unit has the name of what it defines."""
    unit = next(iter(SourceFile("p", "a", language, code.encode()).units(2)))
    assert unit_name(unit) == name


def test_another_change_is_asked_of_a_range_that_holds_it() -> None:
    """In the range's own words, with the function's name where the range holds several, and not if it is cut off."""
    made = change(b"2", b"30", "beta", "change the step to 30")

    def framed(first: bytes, last: bytes) -> Frame:
        start, end = FILE.index(first), FILE.index(last)
        return Frame(("other",), FILE[:start].decode(), (FILE[start:end].decode(),) * 2, "", (start, end))

    unit = framed(b"def beta", b"\n\ndef gamma")
    assert asked_of(made, unit, Random(1)) == ("change the step to 30",)
    wider = asked_of(made, framed(b"def alpha", b"\n\ndef gamma"), Random(1))
    assert wider is not None and "beta" in wider[0] and wider[0].endswith("change the step to 30")
    assert asked_of(made, framed(b"def alpha", b"\n\ndef beta"), Random(1)) is None
    first = change(b"2", b"30", "beta", "change the first number to 30")
    assert asked_of(first, unit, Random(1)) is not None
    assert asked_of(first, framed(b"    if c", b"\n    return c\n\n\ndef gamma"), Random(1)) is None
