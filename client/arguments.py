"""What a program passes, checked where it passes it."""

from __future__ import annotations

import operator
import reprlib
from collections.abc import Sequence

from .errors import WrongType


def check_text(name: str, value: object) -> None:
    """Raise WrongType unless a value is a string; ``name`` says which."""
    if not isinstance(value, str):
        hint = "; decode it first" if isinstance(value, bytes | bytearray | memoryview) else ""
        raise WrongType(f"{name} is of type {type(value).__name__}, not str{hint}")


def whole_number(name: str, value: object) -> int:
    """An index or a number as an int, of whatever type that can be one.

    Raises:
        WrongType: the value is no whole number.

    """
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise WrongType(f"{name} is of type {type(value).__name__}, not int") from None


def number_pair(name: str, value: object) -> tuple[int, int]:
    """A range (start, end).

    Raises:
        WrongType: the value is no pair of whole numbers.

    """
    if not isinstance(value, Sequence) or isinstance(value, str | bytes) or len(value) != 2:
        raise WrongType(f"{name} is {reprlib.repr(value)}, not a pair (start, end)")
    return whole_number(f"the start of {name}", value[0]), whole_number(f"the end of {name}", value[1])
