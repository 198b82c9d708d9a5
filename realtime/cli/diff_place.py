"""Where a diff of a file is to be applied, and what the file is called there."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class DiffPlace:
    """A file as a diff names it.

    Attributes:
        root: the folder that the name counts from: the top of the file's git work tree; without one the current
            folder, or the file's own where it is outside of that.
        name: the file's path in it.
        here: whether `git apply` takes the diff in the current folder. It leaves out, with exit code 0, what is
            outside of it.
    """

    root: Path
    name: Path
    here: bool


def diff_place(path: Path) -> DiffPlace:
    """Where a diff of a file that exists is to be applied. A link counts as the file it leads to."""
    file, here = path.resolve(), Path.cwd().resolve()
    below = file.is_relative_to(here)
    root = _work_tree(file.parent) or (here if below else file.parent)
    return DiffPlace(root, file.relative_to(root), below and here.is_relative_to(root))


def _work_tree(folder: Path) -> Path | None:
    """The top of the git work tree that a folder is in; None if git knows of none, or isn't installed."""
    try:
        answer = subprocess.run(
            ["git", "rev-parse", "--show-toplevel"],
            cwd=folder,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    top = Path(os.fsdecode(answer.stdout.removesuffix(b"\n"))).resolve()
    return top if folder.is_relative_to(top) else None
