"""Text as the wire counts it: UTF-16 code units, content hashes, operations. Shared by server and SDK."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from .protocol import Operation

HASH_MODULUS: Final = 2**37 - 25
"""A prime small enough that ``hash * 65536 + unit`` is exact in a double, so JavaScript computes it plainly."""


def utf16_length(text: str) -> int:
    """The number of UTF-16 code units of a text."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf16_offset(text: str, index: int) -> int:
    """The UTF-16 offset of a string index."""
    return index if text.isascii() else utf16_length(text[:index])


def string_index(text: str, offset: int) -> int:
    """The string index of a UTF-16 offset.

    Raises:
        ValueError: the offset lies outside the text or inside a surrogate pair.

    """
    length = utf16_length(text)
    if not 0 <= offset <= length:
        raise ValueError(f"offset {offset} is outside the text, which has {length} UTF-16 units")
    if length == len(text):
        return offset
    try:
        return len(text.encode("utf-16-le")[: 2 * offset].decode("utf-16-le"))
    except UnicodeDecodeError:
        raise ValueError(f"offset {offset} lies inside a surrogate pair") from None


def replace_lone_surrogates(text: str) -> str:
    """Turn lone surrogates, which UTF-8 can't carry, into U+FFFD; lengths and offsets stay."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def content_hash(text: str) -> int:
    """The hash of a text: its UTF-16 units as the digits of a number in base 65536, modulo `HASH_MODULUS`."""
    return int.from_bytes(text.encode("utf-16-be"), "big") % HASH_MODULUS


def concatenated_hash(left: int, right: int, right_length: int) -> int:
    """The hash of two texts in a row, from their hashes and the second one's length in UTF-16 units."""
    return (left * pow(65536, right_length, HASH_MODULUS) + right) % HASH_MODULUS


def apply_operations(text: str, operations: Iterable[Operation]) -> str:
    """Apply keep / delete / insert operations to a text; what they don't reach is kept.

    Raises:
        ValueError: an operation goes past the end or splits a surrogate pair.

    """
    units = text.encode("utf-16-le", "surrogatepass")
    parts: list[bytes] = []
    at = 0
    for operation in operations:
        if isinstance(operation, str):
            parts.append(operation.encode("utf-16-le", "surrogatepass"))
            continue
        end = at + 2 * abs(operation)
        if end > len(units):
            raise ValueError(f"operations reach unit {end // 2} of a text of {len(units) // 2}")
        if operation > 0:
            parts.append(units[at:end])
        at = end
    parts.append(units[at:])
    try:
        return b"".join(parts).decode("utf-16-le")
    except UnicodeDecodeError:
        raise ValueError("an operation splits a surrogate pair") from None
