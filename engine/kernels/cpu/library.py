"""The compiled kernels as functions: taken from the cache, or compiled and put there."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from ...cache_folder import BUILD_PREFIX, CacheRefused, private_folder, remove_leftovers
from .build import BuildError, Recipe, find_recipe
from .cache import FOLDER, LIBRARIES, find_library, keep_library

POINTER, INT, FLOAT = ctypes.c_void_p, ctypes.c_int, ctypes.c_float

SIGNATURES: Final[dict[str, tuple[Any, list[Any]]]] = {
    "warmline_instructions": (ctypes.c_char_p, []),
    "warmline_add_norm_quantize": (
        None, [POINTER, POINTER, POINTER, POINTER, FLOAT, INT, INT, INT, POINTER, POINTER],
    ),
    "warmline_has_product": (INT, []),
    "warmline_pack_product": (None, [POINTER, INT, INT, POINTER, POINTER]),
    "warmline_product": (None, [POINTER, INT, INT, INT, POINTER, POINTER, POINTER, INT, POINTER]),
    "warmline_silu_quantize": (None, [POINTER, POINTER, INT, INT, INT, POINTER, POINTER]),
    "warmline_attention_workspace": (ctypes.c_size_t, [INT, INT, INT, INT]),
    "warmline_attention": (None, [*[POINTER] * 5, INT, POINTER, *[INT] * 5, *[POINTER] * 4]),
}  # fmt: skip
"""Result and arguments of each function of the library."""


@dataclass(frozen=True, slots=True)
class NativeLibrary:
    """The loaded library.

    Attributes:
        functions: what it exports.
        origin: where it comes from, for people.
        kept: the next start finds it in the cache.
    """

    functions: ctypes.CDLL
    origin: str
    kept: bool


def load_library() -> NativeLibrary:
    """The library for this machine. It is compiled if the cache has none that can be loaded.

    Where there is no folder that only this user can write to, it is compiled for this process alone. Safe when
    several processes start at once: each compiles into a folder of its own.

    Raises:
        BuildError: it can't be compiled or loaded.

    """
    recipe = find_recipe()
    try:
        try:
            folder = private_folder(FOLDER)
        except CacheRefused as refused:
            with TemporaryDirectory(prefix="warmline-") as own:
                functions = _open(recipe.compile(Path(own) / "kernels.so"))
            return NativeLibrary(functions, f"{recipe.made_by}; compiled for this start only: {refused}", kept=False)
        return NativeLibrary(_open_kept(folder, recipe), recipe.made_by, kept=True)
    except OSError as error:
        raise BuildError(f"the kernels can't be built: {error}") from error


def _open_kept(folder: Path, recipe: Recipe) -> ctypes.CDLL:
    key = recipe.key()
    kept = find_library(folder, key)
    if kept is not None:
        try:
            return _open(kept)
        except BuildError:
            kept.unlink(missing_ok=True)
    remove_leftovers(folder, LIBRARIES)
    with TemporaryDirectory(dir=folder, prefix=BUILD_PREFIX) as own:
        return _open(keep_library(folder, key, recipe.compile(Path(own) / "kernels.so")))


def _open(path: Path) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(str(path))
        for name, (result, arguments) in SIGNATURES.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as error:
        raise BuildError(f"the compiled kernels can't be loaded: {error}") from error
    return library
