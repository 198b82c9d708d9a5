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
    PauseRequest,
    SequenceEvent,
    StartFailed,
    StepOutput,
    ToEngine,
    WarmRequest,
)
from .options import EngineOptions

COMMAND: Final = (sys.executable, "-P", "-m", "warmline.engine.process")
START_SECONDS: Final = 300.0
SILENCE_SECONDS: Final = 30.0
"""An engine that is silent for longer is stuck. It speaks between the layers of a pass, too: even a machine that
swaps does not take this long for one."""
_SILENCE_CHECKS: Final = 10
_GRACE_SECONDS: Final = 2.0
_FIRST_BACKOFF: Final = 0.5
_LONGEST_BACKOFF: Final = 30.0
_HEALTHY_SECONDS: Final = 60.0
"""An engine that served for so long is started again at once when it dies."""
_MAX_UNSENT: Final = 8 << 20
"""Bytes that may wait for the engine process to read them; with more, requests are refused."""

logger = logging.getLogger(__name__)


class LocalEngine(EngineHandle):
    """Runs the engine in a process of its own and starts it again when it dies or is stuck.

    ``command`` is the program to run; the socket's descriptor and the options are appended to it. A process that
    gives no sign of life for ``silence_limit`` seconds is killed.
    """

    def __init__(
        self, options: EngineOptions, command: Sequence[str] = COMMAND, silence_limit: float = SILENCE_SECONDS
    ) -> None:
        self.stats = EngineStats()
        self._options = options
        self._command = command
        self._silence_limit = silence_limit
        self._backoff = _FIRST_BACKOFF
        self._start_seconds = 0.0  # what the last start took
        self._back_at = math.inf
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
        self._begin(request, on_event)

    def warm(self, request: WarmRequest, on_event: OnEvent) -> None:
        """Prepare a prompt in idle time. See `EngineHandle.warm`.

        Raises:
            ValueError: a sequence with this id is unfinished.

        """
        self._begin(request, on_event)

    def _begin(self, request: GenerationRequest | WarmRequest, on_event: OnEvent) -> None:
        if request.id in self._live:
            raise ValueError(f"sequence {request.id} is already running")
        if self._process is None:
            self._refuse(request, on_event, "the engine is not running; it is started again")
            return
        if self._process.unsent > _MAX_UNSENT:
            self._refuse(request, on_event, "the engine does not keep up with its requests; try again later")
            return
        self._process.send(request)  # first: one that can't be encoded leaves nothing behind
        self._live[request.id] = on_event

    @staticmethod
    def _refuse(request: GenerationRequest | WarmRequest, on_event: OnEvent, why: str) -> None:
        asyncio.get_running_loop().call_soon(on_event, _unavailable(request.id, why))

    def pause(self, sequence: int, paused: bool) -> None:
        """Stop computing for a sequence, or go on; unknown and finished ones are ignored."""
        if self._process is not None and sequence in self._live:
            self._process.send(PauseRequest(sequence, paused))

    def cancel(self, sequence: int) -> None:
        """Free a sequence at once; unknown and finished ones are ignored."""
        if self._process is not None and sequence in self._live:
            self._process.send(CancelRequest(sequence, time.monotonic_ns()))

    def next_id(self) -> int:
        """A sequence id that was never used on this handle."""
        return next(self._ids)

    @property
    def heartbeat_age(self) -> float:
        """Seconds since the process last said something; infinity when there is none."""
        return math.inf if self._process is None else time.monotonic() - self._process.heard_at

    @property
    def retry_after(self) -> float | None:
        """Seconds until the next start will probably have succeeded. See `EngineHandle.retry_after`."""
        if self._process is not None or math.isinf(self._back_at):
            return None
        return max(self._back_at - time.monotonic(), _FIRST_BACKOFF)

    @property
    def pid(self) -> int | None:
        """The process id of the running engine."""
        return None if self._process is None else self._process.pid

    async def _launch(self) -> None:
        began = time.monotonic()
        process = _EngineProcess(self._on_step, self._on_death, self._silence_limit)
        self.model = await process.start([*self._command], self._options)
        self._start_seconds = time.monotonic() - began
        if self._closed:
            await process.end()
            raise EngineError("the engine was closed while it started")
        self._process = process
        self.came_up()

    def _on_step(self, output: StepOutput) -> None:
        if output.stats is not None:
            self.stats = output.stats
        for event in output.events:
            on_event = self._live.get(event.id) if event.finished is None else self._live.pop(event.id, None)
            if on_event is not None:
                _call(on_event, event)

    def _on_death(self, process: _EngineProcess) -> None:
        if self._closed or process is not self._process:
            return
        logger.error("the engine process %s; starting it again", process.fate)
        self._process = None
        if process.served_seconds >= _HEALTHY_SECONDS:
            self._backoff = 0.0
        self._expect_back()
        self._fail_live(f"the engine process {process.fate} and is started again")
        self._restarting = asyncio.get_running_loop().create_task(self._restart(process))

    async def _restart(self, dead: _EngineProcess) -> None:
        await dead.end()
        while True:
            await asyncio.sleep(self._backoff)
            self._backoff = min(max(2 * self._backoff, _FIRST_BACKOFF), _LONGEST_BACKOFF)
            try:
                return await self._launch()
            except (EngineError, OSError) as error:
                logger.error("the engine can't be started again, next try in %.1f s: %s", self._backoff, error)
                self._expect_back()

    def _expect_back(self) -> None:
        """The next try begins after the backoff, and takes about as long as the last start."""
        self._back_at = time.monotonic() + self._backoff + self._start_seconds

    def _fail_live(self, why: str) -> None:
        live, self._live = self._live, {}
        for sequence, on_event in live.items():
            _call(on_event, _unavailable(sequence, why))


class _EngineProcess(asyncio.Protocol):
    """One life of the engine process.

    Attributes:
        heard_at: when it last said something, by the monotonic clock; infinity while its model loads.
        fate: how it ended, once it has.
    """

    def __init__(
        self,
        on_step: Callable[[StepOutput], None],
        on_death: Callable[[_EngineProcess], None],
        silence_limit: float,
    ) -> None:
        self.heard_at = math.inf
        self.fate = "ended unexpectedly"
        self._on_step = on_step
        self._on_death = on_death
        self._silence_limit = silence_limit
        self._silent_checks = 0
        self._check: asyncio.TimerHandle | None = None
        self._first_heard_at = math.inf
        self._decoder: FrameDecoder[FromEngine] = FrameDecoder(FromEngine)
        self._started: asyncio.Future[ModelInfo] = asyncio.get_running_loop().create_future()
        self._process: subprocess.Popen[bytes] | None = None
        self._transport: asyncio.Transport | None = None

    @property
    def pid(self) -> int | None:
        """The process id, once spawned."""
        return None if self._process is None else self._process.pid

    @property
    def served_seconds(self) -> float:
        """From its first word to its last."""
        return self.heard_at - self._first_heard_at

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
                model = await self._started
            self._check_later()
            return model
        except BaseException as error:
            if self._transport is None:
                ours.close()
            await self.end()
            if isinstance(error, TimeoutError):
                raise EngineError(f"the engine did not come up within {START_SECONDS:.0f} s") from None
            raise

    async def end(self) -> None:
        """Close the socket, upon which the process ends; kill it if it does not. Returns when it is gone.

        One that has been silent for a while is most likely stopped or stuck and is killed at once.
        """
        if self._transport is not None:
            self._transport.abort()
        if self._process is not None:
            silent = time.monotonic() - self.heard_at > _GRACE_SECONDS
            await asyncio.shield(asyncio.to_thread(_reap, self._process, 0.0 if silent else _GRACE_SECONDS))

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
        self._first_heard_at = min(self._first_heard_at, self.heard_at)
        self._silent_checks = 0
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
        if self._check is not None:
            self._check.cancel()
        self._on_death(self)

    def _check_later(self) -> None:
        delay = self._silence_limit / _SILENCE_CHECKS
        self._check = asyncio.get_running_loop().call_later(delay, self._check_silence)

    def _check_silence(self) -> None:
        """Kill a process that is stuck.

        Silence is counted in checks, not by the clock: a loop that was blocked or suspended makes one check for
        all that time, and reads what came meanwhile before the next.
        """
        self._silent_checks += 1
        if self._silent_checks <= _SILENCE_CHECKS:
            self._check_later()
            return
        assert self._process is not None
        assert self._transport is not None
        self.fate = f"gave no sign of life for {self._silence_limit:g} s and was killed"
        self._process.kill()  # one that is stopped takes no other signal
        self._transport.abort()


def _spawn(command: list[str], options: EngineOptions, descriptor: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*command, str(descriptor), msgspec.json.encode(options).decode()],
        stdin=subprocess.DEVNULL,
        pass_fds=(descriptor,),
        process_group=0,  # a Ctrl-C in the terminal goes to the gateway alone, also while Python starts
    )


def _reap(process: subprocess.Popen[bytes], grace: float) -> None:
    """Wait so many seconds for the process to end, then force it."""
    try:
        process.wait(grace)
    except subprocess.TimeoutExpired:
        logger.warning("the engine process does not end by itself; killing it")
        process.kill()
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
