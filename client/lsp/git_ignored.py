"""Whether git ignores a file: git is asked."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Final

PATIENCE_SECONDS: Final = 10.0


async def git_ignores(path: Path) -> bool:
    """Whether git ignores a file. No: it lies in no repository, or there is no git. In doubt, yes.

    The doubt is a git that doesn't answer within `PATIENCE_SECONDS`.
    """
    git = shutil.which("git")
    if git is None or not path.parent.is_dir():
        return False
    process = await asyncio.create_subprocess_exec(
        *(git, "-C", str(path.parent), "check-ignore", "--quiet", "--", path.name),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await process.wait() == 0
    except TimeoutError:
        return True
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
