"""What `player` plays, and when it said it."""

from __future__ import annotations

import functools
import json
import mmap
import sys
from pathlib import Path
from types import TracebackType
from typing import Final, Self

PLAYER_COMMAND: Final = (sys.executable, "-P", "-m", "warmline.engine.benchmarks.player")
"""The ``command`` of a `LocalEngine` that plays the recording."""
MOST_TOKENS: Final = 8192
"""Tokens of a request that are played, at most."""


def recorded_tokens(count: int) -> list[str]:
    """The texts of so many recorded tokens; the recording begins anew where it ends."""
    pieces = _recording()
    return [pieces[index % len(pieces)] for index in range(count)]


@functools.cache
def _recording() -> list[str]:
    lines = Path(__file__).with_name("recording.txt").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


PLAYER_PARTS: Final = ("queue", "prefill", "first_token", "step")
"""The parts of an engine's time; the player takes none for them unless it is told to."""


class PlayerReadings:
    """What the player and whoever measures share, in a file.

    By token: when that of the newest request was sent (ns, `time.monotonic_ns`). By one of `PLAYER_PARTS`: how long
    each request is to be held up there (ns).
    """

    def __init__(self, path: Path) -> None:
        """Open the file; one that is new or shorter is filled up with zeros."""
        self._file = path.open("r+b" if path.exists() else "w+b")
        size = 8 * (MOST_TOKENS + len(PLAYER_PARTS))
        self._file.truncate(size)
        self._map = mmap.mmap(self._file.fileno(), size)
        self._view = memoryview(self._map).cast("q")

    def __setitem__(self, token: int, reading: int) -> None:
        self._view[token] = reading

    def hold_up(self, hop: str, nanoseconds: int) -> None:
        """Have each request take so long for one of `PLAYER_PARTS` from now on.

        Raises:
            ValueError: the engine has no such part.

        """
        self._view[MOST_TOKENS + PLAYER_PARTS.index(hop)] = nanoseconds

    def delays(self) -> list[int]:
        """How long each of `PLAYER_PARTS` is to take."""
        return self._view[MOST_TOKENS:].tolist()

    def first(self, count: int) -> list[int]:
        """The readings of the first so many tokens."""
        return self._view[:count].tolist()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._view.release()
        self._map.close()
        self._file.close()
