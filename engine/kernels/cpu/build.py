"""Compile the C++ kernels for this machine."""

from __future__ import annotations

import hashlib
import logging
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch

from ...machine import COMPILERS, find_compiler, native_code_target

SOURCES: Final = Path(__file__).parent
FLAGS: Final = (
    "-O3", "-march=native", "-std=c++17", "-shared", "-fPIC", "-fopenmp",
    "-ffp-contract=off", "-fno-math-errno", "-Wno-psabi",
)  # fmt: skip
COMPILE_SECONDS: Final = 120.0

logger = logging.getLogger(__name__)


class BuildError(Exception):
    """The kernels can't be compiled or loaded here; the message says why."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the library is made: by which compiler, of which version, with which arguments."""

    compiler: Path
    version: str
    arguments: tuple[str, ...]

    @property
    def made_by(self) -> str:
        """For people: the compiler."""
        return f"{self.compiler.name} {self.version}"

    def key(self) -> str:
        """What the library depends on: sources, compiler, arguments and machine, but not the folders they are in."""
        named = [argument for argument in self.arguments if not argument.startswith("-L")]
        digest = hashlib.sha256("\0".join([self.made_by, *named, native_code_target()]).encode())
        for source in sorted([*SOURCES.glob("*.cpp"), *SOURCES.glob("*.h")]):
            content = source.read_bytes()
            digest.update(f"\0{source.name}\0{len(content)}\0".encode() + content)
        return digest.hexdigest()[:24]

    def compile(self, target: Path) -> Path:
        """Write the library to ``target``, an absolute path.

        Raises:
            BuildError: the compiler fails.

        """
        logger.info("compiling the CPU kernels with %s (once, some seconds)", self.made_by)
        _run([str(self.compiler), *self.arguments, "-o", str(target)])
        return target


def find_recipe() -> Recipe:
    """How the library is made on this machine.

    Raises:
        BuildError: there is no compiler, or it doesn't work.

    """
    compiler = find_compiler()
    if compiler is None:
        raise BuildError(f"no C++ compiler found (looked for {', '.join(COMPILERS)}); install g++")
    version = _run([compiler, "-dumpfullversion", "-dumpversion"]).strip()
    sources = sorted(source.name for source in SOURCES.glob("*.cpp"))
    return Recipe(Path(compiler), version, (*FLAGS, *sources, *_openmp_of_torch()))


def _openmp_of_torch() -> list[str]:
    """Link to the OpenMP runtime that torch carries, if it does: two thread pools would fight for the cores."""
    folder = Path(torch.__file__).parent / "lib"
    bundled = sorted(folder.glob("libgomp*.so*"))
    return [f"-L{folder}", "-Wl,--as-needed", f"-l:{bundled[0].name}"] if bundled else []


def _run(command: list[str]) -> str:
    """Run in the sources' folder, which they are named relative to."""
    name = Path(command[0]).name
    try:
        done = subprocess.run(
            command,
            cwd=SOURCES,
            capture_output=True,
            text=True,
            timeout=COMPILE_SECONDS,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    except subprocess.TimeoutExpired as error:
        raise BuildError(f"{name} did not finish in {COMPILE_SECONDS:.0f} s") from error
    except OSError as error:
        raise BuildError(f"{name} can't be run: {error}") from error
    if done.returncode != 0:
        complaint = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip()[:200])
        raise BuildError(f"{name} failed: {complaint}")
    return done.stdout
