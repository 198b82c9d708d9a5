"""A file that an edit or a completion is asked for: its text, places in it, and writing it back unharmed."""

from __future__ import annotations

import codecs
import contextlib
import os
import shlex
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..protocol import ErrorCode

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

_LANGUAGES: Final = {
    "bash": "bash", "c": "c", "cc": "cpp", "cpp": "cpp", "cs": "csharp", "css": "css", "cxx": "cpp", "go": "go",
    "h": "c", "hpp": "cpp", "html": "html", "java": "java", "js": "javascript", "json": "json", "jsx": "jsx",
    "kt": "kotlin", "lua": "lua", "md": "markdown", "mjs": "javascript", "php": "php", "pl": "perl", "py": "python",
    "pyi": "python", "r": "r", "rb": "ruby", "rs": "rust", "scala": "scala", "sh": "bash", "sql": "sql",
    "swift": "swift", "toml": "toml", "ts": "typescript", "tsx": "tsx", "vue": "vue", "xml": "xml", "yaml": "yaml",
    "yml": "yaml", "zig": "zig",
}  # fmt: skip


class FileError(Exception):
    """A file that can't be used; the message says which and why."""


class PlaceError(FileError):
    """A place that is not in a file; the message says which ones are, and ends with the wire's code for it."""

    def __init__(self, message: str) -> None:
        super().__init__(f"{message} ({ErrorCode.INVALID_RANGE})")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A text file as it was read. Lines end at \\n or \\r\\n and count from 1, and so do columns, in characters.

    Attributes:
        mark: the byte order mark it begins with, if any; not part of ``text``.
    """

    path: Path
    raw: bytes
    mark: bytes
    encoding: str
    text: str

    @classmethod
    def read(cls, path: Path) -> SourceFile:
        """Read a file in UTF-8, or in UTF-16 with a byte order mark.

        Raises:
            FileError: it can't be read, or is not text.

        """
        try:
            raw = path.read_bytes()
        except OSError as error:
            raise FileError(f"can't read {path}: {error.strerror}") from None
        mark, encoding = next(((mark, name) for mark, name in _MARKS if raw.startswith(mark)), (b"", "utf-8"))
        try:
            text = raw[len(mark) :].decode(encoding)
        except UnicodeDecodeError as error:
            convert = ""
            if not mark and b"\0" not in raw:
                convert = f"; if it is text, convert it: iconv -f LATIN1 -t UTF-8 {shlex.quote(str(path))} > new"
            raise FileError(f"{path} is not a text file in UTF-8 (byte {len(mark) + error.start}){convert}") from None
        if "\0" in text:
            raise FileError(f"{path} is a binary file")
        return cls(path, raw, mark, encoding, text)

    @property
    def uri(self) -> str:
        """The name of the document."""
        return self.path.resolve().as_uri()

    @property
    def language(self) -> str:
        """The language that the name suggests; "" if none."""
        return _LANGUAGES.get(self.path.suffix[1:].lower(), "")

    @property
    def line_count(self) -> int:
        """Lines as an editor shows them: one more than there are line ends."""
        return self.text.count("\n") + 1

    def index(self, line: int, column: int) -> int:
        """The index of a place in the text; the column after the last character is one, too.

        Raises:
            PlaceError: there is no such line or column.

        """
        if not self.text and (line, column) != (1, 1):
            raise PlaceError(f"{self.path} is empty; its only place is line 1, column 1, not {line}:{column}")
        start, end = self.lines(line, line)
        content = self.text[start:end].removesuffix("\n").removesuffix("\r")
        if not 1 <= column <= len(content) + 1:
            raise PlaceError(
                f"line {line} of {self.path} has {counted(len(content), 'character')}; "
                f"the column can be 1 to {len(content) + 1}, not {column}"
            )
        return start + column - 1

    def lines(self, first: int, last: int) -> tuple[int, int]:
        """The range of whole lines, from the start of the first to after the line end of the last.

        Raises:
            PlaceError: there are no such lines.

        """
        if first > last:
            raise PlaceError(f"the lines {first}:{last} are reversed; the first comes first, as in {last}:{first}")
        if not 1 <= first <= last <= self.line_count:
            beyond = first if not 1 <= first <= self.line_count else last
            lines = "line 1 only" if self.line_count == 1 else f"lines 1 to {self.line_count}"
            raise PlaceError(f"{self.path} has {lines}; there is no line {beyond}")
        start = 0
        for _ in range(first - 1):
            start = self.text.index("\n", start) + 1
        end = start
        for _ in range(first, last + 1):
            found = self.text.find("\n", end)
            end = len(self.text) if found < 0 else found + 1
        return start, end

    def write(self, text: str) -> None:
        """Replace the file's text in one step, keeping encoding, mark and permissions; links stay links.

        Raises:
            FileError: the file changed since it was read, or can't be written; it is as it was.

        """
        path = self.path.resolve()
        temporary: Path | None = None
        try:
            if path.read_bytes() != self.raw:
                raise FileError(f"{self.path} was changed by somebody else meanwhile; nothing was written")
            with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
                temporary = Path(file.name)
                file.write(self.mark + text.encode(self.encoding))
                file.flush()
                os.fsync(file.fileno())
            shutil.copymode(path, temporary)
            temporary.replace(path)
            temporary = None
        except OSError as error:
            raise FileError(f"can't write {self.path}: {error.strerror}; nothing was written") from None
        finally:
            if temporary is not None:
                with contextlib.suppress(OSError):
                    temporary.unlink()


def counted(number: int, what: str) -> str:
    """A number of things, such as "1 token" or "2 tokens"."""
    return f"{number} {what}{'' if number == 1 else 's'}"
