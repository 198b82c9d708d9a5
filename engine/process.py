"""The engine process: ``python -m warmline.engine.process FD OPTIONS``, started by `LocalEngine`.

FD is a connected unix stream socket, OPTIONS an `EngineOptions` in JSON. One `ModelInfo` or `StartFailed` comes
first, then one `StepOutput` per step, one between the layers of a pass when sequences ended there, and one at
least every half second as a sign of life. The process ends when the socket's other end closes, whatever it is doing.
"""

from __future__ import annotations

import gc
import logging
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from .errors import EngineError
from .framing import FrameDecoder, encode_frame
from .messages import (
    CancelRequest,
    EngineStats,
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

if TYPE_CHECKING:
    from .backends import Backend
    from .core import Engine, TokenText

HEARTBEAT_SECONDS: Final = 0.5
_RECEIVE_BYTES: Final = 1 << 18

logger = logging.getLogger("warmline.engine.process")  # its name also where it runs as the main module

CreateBackend = Callable[[EngineOptions], "tuple[Backend, TokenText]"]


class GatewayLink:
    """The engine's end of the socket: reads without blocking, writes with, so that nothing piles up here."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(True)
        self._socket = sock
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)
        self._decoder: FrameDecoder[ToEngine] = FrameDecoder(ToEngine)
        self._received = memoryview(bytearray(_RECEIVE_BYTES))

    def wait(self, seconds: float) -> None:
        """Sleep until something can be read, or for so long."""
        self._poll.poll(max(0.0, seconds * 1000))

    def receive(self) -> list[ToEngine]:
        """All messages that have come in.

        Raises:
            EOFError: the gateway closed its end.

        """
        messages: list[ToEngine] = []
        while True:
            try:
                count = self._socket.recv_into(self._received, flags=socket.MSG_DONTWAIT)
            except BlockingIOError:
                return messages
            except ConnectionResetError:
                count = 0
            if count == 0:
                raise EOFError
            messages += self._decoder.feed(self._received[:count])
            if count < _RECEIVE_BYTES:
                return messages

    def send(self, message: FromEngine) -> None:
        """Write a message, waiting for the gateway to read if it is behind.

        Raises:
            EOFError: the gateway closed its end.

        """
        try:
            self._socket.sendall(encode_frame(message))
        except (BrokenPipeError, ConnectionResetError):
            raise EOFError from None


def serve(engine: Engine, link: GatewayLink) -> None:
    """Drain the socket, step, say what came of it; sleep when there is nothing to do.

    Raises:
        EOFError: the gateway closed its end.

    """
    said = counted = 0.0
    told: EngineStats | None = None

    def say(events: list[SequenceEvent]) -> None:
        """One message for the step, if anything happened or a sign of life is due."""
        nonlocal said, counted, told
        now = time.monotonic()
        news = None
        if now - counted >= HEARTBEAT_SECONDS:
            counted, stats = now, engine.stats()
            if stats != told:
                told = news = stats
        if events or news or now - said >= HEARTBEAT_SECONDS:
            link.send(StepOutput(events, news))
            said = now

    def listen() -> bool:
        """Also asked between the layers of a pass, so that a cancel and its event need not wait for its end."""
        for message in link.receive():
            match message:
                case CancelRequest():
                    engine.cancel(message.id, message.sent_ns)
                case PauseRequest():
                    engine.pause(message.id, message.paused)
                case _:
                    _begin(engine, message)
        say(engine.take_events())
        return False

    while True:
        if not engine.has_work:
            link.wait(said + HEARTBEAT_SECONDS - time.monotonic())
        listen()
        if engine.has_work:
            say(engine.step(listen))


def _begin(engine: Engine, request: GenerationRequest | WarmRequest) -> None:
    """Hand a request to the engine. One that it fails on ends alone: others were taken off the socket with it."""
    try:
        if isinstance(request, GenerationRequest):
            engine.add(request)
        else:
            engine.warm(request)
    except Exception:
        logger.exception("sequence %d can't begin", request.id)
        engine.fail(request)


def main(create: CreateBackend | None = None) -> None:
    """Run the engine process until the gateway closes its end.

    ``create`` stands in for `create_backend` in tests.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the gateway ends this process, by closing the socket
    logging.basicConfig(stream=sys.stderr, format="engine: %(levelname)s %(message)s")
    logging.getLogger("warmline").setLevel(logging.INFO)
    sock = socket.socket(fileno=int(sys.argv[1]))
    options = msgspec.json.decode(sys.argv[2], type=EngineOptions)
    threading.Thread(target=_exit_on_hangup, args=(sock.fileno(),), daemon=True).start()
    link = GatewayLink(sock)
    try:
        serve(_start(options, link, create), link)
    except EOFError:
        return


def _start(options: EngineOptions, link: GatewayLink, create: CreateBackend | None) -> Engine:
    try:
        # Imported here because torch takes seconds, in which a hang-up must be noticed already.
        from .backends import create_backend
        from .core import Engine
        from .speculation.draft_model import load_draft_model

        began = time.monotonic()
        backend, tokenizer = (create or create_backend)(options)
        engine = Engine(backend, tokenizer, draft_model=load_draft_model(options))
        loaded = time.monotonic()
        logger.info("weights packed, %.1f s in all; now it is measured what passes cost", loaded - began)
        engine.warm_up()
        logger.info("warmed up and measured in %.1f s", time.monotonic() - loaded)
    except Exception as error:
        if isinstance(error, EngineError):
            message = str(error)
        else:
            logger.exception("the engine can't start")
            message = f"the engine failed to start ({type(error).__name__}: {error}); its log says where"
        link.send(StartFailed(message))
        sys.exit(1)
    gc.collect()
    gc.freeze()
    link.send(model_info(engine, options))
    return engine


def model_info(engine: Engine, options: EngineOptions) -> ModelInfo:
    """What an engine runs and how."""
    import torch

    from .loading.adapter import read_fill_marks

    config = engine.backend.config
    return ModelInfo(
        name=options.model_name or Path(options.model).name,
        architecture=config.architecture,
        context_length=config.context_length,
        backend=engine.backend.name,
        kernels=engine.backend.kernels,
        threads=torch.get_num_threads(),
        max_sequence_tokens=engine.max_sequence_tokens,
        fill_marks=None if options.adapter is None else read_fill_marks(Path(options.adapter)),
        adapter="" if options.adapter is None else Path(options.adapter).name,
        vocabulary=config.vocab_size,
    )


def _exit_on_hangup(descriptor: int) -> None:
    """End the process when the other end closes, also in the middle of loading or of a pass."""
    poll = select.poll()
    poll.register(descriptor, 0)  # hang-ups are always reported
    if any(event & select.POLLHUP for _, event in poll.poll()):
        if os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)  # a compiler that is running goes, too
        os._exit(0)


if __name__ == "__main__":
    main()
