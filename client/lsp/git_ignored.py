"""Whether git ignores a file: git is asked."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path
from typing import Final

PATIENCE_SECONDS: Final = 10.0
MOST_SAID: Final = 200
"""Characters of what git says that a reason has."""

IGNORED: Final = "files that git ignores are never sent"

_NOT_IGNORED: Final = 1
_NO_REPOSITORY: Final = "fatal: not a git repository (or any "
"""How git begins where no folder above is one; ``not a git repository: PATH`` is one whose parts are missing."""


async def git_exclusion(path: Path) -> str | None:
    """Why git keeps a file from being sent; None: it lies in no repository, isn't ignored, or there is no git.

    In doubt it is kept: git doesn't answer within `PATIENCE_SECONDS`, or answers anything but yes and no, as it does
    of a repository that belongs to somebody else. The reason says so.
    """
    git = shutil.which("git")
    if git is None:
        return None
    try:
        directory = next((above for above in path.parents if above.is_dir()), None)
        if directory is None:
            return None
        # A name after "./" is no pattern, whatever it begins with.
        status, said = await _asked(git, directory, f"./{path.relative_to(directory).as_posix()}")
    except TimeoutError:
        return _doubt("it did not answer")
    except (OSError, ValueError) as error:  # it can't be run, a folder can't be entered, or the name is none
        return _doubt(type(error).__name__)
    if status == 0:
        return IGNORED
    if status == _NOT_IGNORED or said.startswith(_NO_REPOSITORY):
        return None
    return _doubt(" ".join(said.split())[:MOST_SAID] or f"it ended with {status}")


def _doubt(said: str) -> str:
    return f"git could not say whether it ignores the file, which is never sent then ({said})"


async def _asked(git: str, directory: Path, name: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *(git, "-C", str(directory), "check-ignore", "--quiet", "--", name),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "LC_ALL": "C", "LANGUAGE": "C"},  # what it says is read here
    )
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            _, said = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return process.returncode, said.decode(errors="replace")
