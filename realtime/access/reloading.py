"""Keys and certificates that are read again when their files change, or when somebody asks for it (SIGHUP).

What can't be read is said in the log and in metrics, and changes nothing: a slip in an editor locks nobody out.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog

from ..telemetry.metrics import Metrics

logger = structlog.get_logger("warmline.access")

_POLL_SECONDS: Final = 2.0

Stamp = tuple[tuple[int, int, int] | None, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """Something that is read from files.

    Attributes:
        what: what the log and metrics call it.
        read: reads it, in a thread, and raises ValueError if that can't be; returns what makes it count, on the loop.
    """

    what: str
    files: tuple[Path, ...]
    read: Callable[[], Callable[[], None]]


class Reloader:
    """Looks at files every two seconds. `start`, and `stop` at the end."""

    def __init__(self, sources: Sequence[Source], metrics: Metrics) -> None:
        self._sources = sources
        self._metrics = metrics
        self._wanted = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._stamps = [_stamp(source.files) for source in sources]

    def start(self) -> None:
        """Begin to look; nothing to look at takes nothing."""
        if self._sources:
            self._task = asyncio.create_task(self._run(), name="warmline reloading")

    async def stop(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    def ask(self) -> None:
        """Read everything again, changed or not."""
        self._wanted.set()

    async def _run(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_POLL_SECONDS):
                    await self._wanted.wait()
            asked = self._wanted.is_set()
            self._wanted.clear()
            for number, source in enumerate(self._sources):
                stamp = await asyncio.to_thread(_stamp, source.files)
                if asked or stamp != self._stamps[number]:
                    self._stamps[number] = stamp
                    await self._read(source)

    async def _read(self, source: Source) -> None:
        try:
            take = await asyncio.to_thread(source.read)
        except ValueError as error:
            self._metrics.reloaded(source.what, "failed")
            logger.error("could not be read again; what was read before stays", what=source.what, problem=str(error))
            return
        except Exception:
            self._metrics.reloaded(source.what, "failed")
            logger.exception("could not be read again; what was read before stays", what=source.what)
            return
        take()
        self._metrics.reloaded(source.what, "read")
        logger.info("read again", what=source.what)


def _stamp(files: Sequence[Path]) -> Stamp:
    """What differs once one of the files was written or replaced."""
    stamps: list[tuple[int, int, int] | None] = []
    for file in files:
        try:
            found = file.stat()
        except OSError:
            stamps.append(None)
        else:
            stamps.append((found.st_mtime_ns, found.st_size, found.st_ino))
    return tuple(stamps)
