"""How this program was called, for hints that can be typed as they stand."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path


def called() -> str:
    """The command line's name where it is on the PATH, or else the path it was started by."""
    path = Path(sys.argv[0])
    if path.name != "warmline":
        return "warmline"  # started by `python -m`, or by another program
    found = shutil.which("warmline")
    return "warmline" if found is not None and Path(found).resolve() == path.resolve() else str(path)
