"""Lines and columns, in each of the units that editor and server may agree on."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.client.lsp.text import LineText

ENCODINGS = ["utf-8", "utf-16", "utf-32"]
SIZES = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
TEXTS = st.text(st.sampled_from("ab é😀\f\u2028\r\n\n"), max_size=30)


@pytest.mark.parametrize(
    ("encoding", "columns"), [("utf-8", [0, 1, 3, 7, 8]), ("utf-16", [0, 1, 2, 4, 5]), ("utf-32", [0, 1, 2, 3, 4])]
)
def test_a_column_counts_bytes_code_units_or_characters(encoding, columns) -> None:
    """Before, between and behind characters of one, two and four bytes."""
    lines = LineText("one\naé😀b\n", encoding)
    assert [lines.position(4 + index) for index in range(5)] == [(1, column) for column in columns]
    assert [lines.index(1, column) for column in columns] == [4, 5, 6, 7, 8]


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 4), ("utf-8", 6), ("utf-16", 3)])
def test_a_position_within_a_character_is_before_it(encoding, column) -> None:
    """There is no other place for it."""
    assert LineText("aé😀b", encoding).index(0, column) == 2


def test_a_position_behind_a_line_or_the_text_is_at_its_end() -> None:
    """As LSP has it, and before the line's end, whatever that is."""
    lines = LineText("ab\r\ncd\re\n", "utf-16")
    assert [lines.index(line, 99) for line in range(5)] == [2, 6, 8, 9, 9]
    assert LineText("", "utf-8").index(3, 3) == 0


def test_only_what_lsp_says_ends_a_line() -> None:
    """A form feed, which sources have, and what Unicode has besides do not."""
    lines = LineText("a\fb\u2028c\x85d\ne", "utf-32")
    assert lines.position(7) == (0, 7)
    assert lines.position(8) == (1, 0)


def test_lone_surrogates_become_what_can_be_sent() -> None:
    """In the text and in what is put in; lengths stay."""
    lines = LineText("a\ud800b", "utf-16")
    assert lines.replace(0, 1, "\udc00") == "�"
    assert lines.text == "��b"


@given(TEXTS, st.sampled_from(ENCODINGS), st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), TEXTS), max_size=8))
def test_after_any_changes_the_lines_are_those_of_the_text(text, encoding, changes) -> None:
    """Also where a change joins or parts the halves of a line end, which takes no more than looking at it afresh."""
    lines = LineText(text, encoding)
    for one, other, new in changes:
        start, end = sorted((round(one * len(text)), round(other * len(text))))
        lines.replace(start, end, new)
        text = text[:start] + new + text[end:]
        assert lines.text == text
        name, size = SIZES[encoding]
        for index in range(len(text) + 1):
            before = re.split(r"\r\n|\r|\n", text[:index])
            if text[index - 1 : index + 1] == "\r\n":  # between the two is no place of LSP's
                continue
            expected = len(before) - 1, len(before[-1].encode(name)) // size
            assert lines.position(index) == expected
            assert lines.index(*expected) == index


def test_whole_lines_and_paragraphs_are_what_an_instruction_is_about() -> None:
    """With their ends, so that a cursor at the end of a line is within; an end before a line is not in it."""
    lines = LineText("a\n\nbb\ncc\n  \ndd", "utf-8")
    assert lines.whole_lines(4, 6) == (3, 6)
    assert lines.whole_lines(4, 7) == (3, 9)
    assert lines.whole_lines(13, 14) == (12, 14)
    assert lines.paragraph(4, 10) == lines.paragraph(8, 10) == (3, 9)
    assert lines.paragraph(2, 10) == (2, 3)
    assert lines.paragraph(14, 10) == (12, 14)
    assert LineText("x\n" * 9, "utf-8").paragraph(8, 2) == (4, 14)
    assert lines.line(4) == (3, 5)
