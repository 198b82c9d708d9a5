"""Edits made of edits."""

from __future__ import annotations

from random import Random

from tools.edit_model.edit import Edit, Replacement
from tools.edit_model.mixes import (
    STEERED,
    TWO_EDITS,
    accepted_part,
    change_of,
    composed,
    corrected,
    near_name,
    steered,
    two_edits,
)
from tools.edit_model.phrasing import Phrasing
from tools.edit_model.source import SourceFile, Unit

FILE = b"def f(a):\n    x = a\n    y = 3\n    return x\n"


def unit() -> Unit:
    """The only function."""
    return next(iter(SourceFile("p", "a.py", "python", FILE).units()))


def replace(old: str, new: str, instruction: str) -> object:
    """A transformation that replaces all of a text in the unit."""

    def transform(unit: Unit, phrasing: Phrasing) -> Edit | None:
        found, at = [], unit.file.data.find(old.encode(), unit.start)
        while at >= 0:
            found.append(Replacement(at, at + len(old), new))
            at = unit.file.data.find(old.encode(), at + 1)
        return Edit("rename-variable", instruction, tuple(found)) if found else None

    return transform


RENAME = replace("x", "total", "Rename x to total")
NUMBER = replace("3", "44", "Please change 3 to 44.")


def test_two_edits_are_both_made() -> None:
    """The second edit is made in what the first left, and one instruction asks for both."""
    for seed in range(40):
        change = two_edits(unit(), Phrasing(Random(seed)), RENAME, NUMBER)  # type: ignore[arg-type]
        assert change is not None
        assert change.versions[-1] == b"def f(a):\n    total = a\n    y = 44\n    return total\n"
        (asked,) = change.instructions
        assert "ename x to total" in asked and "hange 3 to 44" in asked and "Please" not in asked


def test_edits_of_the_same_place_are_not_mixed() -> None:
    """A second edit of what the first one wrote gives nothing."""
    again = replace("total", "sum", "rename total to sum")
    assert two_edits(unit(), Phrasing(Random(1)), RENAME, again) is None  # type: ignore[arg-type]


def test_a_steered_edit_keeps_what_was_between() -> None:
    """There are three versions and two instructions, oldest first."""
    change = steered(unit(), Phrasing(Random(1)), RENAME, NUMBER)  # type: ignore[arg-type]
    assert change is not None
    assert change.versions[1] == b"def f(a):\n    total = a\n    y = 3\n    return total\n"
    assert change.versions[2] == b"def f(a):\n    total = a\n    y = 44\n    return total\n"
    assert change.instructions[0] == "Rename x to total"
    assert "hange 3 to 44" in change.instructions[1]


def test_steering_mostly_goes_forward() -> None:
    """A second edit above the first one is kept now and then only."""
    made = [steered(unit(), Phrasing(Random(seed)), NUMBER, RENAME) for seed in range(200)]  # type: ignore[arg-type]
    assert 30 < sum(change is not None for change in made) < 110


def test_a_correction_names_another_new_name() -> None:
    """The result has the corrected name wherever the first instruction's would have stood, and nothing of that."""
    for seed in range(40):
        change = corrected(unit(), Phrasing(Random(seed)), RENAME)  # type: ignore[arg-type]
        if change is None:
            continue
        after = change.versions[2].decode()
        name = after.split(" = a")[0].split()[-1]
        assert name != "total"
        assert after == FILE.decode().replace("x", name)
        assert name in change.instructions[1]


def test_what_was_accepted_stops_before_the_second_change() -> None:
    """Whole lines that both versions begin with, at times none."""
    between, after = "a\nb\nc\nd\n", "a\nb\nX\nd\n"
    found = {accepted_part(between, after, Random(seed)) for seed in range(100)}
    assert found == {"", "a\n", "a\nb\n"}


def test_an_inverse_edit_leads_to_the_real_code() -> None:
    """The file as it is becomes the version after."""
    edit = RENAME(unit(), Phrasing(Random(1)))  # type: ignore[operator]
    change = change_of(unit(), edit, inverse=True)
    assert change.versions[1] == FILE
    assert change.versions[0] == FILE.replace(b"x", b"total")
    assert change.texts(*change.unit) == [v.decode() for v in change.versions]


def test_near_names_keep_their_style() -> None:
    """A name much like another has its case style and is another one, save for an odd shuffle."""
    names = [near_name("parseHeader", Random(seed)) for seed in range(50)]
    assert all("_" not in n and n[0].islower() for n in names)
    assert all(n.isupper() for n in (near_name("MAX_SIZE", Random(seed)) for seed in range(50)))
    assert sum(n != "parseHeader" for n in names) == 50


def made(old: str, new: str, instruction: str, kind: str) -> Edit:
    """An edit that replaces the first place of a text."""
    at = FILE.index(old.encode())
    return Edit(kind, instruction, (Replacement(at, at + len(old), new),))


def test_edits_made_apart_are_put_together() -> None:
    """Both are made, asked for at once or in turn."""
    one = made("3", "44", "change 3 to 44", "change-constant")
    two = made("    x = a\n", "", "remove the assignment to x", "delete-statement")
    wanted = b"def f(a):\n    y = 44\n    return x\n"
    at_once = composed(unit(), TWO_EDITS, one, two, Random(1))
    assert at_once is not None and at_once.versions[-1] == wanted and len(at_once.instructions) == 1
    in_turn = composed(unit(), STEERED, one, two, Random(2))
    assert in_turn is None or (in_turn.versions[-1] == wanted and len(in_turn.instructions) == 2)
    assert any(composed(unit(), STEERED, two, one, Random(seed)) for seed in range(20))


def test_edits_that_have_to_do_with_each_other_are_not_put_together() -> None:
    """One that writes what the other takes away, two of the same place, and those that reach all there is."""
    rename = made("a)", "b)", "rename a to b", "rename-parameter")
    log = made("    return", "    log(a)\n    return", "log a", "add-log")
    other = made("a)", "c)", "rename a to c", "rename-parameter")
    comments = made("3", "4", "remove all comments", "remove-comments")
    number = made("3", "5", "change 3 to 5", "change-constant")
    for one, two in ((rename, log), (log, rename), (rename, other), (rename, comments), (number, comments)):
        assert composed(unit(), TWO_EDITS, one, two, Random(1)) is None
