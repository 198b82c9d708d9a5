"""The unified diff of an edit of whole lines, for `git apply` and `patch -p1`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from ..documents.hunks import hunks_of

_ESCAPES: Final = {0x07: "a", 0x08: "b", 0x09: "t", 0x0A: "n", 0x0B: "v", 0x0C: "f", 0x0D: "r", 0x22: '"', 0x5C: "\\"}


def unified_diff(name: Path, text: str, span: tuple[int, int], new: str, mark: str = "") -> str:
    """What puts ``new`` in the place of the whole lines text[start:end]; "" if they are the same. See `hunks_of`.

    Args:
        name: the file's path in the folder that the diff is to be applied in.
        text: the text before.
        span: the range of the lines.
        new: what takes their place.
        mark: what the file begins with before its text, such as a byte order mark.

    """
    start, end = span
    if mark and start == 0:
        hunks = hunks_of(mark + text, (0, len(mark) + end), mark + new)
    else:
        hunks = hunks_of(mark + text, (len(mark) + start, len(mark) + end), new)
    if not hunks:
        return ""
    a, b = (_quoted(f"{side}/{name.as_posix()}") for side in "ab")
    # Without its own header git would guess what the paths count from, and take sub/app.py for app.py within sub.
    # Where a name with a space ends has to be told to `patch`.
    tab = "\t" if " " in a and not a.startswith('"') else ""
    return f"diff --git {a} {b}\n--- {a}{tab}\n+++ {b}{tab}\n{hunks}"


def _quoted(name: str) -> str:
    """A name as git writes it: in quotes if it has characters that would end it, or is no text."""
    raw = os.fsencode(name)
    is_text = name.isprintable() and not any(0xD800 <= ord(character) < 0xE000 for character in name)
    if is_text and '"' not in name and "\\" not in name:
        return name
    return '"' + "".join(_escaped(byte) for byte in raw) + '"'


def _escaped(byte: int) -> str:
    if byte in _ESCAPES:
        return f"\\{_ESCAPES[byte]}"
    return chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}"
