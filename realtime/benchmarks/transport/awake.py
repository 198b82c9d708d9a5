"""Processors that don't fall asleep while somebody else waits on them."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from typing import Final

_SPIN: Final = """
import os, sys
parent = int(sys.argv[2])
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
print(flush=True)
while os.getppid() == parent:
    pass
"""


@contextlib.contextmanager
def kept_awake(processors: Iterable[int]) -> Iterator[None]:
    """Keep processors busy with what yields to everything else.

    A processor with nothing to do for a millisecond goes to sleep, and whoever is woken on it then runs tens of
    microseconds later than after a shorter wait.
    """
    with contextlib.ExitStack() as stack:
        for processor in processors:
            stack.enter_context(_spinning(processor))
        yield


@contextlib.contextmanager
def _spinning(processor: int) -> Iterator[None]:
    command = [sys.executable, "-S", "-E", "-c", _SPIN, str(processor), str(os.getpid())]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield
        finally:
            process.kill()
