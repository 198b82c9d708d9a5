"""What is found out about the machine: from Linux's own files where there are any, and something anywhere."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import pytest
from warmline.engine import machine
from warmline.engine.machine import available_cores, find_compiler, native_code_target, this_machine

XEON = """\
processor\t: {number}
cpu family\t: 6
model\t\t: 143
model name\t: Intel(R) Xeon(R) 8480C
cpu MHz\t\t: {mhz}
flags\t\t: fpu sse2 avx2 avx512f avx512_vnni amx_int8
"""
GRAVITON = """\
processor\t: {number}
BogoMIPS\t: {mhz}
Features\t: fp asimd asimddp i8mm
CPU implementer\t: 0x41
CPU part\t: 0xd40
"""


@pytest.fixture
def cpuinfo(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets what /proc/cpuinfo holds; None for no such file."""
    read = Path.read_text

    def install(content: str | None) -> None:
        def read_text(path: Path, *args: Any, **options: Any) -> str:
            if str(path) != "/proc/cpuinfo":
                return read(path, *args, **options)
            if content is None:
                raise FileNotFoundError(path)
            return content

        monkeypatch.setattr(Path, "read_text", read_text)

    return install


def two(kind: str, *clocks: int) -> str:
    """/proc/cpuinfo of a machine with a processor for each clock rate."""
    return "\n".join(kind.format(number=number, mhz=mhz) for number, mhz in enumerate(clocks)) + "\n"


def test_an_x86_machine_is_named(cpuinfo: Any) -> None:
    """Name and instructions come from the first processor."""
    cpuinfo(two(XEON, 2000, 2100))
    found = this_machine()
    assert found.processor == "Intel(R) Xeon(R) 8480C"
    assert found.instructions == ["AVX2", "AVX-512", "AVX-512 VNNI", "AMX int8"]


def test_an_arm_machine_has_instructions_too(cpuinfo: Any) -> None:
    """Linux names no model there; the system's word has to do."""
    cpuinfo(two(GRAVITON, 243))
    found = this_machine()
    assert found.processor == (platform.processor() or platform.machine())
    assert found.instructions == ["NEON", "NEON dot product", "NEON int8"]


def test_another_system_has_a_name_and_cores(cpuinfo: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without /proc, affinity and sysconf, what can't be told is empty or 0."""
    cpuinfo(None)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.delattr(os, "sysconf", raising=False)
    found = this_machine()
    assert found.processor and found.instructions == []
    assert (found.cores, found.memory) == (os.cpu_count(), 0)
    assert native_code_target()


def test_cores_are_those_that_may_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not all that the machine has."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {1, 5, 6}, raising=False)
    assert available_cores() == this_machine().cores == 3


def test_compiled_code_is_for_one_kind_of_processor(cpuinfo: Any) -> None:
    """The same whatever the clock and the number of cores, another for another model or instruction set."""
    targets = []
    for content in (
        two(XEON, 2000, 2100),
        two(XEON, 3333),
        two(XEON.replace("avx512_vnni ", ""), 2000),
        two(XEON.replace("143", "106"), 2000),
        two(GRAVITON, 243),
        two(GRAVITON.replace("0xd40", "0xd4f"), 243),
    ):
        cpuinfo(content)
        targets.append(native_code_target())
    assert targets[0] == targets[1]
    assert len(set(targets)) == 5


def test_the_preferred_compiler_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of those known, wherever it is on the path."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'first'}{os.pathsep}{tmp_path / 'second'}")
    assert find_compiler() is None
    for folder, name in (("first", machine.COMPILERS[-1]), ("second", machine.COMPILERS[0])):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).touch(mode=0o700)
        assert find_compiler() == str(tmp_path / folder / name)
