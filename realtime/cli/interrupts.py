"""Ctrl-C while a command is only being imported, and while libraries are loaded that lose it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Coroutine, Iterator
from typing import Any, NoReturn


class Stopped(SystemExit):
    """A signal came before the command had begun its work; the exit code is its own."""


def stop_by(status: int, *signums: signal.Signals) -> None:
    """Let these signals raise `Stopped` with an exit code, until somebody else listens to them.

    Not KeyboardInterrupt: if one has passed through an exec(), as in making a dataclass, Python ends as killed by
    SIGINT, whatever exit code it is given.
    """
    stop = _Stop(status)
    for signum in signums:
        signal.signal(signum, stop)


def work_begins() -> None:
    """Let Ctrl-C be a KeyboardInterrupt from here on, as asyncio expects it, unless somebody else listens to it."""
    if isinstance(signal.getsignal(signal.SIGINT), _Stop):
        signal.signal(signal.SIGINT, signal.default_int_handler)


def run_interruptibly(work: Coroutine[Any, Any, None]) -> None:
    """Run work on a new event loop, with Ctrl-C heard between two callbacks of it.

    asyncio's own handler cancels in the midst of whatever is running, also of its callbacks, and one whose future is
    cancelled under it logs an InvalidStateError.

    Raises:
        KeyboardInterrupt: Ctrl-C cancelled it.
        Exception: whatever the work raises.
    """
    pressed = False

    async def heard() -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None

        def interrupt() -> None:
            nonlocal pressed
            pressed = True
            task.cancel()

        with contextlib.suppress(NotImplementedError):  # on Windows: asyncio's own has to do
            loop.add_signal_handler(signal.SIGINT, interrupt)
        try:
            await work
        finally:
            with contextlib.suppress(NotImplementedError):
                loop.remove_signal_handler(signal.SIGINT)

    try:
        asyncio.run(heard())
    except asyncio.CancelledError:
        if pressed:
            raise KeyboardInterrupt from None
        raise


class _Stop:
    def __init__(self, status: int) -> None:
        self._status = status

    def __call__(self, signum: int, frame: object) -> NoReturn:
        raise Stopped(self._status)


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
