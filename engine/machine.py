"""This machine as the engine sees it: processor, memory, compiler. Importable without torch."""

from __future__ import annotations

import os
import platform
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

COMPILERS: Final = ("g++", "c++", "clang++")
"""C++ compilers that are looked for, the preferred one first."""

_INSTRUCTIONS: Final = {
    "avx2": "AVX2",
    "avx512f": "AVX-512",
    "avx_vnni": "AVX-VNNI",
    "avx512_vnni": "AVX-512 VNNI",
    "avx512_bf16": "AVX-512 BF16",
    "amx_int8": "AMX int8",
    "asimd": "NEON",
    "asimddp": "NEON dot product",
    "i8mm": "NEON int8",
}


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine. ``cores`` are those this process may use; ``memory`` is in bytes, 0 where it can't be told."""

    system: str
    processor: str
    cores: int
    instructions: list[str]
    memory: int


def this_machine() -> Machine:
    """The machine this runs on."""
    processor = next(iter(_processors()), {})
    flags = set((processor.get("flags") or processor.get("Features") or "").split())
    return Machine(
        system=f"{platform.system()} {platform.machine()}",
        processor=processor.get("model name") or platform.processor() or platform.machine(),
        cores=available_cores(),
        instructions=[name for flag, name in _INSTRUCTIONS.items() if flag in flags],
        memory=_memory(),
    )


def available_cores() -> int:
    """The cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def native_code_target() -> str:
    """What code compiled for exactly this machine depends on; not for people."""
    wanted = ("cpu family", "model", "flags", "CPU implementer", "CPU part", "Features")
    kinds = {"\n".join(processor.get(field, "") for field in wanted) for processor in _processors()}
    return "\n".join([platform.machine(), *(sorted(kinds) or [platform.processor()])])


def find_compiler() -> str | None:
    """The path of the C++ compiler that the kernels are built with, None where there is none."""
    return next((found for name in COMPILERS if (found := shutil.which(name))), None)


def _processors() -> list[dict[str, str]]:
    """What Linux says of each logical processor, by field; nothing elsewhere."""
    try:
        paragraphs = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n\n")
    except OSError:
        return []
    processors = []
    for paragraph in paragraphs:
        pairs = [line.partition(":") for line in paragraph.splitlines()]
        processors.append({name.strip(): value.strip() for name, colon, value in pairs if colon})
    return [fields for fields in processors if fields]


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0
