"""What several commands of the command line share: options, and how one says that it can't go on."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, get_args

import typer

_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


class CommandFailed(Exception):
    """A command can't go on; the message is one line that says why and what to do."""


class WrongUsage(CommandFailed):
    """A command was asked for something that can't be meant; the message is one line that says what and why.

    Attributes:
        command: the command, whose ``--help`` says what can be.
    """

    def __init__(self, message: str, command: str) -> None:
        super().__init__(message)
        self.command = command


class BackendName(StrEnum):
    """What --backend takes."""

    AUTO = "auto"
    CPU = "cpu"
    REFERENCE = "reference"


def parse_size(text: str) -> int:
    """Bytes of a size such as 512MiB, 1.5G or 1073741824; units are powers of 1,024."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", text.strip().lower())
    size = int(float(match[1]) * _UNITS[match[2]]) if match else 0
    if size < 1:
        raise typer.BadParameter(f"{text!r} is no size; write one like 512MiB or 2GiB")
    return size


Model = Annotated[
    str | None, typer.Option(metavar="NAME|PATH", help="A known model, a GGUF file or a folder with safetensors.")
]
Adapter = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|none",
        help="A LoRA adapter (safetensors) to merge. [default: the one made for a known model]",
    ),
]
DraftModel = Annotated[
    str | None,
    typer.Option(
        metavar="PATH",
        help="A smaller model of the same vocabulary, which drafts: the text stays the same. [default: none]",
    ),
]
Backend = Annotated[BackendName, typer.Option(help="What computes.")]
Threads = Annotated[int | None, typer.Option(min=1, max=1024, help="Threads that compute. [default: all cores]")]
KvMemory = Annotated[int, typer.Option(parser=parse_size, metavar="SIZE", help="Memory for keys and values.")]
EditsFile = Annotated[
    Path | None,
    typer.Argument(
        envvar="WARMLINE_EDITS",
        metavar="FILE.jsonl",
        help="Edits and completions with known results, one a line. [default: the project's own]",
    ),
]
"""Where the commands that replay or judge edits read them."""
ApiKey = Annotated[str | None, typer.Option(envvar="WARMLINE_API_KEY", metavar="KEY", help="The service's API key.")]


def bounds(parameter: Any) -> dict[str, Any]:
    """The least and the greatest value of a sampling parameter of `protocol`, as options of typer take them."""
    meta = get_args(parameter)[1]
    limits = {"min": meta.ge, "max": meta.le}
    return {name: limit for name, limit in limits.items() if limit is not None}


def check_folder(file: Path | None) -> None:
    """Find out whether a file can be written to its folder.

    Raises:
        CommandFailed: there is no such folder.

    """
    if file is not None and not file.resolve().parent.is_dir():
        raise CommandFailed(f"there is no folder {file.resolve().parent} to write {file.name} to")
