"""Folders for what a start makes once and later ones take: nobody else may have written what lies there."""

from __future__ import annotations

import os
import shutil
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from platformdirs import user_cache_path

BUILD_PREFIX: Final = ".build-"
"""What the names begin with of what is being made in such a folder."""
UNUSED_SECONDS: Final = 30 * 86400
LEFTOVER_SECONDS: Final = 86400


class CacheRefused(Exception):
    """There is no folder that only this user can write to; the message says why."""


def private_folder(name: str) -> Path:
    """The cache folder of this name, created if need be.

    Raises:
        CacheRefused: it can't be created, or others could put files there.

    """
    folder = user_cache_path("warmline") / name
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not is_private(folder.stat()):
            raise CacheRefused(f"others than this user own {folder} or can write to it; chmod 700 it, or remove it")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise CacheRefused(f"{folder} can't be written to")
    except OSError as error:
        raise CacheRefused(f"{folder} can't be used: {error.strerror or error}") from error
    return folder


def is_private(found: os.stat_result) -> bool:
    """Whether this user alone owns and can write to a file or folder."""
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def remove_leftovers(folder: Path, pattern: str) -> None:
    """Delete files unused for weeks, and what starts that were killed have left; as far as that works."""
    now = time.time()
    for each, seconds in ((pattern, UNUSED_SECONDS), (f"{BUILD_PREFIX}*", LEFTOVER_SECONDS)):
        for path in folder.glob(each):
            with suppress(OSError):
                if now - path.lstat().st_mtime > seconds:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
