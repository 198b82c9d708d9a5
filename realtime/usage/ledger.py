"""Write what requests cost to a file, summed by hour, key, kind and model."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Final, NamedTuple

import structlog

from ..telemetry.request_end import RequestEnd

logger = structlog.get_logger("warmline.usage")

ANONYMOUS: Final = "anonymous"
"""Whom usage without an API key is put down to."""
WRITE_SECONDS: Final = 5.0
"""How long what was used waits to be written, and so what a crash can lose at most."""
HOUR: Final = 3600
_LOCKED_SECONDS: Final = 5.0
_VERSION: Final = 1


class LedgerError(Exception):
    """A ledger can't be used; the message says why."""


class UsageGroup(NamedTuple):
    """Whose usage is summed, and when."""

    hour: int
    """Seconds since 1970 at its beginning."""
    key: str
    kind: str
    model: str


@dataclass(slots=True)
class Totals:
    """What was used. Prompt tokens are those warmed, cached and computed; times are the engine's, in microseconds.

    Work ahead of requests counts as requests of the kind ``warm``, so that what was computed in vain is seen, too.
    """

    requests: int = 0
    failed: int = 0
    warmed_tokens: int = 0
    cached_tokens: int = 0
    computed_tokens: int = 0
    output_tokens: int = 0
    forward_passes: int = 0
    draft_tokens: int = 0
    accepted_tokens: int = 0
    prefill_us: int = 0
    decode_us: int = 0

    def add(self, other: Totals) -> None:
        """Sum."""
        for name in COLUMNS:
            setattr(self, name, getattr(self, name) + getattr(other, name))


COLUMNS: Final = tuple(field.name for field in fields(Totals))


class UsageLedger:
    """Sums usage in memory and writes it to an SQLite file every few seconds, in a thread of its own.

    What can't be written is kept and tried again; no request waits, and none fails for it. Several services may share
    a file on one machine.

    Attributes:
        failures: how often the file could not be written.

    Raises:
        LedgerError: the file can't be opened as a ledger.

    """

    def __init__(self, path: Path, model: str, now: Callable[[], float] = time.time) -> None:
        self.path = path
        self.failures = 0
        self._model = model
        self._now = now
        self._sums: dict[UsageGroup, Totals] = {}
        self._lock = threading.Lock()
        self._wanted, self._closing = threading.Event(), threading.Event()
        self._writer: threading.Thread | None = None
        check_ledger(path)

    def __call__(self, end: RequestEnd) -> None:
        """Add what a request cost. Called on the event loop; takes some microseconds."""
        receipt, timing = end.receipt, end.timing
        group = UsageGroup(
            int(self._now()) // HOUR * HOUR, str(end.names.get("key", ANONYMOUS)), end.kind, self._model
        )
        used = Totals(
            requests=1,
            failed=int(end.outcome == "error"),
            warmed_tokens=receipt.warmed_tokens,
            cached_tokens=receipt.cached_tokens,
            computed_tokens=receipt.computed_tokens,
            output_tokens=receipt.output_tokens,
            forward_passes=receipt.forward_passes,
            draft_tokens=sum(draft.proposed for draft in receipt.drafts),
            accepted_tokens=sum(draft.accepted for draft in receipt.drafts),
            prefill_us=timing.engine_prefill,
            decode_us=timing.engine_first_token + timing.engine_step,
        )
        with self._lock:
            self._sums.setdefault(group, Totals()).add(used)
        if self._writer is None:
            self._writer = threading.Thread(target=self._write_now_and_then, name="usage", daemon=True)
            self._writer.start()
        self._wanted.set()

    def close(self) -> None:
        """Write what is left. Waits for it; idempotent."""
        self._closing.set()
        self._wanted.set()
        if self._writer is not None:
            self._writer.join()
        self._write()

    def _write_now_and_then(self) -> None:
        """In a thread of its own: a while after something came, write it."""
        while not self._closing.is_set():
            self._wanted.wait()
            self._closing.wait(WRITE_SECONDS)
            self._wanted.clear()
            self._write()

    def _write(self) -> None:
        with self._lock:
            sums, self._sums = self._sums, {}
        if not sums:
            return
        try:
            with _opened(self.path) as file, file:
                file.executemany(_ADD, [(*group, *astuple(used)) for group, used in sums.items()])
        except (sqlite3.Error, LedgerError) as error:
            self.failures += 1
            last = self._closing.is_set() and threading.current_thread() is not self._writer
            what = "usage could not be written, and is lost" if last else "usage could not be written; it is kept"
            logger.warning(what, file=str(self.path), why=str(error))
            with self._lock:
                for group, used in sums.items():
                    self._sums.setdefault(group, Totals()).add(used)
            self._wanted.set()


def check_ledger(path: Path) -> None:
    """Find out whether a file can be a ledger; it is made if it is missing.

    Raises:
        LedgerError: it can't.

    """
    with _opened(path):
        pass


def read_usage(path: Path, since: float = 0.0) -> dict[UsageGroup, Totals]:
    """What a ledger has of the hours that end after a time (seconds since 1970).

    Raises:
        LedgerError: there is no ledger.

    """
    if not path.is_file():
        raise LedgerError(f"there is no file {path}: `serve --usage {path}` writes one")
    try:
        with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as file:
            (version,) = file.execute("PRAGMA user_version").fetchone()
            _check_version(path, version)
            if version == 0:
                raise LedgerError(f"{path} is no usage ledger: `serve --usage FILE` writes one")
            rows = file.execute(_READ, (since - HOUR,)).fetchall()
    except sqlite3.Error as error:
        raise LedgerError(f"{path} can't be read as a usage ledger: {error}") from None
    width = len(UsageGroup._fields)
    return {UsageGroup(*row[:width]): Totals(*row[width:]) for row in rows}


_NAMES: Final = ", ".join((*UsageGroup._fields, *COLUMNS))
_MARKS: Final = ", ".join("?" * (len(UsageGroup._fields) + len(COLUMNS)))
_KEY: Final = ", ".join(UsageGroup._fields)
_SUMS: Final = ", ".join(f"{name} = {name} + excluded.{name}" for name in COLUMNS)
_CREATE: Final = (
    "CREATE TABLE IF NOT EXISTS usage (hour INTEGER NOT NULL, "
    + "".join(f"{name} TEXT NOT NULL, " for name in UsageGroup._fields[1:])
    + "".join(f"{name} INTEGER NOT NULL, " for name in COLUMNS)
    + f"PRIMARY KEY ({_KEY})) WITHOUT ROWID"
)
_ADD: Final = f"INSERT INTO usage ({_NAMES}) VALUES ({_MARKS}) ON CONFLICT ({_KEY}) DO UPDATE SET {_SUMS}"
_READ: Final = f"SELECT {_NAMES} FROM usage WHERE hour > ? ORDER BY {_KEY}"


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A ledger's file, made if it is missing.

    Raises:
        LedgerError: it can't be made, or is something else.

    """
    try:
        file = sqlite3.connect(path, timeout=_LOCKED_SECONDS)
    except sqlite3.Error as error:
        raise LedgerError(f"{path} can't be opened: {error}") from None
    with contextlib.closing(file):
        try:
            (version,) = file.execute("PRAGMA user_version").fetchone()
            if version == 0:
                if file.execute("SELECT name FROM sqlite_master LIMIT 1").fetchone() is not None:
                    raise LedgerError(f"{path} is a database of something else")
                with file:
                    file.execute(_CREATE)
                    file.execute(f"PRAGMA user_version = {_VERSION}")
        except sqlite3.Error as error:
            raise LedgerError(f"{path} can't be used as a usage ledger: {error}") from None
        _check_version(path, version)
        yield file


def _check_version(path: Path, version: int) -> None:
    if version > _VERSION:
        raise LedgerError(f"{path} was written by a later version of Warmline")
