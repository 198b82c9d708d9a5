"""Files that edits are asked for: reading, finding places, writing back."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.realtime.cli.source_file import FileError, PlaceError, SourceFile


@pytest.fixture
def file(tmp_path: Path):
    def make(raw: bytes, name: str = "a.py") -> SourceFile:
        path = tmp_path / name
        path.write_bytes(raw)
        return SourceFile.read(path)

    return make


@pytest.mark.parametrize(
    ("raw", "text", "encoding"),
    [
        (b"", "", "utf-8"),
        ("x = '😀'\r\n".encode(), "x = '😀'\r\n", "utf-8"),
        ("\ufeffé\n".encode(), "é\n", "utf-8"),
        ("\ufeff😀\n".encode("utf-16-le"), "😀\n", "utf-16-le"),
        ("\ufeff😀\n".encode("utf-16-be"), "😀\n", "utf-16-be"),
    ],
)
def test_text_files_are_read_as_they_are(file, raw: bytes, text: str, encoding: str) -> None:
    """Line ends stay; a byte order mark says the encoding and is not part of the text."""
    source = file(raw)
    assert (source.text, source.encoding) == (text, encoding)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", r"not a text file in UTF-8 \(byte 0\)"),
        (b"ab\xff", r"not a text file in UTF-8 \(byte 2\)"),
        (b"a\0b", "binary"),
        ("\ufeff".encode("utf-16-le") + b"\x00\xd8", "not a text file"),
    ],
)
def test_what_is_no_text_is_refused(file, raw: bytes, message: str) -> None:
    """A binary file is named as such, with the first byte that can't be read."""
    with pytest.raises(FileError, match=message):
        file(raw)


def test_text_in_another_encoding_is_told_how_to_be_converted(file) -> None:
    """As Latin-1 is, which can't be told from others for sure; a binary file and UTF-16 are told nothing."""
    with pytest.raises(
        FileError, match=r"\(byte 3\); if it is text, convert it: iconv -f LATIN1 -t UTF-8 '.*my a\.py' > new"
    ):
        file("café = 1\n".encode("latin-1"), "my a.py")
    for raw in (b"\x89PNG\r\n\x1a\n\0\0", "\ufeff".encode("utf-16-le") + b"\x00\xd8"):
        with pytest.raises(FileError, match=r"\)$"):
            file(raw)


def test_what_can_not_be_read_is_refused(tmp_path: Path) -> None:
    """A missing file and a folder get the system's reason."""
    with pytest.raises(FileError, match="No such file"):
        SourceFile.read(tmp_path / "missing")
    with pytest.raises(FileError, match="Is a directory"):
        SourceFile.read(tmp_path)


def test_lines_end_at_newlines_only(file) -> None:
    """U+2028, form feeds and lone carriage returns are within a line; CRLF is one line end."""
    source = file("a\u2028b\x0cc\rd\r\ne\n".encode())
    assert source.line_count == 3
    assert source.text[slice(*source.lines(1, 1))] == "a\u2028b\x0cc\rd\r\n"
    assert source.text[slice(*source.lines(2, 2))] == "e\n"
    assert source.lines(3, 3) == (len(source.text), len(source.text))


@given(st.lists(st.text(st.sampled_from("ab\u2028\r😀"), max_size=3), min_size=1, max_size=6), st.data())
def test_every_range_of_lines_is_what_stands_on_them(lines: list[str], data: st.DataObject) -> None:
    """Lines A to B are their text with their line ends."""
    text = "\n".join(lines)
    source = SourceFile(Path("a.py"), b"", b"", "utf-8", text)
    assert source.line_count == len(lines)
    first = data.draw(st.integers(1, len(lines)))
    last = data.draw(st.integers(first, len(lines)))
    expected = "\n".join(lines[first - 1 : last]) + ("\n" if last < len(lines) else "")
    assert text[slice(*source.lines(first, last))] == expected


@pytest.mark.parametrize(("span", "line"), [((0, 1), 0), ((1, 4), 4), ((4, 4), 4), ((99, 120), 99)])
def test_lines_that_are_not_there_are_refused(file, span: tuple[int, int], line: int) -> None:
    """The message says which lines there are, and ends with the code that the wire has for it."""
    with pytest.raises(PlaceError, match=rf"a\.py has lines 1 to 3; there is no line {line} \(invalid_range\)$"):
        file(b"a\nb\n").lines(*span)


def test_lines_the_wrong_way_round_are_named_as_such(file) -> None:
    """With how they are written."""
    with pytest.raises(PlaceError, match=r"the lines 3:2 are reversed; .* as in 2:3 \(invalid_range\)$"):
        file(b"a\nb\n").lines(3, 2)


def test_columns_count_characters_from_one(file) -> None:
    """An emoji is one column; the column after the last character is a place, its line end is not."""
    source = file("x😀y\r\nz".encode())
    assert [source.index(1, column) for column in (1, 2, 3, 4)] == [0, 1, 2, 3]
    assert source.index(2, 2) == len(source.text)
    for column in (0, 5):
        with pytest.raises(PlaceError, match=f"line 1 .* has 3 characters; the column can be 1 to 4, not {column}"):
            source.index(1, column)
    with pytest.raises(PlaceError, match="has 1 character; the column can be 1 to 2, not 99"):
        source.index(2, 99)


def test_an_empty_file_has_one_place(file) -> None:
    """Line 1, column 1."""
    assert file(b"").index(1, 1) == 0
    assert file(b"").lines(1, 1) == (0, 0)
    for line, column in ((2, 1), (1, 2), (0, 0)):
        with pytest.raises(PlaceError, match=rf"is empty; its only place .* not {line}:{column} \(invalid_range\)"):
            file(b"").index(line, column)
    with pytest.raises(PlaceError, match="has line 1 only; there is no line 2"):
        file(b"").lines(1, 2)


@pytest.mark.parametrize(
    ("encoding", "mark"), [("utf-8", ""), ("utf-8", "\ufeff"), ("utf-16-le", "\ufeff"), ("utf-16-be", "\ufeff")]
)
def test_writing_keeps_encoding_mark_and_mode(file, encoding: str, mark: str) -> None:
    """What was not edited is byte for byte as it was."""
    source = file(f"{mark}é\r\n".encode(encoding), "run.sh")
    source.path.chmod(0o751)
    source.write("é\r\n😀\r\n")
    assert source.path.read_bytes() == f"{mark}é\r\n😀\r\n".encode(encoding)
    assert stat.S_IMODE(source.path.stat().st_mode) == 0o751
    assert [path.name for path in source.path.parent.iterdir()] == ["run.sh"]


def test_a_link_stays_a_link(file) -> None:
    """The file it leads to is written."""
    target = file(b"a\n", "target.py")
    link = target.path.parent / "link.py"
    link.symlink_to("target.py")
    SourceFile.read(link).write("b\n")
    assert link.is_symlink() and target.path.read_bytes() == b"b\n"


def test_a_file_that_changed_meanwhile_is_not_written(file) -> None:
    """Somebody else's change is never lost."""
    source = file(b"a\n")
    source.path.write_bytes(b"mine\n")
    with pytest.raises(FileError, match="changed by somebody else"):
        source.write("b\n")
    assert source.path.read_bytes() == b"mine\n"


def test_a_write_that_fails_leaves_the_file(file, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk leaves the old text and no other file."""

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    source = file(b"a\n")
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(FileError, match="No space left on device; nothing was written"):
        source.write("b\n")
    assert source.path.read_bytes() == b"a\n"
    assert [path.name for path in source.path.parent.iterdir()] == ["a.py"]


def test_the_language_comes_from_the_name(file) -> None:
    """An unknown suffix gives none."""
    assert file(b"", "A.TSX").language == "tsx"
    assert file(b"", "Makefile").language == ""
