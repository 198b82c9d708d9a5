"""`warmline keys`: API keys for the file that `serve --keys` reads."""

from __future__ import annotations

import contextlib
import datetime
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final, TextIO

import typer

from .options import CommandFailed

_PATIENCE_SECONDS: Final = 5.0

keys_app = typer.Typer(help="API keys for `serve --keys`.", rich_markup_mode=None)


@keys_app.command("new")
def keys_new(
    name: Annotated[str, typer.Argument(help="Whose it is, as logs and metrics will call it.")],
    file: Annotated[
        Path | None,
        typer.Option("--add-to", metavar="FILE", help="Add its entry to this file instead."),
    ] = None,
) -> None:
    """Make a key. It is printed this once; what the server keeps is its SHA-256."""
    from ..access.keys import KeysError, entry_of, new_key

    key = new_key()
    try:
        entry = entry_of(name, key)
        if file is not None:
            _add(entry, name, file)
    except KeysError as error:
        raise CommandFailed(str(error)) from None
    if file is None:
        print(
            f"The key of {name}, which is not shown again; its entry for the file of serve --keys follows.",
            file=sys.stderr,
        )
        print(key, file=sys.stderr)
        print(entry, end="")
    else:
        print(f"{file} lets this key in, which is not shown again:", file=sys.stderr)
        print(key)


@keys_app.command("list")
def keys_list(file: Annotated[Path, typer.Argument(help="A file of keys.")]) -> None:
    """List the keys of a file, and say what is wrong with it."""
    from ..access.keys import KeysError, read_keys
    from ..access.quotas import NAMES

    try:
        keys = read_keys(file)
    except KeysError as error:
        raise CommandFailed(str(error)) from None
    for key in keys:
        limits = [f"{name}={value}" for name in NAMES if (value := getattr(key.quota, name)) is not None]
        print("  ".join([key.name, _until(key.expires), *limits]))


def _until(expires: float | None) -> str:
    if expires is None:
        return "never expires"
    moment = datetime.datetime.fromtimestamp(expires, datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"{'expired' if expires <= time.time() else 'expires'} {moment}"


def _add(entry: str, name: str, file: Path) -> None:
    """Add an entry to a file, which is made for its owner alone if there is none.

    Raises:
        KeysError: it has this name already, or something else is wrong with it.
        CommandFailed: it can't be written.

    """
    from ..access.keys import KeysError, parse_keys, read_keys

    file = file.resolve()
    beside = file.with_name(f".{file.name}.new")
    try:
        with _alone(beside) as new:
            before = ""
            if file.exists():
                if any(key.name == name for key in read_keys(file)):
                    raise KeysError(f"{file} has a key called {name} already: take another name, or delete it first")
                before = file.read_text("utf-8")
                beside.chmod(file.stat().st_mode & 0o777)
            parted = "" if not before or before.endswith("\n\n") else "\n" if before.endswith("\n") else "\n\n"
            whole = before + parted + entry
            parse_keys(whole, str(file))
            new.write(whole)
            new.flush()
            beside.replace(file)  # at once: a server that reads it meanwhile has the one or the other
    except FileExistsError:
        raise CommandFailed(f"somebody else is adding to {file}; if that can't be, delete {beside}") from None
    except OSError as error:
        raise CommandFailed(f"{file} can't be written: {error.strerror or error}") from None


@contextlib.contextmanager
def _alone(beside: Path) -> Iterator[TextIO]:
    """A new file that only one process at a time can have made, until it is moved away; gone if that fails.

    Raises:
        FileExistsError: another process has it, for longer than adding an entry takes.

    """
    until = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            break
        except FileExistsError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as new:
            yield new
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
