"""The routes: from a request's body to a sequence in the engine."""

from __future__ import annotations

import asyncio
import hashlib
import random
import secrets
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import msgspec
import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from warmline.engine import GenerationRequest, ModelInfo, SamplingParams, pack_tokens

from ..access.accounts import RETRY_SECONDS, Usage
from ..access.keys import ANYBODY, ApiKey
from ..access.over_limit import over_limit
from ..errors import FAULT, Refused
from ..prompting.chat_template import Role
from ..prompting.planning import LONG_PLAN_CHARS
from ..prompting.windows import MAX_CHARS_PER_TOKEN
from ..protocol import ErrorCode
from ..service import Service
from ..telemetry.trace_context import trace_names, valid_traceparent
from ..telemetry.tracing import Trace, clock
from .answers import Answer, ChatAnswer, CompletionAnswer
from .bodies import ChatBody, Common, CompletionBody, Message, parse, text_of
from .guard import USAGE
from .problems import HttpCode, Problem
from .reply import Reply
from .responses import DEAD, StreamResponse, WholeResponse

logger = structlog.get_logger("warmline.http")

_COMPLETION_TOKENS: Final = 16
"""What a completion may have where the request doesn't say, as in OpenAI's API."""
_BODY_TIMEOUT: Final = 30.0
_ROLES: Final[dict[str, Role]] = {
    "system": "system", "developer": "system", "user": "user", "assistant": "assistant",
}  # fmt: skip
_MESSAGE_CHARS: Final = 16
"""What a template writes around a message, at least about so many characters."""
_BODY_SLACK: Final = 1 << 20
"""Bytes of a body beside its text."""

_Plan = Callable[[], list[int]]


@dataclass(frozen=True, slots=True)
class _Job:
    """What a request asks for.

    Attributes:
        kind: what metrics call it.
        plan: makes the tokens of its prompt, in whatever thread.
        chars: about how many characters there are to tokenise.
    """

    kind: str
    body: Common
    sampling: SamplingParams
    plan: _Plan
    chars: int
    trace: Trace
    traceparent: str | None
    answer: Answer


class Api:
    """Answers requests that were let in. ``health`` returns what is wrong with the service, or None."""

    def __init__(self, service: Service, server: str, health: Callable[[], str | None]) -> None:
        self._service = service
        self._health = health
        self._model = service.engine.model
        self._fingerprint = _fingerprint(server, self._model)
        self._started = int(time.time())
        self._draining_until: float | None = None  # by `time.monotonic`
        self._replies: dict[Reply, ApiKey] = {}
        self._answering: dict[Reply, Callable[[], bool]] = {}  # and whether nobody takes the answer
        self._running: Counter[str] = Counter()

    def application(self) -> Starlette:
        """The routes as an ASGI application."""
        routes = [
            Route("/v1/completions", self._complete, methods=["POST"]),
            Route("/v1/chat/completions", self._chat, methods=["POST"]),
            Route("/v1/models", self._models, methods=["GET"]),
            Route("/v1/models/{model:path}", self._models, methods=["GET"]),
            Route("/healthz", self._healthz, methods=["GET"]),
        ]
        handlers: dict[Any, Any] = {
            Problem: self._problem,
            Refused: self._refusal,
            HTTPException: self._not_routed,
            Exception: self._fault,
        }
        app = Starlette(routes=routes, exception_handlers=handlers)
        app.router.redirect_slashes = False
        return app

    @property
    def drained(self) -> bool:
        """Whether every request has ended and its connection was given the answer."""
        return not self._replies and not self._answering

    @property
    def dead(self) -> bool:
        """Whether nobody takes the answer of any request, for a while in which this was asked."""
        waited_for = [reply for reply, dead in self._answering.items() if not dead()]  # each is asked
        return not waited_for

    def drain(self, seconds: float) -> None:
        """The server goes away in so many seconds: take no more requests. Those that run go on."""
        self._draining_until = time.monotonic() + seconds

    def stop_requests(self) -> None:
        """End all requests."""
        for reply in list(self._replies):
            reply.give_up(self._restarting())

    def revoke(self, revoked: Callable[[ApiKey], str | None]) -> None:
        """End the requests of keys that let nobody in any more; ``revoked`` says why a key doesn't."""
        for reply, key in list(self._replies.items()):
            if (why := revoked(key)) is not None:
                reply.give_up(Problem(ErrorCode.UNAUTHORIZED, why))

    # Routes ----------------------------------------------------------------------------------------------------

    async def _complete(self, request: Request) -> StreamResponse | WholeResponse:
        received = clock()
        available = self._model.max_sequence_tokens
        body = parse(await self._body(request), CompletionBody, available)
        prompt, suffix = body.text_or_tokens(available), body.suffix or ""
        trace = Trace(received, clock())
        if isinstance(prompt, str):
            plan: _Plan = partial(self._service.prompts.raw, prompt, suffix)
        elif suffix:
            raise Problem(ErrorCode.INVALID_PARAMETER, "a suffix needs a prompt of text", "suffix")
        else:
            self._check_tokens(prompt, "prompt")
            plan = prompt.copy
        ends = self._service.prompts.ends(prompt, suffix) if isinstance(prompt, str) else ()
        sampling = body.sampling(random.getrandbits(48), ends, _COMPLETION_TOKENS)
        job = _Job(
            "http_completion",
            body,
            sampling,
            plan,
            len(prompt) + len(suffix),
            trace,
            valid_traceparent(request.headers.get("traceparent")),
            self._answer(CompletionAnswer, "cmpl", body, sampling),
        )
        return await self._generate(job, request)

    async def _chat(self, request: Request) -> StreamResponse | WholeResponse:
        received = clock()
        body = parse(await self._body(request), ChatBody, self._model.max_sequence_tokens)
        trace = Trace(received, clock())
        chat, messages = self._service.chat, body.messages
        self._check_chars(_MESSAGE_CHARS * len(messages))
        roles = [_role(message, number) for number, message in enumerate(messages)]
        contents = [
            text_of(message.content, f"messages[{number}].content", "\n") for number, message in enumerate(messages)
        ]
        sampling = body.sampling(random.getrandbits(48), chat.stop, self._model.max_sequence_tokens)
        job = _Job(
            "http_chat",
            body,
            sampling,
            partial(chat.whole, roles, contents),
            sum(map(len, contents)) + _MESSAGE_CHARS * len(messages),
            trace,
            valid_traceparent(request.headers.get("traceparent")),
            self._answer(ChatAnswer, "chatcmpl", body, sampling),
        )
        return await self._generate(job, request)

    async def _models(self, request: Request) -> Response:
        self._check_model(request.path_params.get("model", ""))
        model = {
            "id": self._model.name,
            "object": "model",
            "created": self._started,
            "owned_by": "warmline",
            "context_length": min(self._model.context_length, self._model.max_sequence_tokens),
        }
        whole: Any = model if "model" in request.path_params else {"object": "list", "data": [model]}
        return Response(msgspec.json.encode(whole), media_type="application/json")

    async def _healthz(self, request: Request) -> Response:
        problem = self._health()
        return PlainTextResponse(f"{problem or 'ok'}\n", 200 if problem is None else 503)

    # Generating ------------------------------------------------------------------------------------------------

    async def _generate(self, job: _Job, request: Request) -> StreamResponse | WholeResponse:
        """Submit a sequence; returns the response that writes its text."""
        service, body = self._service, job.body
        usage: Usage = request.scope["state"][USAGE]
        salt = usage.key.salt
        self._check_model(body.model)
        self._check_tokens(job.sampling.logit_bias, "logit_bias")
        available, limit = self._model.max_sequence_tokens, service.limits.max_requests
        self._check_chars(job.chars)
        predicted = body.draft()[: MAX_CHARS_PER_TOKEN * available]
        if self._draining_until is not None:
            raise self._restarting()
        if self._running[salt] >= limit:
            raise over_limit(
                service.metrics,
                "connection",
                "requests",
                ErrorCode.TOO_MANY_REQUESTS,
                f"may have {limit} requests running at once, and over HTTP a key no more; wait for one to end",
                RETRY_SECONDS,
            )
        usage.check_request()

        def tokens() -> tuple[list[int], list[int] | None]:
            # Of a prediction no more is any use than an answer can have.
            return job.plan(), service.chat.tokenizer.encode(predicted)[:available] if predicted else None

        def ended(reply: Reply) -> None:
            del self._replies[reply]
            service.metrics.running.dec()
            self._leave(usage)

        self._running[salt] += 1
        usage.requests_started(1)
        try:
            if job.chars + len(predicted) > LONG_PLAN_CHARS:
                prompt, draft = await asyncio.get_running_loop().run_in_executor(service.threads, tokens)
            else:
                prompt, draft = tokens()
            if self._draining_until is not None:
                raise self._restarting()
            sequence = GenerationRequest(
                id=service.engine.next_id(),
                prompt=pack_tokens(prompt),
                sampling=job.sampling,
                salt=salt,
                client=_peer(request),
                draft=None if draft is None else pack_tokens(draft),
            )
        except BaseException:
            self._leave(usage)
            raise
        owner = {"key": usage.key.name} if usage.key is not ANYBODY else {}
        names = {**owner, "request": job.answer.id, "kind": job.kind, **trace_names(job.traceparent)}
        reply = Reply(sequence, job.kind, job.trace, service, ended, names, usage)
        service.metrics.running.inc()
        self._replies[reply] = usage.key
        reply.start()
        self._answering[reply] = request.scope["state"][DEAD]
        response = StreamResponse if body.stream else WholeResponse
        return response(reply, job.answer, service, partial(self._answering.pop, reply))

    def _leave(self, usage: Usage) -> None:
        salt = usage.key.salt
        usage.requests_started(-1)
        self._running[salt] -= 1
        if not self._running[salt]:
            del self._running[salt]

    def _answer(self, kind: type[Answer], prefix: str, body: Common, sampling: SamplingParams) -> Answer:
        return kind(
            f"{prefix}-{secrets.token_hex(12)}",
            self._model.name,
            self._fingerprint,
            usage=body.includes_usage,
            predicted=body.prediction is not None,
            token_bytes=None if sampling.logprobs is None else self._service.chat.tokenizer.token_bytes,
        )

    def _check_model(self, name: str) -> None:
        if name not in ("", self._model.name):
            raise Problem(
                HttpCode.MODEL_NOT_FOUND, f"there is no model {name[:80]!r} here, only {self._model.name!r}", "model"
            )

    def _check_chars(self, chars: int) -> None:
        available = self._model.max_sequence_tokens
        if chars > MAX_CHARS_PER_TOKEN * available:
            raise Problem(
                ErrorCode.PROMPT_TOO_LONG,
                f"the prompt needs over {chars // MAX_CHARS_PER_TOKEN} tokens, and {available} are available",
            )

    def _check_tokens(self, tokens: Collection[int], param: str) -> None:
        vocabulary = self._model.vocabulary
        if tokens and not 0 <= min(tokens) <= max(tokens) < vocabulary:
            token = next(token for token in tokens if not 0 <= token < vocabulary)
            raise Problem(
                ErrorCode.INVALID_PARAMETER,
                f"{param}: the token {token} is outside the vocabulary, which ends at {vocabulary - 1}",
                param,
            )

    async def _body(self, request: Request) -> bytearray:
        """A request's whole body.

        Raises:
            Problem: it is too large, or doesn't come.

        """
        # Prompt and prediction, in characters of at most six bytes (JSON's escapes).
        fitting = 2 * 6 * MAX_CHARS_PER_TOKEN * self._model.max_sequence_tokens + _BODY_SLACK
        most = min(self._service.limits.max_frame_bytes, fitting)
        too_large = Problem(HttpCode.REQUEST_TOO_LARGE, f"the body is too large; at most {most} bytes are taken")
        declared = request.headers.get("content-length", "0")
        if not declared.isdecimal() or int(declared) > most:
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(_BODY_TIMEOUT):
                async for chunk in request.stream():
                    body += chunk
                    if len(body) > most:
                        raise too_large
        except (TimeoutError, ClientDisconnect):
            raise Problem(HttpCode.REQUEST_TIMEOUT, "the body did not come in time") from None
        return body

    def _restarting(self) -> Problem:
        left = 0.0 if self._draining_until is None else self._draining_until - time.monotonic()
        return Problem(ErrorCode.ENGINE_UNAVAILABLE, "the server restarts; try again", retry_after=max(1.0, left))

    # What went wrong -------------------------------------------------------------------------------------------

    async def _refusal(self, request: Request, refusal: Exception) -> Response:
        assert isinstance(refusal, Refused)
        return await self._problem(request, Problem(refusal.code, refusal.message, retry_after=refusal.retry_after))

    async def _problem(self, request: Request, problem: Exception) -> Response:
        assert isinstance(problem, Problem)
        return self._answered(problem)

    async def _not_routed(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        problem = Problem(HttpCode.NOT_FOUND, "there are /v1/completions, /v1/chat/completions and /v1/models")
        if error.status_code == 405:
            problem = Problem(HttpCode.METHOD_NOT_ALLOWED, f"{request.method} is not answered here")
        return self._answered(problem, error.headers)

    async def _fault(self, request: Request, error: Exception) -> Response:
        names = trace_names(valid_traceparent(request.headers.get("traceparent")))
        logger.error("request failed", path=request.url.path, **names, exc_info=error)
        return self._answered(Problem(ErrorCode.INTERNAL_ERROR, FAULT))

    def _answered(self, problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
        self._service.metrics.http_refused(problem.code)
        return Response(problem.body(), problem.status, {**problem.headers, **(headers or {})})


def _role(message: Message, number: int) -> Role:
    role = _ROLES.get(message.role)
    if role is None or message.calls_tools:
        what = "tool calls" if role is not None else f"messages of the role {message.role[:40]!r}"
        raise Problem(
            ErrorCode.INVALID_PARAMETER,
            f"{what} are not supported here: give their text to a message of the role {', '.join(_ROLES)}",
            f"messages[{number}]",
        )
    return role


def _peer(request: Request) -> str:
    """Between whom the engine's time is shared evenly: each connection is one, as each session is."""
    host, port = request.client or ("", 0)
    return f"http {host} {port}"


def _fingerprint(server: str, model: ModelInfo) -> str:
    """What the text for a seed depends on beside the request (OpenAI's `system_fingerprint`)."""
    what = (server, model.name, model.adapter, model.backend, model.kernels)
    return f"fp_{hashlib.sha256(repr(what).encode()).hexdigest()[:12]}"
