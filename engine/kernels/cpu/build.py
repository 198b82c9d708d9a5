"""Compile the C++ kernels on first use, once per source, compiler and processor, into the user's cache folder."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch
from platformdirs import user_cache_path

SOURCES: Final = Path(__file__).parent
FLAGS: Final = (
    "-O3", "-march=native", "-std=c++17", "-shared", "-fPIC", "-fopenmp",
    "-ffp-contract=off", "-fno-math-errno", "-Wno-psabi",
)  # fmt: skip
COMPILERS: Final = ("g++", "c++", "clang++")
COMPILE_SECONDS: Final = 120.0


class BuildError(Exception):
    """The kernels can't be compiled here; the message says why."""


@dataclass(frozen=True, slots=True)
class NativeLibrary:
    """A compiled library and the compiler it came from."""

    path: Path
    compiler: str


def build_library() -> NativeLibrary:
    """The library of this source for this processor, compiled unless it is in the cache.

    Safe when several processes start at once: each compiles into a file of its own and renames it into place.

    Raises:
        BuildError: there is no compiler, or it fails.

    """
    compiler = next((found for name in COMPILERS if (found := shutil.which(name))), None)
    if compiler is None:
        raise BuildError(f"no C++ compiler found (looked for {', '.join(COMPILERS)}); install g++")
    try:
        version = _run([compiler, "-dumpfullversion", "-dumpversion"]).strip()
        command = [compiler, *FLAGS, *map(str, sorted(SOURCES.glob("*.cpp"))), *_openmp_of_torch()]
        path = user_cache_path("warmline") / "kernels" / f"cpu-{_key(command, version)}.so"
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=path.parent, prefix=".build-") as folder:
                built = Path(folder) / "kernels.so"
                _run([*command, "-o", str(built)])
                built.replace(path)
    except OSError as error:
        raise BuildError(f"the kernels can't be built: {error}") from error
    return NativeLibrary(path, f"{Path(compiler).name} {version}")


def _openmp_of_torch() -> list[str]:
    """Link to the OpenMP runtime that torch carries, if it does: two thread pools would fight for the cores."""
    bundled = sorted((Path(torch.__file__).parent / "lib").glob("libgomp*.so*"))
    return ["-Wl,--as-needed", str(bundled[0])] if bundled else []


def _key(command: list[str], version: str) -> str:
    digest = hashlib.sha256("\0".join([*command, version, platform.machine(), _processor()]).encode())
    for source in sorted([*SOURCES.glob("*.cpp"), *SOURCES.glob("*.h")]):
        digest.update(source.name.encode() + source.read_bytes())
    return digest.hexdigest()[:24]


def _processor() -> str:
    """What `-march=native` depends on: a cache folder may be shared between machines."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    wanted = ("flags", "Features", "cpu family", "model\t")
    return "\n".join(sorted({line for line in lines if line.startswith(wanted)}))


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=COMPILE_SECONDS,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    except subprocess.TimeoutExpired as error:
        raise BuildError(f"{Path(command[0]).name} did not finish in {COMPILE_SECONDS:.0f} s") from error
    if done.returncode != 0:
        complaint = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip()[:200])
        raise BuildError(f"{Path(command[0]).name} failed: {complaint}")
    return done.stdout
