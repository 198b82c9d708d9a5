"""What `warmline bench warm` opens, asks for and types: real code, never the same twice."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Final

import msgspec

PROJECT_EDITS: Final = Path(__file__).resolve().parents[2] / "tests" / "data" / "edits.jsonl"


_FRESH_EVERY: Final = 8
"""Lines from one that never came before to the next."""


class TextsMissing(Exception):
    """There is no code to type; the message says what to do."""


class _Record(msgspec.Struct):
    id: str
    language: str
    context: str
    after: str


@dataclass(frozen=True, slots=True)
class SourceText:
    """A file of code.

    Attributes:
        name: of the edit whose result it is.
    """

    name: str
    language: str
    text: str


@dataclass(frozen=True, slots=True)
class Typing:
    """Keys to type into a text at an index, one after the other: they are the file's own."""

    where: str
    language: str
    text: str
    index: int
    keys: str


def read_sources(file: Path | None) -> list[SourceText]:
    """The files in a file of edits, by default the project's own.

    Raises:
        TextsMissing: it can't be read, or holds none.

    """
    path = file or PROJECT_EDITS
    try:
        lines = path.read_bytes().splitlines()
        records = [msgspec.json.decode(line, type=_Record) for line in lines if line.strip()]
    except (OSError, msgspec.MsgspecError) as error:
        raise TextsMissing(f"{path} has no edits to read ({error}); name a file that has some") from None
    if not records:
        raise TextsMissing(f"{path} is empty; name a file of edits")
    return [SourceText(record.id, record.language, record.context + record.after) for record in records]


class FreshText:
    """Texts of a given length in which some lines never came before: no cache holds the beginning of a prompt.

    A prompt may begin anywhere in a long text; such a line comes first, and after every few others.
    """

    def __init__(self, sources: Sequence[SourceText]) -> None:
        self._lines = [line for source in sources for line in f"{source.text}\n".splitlines(keepends=True)]

    def __call__(self, chars: int) -> str:
        """A text of so many characters, in whole lines but for the last."""
        pieces: list[str] = []
        length = 0
        for line in with_fresh_lines(cycle(self._lines)):
            if length >= chars:
                break
            pieces.append(line)
            length += len(line)
        return "".join(pieces)[:chars]

    def wide(self, chars: int, lines: int) -> str:
        """The same in so many lines, which are as long as it takes."""
        width, code = chars // lines - 1, " ".join(self(2 * chars).splitlines())
        return "".join(f"{code[at : at + width]}\n" for at in range(0, lines * width, width))


def with_fresh_lines(lines: Iterable[str]) -> Iterator[str]:
    """The lines, and before the first and every few more one that never came before."""
    for number, line in enumerate(lines):
        if number % _FRESH_EVERY == 0:
            yield f"# {secrets.token_hex(5)}\n"
        yield line


def typings(sources: Sequence[SourceText], files: int, keys: int) -> Iterator[Typing]:
    """Typing into the middle and at the end of the longest files.

    The keys are cut out of the file first: for the middle from the line at half of it, for the end its last ones.
    """
    chosen = sorted(sources, key=lambda source: (-len(source.text), source.name))[:files]
    for source in chosen:
        text = source.text.rstrip("\n")
        middle = min(text.find("\n", len(text) // 2) + 1, len(text) - 2 * keys)
        for where, index in (("middle", max(middle, 0)), ("end", max(len(text) - keys, 0))):
            typed, rest = text[index : index + keys], text[index + keys :]
            before = "".join(with_fresh_lines(text[:index].splitlines(keepends=True) or [""]))
            yield Typing(where, source.language, before + rest, len(before), typed)
