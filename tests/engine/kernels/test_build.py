"""A machine without a working compiler runs without compiled kernels; libraries are told apart by what makes them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from warmline.engine.kernels.cpu import build
from warmline.engine.kernels.cpu.build import BuildError, find_recipe


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of sources of the test's own."""
    folder = tmp_path / "sources"
    folder.mkdir()
    monkeypatch.setattr(build, "SOURCES", folder)
    return folder


def test_the_key_follows_the_content_of_the_sources(sources: Path) -> None:
    """A changed source or header has another key, and the old content the old one."""
    keys = []
    for source, header in (("1", "a"), ("2", "a"), ("1", "b"), ("1", "a")):
        (sources / "one.cpp").write_text(source)
        (sources / "one.h").write_text(header)
        keys.append(find_recipe().key())
    assert len(set(keys)) == 3
    assert keys[0] == keys[3]


def test_the_key_does_not_depend_on_where_things_lie(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another checkout or virtual environment with the same content shares the library."""
    (sources / "one.cpp").write_text("int one;")
    keys = []
    for number in (1, 2):
        monkeypatch.setattr(build, "SOURCES", shutil.copytree(sources, tmp_path / f"checkout-{number}"))
        moved = tmp_path / f"venv-{number}" / "torch"
        (moved / "lib").mkdir(parents=True)
        (moved / "lib" / "libgomp-1.so.1").touch()
        monkeypatch.setattr(build.torch, "__file__", str(moved / "__init__.py"))
        recipe = find_recipe()
        assert f"-L{moved / 'lib'}" in recipe.arguments
        keys.append(recipe.key())
    assert keys[0] == keys[1]


def test_a_failing_compiler_is_quoted(sources: Path, tmp_path: Path) -> None:
    """The error holds the compiler's first complaint."""
    (sources / "broken.cpp").write_text("int broken( {")
    with pytest.raises(BuildError, match=r"broken\.cpp:1"):
        find_recipe().compile(tmp_path / "kernels.so")


def test_a_machine_without_a_compiler_uses_torch() -> None:
    """The kernels say that they are slower and what to install; asking for native ones is an error."""
    code = (
        "import os; os.environ['PATH'] = ''\n"
        "import torch\n"
        "from warmline.engine.kernels.cpu import *\n"
        "from warmline.engine.models.config import ModelConfig\n"
        "from warmline.engine.errors import EngineError\n"
        "config = ModelConfig('llama', 64, 32, 1, 2, 1, 16, 32, 32)\n"
        "setup = KernelSetup(config, 2, EIGHT_BIT, torch.ones(32, 8), torch.ones(32, 8))\n"
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
        "import torch\n"
        "from warmline.engine.kernels.cpu.library import load_library\n"
        "load_library()\n"
        "print(len({line.split()[-1] for line in open('/proc/self/maps') if 'omp' in line and '.so' in line}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"
