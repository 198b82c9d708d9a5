"""Where compiled kernels are kept. What lies here runs as this user, so nobody else may have written it.

A library's name holds the key of its recipe and the SHA-256 of its content: it appears whole under its name or not
at all, and a damaged one doesn't match its name and is never loaded.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from platformdirs import user_cache_path

BUILD_PREFIX: Final = ".build-"
"""What the folders begin with in which libraries are compiled, inside the cache folder."""

UNUSED_SECONDS: Final = 30 * 86400
LEFTOVER_SECONDS: Final = 86400


class CacheRefused(Exception):
    """There is no folder that only this user can write to; the message says why."""


def private_folder() -> Path:
    """The cache folder, created if need be.

    Raises:
        CacheRefused: it can't be created, or others could put files there.

    """
    folder = user_cache_path("warmline") / "kernels"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_private(folder.stat()):
            raise CacheRefused(f"others than this user own {folder} or can write to it; chmod 700 it, or remove it")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise CacheRefused(f"{folder} can't be written to")
    except OSError as error:
        raise CacheRefused(f"{folder} can't be used: {error.strerror or error}") from error
    return folder


def find_library(folder: Path, key: str) -> Path | None:
    """The kept library of a recipe, marked as used. Damaged ones, and such as others can write, are deleted.

    Raises:
        OSError: the folder can't be read or changed.

    """
    for path in sorted(folder.glob(f"cpu-{key}-*.so")):
        with suppress(FileNotFoundError):  # another start may delete it meanwhile
            found = path.lstat()
            if stat.S_ISREG(found.st_mode) and _is_private(found) and path.name == _name(key, path):
                os.utime(path)
                return path
            path.unlink()
    return None


def keep_library(folder: Path, key: str, built: Path) -> Path:
    """Move a compiled library to its place in the cache.

    Raises:
        OSError: there is no room, or the folder can't be changed.

    """
    built.chmod(0o600)
    with built.open("rb") as file:
        os.fsync(file.fileno())
    return built.replace(folder / _name(key, built))


def remove_leftovers(folder: Path) -> None:
    """Delete libraries that nobody has used for weeks, and what killed builds have left; as far as that works."""
    now = time.time()
    for pattern, seconds in (("cpu-*.so", UNUSED_SECONDS), (f"{BUILD_PREFIX}*", LEFTOVER_SECONDS)):
        for path in folder.glob(pattern):
            with suppress(OSError):
                if now - path.lstat().st_mtime > seconds:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()


def _name(key: str, path: Path) -> str:
    with path.open("rb") as file:
        return f"cpu-{key}-{hashlib.file_digest(file, 'sha256').hexdigest()}.so"


def _is_private(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
