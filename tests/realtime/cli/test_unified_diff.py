"""The diff that goes into a pipe."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from warmline.realtime.cli.unified_diff import unified_diff
from warmline.realtime.documents.hunks import split_lines

PATH = Path("src/app.py")


@st.composite
def edits(draw: st.DrawFn) -> tuple[str, tuple[int, int], str]:
    """A text in which lines repeat, a span of whole lines, and what is to stand there, perhaps without a line end."""
    line = st.sampled_from(["a\n", "b\r\n", "\n"])
    lines = draw(st.lists(line, max_size=20))
    text = "".join(lines) + draw(st.sampled_from(["", "a"]))
    first = draw(st.integers(0, len(lines)))
    last = draw(st.integers(first, len(lines)))
    start, end = len("".join(lines[:first])), len("".join(lines[:last]))
    end = draw(st.sampled_from([end, len(text)]))
    new = "".join(draw(st.lists(line, max_size=8))) + draw(st.sampled_from(["", "a", "b\r"]))
    return text, (start, end), new


def applied(text: str, diff: str) -> tuple[str, list[int]]:
    """The text that a diff makes of another, and the numbers of the old lines (from 0) that it touches.

    A line that is added touches the place between two old ones; it counts for the one after.
    """
    old, rows = split_lines(text), split_lines(diff)[3:]
    result: list[str] = []
    touched = []
    at = 0
    for index, row in enumerate(rows):
        line = row[1:]
        if index + 1 < len(rows) and rows[index + 1].startswith("\\"):
            line = line.removesuffix("\n")
        if row.startswith("@@"):
            begin, _, count = row.split()[1][1:].partition(",")
            place = int(begin) - (count != "0")
            result += old[at:place]
            at = place
        elif row[0] in " -":
            assert old[at] == line
            result += [line] if row[0] == " " else []
            touched += [at] if row[0] == "-" else []
            at += 1
        elif row[0] == "+":
            result.append(line)
            touched.append(at)
    return "".join(result + old[at:]), touched


@given(edits())
def test_the_diff_makes_the_edit_and_touches_its_lines_only(edit: tuple[str, tuple[int, int], str]) -> None:
    """Wherever lines repeat; only a text that does not end its last line draws in the line after the span."""
    text, (start, end), new = edit
    changed = text[:start] + new + text[end:]
    result, touched = applied(text, unified_diff(PATH, text, (start, end), new))
    assert result == changed
    first = len(split_lines(text[:start]))
    last = first + len(split_lines(text[start:end])) + (new != "" and not new.endswith("\n"))
    assert all(first <= number <= last for number in touched)


def test_a_line_that_is_removed_among_equal_ones_is_one_of_the_span() -> None:
    """The difference of the whole texts would be found at another place."""
    text = "x = 1\n" * 8
    assert unified_diff(PATH, text, (12, 24), "x = 1\n").splitlines() == [
        "diff --git a/src/app.py b/src/app.py",
        "--- a/src/app.py",
        "+++ b/src/app.py",
        "@@ -1,6 +1,5 @@",
        *[" x = 1"] * 2,
        "-x = 1",
        *[" x = 1"] * 3,
    ]


def test_an_edit_that_changes_nothing_has_no_diff() -> None:
    """Not even the names."""
    assert unified_diff(PATH, "a\nb\n", (2, 4), "b\n") == ""


def test_patch_takes_the_diff_of_a_file_with_a_space_in_its_name(tmp_path: Path) -> None:
    """The name ends with a tab, or `patch` looks for a file of the name's first word."""
    patch = shutil.which("patch")
    diff = unified_diff(Path("my file.py"), "a\nb\n", (2, 4), "c\n")
    assert "\n--- a/my file.py\t\n+++ b/my file.py\t\n@@" in diff
    subprocess.run(["git", "apply", "--numstat", "-"], input=diff.encode(), check=True, capture_output=True)
    if patch is not None:
        (tmp_path / "my file.py").write_text("a\nb\n")
        subprocess.run([patch, "-p1"], input=diff.encode(), check=True, capture_output=True, cwd=tmp_path)
        assert (tmp_path / "my file.py").read_text() == "a\nc\n"


@settings(max_examples=15)
@given(edits())
def test_git_takes_the_diff(edit: tuple[str, tuple[int, int], str]) -> None:
    """What it prints is what `git apply` understands."""
    text, (start, end), new = edit
    diff = unified_diff(PATH, text, (start, end), new)
    if diff:
        subprocess.run(["git", "apply", "--numstat", "-"], input=diff.encode(), check=True, capture_output=True)


@pytest.mark.parametrize(
    "name",
    [
        "my file.py",
        "é😀.py",
        'a "b".py',
        "back\\slash.py",
        "tab\there.py",
        "line\nend.py",
        " .py",
        "b/b.py",
        b"\xff.py",
    ],
    ids=repr,
)
def test_git_finds_a_file_of_any_name(tmp_path: Path, name: str | bytes) -> None:
    """Names that would end early are in quotes, as git itself writes them."""
    named = Path(os.fsdecode(name))
    (tmp_path / named).parent.mkdir(exist_ok=True)
    (tmp_path / named).write_text("a\nb\n")
    apply(tmp_path, unified_diff(named, "a\nb\n", (2, 4), "c\n"))
    assert (tmp_path / named).read_text() == "a\nc\n"


@pytest.mark.parametrize("span", [(0, 2), (2, 4)])
def test_the_diff_of_a_file_with_a_byte_order_mark_is_of_its_bytes(tmp_path: Path, span: tuple[int, int]) -> None:
    """The mark is no part of the text, but of the first line that git compares."""
    file = tmp_path / "a.py"
    file.write_text("\ufeffa\nb\n")
    apply(tmp_path, unified_diff(Path("a.py"), "a\nb\n", span, "c\n", "\ufeff"))
    assert file.read_text() == {0: "\ufeffc\nb\n", 2: "\ufeffa\nc\n"}[span[0]]


@pytest.mark.parametrize(("old", "new"), [("", "a\n"), ("a\n", "")])
def test_a_file_that_is_filled_or_emptied_stays_a_file(tmp_path: Path, old: str, new: str) -> None:
    """Nothing is created or removed."""
    file = tmp_path / "a.py"
    file.write_text(old)
    apply(tmp_path, unified_diff(Path("a.py"), old, (0, len(old)), new))
    assert file.read_text() == new


def apply(folder: Path, diff: str) -> None:
    """Do what the command line's user does."""
    subprocess.run(["git", "apply"], input=os.fsencode(diff), check=True, cwd=folder)
