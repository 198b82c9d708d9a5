"""`LocalEngine`: an engine process on this machine, seen from the gateway's event loop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from itertools import count
from typing import Final, cast

import msgspec

from .errors import EngineError
from .framing import FrameDecoder, encode_frame
from .handle import EngineHandle, OnEvent
from .messages import (
    CancelRequest,
    EngineStats,
    Finished,
    FromEngine,
    GenerationRequest,
    ModelInfo,
    SequenceEvent,
    StartFailed,
    StepOutput,
    ToEngine,
)
from .options import EngineOptions

COMMAND: Final = (sys.executable, "-P", "-m", "warmline.engine.process")
START_SECONDS: Final = 300.0
_GRACE_SECONDS: Final = 2.0
_FIRST_BACKOFF: Final = 0.5
_LONGEST_BACKOFF: Final = 30.0
_MAX_UNSENT: Final = 8 << 20
"""Bytes that may wait for the engine process to read them; with more, requests are refused."""

logger = logging.getLogger(__name__)


class LocalEngine(EngineHandle):
    """Runs the engine in a process of its own and starts it again when it dies.

    ``command`` is the program to run; the socket's descriptor and the options are appended to it.
    """

    def __init__(self, options: EngineOptions, command: Sequence[str] = COMMAND) -> None:
        self.stats = EngineStats()
        self._options = options
        self._command = command
        self._ids = count(1)
        self._live: dict[int, OnEvent] = {}
        self._process: _EngineProcess | None = None
        self._restarting: asyncio.Task[None] | None = None
        self._closed = False

    async def start(self) -> None:
        """Start the process and wait until its model is loaded.

        Raises:
            EngineError: it can't start; the message is the engine's own where there is one.

        """
        await self._launch()

    async def close(self) -> None:
        """End the process and every running sequence. Idempotent."""
        self._closed = True
        if self._restarting is not None:
            self._restarting.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._restarting
        process, self._process = self._process, None
        self._fail_live("the engine was closed")
        if process is not None:
            await process.end()

    def submit(self, request: GenerationRequest, on_event: OnEvent) -> None:
        """Start a sequence; its events come from the reader. See `EngineHandle.submit`.

        Raises:
            ValueError: a sequence with this id is unfinished.

        """
        if request.id in self._live:
            raise ValueError(f"sequence {request.id} is already running")
        if self._process is None:
            self._refuse(request, on_event, "the engine is not running")
            return
        if self._process.unsent > _MAX_UNSENT:
            self._refuse(request, on_event, "the engine does not keep up with its requests; try again later")
            return
        self._live[request.id] = on_event
        self._process.send(request)

    @staticmethod
    def _refuse(request: GenerationRequest, on_event: OnEvent, why: str) -> None:
        asyncio.get_running_loop().call_soon(on_event, _unavailable(request.id, why))

    def cancel(self, sequence: int) -> None:
        """Free a sequence at once; unknown and finished ones are ignored."""
        if self._process is not None and sequence in self._live:
            self._process.send(CancelRequest(sequence))

    def next_id(self) -> int:
        """A sequence id that was never used on this handle."""
        return next(self._ids)

    @property
    def heartbeat_age(self) -> float:
        """Seconds since the process last said something; infinity when there is none."""
        return math.inf if self._process is None else time.monotonic() - self._process.heard_at

    @property
    def pid(self) -> int | None:
        """The process id of the running engine."""
        return None if self._process is None else self._process.pid

    async def _launch(self) -> None:
        process = _EngineProcess(self._on_step, self._on_death)
        self.model = await process.start([*self._command], self._options)
        if self._closed:
            await process.end()
            raise EngineError("the engine was closed while it started")
        self._process = process

    def _on_step(self, output: StepOutput) -> None:
        self.stats = output.stats
        for event in output.events:
            on_event = self._live.get(event.id) if event.finished is None else self._live.pop(event.id, None)
            if on_event is not None:
                _call(on_event, event)

    def _on_death(self, process: _EngineProcess) -> None:
        if self._closed or process is not self._process:
            return
        logger.error("the engine process ended unexpectedly; starting it again")
        self._process = None
        self._fail_live("the engine process ended unexpectedly; try again")
        self._restarting = asyncio.get_running_loop().create_task(self._restart(process))

    async def _restart(self, dead: _EngineProcess) -> None:
        await dead.end()
        backoff = _FIRST_BACKOFF
        while True:
            try:
                return await self._launch()
            except (EngineError, OSError) as error:
                logger.error("the engine can't be started again, next try in %.1f s: %s", backoff, error)
            await asyncio.sleep(backoff)
            backoff = min(2 * backoff, _LONGEST_BACKOFF)

    def _fail_live(self, why: str) -> None:
        live, self._live = self._live, {}
        for sequence, on_event in live.items():
            _call(on_event, _unavailable(sequence, why))


class _EngineProcess(asyncio.Protocol):
    """One life of the engine process."""

    def __init__(self, on_step: Callable[[StepOutput], None], on_death: Callable[[_EngineProcess], None]) -> None:
        self.heard_at = time.monotonic()
        self._on_step = on_step
        self._on_death = on_death
        self._decoder: FrameDecoder[FromEngine] = FrameDecoder(FromEngine)
        self._started: asyncio.Future[ModelInfo] = asyncio.get_running_loop().create_future()
        self._process: subprocess.Popen[bytes] | None = None
        self._transport: asyncio.Transport | None = None

    @property
    def pid(self) -> int | None:
        """The process id, once spawned."""
        return None if self._process is None else self._process.pid

    async def start(self, command: list[str], options: EngineOptions) -> ModelInfo:
        """Spawn the process and wait for its model.

        Raises:
            EngineError: it says why it can't start, ends, or says nothing for too long.

        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with theirs:
                self._process = _spawn(command, options, theirs.fileno())
            ours.setblocking(False)
            await asyncio.get_running_loop().create_unix_connection(lambda: self, sock=ours)
            async with asyncio.timeout(START_SECONDS):
                return await self._started
        except BaseException as error:
            if self._transport is None:
                ours.close()
            await self.end()
            if isinstance(error, TimeoutError):
                raise EngineError(f"the engine did not come up within {START_SECONDS:.0f} s") from None
            raise

    async def end(self) -> None:
        """Close the socket, upon which the process ends; kill it if it does not. Returns when it is gone."""
        if self._transport is not None:
            self._transport.abort()
        if self._process is not None:
            await asyncio.shield(asyncio.to_thread(_reap, self._process))

    @property
    def unsent(self) -> int:
        """Bytes written that the process has not read, beyond what the socket holds."""
        assert self._transport is not None
        return self._transport.get_write_buffer_size()

    def send(self, message: ToEngine) -> None:
        """Write a message now, as far as the socket takes it."""
        assert self._transport is not None
        self._transport.write(encode_frame(message))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's own class derives from nothing of asyncio

    def data_received(self, data: bytes) -> None:
        """Hand each message on as soon as it is whole."""
        self.heard_at = time.monotonic()
        for message in self._decoder.feed(data):
            if isinstance(message, StepOutput):
                self._on_step(message)
            elif not self._started.done():
                if isinstance(message, StartFailed):
                    self._started.set_exception(EngineError(message.message))
                else:
                    self._started.set_result(message)

    def connection_lost(self, error: Exception | None) -> None:
        """The process is gone, or will be at once."""
        if not self._started.done():
            self._started.set_exception(EngineError("the engine process ended while starting; its log says why"))
        self._on_death(self)


def _spawn(command: list[str], options: EngineOptions, descriptor: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*command, str(descriptor), msgspec.json.encode(options).decode()],
        stdin=subprocess.DEVNULL,
        pass_fds=(descriptor,),
        process_group=0,  # a Ctrl-C in the terminal goes to the gateway alone, also while Python starts
    )


def _reap(process: subprocess.Popen[bytes]) -> None:
    """Wait for the process, then ask, then force it."""
    for end in (None, process.terminate, process.kill):
        if end is not None:
            end()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_SECONDS)
            return
    process.wait()


def _call(on_event: OnEvent, event: SequenceEvent) -> None:
    try:
        on_event(event)
    except Exception:
        logger.exception("the listener of sequence %d failed", event.id)


def _unavailable(sequence: int, why: str) -> SequenceEvent:
    now = time.monotonic_ns()
    finished = Finished("error", received_ns=now, sent_ns=now, error_code="engine_unavailable", error=why)
    return SequenceEvent(sequence, "", finished=finished)
