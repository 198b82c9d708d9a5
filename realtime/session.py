"""What one client has: its documents and its running requests. Knows no socket, only how to send a message."""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial

import structlog
from warmline.engine import EngineHandle, GenerationRequest, SamplingParams, pack_tokens

from .document import Document
from .errors import Refused
from .generation import CompletionOutput, EditOutput, Generation, Output, Send
from .limits import Limits
from .metrics import Metrics
from .planning import LONG_PLAN_CHARS, PlanQueue, planning_threads
from .prompts import Layout, PromptBuilder, PromptPlan
from .protocol import (
    Cancel,
    Change,
    ClientMessage,
    Close,
    Complete,
    Edit,
    Error,
    ErrorCode,
    Hello,
    Nack,
    Open,
    Ping,
    Pong,
    Sampling,
)
from .tracing import Trace, clock

logger = structlog.get_logger("warmline.session")


@dataclass(frozen=True, slots=True)
class Service:
    """What all sessions share.

    Attributes:
        threads: where long prompts are tokenised.
    """

    engine: EngineHandle
    prompts: PromptBuilder
    metrics: Metrics
    limits: Limits
    allow_replay: bool = False
    threads: Executor = field(default_factory=planning_threads)


class Session:
    """Carries out a client's messages, in their order.

    A request goes on for the version of its document that it named, whatever is changed meanwhile; closing the
    document ends it. One with much text is accepted, or refused, when its prompt has been tokenised; others may be
    accepted before it.
    """

    def __init__(self, service: Service, salt: str, send: Send) -> None:
        self._service = service
        self._salt = salt
        self._send = send
        self._plans = PlanQueue(service.threads)
        self._closed = False
        self._draining = False
        self._documents: dict[str, Document] = {}
        self._running: dict[int, Generation] = {}
        self._ended: OrderedDict[int, None] = OrderedDict()
        self._free_streams = list(reversed(range(service.limits.max_requests)))
        service.metrics.sessions.inc()

    def handle(self, message: ClientMessage, received: int, parsed: int) -> None:
        """Carry out a message that arrived and was decoded at these readings of the clock (ns).

        Answers go out through ``send``; a refusal is one of them, nothing is raised. A closed session does nothing.
        """
        if self._closed:
            return
        match message:
            case Change() | Open() | Close():
                self._update(message)
            case Complete() | Edit():
                self._start(message, received, parsed)
            case Cancel():
                generation = self._running.get(message.request)
                if generation is not None:
                    generation.cancel()
            case Ping():
                self._send(Pong(message.sent, received // 1000, clock() // 1000))
            case Hello():
                self.refuse(None, Refused(ErrorCode.HELLO_REQUIRED, "hello opens a connection and is sent once"))

    @property
    def running(self) -> int:
        """How many requests have not ended."""
        return len(self._running)

    def drain(self) -> None:
        """The server goes away: end all requests, and take no more."""
        self._draining = True
        self._cancel_all()

    def close(self) -> None:
        """The client is gone: end all its requests and forget its documents. Idempotent."""
        if self._closed:
            return
        self._closed = True
        self._cancel_all()
        self._service.metrics.documents.dec(len(self._documents))
        self._service.metrics.sessions.dec()
        self._documents.clear()

    def refuse(self, request: int | None, refusal: Refused) -> None:
        """Answer a message with an error.

        It carries the request's id, unless a request of that id is running: to the client it would end that one.
        """
        self._service.metrics.message_refused(refusal.code)
        named = None if request in self._running else request
        self._send(Error(named, refusal.code, refusal.message, refusal.retryable))

    # Documents -------------------------------------------------------------------------------------------------

    def _update(self, message: Open | Change | Close) -> None:
        document = self._documents.get(message.document)
        try:
            if isinstance(message, Open):
                self._open(message)
            elif document is None:
                raise Refused(ErrorCode.UNKNOWN_DOCUMENT, f"document {_shown(message.document)} is not open")
            elif isinstance(message, Change):
                document.change(message, self._service.limits)
                self._service.metrics.change_taken(applied=message.applied is not None)
            else:
                self._close(message.document)
        except Refused as refusal:
            self._service.metrics.message_refused(refusal.code)
            held = None if document is None else document.version
            self._send(Nack(message.document, held, refusal.code, refusal.message))

    def _open(self, message: Open) -> None:
        limits = self._service.limits
        held = self._documents.get(message.document)
        new = held is None
        if held is not None and not _replaces(message, held):
            raise Refused(
                ErrorCode.STALE_VERSION,
                f"version {held.version} is held; another text needs a greater one, not {message.version}",
            )
        if new and len(self._documents) >= limits.max_documents:
            raise Refused(ErrorCode.TOO_MANY_DOCUMENTS, f"{limits.max_documents} documents are open; close one first")
        self._documents[message.document] = Document(message, limits)
        if new:
            self._service.metrics.documents.inc()

    def _close(self, document: str) -> None:
        del self._documents[document]
        self._service.metrics.documents.dec()
        self._cancel_all(document)

    def _cancel_all(self, document: str | None = None) -> None:
        """Cancel every request, or those of a document."""
        for generation in list(self._running.values()):
            if document is None or generation.document == document:
                generation.cancel()

    # Requests --------------------------------------------------------------------------------------------------

    def _start(self, message: Complete | Edit, received: int, parsed: int) -> None:
        try:
            layout, original = self._lay_out(message)
        except Exception as error:
            self._not_started(message.request, error)
            return
        generation = Generation(
            message.request,
            self._free_streams.pop(),
            message.document,
            "edit" if isinstance(message, Edit) else "complete",
            Trace(received, parsed),
            self._service.engine,
            self._service.metrics,
            self._send,
            self._request_ended,
        )
        self._running[generation.request] = generation
        self._service.metrics.running.inc()
        planned = partial(self._planned, generation, message, original)
        if layout.chars > LONG_PLAN_CHARS:
            self._plans.add(layout, lambda: not generation.ended, planned)
        else:
            planned(layout.plan)

    def _lay_out(self, message: Complete | Edit) -> tuple[Layout, str]:
        """A request's prompt, and the text of its range."""
        request, service = message.request, self._service
        if request in self._running or request in self._ended:
            raise Refused(ErrorCode.DUPLICATE_REQUEST, f"request id {request} was used before; take a new one")
        if self._draining:
            raise Refused(ErrorCode.ENGINE_UNAVAILABLE, "the server restarts; connect again", retryable=True)
        if not self._free_streams:
            raise Refused(
                ErrorCode.TOO_MANY_REQUESTS,
                f"{service.limits.max_requests} requests are running; wait for one to end or cancel it",
                retryable=True,
            )
        if message.replay is not None and not service.allow_replay:
            raise Refused(ErrorCode.REPLAY_DISABLED, "this server was started without --allow-replay")
        document = self._documents.get(message.document)
        if document is None:
            raise Refused(ErrorCode.UNKNOWN_DOCUMENT, f"document {_shown(message.document)} is not open")
        if message.version != document.version:
            raise Refused(
                ErrorCode.STALE_VERSION,
                f"the request is for version {message.version}; version {document.version} is held",
            )
        tokens, stop, replay = message.sampling.max_tokens, message.sampling.stop, message.replay
        if isinstance(message, Complete):
            index = document.index(message.position)
            return service.prompts.complete(document, index, tokens, stop, replay), ""
        start, end = document.range(message.start, message.end)
        layout = service.prompts.edit(document, start, end, message.instruction, tokens, stop, replay)
        return layout, document.text[start:end]

    def _planned(
        self, generation: Generation, message: Complete | Edit, original: str, plan: Callable[[], PromptPlan]
    ) -> None:
        """Give a request to the engine; ``plan`` returns its prompt or raises."""
        try:
            prompt = plan()
            output: Output
            if isinstance(message, Complete):
                output = CompletionOutput(generation.stream, prompt.newline)
            else:
                output = EditOutput(generation.stream, prompt, original)
            sequence = _sequence(self._service.engine.next_id(), prompt, message.sampling, self._salt)
            generation.start(sequence, output)
        except Exception as error:
            self._release(generation)
            self._not_started(message.request, error)

    def _not_started(self, request: int, error: Exception) -> None:
        if not isinstance(error, Refused):
            logger.error("request could not be prepared", request=request, exc_info=error)
            error = Refused(ErrorCode.INTERNAL_ERROR, "the server failed; its log has the details")
        self.refuse(request, error)

    def _release(self, generation: Generation) -> None:
        del self._running[generation.request]
        self._service.metrics.running.dec()
        self._free_streams.append(generation.stream)

    def _request_ended(self, generation: Generation) -> None:
        self._release(generation)
        self._ended[generation.request] = None
        if len(self._ended) > self._service.limits.remembered_requests:
            self._ended.popitem(last=False)


def _shown(document: str) -> str:
    """A document's id for an error text: of a long one its two ends."""
    return repr(document if len(document) <= 80 else f"{document[:40]}…{document[-39:]}")


def _replaces(opened: Open, held: Document) -> bool:
    """Whether a document may be replaced: by a later version, or by itself."""
    return opened.version > held.version or (opened.version == held.version and opened.text == held.text)


def _sequence(sequence_id: int, plan: PromptPlan, sampling: Sampling, salt: str) -> GenerationRequest:
    return GenerationRequest(
        id=sequence_id,
        prompt=pack_tokens(plan.prompt),
        sampling=SamplingParams(
            max_tokens=sampling.max_tokens,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            top_k=sampling.top_k,
            min_p=sampling.min_p,
            seed=random.getrandbits(48) if sampling.seed is None else sampling.seed,
            stop=plan.stop,
        ),
        salt=salt,
        speculation=sampling.speculation == "auto",
        draft=None if plan.draft is None else pack_tokens(plan.draft),
        replay=None if plan.replay is None else pack_tokens(plan.replay),
    )
