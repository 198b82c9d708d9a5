"""What `warmline bench warm` opens, asks for and types: real code, never the same twice."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

PROJECT_EDITS: Final = Path(__file__).resolve().parents[2] / "tests" / "data" / "edits.jsonl"


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
        raise TextsMissing(f"{path} has no edits to read ({error}); name a file of them with --edits") from None
    if not records:
        raise TextsMissing(f"{path} is empty; name a file of edits with --edits")
    return [SourceText(record.id, record.language, record.context + record.after) for record in records]


class FreshText:
    """Texts of a given length whose first line never came before, so that no cache holds their beginning."""

    def __init__(self, sources: Sequence[SourceText]) -> None:
        self._whole = "\n".join(source.text for source in sources)

    def __call__(self, chars: int) -> str:
        """A text of so many characters, in whole lines but for the last."""
        text = f"# {secrets.token_hex(16)}\n"
        while len(text) < chars:
            text += self._whole[: chars - len(text)]
        return text[:chars]


def typings(sources: Sequence[SourceText], files: int, keys: int) -> Iterator[Typing]:
    """Typing into the middle and at the end of the longest files.

    The keys are cut out of the file first: for the middle from the line at half of it, for the end its last ones.
    """
    chosen = sorted(sources, key=lambda source: (-len(source.text), source.name))[:files]
    for source in chosen:
        unseen = f"# {secrets.token_hex(16)}\n"
        text = unseen + source.text.rstrip("\n")
        middle = min(text.find("\n", len(text) // 2) + 1 or len(unseen), len(text) - 2 * keys)
        for where, index in (("middle", max(middle, len(unseen))), ("end", max(len(text) - keys, len(unseen)))):
            typed = text[index : index + keys]
            yield Typing(where, source.language, text[:index] + text[index + len(typed) :], index, typed)
