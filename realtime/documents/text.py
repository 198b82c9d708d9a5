"""Text as the wire counts it: UTF-16 code units and content hashes. Shared by server and SDK."""

from __future__ import annotations

from zlib import crc32


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
    """The hash of a text without lone surrogates: the CRC-32 of its UTF-8 bytes."""
    return crc32(text.encode())
