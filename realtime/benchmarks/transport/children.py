"""The server processes as the benchmark sees them: start, place on cores, count their time, end."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec

from .servers.process import Delay, Started
from .terms import ServerFailed

_MODULE: Final = "warmline.realtime.benchmarks.transport.servers.process"
_GRACE: Final = 5.0


class Child:
    """A running server.

    Attributes:
        readings: the file in which its player notes when it sent each token.
    """

    def __init__(self, name: str, readings: Path, model: str) -> None:
        self.name = name
        self.readings = readings
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", _MODULE, name, str(readings), model],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._started: Started | None = None

    @property
    def ports(self) -> dict[str, int]:
        """Where it listens, by what is served there; waits until it does.

        Raises:
            ServerFailed: it ended instead.

        """
        return self._wait().ports

    def place(self, cpus: set[int]) -> None:
        """Let the server and its player run on these processors only."""
        started = self._wait()
        for pid in (started.server, started.player):
            os.sched_setaffinity(pid, cpus)

    def cpu_ns(self) -> int:
        """Processor time that the server has used, without its player's."""
        clock_id = ~self._wait().server << 3 | 2  # the clock of another process, as clock_getcpuclockid(3) makes it
        return time.clock_gettime_ns(clock_id)

    def delay(self, hop: str, nanoseconds: int) -> None:
        """Hold up one hop of the gateway, or of its player, from now on; 0 ends that."""
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(Delay(hop, nanoseconds)) + b"\n")
        self._process.stdin.flush()
        self._answer()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def _wait(self) -> Started:
        if self._started is None:
            self._started = msgspec.json.decode(self._answer(), type=Started)
        return self._started

    def _answer(self) -> bytes:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise ServerFailed(f"the server {self.name} ended; its messages say why")
        return line
