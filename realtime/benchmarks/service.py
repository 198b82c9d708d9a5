"""A service of the benchmark's own: `warmline serve` in a process of its own, on a free port."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections import deque
from collections.abc import AsyncIterator
from typing import Final, NamedTuple

_READY: Final = "ready at "
_RUNS: Final = "; kernels: "
_LINES_KEPT: Final = 20
_END_SECONDS: Final = 20.0
_TERMINATED: Final = "terminated"


class ServiceFailed(Exception):
    """The service did not start, or can't be asked; the message says why."""


class RunningService(NamedTuple):
    """A service that is ready.

    Attributes:
        runs: its own words about model, adapter, backend, threads and kernels.
    """

    url: str
    runs: str


@contextlib.asynccontextmanager
async def running_service(*arguments: str) -> AsyncIterator[RunningService]:
    """Start a service with these arguments of `serve`; yields it when it is ready, and ends it.

    Raises:
        ServiceFailed: it ended instead.
        SystemExit: SIGTERM came.

    """
    environment = {name: value for name, value in os.environ.items() if name != "WARMLINE_API_KEY"}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "warmline.realtime.main", "serve", "--port", "0", *arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env=environment,
        start_new_session=True,  # Ctrl-C is for us, who then end it
    )
    task = asyncio.current_task()
    assert task is not None
    with contextlib.suppress(NotImplementedError, RuntimeError):  # elsewhere than in the main thread
        # Or the service would go on alone.
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel, _TERMINATED)
    said: deque[str] = deque(maxlen=_LINES_KEPT)
    assert process.stderr is not None
    drain = None
    try:
        url = await _ready(process.stderr, said)
        if url is None:
            raise ServiceFailed(f"the service did not start: {' '.join(said) or 'it said nothing'}")
        drain = asyncio.create_task(_ready(process.stderr, said))  # what it logs must not fill the pipe
        yield RunningService(url, next((line for line in said if _RUNS in line), ""))
    except asyncio.CancelledError as cancelled:
        if _TERMINATED in cancelled.args:
            raise SystemExit(128 + signal.SIGTERM) from None
        raise
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            async with asyncio.timeout(_END_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
        if drain is not None:
            await drain


async def _ready(output: asyncio.StreamReader, said: deque[str]) -> str | None:
    """Read lines until one names the URL; None at their end."""
    while line := await output.readline():
        text = line.decode(errors="replace").strip()
        if text.startswith(_READY):
            return text.removeprefix(_READY).split()[0]
        said.append(text)
    return None
