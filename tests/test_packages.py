"""The four packages meet only at their public surface, and the light ones stay light."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("realtime", "engine", "client", "loadtest")


def imported_modules(source: Path) -> Iterator[str]:
    """The absolute names a file imports, wherever in it."""
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module


@pytest.mark.parametrize("package", PACKAGES)
def test_other_packages_are_used_through_their_public_surface(package):
    """`from warmline.engine import ...`, never from a module inside it."""
    inner = [
        f"{source.relative_to(ROOT)}: {module}"
        for source in (ROOT / package).rglob("*.py")
        for module in imported_modules(source)
        if module.startswith("warmline.") and module.count(".") > 1 and module.split(".")[1] != package
    ]
    assert inner == []


@pytest.mark.parametrize(
    ("package", "heavy"),
    [
        (
            "warmline.client",
            ["torch", "numpy", "typer", "tokenizers", "uvloop", "rich", "pygls", "lsprotocol", "warmline.engine"],
        ),
        ("warmline.realtime", ["torch", "numpy", "typer", "websockets", "warmline.engine"]),
        ("warmline.engine", ["torch"]),
        ("warmline.realtime.cli.app", ["torch", "websockets", "tokenizers"]),
    ],
)
def test_a_light_package_imports_nothing_heavy(package, heavy):
    """Importing it loads none of what only others need."""
    program = f"import sys, {package}; print([name for name in {heavy} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
