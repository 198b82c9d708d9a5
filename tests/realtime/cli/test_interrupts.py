"""Tests of warmline.realtime.cli.interrupts."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys

import pytest
from warmline.realtime.cli.interrupts import run_interruptibly

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are heard by an event loop on Unix only")


def test_ctrl_c_is_heard_between_two_callbacks() -> None:
    """The rest of the callback that it comes in is still carried out, and finds its future as it was."""
    seen: list[bool] = []

    async def work() -> None:
        future = asyncio.get_running_loop().create_future()

        def answer() -> None:
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1000):  # a signal is handled between two of Python's instructions, so well before the end
                pass
            seen.append(future.cancelled())
            future.set_result(None)

        asyncio.get_running_loop().call_soon(answer)
        await future
        await asyncio.sleep(30)

    with pytest.raises(KeyboardInterrupt):
        run_interruptibly(work())
    assert seen == [False]


def test_work_can_clean_up_before_ctrl_c_goes_on() -> None:
    """It sees a cancellation, as under asyncio.run."""
    seen: list[str] = []

    async def work() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        try:
            await asyncio.sleep(30)
        finally:
            await asyncio.sleep(0)
            seen.append("cleaned up")

    with pytest.raises(KeyboardInterrupt):
        run_interruptibly(work())
    assert seen == ["cleaned up"]


def test_a_cancellation_by_somebody_else_is_no_ctrl_c() -> None:
    """It stays what it is, and what raises or returns does so."""

    async def cancelled() -> None:
        raise asyncio.CancelledError

    async def failing() -> None:
        raise ValueError("no")

    async def fine() -> None:
        await asyncio.sleep(0)

    with pytest.raises(asyncio.CancelledError):
        run_interruptibly(cancelled())
    with pytest.raises(ValueError, match="no"):
        run_interruptibly(failing())
    run_interruptibly(fine())


def test_ctrl_c_afterwards_is_a_keyboard_interrupt_again() -> None:
    """As before; in a process of its own, since test runners listen to it themselves."""
    code = (
        "import asyncio, os, signal; from warmline.realtime.cli.interrupts import run_interruptibly;"
        "run_interruptibly(asyncio.sleep(0));"
        "print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "True\n"
