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
from warmline.client.lsp.git_ignored import git_ignores
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


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
async def test_git_says_what_it_ignores(tmp_path: Path) -> None:
    """By rules above a file, too; where there is no repository, nothing is ignored."""
    repository = tmp_path / "repository"
    (repository / "generated").mkdir(parents=True)
    subprocess.run(["git", "init", "--quiet", repository], check=True)
    (repository / ".gitignore").write_text("generated/\n*.log\n!keep.log\n")
    ignored = {name: await git_ignores(repository / name) for name in ("a.py", "generated/a.py", "x.log", "keep.log")}
    assert ignored == {"a.py": False, "generated/a.py": True, "x.log": True, "keep.log": False}
    assert not await git_ignores(tmp_path / "x.log")
    assert not await git_ignores(tmp_path / "nowhere" / "x.log")


async def test_a_git_that_does_not_answer_is_taken_for_a_yes(tmp_path: Path, monkeypatch) -> None:
    """In doubt nothing leaves. Without git there is no doubt."""
    slow = tmp_path / "git"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setattr(git_ignored.shutil, "which", lambda name: str(slow))
    monkeypatch.setattr(git_ignored, "PATIENCE_SECONDS", 0.2)
    assert await git_ignores(tmp_path / "a.py")
    monkeypatch.setattr(git_ignored.shutil, "which", lambda name: None)
    assert not await git_ignores(tmp_path / "a.py")
