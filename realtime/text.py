"""Text as the wire counts it: UTF-16 code units and content hashes. Shared by server and SDK."""

from __future__ import annotations

from typing import Final

HASH_MODULUS: Final = 2**37 - 25
"""A prime small enough that ``hash * 65536 + unit`` is exact in a double, so JavaScript computes it plainly."""


def utf16_length(text: str) -> int:
    """The number of UTF-16 code units of a text."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf16_offset(text: str, index: int) -> int:
    """The UTF-16 offset of a string index."""
    return index if text.isascii() else utf16_length(text[:index])


def string_index(text: str, offset: int) -> int:
    """The string index of a UTF-16 offset in a text without lone surrogates.

    Raises:
        ValueError: the offset lies outside the text or inside a surrogate pair.

    """
    units = text[: max(offset, 0)].encode("utf-16-le")  # a character has one unit or two, so these are enough
    if not 0 <= 2 * offset <= len(units):
        raise ValueError(f"offset {offset} is outside the text, which has {utf16_length(text)} UTF-16 units")
    try:
        return len(units[: 2 * offset].decode("utf-16-le"))
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
    number = int.from_bytes(text.encode("utf-16-be"), "big")
    # Long division is slow. Halving the number, with the higher half's place value reduced, keeps its remainder.
    while (half := number.bit_length() // 2) > 1024:
        number = (number >> half) * pow(2, half, HASH_MODULUS) + (number & ((1 << half) - 1))
    return number % HASH_MODULUS
