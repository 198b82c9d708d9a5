"""Whole runs over a few made-up files with made-up transformations."""

from __future__ import annotations

import re

import msgspec
import pytest

from tools.edit_model import kinds, make_data, unchanged
from tools.edit_model.batches import group_records
from tools.edit_model.edit import Edit, Replacement
from tools.edit_model.make_data import make, parse_sizes, summary
from tools.edit_model.phrasing import Phrasing
from tools.edit_model.record import EditRecord, Record
from tools.edit_model.shard import Maker, parses
from tools.edit_model.source import SourceFile, Unit


def rename(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Renames ``count``."""
    places = [m.span() for m in re.finditer(rb"\bcount\b", unit.file.data) if unit.start <= m.start() < unit.end]
    new = f"name{phrasing.random.randint(1, 999)}"
    found = tuple(Replacement(start, end, new) for start, end in places)
    return Edit("rename-variable", f"rename count to {new}", found) if found else None


def bug(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Plants a wrong sign."""
    at = unit.file.data.find(b"+=", unit.start, unit.end)
    return None if at < 0 else Edit("fix-sign", "fix the sign", (Replacement(at, at + 2, "-="),))


def broken(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Makes a syntax error."""
    return Edit("break-it", "break it", (Replacement(unit.start, unit.start, "((("),))


def raising(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Fails on everything."""
    raise RuntimeError("odd code")


def note(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Puts a comment above the return."""
    at = unit.file.data.find(b"return", unit.start, unit.end)
    mark = "#" if unit.file.language == "python" else "//"
    indent = "    " if unit.file.language == "python" else "  "
    return Edit("add-comment", "comment `done` before the return", (Replacement(at, at, f"{mark} done\n{indent}"),))


MAKERS = [
    Maker("rename-variable", rename, False),
    Maker("fix-sign", bug, True),
    Maker("add-comment", note, False),
    Maker("break-it", broken, False),
    Maker("fix-odd", raising, False),
]


PYTHON = """\
def NAME(items):
    count = START
    for item in items:
        count += item
    return count


"""
TYPESCRIPT = """\
function NAME(items) {
  let count = START
  count += items
  return count
}

"""


def files() -> list[SourceFile]:
    """Thirty Python files and ten TypeScript ones, with six functions each."""
    found = []
    for number in range(40):
        python = number < 30
        template = PYTHON if python else TYPESCRIPT
        functions = [template.replace("NAME", f"f{number}_{i}").replace("START", str(i)) for i in range(6)]
        language = "python" if python else "typescript"
        found.append(SourceFile(f"package{number % 8}", f"m{number}", language, "".join(functions).encode()))
    return found


@pytest.fixture(autouse=True)
def makers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the transformations of this file."""
    monkeypatch.setattr(make_data, "load_makers", lambda: MAKERS)


def records(lines: list[bytes]) -> list[Record]:
    """The records of encoded lines."""
    return [msgspec.json.decode(line, type=Record) for line in lines]  # type: ignore[arg-type]


def test_the_same_seed_gives_the_same_bytes() -> None:
    """Neither chance nor the number of workers changes the result, another seed does."""
    one, _ = make(files(), "train", 60, 20, 1, workers=1)
    two, _ = make(files(), "train", 60, 20, 1, workers=2)
    other, _ = make(files(), "train", 60, 20, 2, workers=1)
    assert one == two != other


def test_records_are_right_and_worded_for_their_split() -> None:
    """Edits lead to code that parses, differ unless they are to change nothing, and have unique ids."""
    lines, totals = make(files(), "held-out", 120, 30, 1)
    made = records(lines)
    assert len(made) > 130
    assert len({r.id for r in made}) == len(made)
    assert all(r.split == "held-out" and r.id.startswith("held-out-") for r in made)
    edits = [r for r in made if isinstance(r, EditRecord)]
    assert {r.language for r in edits} == {"python", "typescript"}
    for r in edits:
        assert (r.before == r.after) == (r.category == "unchanged")
        assert r.after.startswith(r.accepted)
        assert len(r.instructions) == (2 if r.kind in {"steered-edit", "corrected-edit"} else 1)
        if r.kind == "fix-sign":
            assert "-=" in r.before and r.after == r.before.replace("-=", "+=")
    assert {"rename-variable", "fix-sign"} <= {r.kind for r in edits}
    assert "break-it" not in {r.kind for r in edits}
    assert any(text.startswith("break-it: after doesn't parse") for text in totals.rejected)
    assert any(text.startswith("fix-odd: RuntimeError odd code") for text in totals.raised)


def test_edits_of_one_range_stand_together() -> None:
    """With siblings a range is asked about several times, each time something else."""
    found = {}
    for siblings in (0, 3):
        lines, _ = make(files(), "train", 120, 0, 1, siblings=siblings)
        groups = group_records(records(lines))
        found[siblings] = sum(len(group) > 1 for group in groups)
        for group in groups:
            edits = [r for r in group if isinstance(r, EditRecord)]
            assert len({(r.kind, *r.instructions) for r in edits}) == len(edits)
            assert len({(r.prefix, r.before, r.suffix) for r in edits}) == 1
    assert found[3] > 3 * found[0] + 3


def test_two_edits_of_a_range_are_also_asked_for_at_once() -> None:
    """What a range is asked for one by one makes further records: both changes for both requests."""
    lines, _ = make(files(), "train", 200, 0, 1, siblings=4)
    groups = [[r for r in group if isinstance(r, EditRecord)] for group in group_records(records(lines))]
    pairs = [(group, r) for group in groups for r in group if r.kind == "two-edits" and len(group) > 2]
    assert pairs
    for _, pair in pairs:
        assert "done" in pair.after and pair.after.count("count") < pair.before.count("count")
        assert "rename" in pair.instructions[0].lower() and "comment" in pair.instructions[0].lower()


def test_requests_without_effect_are_few_also_among_siblings() -> None:
    """About as many as are asked for."""
    lines, _ = make(files(), "train", 300, 0, 1, siblings=4)
    share = sum(r.category == "unchanged" for r in records(lines) if isinstance(r, EditRecord)) / len(lines)
    assert 0.0 < share < 0.2


def test_no_unit_gives_more_than_its_share() -> None:
    """Few files don't lead to endless copies of them."""
    lines, _ = make(files()[:2], "train", 500, 0, 1)
    assert 0 < len(lines) <= 12 * 5


def test_the_summary_counts_by_language() -> None:
    """Each kind has a row and the last row adds up."""
    lines, _ = make(files(), "train", 60, 20, 1)
    table = summary(records(lines))
    assert next(iter(table.columns[2].cells)) != ""
    assert list(table.columns[-2].cells)[-1] == str(len(lines))


def test_parsing_is_checked_for_each_language() -> None:
    """Python also has to satisfy its own parser."""
    assert parses("python", b"x = 1\n") and not parses("python", b"x = (\n")
    assert not parses("python", b"def f():\nreturn 1\n")
    assert parses("typescript", b"let x: number = 1\n") and not parses("go", b"func {\n")


def test_kinds_have_categories() -> None:
    """Renames are mechanical, planted bugs and rewrites semantic, requests without effect unchanged."""
    assert kinds.category_of("rename-variable") == "mechanical"
    assert kinds.category_of("remove-docstring") == "mechanical"
    assert kinds.category_of("fix-syntax") == kinds.category_of("loop-to-comprehension") == "semantic"
    assert kinds.category_of("two-edits") == "semantic"
    assert {kinds.category_of(kind) for kind in unchanged.KINDS} == {"unchanged"}
    assert kinds.weight_of("rename-variable", "train") > kinds.weight_of("wrap-if", "train")
    assert kinds.weight_of("delete-statement", "train") > kinds.weight_of("delete-statement", "held-out")


def test_tables_name_an_edit_alike_in_all_languages() -> None:
    """Whatever a record of one language calls it."""
    assert kinds.shown_as("fix-missing-bracket") == kinds.shown_as("fix-syntax") == "fix-syntax"
    assert kinds.shown_as("ternary-to-if-else") == "ternary-to-if"
    assert kinds.shown_as("rename-variable") == "rename-variable"


def test_sizes_are_read_from_the_command_line() -> None:
    """Lines ascend, or they would be of no use."""
    assert parse_sizes("12:0.5,120:0.5") == ((12, 0.5), (120, 0.5))
    with pytest.raises(ValueError, match="ascend"):
        parse_sizes("40:0.5,12:0.5")
