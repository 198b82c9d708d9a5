"""Where compiled kernels are kept. What lies there runs as this user, so nobody else may have written it.

A library's name holds the key of its recipe and the SHA-256 of its content: it appears whole under its name or not
at all, and a damaged one doesn't match its name and is never loaded.
"""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from ...cache_folder import is_private

FOLDER: Final = "kernels"
LIBRARIES: Final = "cpu-*.so"


def find_library(folder: Path, key: str) -> Path | None:
    """The kept library of a recipe, marked as used. Damaged ones, and such as others can write, are deleted.

    Raises:
        OSError: the folder can't be read or changed.

    """
    for path in sorted(folder.glob(f"cpu-{key}-*.so")):
        with suppress(FileNotFoundError):  # another start may delete it meanwhile
            found = path.lstat()
            if stat.S_ISREG(found.st_mode) and is_private(found) and path.name == _name(key, path):
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


def _name(key: str, path: Path) -> str:
    with path.open("rb") as file:
        return f"cpu-{key}-{hashlib.file_digest(file, 'sha256').hexdigest()}.so"
