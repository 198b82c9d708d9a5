"""What a steered edit goes on from."""

from __future__ import annotations

from collections.abc import Sequence

from ..protocol import Operation


def joined(instructions: Sequence[str]) -> str:
    """Several instructions as the one that a prompt has room for, the oldest first."""
    return "\nInstruction: ".join(instructions)


def divide(original: str, operations: Sequence[Operation]) -> tuple[str, str]:
    """What operations make of the part of a text that they walk over, and the part that they leave."""
    units = original.encode("utf-16-le")
    made: list[str] = []
    at = 0
    for operation in operations:
        if isinstance(operation, str):
            made.append(operation)
            continue
        end = at + 2 * abs(operation)
        if operation > 0:
            made.append(units[at:end].decode("utf-16-le"))
        at = end
    return "".join(made), units[at:].decode("utf-16-le")
