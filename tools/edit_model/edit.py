"""An edit that was made of a piece of code: where the code changes and what asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Replacement:
    """The bytes [start, end) of the file become ``text``."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Edit:
    """What one transformation did.

    Attributes:
        kind: its kind, the field's plain name with hyphens, as ``rename-variable``.
        instruction: what a person would type to ask for it.
        replacements: in order, apart from each other; empty where nothing should change.
    """

    kind: str
    instruction: str
    replacements: tuple[Replacement, ...]


def apply(data: bytes, replacements: Sequence[Replacement]) -> bytes:
    """The file's bytes after the replacements."""
    parts, position = [], 0
    for replacement in sorted(replacements, key=lambda r: (r.start, r.end)):
        if replacement.start < position:
            raise ValueError(f"replacements overlap at byte {replacement.start}")
        parts += [data[position : replacement.start], replacement.text.encode()]
        position = replacement.end
    return b"".join([*parts, data[position:]])
