"""Diffs that git applies, from wherever the file was named."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from warmline.realtime.cli.diff_place import diff_place
from warmline.realtime.cli.unified_diff import unified_diff

OLD, NEW = "a\nb\n", "a\nc\n"
FILES = ("big.py", "sub/app.py", "sub/sub/app.py", "sub/my file.py", "sub/deep/er/x.py", "app.py")


@pytest.fixture(params=["git", "no git"])
def top(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files, all alike, so that a diff that goes astray would be applied."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(OLD)
    (tmp_path / "other").mkdir()
    if request.param == "git":
        subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    return tmp_path


def changed(top: Path) -> list[str]:
    """The files that have the new text."""
    return [name for name in FILES if (top / name).read_text() == NEW]


@pytest.mark.parametrize(
    ("folder", "named", "file", "here"),
    [
        (".", "big.py", "big.py", True),
        (".", "./big.py", "big.py", True),
        (".", "sub/app.py", "sub/app.py", True),
        (".", "sub/../sub/my file.py", "sub/my file.py", True),
        ("sub", "app.py", "sub/app.py", True),
        ("sub", "../sub/app.py", "sub/app.py", True),
        (
            "sub",
            "sub/app.py",
            "sub/sub/app.py",
            True,
        ),  # which git takes a plain header of for sub/app.py
        ("sub", "my file.py", "sub/my file.py", True),
        ("sub", "../big.py", "big.py", False),
        ("other", "../sub/deep/er/x.py", "sub/deep/er/x.py", False),
        ("sub", "{top}/sub/app.py", "sub/app.py", True),
        ("other", "{top}/sub/app.py", "sub/app.py", False),
    ],
)
def test_git_apply_changes_the_file_that_was_named(
    top: Path, monkeypatch: pytest.MonkeyPatch, folder: str, named: str, file: str, here: bool
) -> None:
    """Where the diff is for this folder, here; otherwise there, where it is said to be applied. No other file."""
    monkeypatch.chdir(top / folder)
    place = diff_place(Path(named.format(top=top)))
    diff = unified_diff(place.name, OLD, (2, 4), "c\n")
    assert place.here == here
    if place.here:
        subprocess.run(["git", "apply"], input=diff.encode(), check=True)
    else:
        subprocess.run(["git", "-C", place.root, "apply"], input=diff.encode(), check=True)
    assert changed(top) == [file]


def test_a_link_is_the_file_it_leads_to(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As git changes no file behind a link."""
    monkeypatch.chdir(top)
    (top / "link.py").symlink_to("sub/app.py")
    place = diff_place(Path("link.py"))
    subprocess.run(["git", "apply"], input=unified_diff(place.name, OLD, (2, 4), "c\n").encode(), check=True)
    assert (top / "link.py").is_symlink() and changed(top) == ["sub/app.py"]


def test_a_work_tree_in_another_one_is_one_of_its_own(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a submodule is; the diff is for its top, from where git applies it."""
    subprocess.run(["git", "init", "-q", str(top / "sub")], check=True)
    monkeypatch.chdir(top)
    place = diff_place(Path("sub/app.py"))
    assert (place.root, place.name, place.here) == ((top / "sub").resolve(), Path("app.py"), False)


def test_without_git_paths_count_from_here(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For `patch -p1`, or for git on another machine."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.chdir(top / "sub")
    place = diff_place(Path("deep/er/x.py"))
    assert (place.root, place.name, place.here) == ((top / "sub").resolve(), Path("deep/er/x.py"), True)
