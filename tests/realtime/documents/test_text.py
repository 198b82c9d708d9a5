"""Tests of `warmline.realtime.documents.text`: UTF-16 offsets and content hashes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from warmline.realtime.documents.text import (
    content_hash,
    replace_lone_surrogates,
    string_index,
    utf16_length,
    utf16_offset,
)

untimed = settings(deadline=None)

VECTORS = json.loads((Path(__file__).parents[2] / "data" / "hash_vectors.json").read_text(encoding="utf-8"))

TEXTS = st.text(st.characters(codec="utf-8"), max_size=40)
"""Unicode without surrogates, as the wire carries it."""


@untimed
@given(TEXTS)
@example("a🙂b")
def test_offsets_and_indices_convert_both_ways(text: str) -> None:
    """Every string index has the UTF-16 offset that leads back to it, and the last one is the length."""
    offsets = [utf16_offset(text, index) for index in range(len(text) + 1)]
    assert offsets == sorted(set(offsets)) and offsets[-1] == utf16_length(text)
    assert [string_index(text, offset) for offset in offsets] == list(range(len(text) + 1))


@pytest.mark.parametrize("text", ["", "plain", "naïve", "🙂"])
@pytest.mark.parametrize("beyond", [-1, 1])
def test_an_offset_outside_the_text_is_refused(text: str, beyond: int) -> None:
    """An offset below zero or past the end has no index; the message names it and the length."""
    offset = -1 if beyond < 0 else utf16_length(text) + 1
    with pytest.raises(ValueError, match=f"offset {offset} is outside the text, which has {utf16_length(text)}"):
        string_index(text, offset)


def test_an_offset_inside_a_surrogate_pair_is_refused() -> None:
    """The middle of an emoji is no place in a text."""
    with pytest.raises(ValueError, match="offset 2 lies inside a surrogate pair"):
        string_index("a🙂b", 2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("naïve 🙂", "naïve 🙂"),
        ("a\ud83d", "a\ufffd"),
        ("\ude42b", "\ufffdb"),
        ("\ude42\ud83d", "\ufffd\ufffd"),
        ("\ud83d\ude42", "🙂"),
    ],
)
def test_lone_surrogates_become_replacement_characters(text: str, expected: str) -> None:
    """Halves without their other half are replaced, two halves in order are joined, and offsets stay."""
    assert replace_lone_surrogates(text) == expected
    assert utf16_length(expected) == utf16_length(text)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: ascii(vector["text"][:20]))
def test_length_and_hash_agree_with_the_shared_vectors(vector: dict[str, str | int]) -> None:
    """The vectors that other implementations of the wire check themselves against hold here."""
    text = str(vector["text"])
    assert (utf16_length(text), content_hash(text)) == (vector["length"], vector["hash"])


@untimed
@given(TEXTS)
def test_the_hash_is_the_crc_32_of_the_utf_8_bytes(text: str) -> None:
    """Computed bit by bit, as its definition has it (reflected, polynomial 0x04C11DB7), the hash is the same."""
    value = 0xFFFFFFFF
    for byte in text.encode():
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0xEDB88320 if value & 1 else 0)
    assert content_hash(text) == value ^ 0xFFFFFFFF
