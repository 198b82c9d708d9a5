"""One request in the engine, from its submission to its last event, and what of its text was not taken yet."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from warmline.engine import Finished, GenerationRequest, SequenceEvent, TokenLogprobs

from ..access.accounts import Usage
from ..requests.receipts import receipt_of
from ..service import Service
from ..telemetry.request_end import RequestEnd, observe_end
from ..telemetry.tracing import Trace, clock
from .problems import Problem

_LOGPROB_BYTES: Final = 64
"""What one log probability takes in an answer, about."""


class ClientGone(Exception):
    """Nobody waits for the answer any more."""


class Taken(NamedTuple):
    """What a sequence brought since it was last asked.

    Attributes:
        logprobs: those of its new tokens, if they were asked for.
        finished: how it ended, once this is all.
    """

    text: str
    logprobs: tuple[TokenLogprobs, ...] = ()
    finished: Finished | None = None


class Reply:
    """The text of one sequence, for one reader that takes it as it can.

    What several steps brought is joined until it is taken. While much of it waits, the sequence pauses in the engine.

    Attributes:
        trace: its readings of the clock; the reader sets ``first_sent``, ``encoded`` and ``sent``.
        names: what log lines about it say.
    """

    def __init__(
        self,
        request: GenerationRequest,
        kind: str,
        trace: Trace,
        service: Service,
        on_end: Callable[[Reply], None],
        names: Mapping[str, object],
        usage: Usage | None = None,
    ) -> None:
        """Prepare a sequence.

        ``kind`` is what metrics call it, ``on_end`` is told of the engine's last event, ``usage`` of what it cost.
        """
        self.trace = trace
        self.names = names
        self._request = request
        self._kind = kind
        self._engine = service.engine
        self._metrics = service.metrics
        self._observers = service.observers
        self._most = service.limits.pause_unsent_bytes
        self._on_end = on_end
        self._usage = usage
        self._closed = False
        self._text: list[str] = []
        self._logprobs: list[TokenLogprobs] = []
        self._waiting = 0
        self._paused = False
        self._finished: Finished | None = None
        self._given_up: Exception | None = None
        self._reader: asyncio.Future[None] | None = None

    def start(self) -> None:
        """Give the sequence to the engine."""
        self.trace.submitted = clock()
        self._engine.submit(self._request, self._on_event)

    async def take(self) -> Taken:
        """Wait for the next text or log probabilities, and for how the sequence ended once that is all.

        Raises:
            Problem: the engine failed.
            Exception: what `give_up` was called with.

        """
        while not (self._text or self._logprobs or self._finished or self._given_up):
            self._reader = asyncio.get_running_loop().create_future()
            try:
                await self._reader
            finally:
                self._reader = None
        if self._given_up is not None:
            raise self._given_up
        failed = self._finished is not None and self._finished.reason == "error"
        if failed and not self._text:
            assert self._finished is not None
            raise Problem.of_engine(self._finished, self._engine.retry_after)
        text = self._text[0] if len(self._text) == 1 else "".join(self._text)
        logprobs = tuple(self._logprobs)
        self._text.clear()
        self._logprobs.clear()
        self._waiting = 0
        if self._paused:
            self._paused = False
            self._engine.pause(self._request.id, False)
        return Taken(text, logprobs, None if failed else self._finished)

    def give_up(self, why: Exception) -> None:
        """Free the sequence at once; `take` raises ``why`` from now on. One that has ended stays as it is."""
        if self._finished is None and self._given_up is None:
            self._given_up = why
            self._engine.cancel(self._request.id)
            self._wake()

    def close(self) -> None:
        """The reader is done with it, with or without having taken everything."""
        self.give_up(ClientGone())
        self._closed = True
        self._observe()

    def _on_event(self, event: SequenceEvent) -> None:
        if event.finished is not None:
            self.trace.ended = clock()
            self._finished = event.finished
        if event.text:
            self._text.append(event.text)
            self._waiting += len(event.text)
        if event.logprobs:
            self._logprobs += event.logprobs
            self._waiting += _LOGPROB_BYTES * sum(1 + len(token.top) for token in event.logprobs)
        if self._waiting > self._most and not self._paused and self._finished is None:
            self._paused = True
            self._engine.pause(event.id, True)
        if self._finished is not None:
            if self._usage is not None:
                self._usage.spend(self._finished.computed_tokens, self._finished.output_tokens)
            self._on_end(self)
            self._observe()
        self._wake()

    def _observe(self) -> None:
        """Once the engine and the reader are done, tell metrics and log what it cost and how long it took."""
        finished = self._finished
        if finished is not None and self._closed:
            receipt, timing = receipt_of((finished,), self._request.sampling.seed), self.trace.timing(finished)
            end = RequestEnd(
                self._kind, self.names, finished.reason, receipt, timing, error=finished.error_code or None
            )
            observe_end(self._metrics, self._observers, end)

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)
