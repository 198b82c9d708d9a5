"""Kernels are compiled once, safely, and a machine without a compiler runs without them."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from warmline.engine.kernels.cpu import build
from warmline.engine.kernels.cpu.build import BuildError, build_library


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own."""
    monkeypatch.setattr(build, "user_cache_path", lambda name: tmp_path / name)
    return tmp_path / "warmline" / "kernels"


def test_starts_at_the_same_time_share_one_library(empty_cache: Path) -> None:
    """Several builds at once end with one whole library and nothing else; a later one compiles nothing."""
    with ThreadPoolExecutor(3) as pool:
        paths = {library.path for library in pool.map(lambda _: build_library(), range(3))}
    (path,) = paths
    assert list(empty_cache.iterdir()) == [path]
    made = path.stat().st_mtime_ns
    assert build_library().path.stat().st_mtime_ns == made


def test_a_changed_source_is_compiled_anew(
    empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name of a library follows from its source."""
    sources = tmp_path / "sources"
    sources.mkdir()
    monkeypatch.setattr(build, "SOURCES", sources)
    paths = set()
    for number in (1, 2):
        (sources / "one.cpp").write_text(f'extern "C" int one() {{ return {number}; }}')
        paths.add(build_library().path)
    assert len(paths) == 2


def test_a_failing_compiler_is_quoted(empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error holds the compiler's first complaint, and nothing is left behind."""
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / "broken.cpp").write_text("int broken( {")
    monkeypatch.setattr(build, "SOURCES", tmp_path / "sources")
    with pytest.raises(BuildError, match=r"broken\.cpp:1"):
        build_library()
    assert list(empty_cache.iterdir()) == []


def test_a_machine_without_a_compiler_uses_torch() -> None:
    """The kernels say that they are slower and what to install; asking for native ones is an error."""
    code = (
        "import os; os.environ['PATH'] = ''\n"
        "import torch\n"
        "from warmline.engine.kernels.cpu import *\n"
        "from warmline.engine.models.config import ModelConfig\n"
        "from warmline.engine.errors import EngineError\n"
        "config = ModelConfig('llama', 64, 32, 1, 2, 1, 16, 32, 32)\n"
        "setup = KernelSetup(config, 2, 16, EIGHT_BIT, torch.ones(32, 8), torch.ones(32, 8))\n"
        "print(create_kernels(setup).description)\n"
        "os.environ['WARMLINE_KERNELS'] = 'native'\n"
        "try: create_kernels(setup)\n"
        "except EngineError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    description, error = done.stdout.splitlines()
    assert description.startswith("torch (no C++ compiler found")
    assert "install g++" in description
    assert "WARMLINE_KERNELS=native can't be had: no C++ compiler" in error


def test_one_openmp_runtime_serves_torch_and_the_kernels() -> None:
    """Two pools of threads would fight for the cores."""
    code = (
        "import ctypes, torch\n"
        "from warmline.engine.kernels.cpu.build import build_library\n"
        "ctypes.CDLL(str(build_library().path))\n"
        "print(len({line.split()[-1] for line in open('/proc/self/maps') if 'omp' in line and '.so' in line}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"
