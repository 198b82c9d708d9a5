"""The records an evaluation runs over: edits and completions whose right answer is known, as JSON lines.

Besides the two forms with a ``type``, edits taken from commits are read, which have a ``context`` above the range
instead of the whole file.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from random import Random
from typing import Final, Literal, TypeAlias

import msgspec

COMMIT_KIND: Final = "commit"
"""The kind of the edits that were taken from commits."""


class RecordError(Exception):
    """A file of records can't be used; the message says where and why."""


class EditRecord(msgspec.Struct, tag="edit", tag_field="type", frozen=True, kw_only=True):
    """An edit of the range between ``prefix`` and ``suffix``.

    Attributes:
        kind: what kind of edit it is, as ``rename-variable``.
        instructions: what was asked for, oldest first; several where an answer was steered.
        accepted: a steered edit's answer as far as it had been given when the last instruction came.
    """

    id: str
    split: str = ""
    language: str
    kind: str
    category: str = ""
    package: str = ""
    path: str = ""
    instructions: list[str]
    prefix: str
    before: str
    after: str
    suffix: str
    accepted: str = ""

    @property
    def text(self) -> str:
        """The whole file before the edit."""
        return self.prefix + self.before + self.suffix

    @property
    def span(self) -> tuple[int, int]:
        """The range in it, as string indices."""
        return len(self.prefix), len(self.prefix) + len(self.before)

    @property
    def is_steered(self) -> bool:
        """Whether it needs more than one instruction for an untouched range."""
        return len(self.instructions) != 1 or bool(self.accepted)


class CompletionRecord(msgspec.Struct, tag="completion", tag_field="type", frozen=True, kw_only=True):
    """A piece of text that is missing between ``prefix`` and ``suffix``."""

    id: str
    split: str = ""
    language: str
    kind: str
    package: str = ""
    path: str = ""
    prefix: str
    suffix: str
    middle: str


Record: TypeAlias = EditRecord | CompletionRecord


class _Commit(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    language: str
    instruction: str
    context: str
    before: str
    after: str
    repo: str = ""
    path: str = ""

    def edit(self) -> EditRecord:
        return EditRecord(
            id=self.id,
            language=self.language,
            kind=COMMIT_KIND,
            category="unchanged" if self.before == self.after else "",
            package=self.repo,
            path=self.path,
            instructions=[self.instruction],
            prefix=self.context,
            before=self.before,
            after=self.after,
            suffix="",
        )


class _Form(msgspec.Struct, frozen=True):
    type: Literal["edit", "completion"] | None = None


_FORM: Final = msgspec.json.Decoder(_Form)
_TYPED: Final = msgspec.json.Decoder[Record](Record)
_COMMIT: Final = msgspec.json.Decoder(_Commit)


def read_records(path: Path) -> list[Record]:
    """The records of a file, in its order; blank lines are skipped.

    Raises:
        RecordError: the file can't be read, holds none, or a line is none; it names the line and the field.

    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise RecordError(f"can't read {path}: {error.strerror}") from None
    records: list[Record] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            typed = _FORM.decode(line).type is not None
            records.append(_TYPED.decode(line) if typed else _COMMIT.decode(line).edit())
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise RecordError(f"{path}, line {number}: {error}") from None
    if not records:
        raise RecordError(f"{path} has no records")
    return records


def choose(
    records: list[Record],
    *,
    kinds: Collection[str] = (),
    languages: Collection[str] = (),
    limit: int | None = None,
    seed: int = 0,
) -> list[Record]:
    """The records of some kinds and languages (all if none are named), at most ``limit`` at random, in order.

    Raises:
        RecordError: there are none; it says what there is.

    """
    for name, wanted, present in (
        ("kind", kinds, {record.kind for record in records}),
        ("language", languages, {record.language for record in records}),
    ):
        if unknown := sorted(set(wanted) - present):
            raise RecordError(f"no record is of {name} {unknown[0]}; there are: {', '.join(sorted(present))}")
    chosen = [
        record
        for record in records
        if (not kinds or record.kind in kinds) and (not languages or record.language in languages)
    ]
    if not chosen:
        raise RecordError("no record is of these kinds and languages at once")
    if limit is not None and limit < len(chosen):
        kept = sorted(Random(seed).sample(range(len(chosen)), limit))
        chosen = [chosen[index] for index in kept]
    return chosen
