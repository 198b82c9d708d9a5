"""The cache of compiled kernels heals itself, stays small, and never runs what somebody else may have put there."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from warmline.engine import cache_folder
from warmline.engine.kernels.cpu import cache
from warmline.engine.kernels.cpu.build import BuildError, Recipe, find_recipe
from warmline.engine.kernels.cpu.library import load_library

DAY = 86400
NOT_PRIVATE = "others than this user own"


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real library."""
    return find_recipe().compile(tmp_path_factory.mktemp("compiled") / "kernels.so")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder of the test's own, not yet there."""
    monkeypatch.setattr(cache_folder, "user_cache_path", lambda name: tmp_path / name)
    return tmp_path / "warmline" / "kernels"


@pytest.fixture(autouse=True)
def builds(compiled: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Where something was compiled to; the library is copied there, which is quicker."""
    targets: list[Path] = []

    def compile_(recipe: Recipe, target: Path) -> Path:
        targets.append(target)
        return Path(shutil.copyfile(compiled, target))

    monkeypatch.setattr(Recipe, "compile", compile_)
    return targets


def put(folder: Path, content: bytes, mode: int = 0o600) -> Path:
    """Lay a file into the cache under the name that its content would have there."""
    path = folder / f"cpu-{find_recipe().key()}-{hashlib.sha256(content).hexdigest()}.so"
    overwrite(path, content)
    path.chmod(mode)
    return path


def overwrite(path: Path, content: bytes) -> None:
    """Write a file anew: one that this process has loaded must not shrink under it."""
    path.unlink(missing_ok=True)
    path.write_bytes(content)
    path.chmod(0o600)


def libraries(folder: Path) -> list[Path]:
    """All that lies in the cache."""
    return sorted(folder.iterdir())


def test_a_library_is_compiled_once(folder: Path, builds: list[Path]) -> None:
    """The second start takes the first one's; nothing else stays behind, and only the user can get at it."""
    load_library()
    (path,) = libraries(folder)
    assert (folder.stat().st_mode & 0o777, path.stat().st_mode & 0o777) == (0o700, 0o600)
    load_library()
    assert (libraries(folder), len(builds)) == ([path], 1)


def test_starts_at_the_same_time_end_with_one_library(folder: Path) -> None:
    """Each compiles for itself, and none sees a part of another's file."""
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: load_library(), range(4)))
    assert len(libraries(folder)) == 1


@pytest.mark.parametrize("damage", ["cut short", "empty", "scribbled"])
def test_a_damaged_library_is_compiled_again(folder: Path, compiled: Path, damage: str) -> None:
    """It is not even tried: loading one that is cut short kills the process, so this happens in another."""
    load_library()
    (path,) = libraries(folder)
    content = path.read_bytes()
    overwrite(path, {"cut short": content[:30_000], "empty": b"", "scribbled": content[:-5] + b"wrong"}[damage])
    program = (
        "import shutil, sys\n"
        "from pathlib import Path\n"
        "from warmline.engine import cache_folder\n"
        "from warmline.engine.kernels.cpu import library\n"
        "cache_folder.user_cache_path = lambda name: Path(sys.argv[1])\n"
        "library.Recipe.compile = lambda recipe, target: Path(shutil.copyfile(sys.argv[2], target))\n"
        "library.load_library().functions.warmline_instructions().decode()\n"
    )
    command = [sys.executable, "-c", program, folder.parent, compiled]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert libraries(folder) == [path]
    assert path.read_bytes() == content


@pytest.mark.parametrize("content", [b"", b"no library", None], ids=["empty", "text", "missing symbol"])
def test_what_cannot_be_loaded_is_compiled_again(
    folder: Path, builds: list[Path], content: bytes | None, tmp_path: Path
) -> None:
    """Also a file that matches its name, but is no library or lacks a function."""
    if content is None:
        source = tmp_path / "other.cpp"
        source.write_text('extern "C" const char* warmline_instructions() { return "none"; }')
        other = tmp_path / "other.so"
        subprocess.run([find_recipe().compiler, "-shared", "-fPIC", source, "-o", other], check=True)
        content = other.read_bytes()
    folder.mkdir(parents=True, mode=0o700)
    wrong = put(folder, content)
    assert load_library().functions.warmline_attention
    assert len(builds) == 1
    assert not wrong.exists()
    assert len(libraries(folder)) == 1


def test_a_build_that_cannot_be_loaded_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is tried once, and the reason is told."""
    targets: list[Path] = []

    def useless(recipe: Recipe, target: Path) -> Path:
        target.write_bytes(b"no library")
        targets.append(target)
        return target

    monkeypatch.setattr(Recipe, "compile", useless)
    with pytest.raises(BuildError, match="the compiled kernels can't be loaded"):
        load_library()
    assert len(targets) == 1


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777])
def test_a_folder_that_others_can_write_to_is_not_used(folder: Path, builds: list[Path], mode: int) -> None:
    """What lies in it is neither loaded nor added to; the kernels are compiled elsewhere, for this start only."""
    folder.mkdir(parents=True)
    folder.chmod(mode)
    planted = put(folder, b"planted")
    origin = load_library().origin
    assert NOT_PRIVATE in origin and str(folder) in origin and "this start only" in origin
    assert libraries(folder) == [planted]
    assert len(builds) == 1
    assert folder not in builds[0].parents
    assert not builds[0].parent.exists()


def test_a_folder_of_somebody_else_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its mode: its owner could put files there."""
    folder.mkdir(parents=True, mode=0o700)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert NOT_PRIVATE in load_library().origin
    assert libraries(folder) == []


def test_without_a_cache_folder_kernels_are_compiled_for_this_start(folder: Path) -> None:
    """A home that can't be written to costs time, not the kernels."""
    folder.parent.write_text("a file where the folder should be")
    assert "this start only" in load_library().origin


@pytest.mark.parametrize("planting", ["group", "others", "owner", "link"])
def test_a_file_that_others_can_write_is_not_loaded(
    folder: Path, builds: list[Path], compiled: Path, monkeypatch: pytest.MonkeyPatch, planting: str
) -> None:
    """Though its content matches its name."""
    folder.mkdir(parents=True, mode=0o700)
    path = put(folder, compiled.read_bytes(), {"group": 0o620, "others": 0o602}.get(planting, 0o600))
    if planting == "owner":
        inode, private = path.stat().st_ino, cache_folder.is_private
        monkeypatch.setattr(cache, "is_private", lambda found: found.st_ino != inode and private(found))
    if planting == "link":
        path.unlink()
        path.symlink_to(compiled)
    load_library()
    assert len(builds) == 1
    assert not path.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("name", "days", "stays"),
    [
        ("cpu-0123-4567.so", 29, True),
        ("cpu-0123-4567.so", 31, False),
        ("cpu-0123.so", 31, False),
        (".build-killed/kernels.so", 0.9, True),
        (".build-killed/kernels.so", 1.1, False),
        ("somebody's notes", 400, True),
    ],
)
def test_a_build_removes_what_nobody_uses(folder: Path, name: str, days: float, stays: bool) -> None:
    """Libraries unused for a month, and folders of builds that were killed over a day ago."""
    path = folder / name
    path.parent.mkdir(parents=True)
    path.touch()
    then = time.time() - days * DAY
    for old in (path, path.parent):
        os.utime(old, (then, then))
    load_library()
    assert path.exists() is stays
    assert path.parent.exists() is (stays or path.parent == folder)


def test_a_library_in_use_is_not_old(folder: Path) -> None:
    """Each start marks the one it takes."""
    load_library()
    (path,) = libraries(folder)
    os.utime(path, (0, 0))
    load_library()
    assert time.time() - path.stat().st_mtime < DAY
