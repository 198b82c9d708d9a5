"""What is never sent: the same as the VS Code extension says, by vectors that both are held to."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.client.lsp import git_ignored
from warmline.client.lsp.exclusions import (
    DEFAULT_EXCLUSIONS,
    DEFAULT_SCHEMES,
    exclusion_reason,
    language_enabled,
)
from warmline.client.lsp.git_ignored import git_exclusion
from warmline.client.lsp.globs import glob_pattern

ROOT = Path(__file__).parents[3]
VECTORS = json.loads((ROOT / "tests" / "data" / "exclusion_vectors.json").read_text())
SAYS = {"glob": "files that match", "kind": "documents of the kind"}


@pytest.mark.parametrize("vector", [one for one in VECTORS if "uri" in one], ids=lambda one: one["uri"])
def test_a_document_is_sent_or_not_as_the_extension_does(vector) -> None:
    """And the reason says by which rule."""
    reason = exclusion_reason(vector["uri"])
    assert (reason is None) == (vector["never"] is None)
    assert vector["never"] is None or str(reason).startswith(SAYS[vector["never"]])


@pytest.mark.parametrize(
    "vector", [one for one in VECTORS if "glob" in one], ids=lambda one: f"{one['glob']} {one['path']}"
)
def test_a_glob_matches_as_the_extensions_does(vector) -> None:
    """Whatever stands in its brackets and braces."""
    assert (glob_pattern(vector["glob"]).fullmatch(vector["path"]) is not None) == vector["matches"]


@given(st.text(st.sampled_from("*?[]{},/a!-\\^|&~😀"), max_size=12))
def test_whatever_a_person_writes_is_a_glob(glob) -> None:
    """No pattern that Python would refuse, or warn of."""
    glob_pattern(glob).fullmatch("/a/b")


def test_the_defaults_are_those_of_the_extension() -> None:
    """Its manifest has them, too."""
    manifest = json.loads((ROOT / "editor-plugin" / "package.json").read_text())
    settings = {
        name: value for one in manifest["contributes"]["configuration"] for name, value in one["properties"].items()
    }
    assert settings["warmline.exclude"]["default"] == list(DEFAULT_EXCLUSIONS)
    assert settings["warmline.documentSchemes"]["default"] == list(DEFAULT_SCHEMES)


def test_a_language_is_on_by_its_own_entry_then_by_that_of_all() -> None:
    """Without either it is on."""
    assert language_enabled({"*": False, "python": True}, "python")
    assert not language_enabled({"*": False}, "rust")
    assert language_enabled({}, "rust")


needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")


@needs_git
async def test_git_says_what_it_ignores(tmp_path: Path) -> None:
    """By rules above a file, too, and before it or its folder is there; where there is no repository, nothing is
    ignored.
    """
    repository = tmp_path / "repository"
    (repository / "generated").mkdir(parents=True)
    subprocess.run(["git", "init", "--quiet", repository], check=True)
    (repository / ".gitignore").write_text("generated/\n*.log\n!keep.log\n:x\n")
    names = {
        "a.py": False,
        "generated/a.py": True,
        "generated/new/a.py": True,
        "new/a.py": False,
        "x.log": True,
        "keep.log": False,
        ":x": True,
        ":(top)a.py": False,
    }
    reasons = {name: await git_exclusion(repository / name) for name in names}
    assert reasons == {name: git_ignored.IGNORED if ignored else None for name, ignored in names.items()}
    assert await git_exclusion(tmp_path / "x.log") is None
    assert await git_exclusion(tmp_path / "nowhere" / "x.log") is None


@needs_git
async def test_a_repository_that_git_does_not_look_into_is_in_doubt(tmp_path: Path, monkeypatch) -> None:
    """Also what lies in its own folder, and where a part of it is gone: nothing is sent, and the reason is git's."""
    owned = tmp_path / "owned"
    owned.mkdir()
    subprocess.run(["git", "init", "--quiet", owned], check=True)
    assert "work tree" in str(await git_exclusion(owned / ".git" / "config"))
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / ".git").write_text("gitdir: ../gone\n")
    assert "not a git repository" in str(await git_exclusion(broken / "a.py"))
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")  # as where somebody else owns it
    reason = str(await git_exclusion(owned / "a.py"))
    assert "git could not say" in reason and "dubious ownership" in reason


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exec sleep 60", "did not answer"),
        ("echo some words >&2; exit 128", "some words"),
        ("kill -9 $$", "ended with -9"),
    ],
)
async def test_a_git_that_says_neither_yes_nor_no_is_taken_for_a_yes(
    tmp_path: Path, monkeypatch, script, said
) -> None:
    """In doubt nothing leaves. Without git there is no doubt."""
    fake = tmp_path / "git"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    monkeypatch.setattr(git_ignored.shutil, "which", lambda name: str(fake))
    monkeypatch.setattr(git_ignored, "PATIENCE_SECONDS", 0.2 if "sleep" in script else 10.0)
    assert said in str(await git_exclusion(tmp_path / "a.py"))
    assert "ValueError" in str(await git_exclusion(tmp_path / "a\0.py"))
    fake.chmod(0o644)
    assert "PermissionError" in str(await git_exclusion(tmp_path / "a.py"))
    monkeypatch.setattr(git_ignored.shutil, "which", lambda name: None)
    assert await git_exclusion(tmp_path / "a.py") is None
