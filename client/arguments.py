"""What a program passes, checked where it passes it. What may be sent is what the wire's messages say."""

from __future__ import annotations

import operator
import reprlib
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import inspect
from warmline.realtime import Edit, Hello, Open

from .errors import InvalidArgument, WrongType


def wire_types(message: type[msgspec.Struct]) -> dict[str, inspect.Type]:
    """What each field of a message may be, by the field's name."""
    described = inspect.type_info(message)
    assert isinstance(described, inspect.StructType)
    return {field.name: field.type for field in described.fields}


def most(message: type[msgspec.Struct], field: str) -> int:
    """The most that a field of a message takes: its greatest number, or how many characters or items."""
    wire = wire_types(message)[field]
    limit: int = getattr(wire, "le" if isinstance(wire, inspect.IntType) else "max_length")
    return limit


_EDIT: Final = wire_types(Edit)
_TEXTS: Final = {
    "uri": wire_types(Open)["document"],
    "language": wire_types(Open)["language"],
    "instruction": _EDIT["instruction"],
    "traceparent": _EDIT["traceparent"],
    "client": wire_types(Hello)["client"],
}
"""The arguments whose lengths the wire bounds."""


def check_wire(name: str, value: object, wire: inspect.Type) -> None:
    """Raise in words unless a value is what a field of the wire may be.

    Raises:
        WrongType: it is of another type.
        InvalidArgument: it is out of its range.

    """
    match wire:
        case inspect.UnionType(types=types):  # of one type and None
            if value is not None:
                check_wire(name, value, next(kind for kind in types if not isinstance(kind, inspect.NoneType)))
        case inspect.LiteralType(values=values):
            if value not in values:
                choices = " or ".join(map(repr, values))
                raise InvalidArgument(f"{name} must be {choices}, not {reprlib.repr(value)}")
        case inspect.StrType():
            check_text(name, value)
            _check_length(name, value, wire, "character")
        case inspect.BoolType():
            _check_type(name, value, bool, "bool")
        case inspect.IntType():
            _check_type(name, value, int, "int")
            _check_bounds(name, value, wire)
        case inspect.FloatType():
            _check_type(name, value, int | float, "float")
            _check_bounds(name, value, wire)
        case inspect.VarTupleType(item_type=item):
            _check_type(name, value, list | tuple, "list")
            _check_length(name, value, wire, "item")
            for index, part in enumerate(value):  # type: ignore[arg-type, var-annotated]
                check_wire(f"{name}[{index}]", part, item)
        case inspect.DictType(key_type=key_type, value_type=value_type):
            _check_type(name, value, dict, "dict")
            _check_length(name, value, wire, "item")
            for key, part in value.items():  # type: ignore[attr-defined]
                check_wire(f"a key of {name}", key, key_type)
                check_wire(f"{name}[{key}]", part, value_type)


def check_bounded_text(name: str, value: object) -> None:
    """Raise unless a value is a text as long as the argument of this name may be.

    Raises:
        WrongType: it is no string.
        InvalidArgument: it is too long, or empty where something has to be said.

    """
    check_wire(name, value, _TEXTS[name])


def check_instruction(value: object) -> None:
    """Raise unless a value says what an edit is to do.

    Raises:
        WrongType: it is no string.
        InvalidArgument: it is blank or too long.

    """
    check_bounded_text("instruction", value)
    if not str(value).strip():
        raise InvalidArgument("instruction is empty: say what to do")


def _check_type(name: str, value: object, kind: Any, called: str) -> None:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise WrongType(f"{name} is of type {type(value).__name__}, not {called}")


def _check_bounds(name: str, value: Any, wire: inspect.IntType | inspect.FloatType) -> None:
    low = wire.gt if wire.ge is None else wire.ge
    if low is not None and not (value > low or (value == low and wire.gt is None)):  # a NaN is refused here
        least = "at least" if wire.gt is None else "above"
        raise InvalidArgument(f"{name} must be {least} {low:,}, not {value:,}")
    if wire.le is not None and value > wire.le:
        raise InvalidArgument(f"{name} must be at most {wire.le:,}, not {value:,}")


def _check_length(
    name: str, value: Any, wire: inspect.StrType | inspect.VarTupleType | inspect.DictType, unit: str
) -> None:
    length = len(value)
    if wire.min_length is not None and length < wire.min_length:
        raise InvalidArgument(f"{name} is empty; it needs 1 to {wire.max_length:,} {unit}s")
    if wire.max_length is not None and length > wire.max_length:
        raise InvalidArgument(f"{name} has {length:,} {unit}s; at most {wire.max_length:,} can be sent")


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
