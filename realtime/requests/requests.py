"""The requests of one session: their ids and streams, what they need to start, and what ends them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import monotonic
from typing import TypeVar

import structlog

from ..access.accounts import RETRY_SECONDS, Usage
from ..access.over_limit import over_limit
from ..completing.supersede import Succession, find_continuation
from ..documents.document import Document
from ..errors import FAULT, Refused, shown
from ..prompting.planning import LONG_PLAN_CHARS, PlanQueue
from ..prompting.prompts import Layout, PromptPlan
from ..protocol import (
    MAX_STREAMS,
    Applied,
    Chat,
    Complete,
    Edit,
    Error,
    ErrorCode,
    Reason,
    Steer,
    TextEdit,
)
from ..service import Service
from ..telemetry.trace_context import trace_names, valid_traceparent
from ..telemetry.tracing import Trace
from ..warming import Warmer
from .chat import ChatRequest
from .completion import CompletionRequest
from .conversations import Conversations
from .edit import EditRequest
from .generation import Generation
from .surroundings import Make, Send, Surroundings

logger = structlog.get_logger("warmline.requests")

_T = TypeVar("_T")


class Requests:
    """Starts requests and knows those that run.

    One with much text is accepted, or refused, when its prompt has been tokenised; others may be accepted before it.
    """

    def __init__(
        self,
        service: Service,
        salt: str,
        send: Send,
        documents: Mapping[str, Document],
        warmer: Warmer,
        names: Mapping[str, object],
        usage: Usage | None = None,
    ) -> None:
        self._draining_until: float | None = None  # by `monotonic`
        self._service = service
        self._usage = usage
        self._send = send
        self._documents = documents
        self._warmer = warmer
        self._conversations = Conversations(service.chat, service.limits)
        self._plans = PlanQueue(service.threads)
        self._running: dict[int, Generation] = {}
        self._ended: OrderedDict[int, None] = OrderedDict()
        self._free_streams = list(reversed(range(MAX_STREAMS)))
        self._surroundings = Surroundings(service, salt, send, self._request_ended, self._prepare, names, usage)

    def __len__(self) -> int:
        return len(self._running)

    # Starting --------------------------------------------------------------------------------------------------

    def start(self, message: Complete | Edit | Chat, received: int, parsed: int) -> None:
        """Take a request that arrived and was decoded at these readings of the clock (ns), or refuse it."""
        trace = Trace(received, parsed)
        before = self._running.get(message.request)  # whose id it must not take
        try:
            match message:
                case Complete():
                    self._complete(message, trace)
                case Edit():
                    self._edit(message, trace)
                case Chat():
                    self._chat(message, trace)
        except Exception as error:
            request = self._running.get(message.request)
            if request is None or request is before:
                names = {**self._surroundings.names, "request": message.request}
                trace_of = trace_names(valid_traceparent(message.traceparent))
                self.refuse(message.request, self._refusal(error, {**names, **trace_of}))
            else:
                self._not_started(request, error)

    def _complete(self, message: Complete, trace: Trace) -> None:
        superseded = [] if message.parallel else self._successions(message.document)
        self._check(message, len(superseded))
        document = self._document(message)
        index = document.index(message.position)
        continuation = find_continuation(superseded, message)
        sampling, layout = message.sampling, None
        if continuation is None:
            layout = self._service.prompts.complete(
                document, index, sampling.max_tokens, sampling.stop, message.replay
            )
        request = CompletionRequest(message, self._free_streams[-1], trace, self._surroundings)
        self._add(request)
        self._warmer.request_started(message)
        try:
            request.succession.supersede(superseded, continuation)
        except Exception:
            for other in superseded:  # which may be half given up, and waits for nothing then
                other.break_off()
            raise
        if layout is not None:
            self._prepare(request, layout, request.make)

    def _edit(self, message: Edit, trace: Trace) -> None:
        self._check(message)
        if message.sampling.logprobs is not None:
            raise Refused(ErrorCode.INVALID_PARAMETER, "an edit brings operations, which have no logprobs")
        document = self._document(message)
        request = EditRequest(message, document, self._free_streams[-1], trace, self._surroundings)
        layout = request.lay_out(document)
        self._add(request)
        self._warmer.request_started(message)
        self._prepare(request, layout, request.make)

    def _chat(self, message: Chat, trace: Trace) -> None:
        self._check(message)
        turn = self._conversations.lay_out(message, self._documents)
        try:
            request = ChatRequest(message, turn, self._free_streams[-1], trace, self._surroundings)
            self._add(request)
        except Exception:
            turn.end("error")  # or the conversation would take no other
            raise
        self._prepare(request, turn.layout, request.make)

    def _check(self, message: Complete | Edit | Chat, ending: int = 0) -> None:
        """Refuse what can't be taken; so many of those running end with it."""
        request, limit = message.request, self._service.limits.max_requests
        if request in self._running or request in self._ended:
            raise Refused(ErrorCode.DUPLICATE_REQUEST, f"request id {request} was used before; take a new one")
        if self._draining_until is not None:
            raise Refused(
                ErrorCode.ENGINE_UNAVAILABLE,
                "the server restarts; connect again",
                retryable=True,
                retry_after=max(1.0, self._draining_until - monotonic()),
            )
        going = sum(running.stopping is None for running in self._running.values()) - ending
        if not self._free_streams:
            raise self._too_many(
                f"has {MAX_STREAMS} requests that have not ended yet, though some were superseded or cancelled; wait "
                "for one"
            )
        if going >= limit:
            raise self._too_many(f"may have {limit} requests running at once; wait for one to end, or cancel it")
        if self._usage is not None:
            self._usage.check_request(len(self._running) - going)
        if message.replay is not None and not self._service.allow_replay:
            raise Refused(ErrorCode.REPLAY_DISABLED, "this server was started without --allow-replay")

    def _too_many(self, why: str) -> Refused:
        metrics = self._service.metrics
        return over_limit(metrics, "connection", "requests", ErrorCode.TOO_MANY_REQUESTS, why, RETRY_SECONDS)

    def _document(self, message: Complete | Edit) -> Document:
        document = self._documents.get(message.document)
        if document is None:
            raise Refused(ErrorCode.UNKNOWN_DOCUMENT, f"document {shown(message.document)} is not open")
        if message.version != document.version:
            raise Refused(
                ErrorCode.STALE_VERSION,
                f"the request is for version {message.version}; version {document.version} is held",
            )
        return document

    def _successions(self, document: str) -> list[Succession]:
        """Those of a document's completions that go on."""
        return [
            running.succession
            for running in self._running.values()
            if isinstance(running, CompletionRequest) and running.document == document and running.stopping is None
        ]

    def _add(self, request: Generation) -> None:
        self._service.metrics.running.inc()
        if self._usage is not None:
            self._usage.requests_started(1)
        stream = self._free_streams.pop()
        assert stream == request.stream
        self._running[request.request] = request

    def _prepare(self, request: Generation, layout: Layout, make: Make) -> None:
        """Make a request's plan, here or in a thread, and start it."""

        def planned(plan: Callable[[], PromptPlan]) -> None:
            try:
                request.start(*make(plan()))
            except Exception as error:
                self._not_started(request, error)

        wanted = request.preparing()
        if layout.chars > LONG_PLAN_CHARS:
            self._plans.add(layout, wanted, planned)
        else:
            planned(layout.plan)

    def _not_started(self, request: Generation, error: Exception) -> None:
        """End a request that was added; call it while the exception is handled."""
        if not request.accepted:
            self._release(request)
            self.refuse(request.request, self._refusal(error, request.names()))
            request.refused()
        elif isinstance(error, Refused):
            request.fail(error)
        else:
            request.break_off()  # without a word from the engine, which may not know of it

    # While they run --------------------------------------------------------------------------------------------

    def steer(self, message: Steer) -> None:
        """Give an edit a further instruction, or say why not."""
        request = self._running.get(message.request)
        try:
            if not isinstance(request, EditRequest) or request.stopping is not None:
                raise Refused(ErrorCode.UNKNOWN_REQUEST, f"request {message.request} is not an edit that is running")
            request.steer(message, self._documents.get(request.document or ""))
        except Refused as refusal:
            self.refuse(None, refusal)
        except Exception:
            assert request is not None
            request.break_off()

    def stop(self, request: int, reason: Reason) -> None:
        """End a request; unknown ones are ignored, since they may just have ended."""
        running = self._running.get(request)
        if running is not None:
            self._carry_out(running, partial(running.stop, reason))

    def drain(self, seconds: float) -> None:
        """Take no more: the server goes away in so many seconds."""
        self._draining_until = monotonic() + seconds

    def stop_all(self, document: str | None = None) -> None:
        """Cancel every request, or those of a document."""
        for running in list(self._running.values()):
            if document is None or running.document == document:
                self.stop(running.request, "cancel")

    def end_chat(self, conversation: str) -> None:
        """Forget a conversation, and cancel its request."""
        for running in list(self._running.values()):
            if isinstance(running, ChatRequest) and running.conversation == conversation:
                self.stop(running.request, "cancel")
        self._conversations.end(conversation)

    def changed(self, document: str, edits: Sequence[TextEdit], applied: Applied | None) -> bool:
        """A document was changed. Returns whether that applied operations of a request that runs."""
        followers = [running for running in self._running.values() if running.document == document]
        ours = [self._carry_out(running, partial(running.changed, edits, applied)) for running in followers]
        return any(ours)

    def knows(self, request: int) -> bool:
        """Whether a request ran and has ended or is about to, as far as is remembered."""
        running = self._running.get(request)
        return request in self._ended or (running is not None and running.stopping is not None)

    def replaced(self, document: str) -> None:
        """A document was opened again, with another text."""
        for running in list(self._running.values()):
            if running.document == document:
                self._carry_out(running, running.replaced)

    def pause(self, paused: bool) -> None:
        """Let the engine compute nothing for them, or go on."""
        if paused != self._surroundings.paused:
            self._surroundings.paused = paused
            for running in list(self._running.values()):
                self._carry_out(running, running.pause)

    @staticmethod
    def _carry_out(running: Generation, action: Callable[[], _T]) -> _T | None:
        """Do something with a request. A fault of ours there ends that request, and nothing else."""
        try:
            return action()
        except Exception:
            running.break_off()
            return None

    # Ending ----------------------------------------------------------------------------------------------------

    def refuse(self, request: int | None, refusal: Refused) -> None:
        """Answer a message with an error.

        It carries the request's id, unless a request of that id is running: to the client it would end that one.
        """
        self._service.metrics.message_refused(refusal.code)
        named = None if request in self._running else request
        self._send(Error(named, refusal.code, refusal.message, refusal.retryable, refusal.retry_after_ms))

    def _refusal(self, error: Exception, names: Mapping[str, object]) -> Refused:
        if isinstance(error, Refused):
            return error
        logger.error("request could not be prepared", **names, exc_info=error)
        return Refused(ErrorCode.INTERNAL_ERROR, FAULT)

    def _release(self, request: Generation) -> None:
        del self._running[request.request]
        self._service.metrics.running.dec()
        if self._usage is not None:
            self._usage.requests_started(-1)
        self._free_streams.append(request.stream)
        self._warmer.request_ended(request.request)

    def _request_ended(self, request: Generation) -> None:
        self._release(request)
        self._ended[request.request] = None
        if len(self._ended) > self._service.limits.remembered_requests:
            self._ended.popitem(last=False)
