"""Ctrl-C while libraries are loaded that lose it."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator


@contextlib.contextmanager
def no_interrupt_lost() -> Iterator[None]:
    """Raise KeyboardInterrupt at the end, at the latest, if Ctrl-C was pressed.

    Importing torch takes a second, in which its C++ code at times clears the exception, and everything goes on.
    """
    pressed = False

    def interrupt(signum: int, frame: object) -> None:
        nonlocal pressed
        pressed = True
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
    if pressed:
        raise KeyboardInterrupt
