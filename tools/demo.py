"""Draws what `warmline edit` prints for the examples in docs/demo, as pictures for the README.

    python -m tools.demo

Needs a running service (`make serve`) with the default model.
"""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.text import Text

DEMO: Final = Path(__file__).parent.parent / "docs" / "demo"
COLUMNS: Final = 92


def examples() -> list[dict[str, Any]]:
    """The edits of docs/demo/examples.toml, in their order."""
    found: list[dict[str, Any]] = tomllib.loads((DEMO / "examples.toml").read_text())["edit"]
    return found


def command(example: dict[str, Any]) -> list[str]:
    """How one types it."""
    return ["warmline", "edit", example["file"], "--lines", example["lines"], example["instruction"]]


def printed(arguments: list[str], url: str) -> str:
    """What a command prints on a terminal, colours included, its last frame only."""
    main, follower = pty.openpty()
    environment = {
        **os.environ,
        "COLUMNS": str(COLUMNS),
        "LINES": "40",
        "TERM": "xterm-256color",
        "WARMLINE_URL": url,
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "warmline.realtime.main", *arguments],
        cwd=DEMO, stdin=follower, stdout=follower, stderr=follower, env=environment,
    )  # fmt: skip
    os.close(follower)
    parts = []
    while True:
        try:
            part = os.read(main, 1 << 16)
        except OSError:  # how the end of a terminal reads
            break
        if not part:
            break
        parts.append(part)
    os.close(main)
    if process.wait() != 0:
        raise SystemExit(b"".join(parts).decode())
    # What grew in place was erased before the final diff, which comes after the last "erase this line".
    return b"".join(parts).decode().replace("\r\n", "\n").rsplit("\x1b[2K", 1)[-1]


def main(url: Annotated[str, typer.Option(help="The service to ask.")] = "ws://127.0.0.1:8765") -> None:
    """Draw docs/demo/edit.svg."""
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere, force_terminal=True)
        for example in filter(lambda example: example.get("picture"), examples()):
            typed = " ".join(f'"{word}"' if " " in word else word for word in command(example))
            console.print(Text(f"$ {typed}", style="bold"))
            diff, _, where_the_time_went = printed(command(example)[1:], url).partition("\n\n")
            console.print(Text.from_ansi(diff + "\n"))
        console.print(Text.from_ansi(where_the_time_went))  # of the last one
        (DEMO / "edit.svg").write_text(console.export_svg(title="warmline edit"))


if __name__ == "__main__":
    typer.run(main)
