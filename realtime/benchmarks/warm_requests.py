"""The measurements of `warmline bench warm`, over the SDK: cold and warm requests, cancels, and typing."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from warmline.client import Document, Session, connect
from warmline.client import Result as RequestResult

from .warm_texts import FreshText, Typing

Kind = Literal["complete", "edit"]
Moment = Literal["prefill", "decode"]
"""What a request is in when it is cancelled: its prompt, or its text."""

Wait = Callable[[Callable[[], Awaitable[None]]], Awaitable[float | None]]
"""Calls what names a place, and waits until it should be warm; returns the seconds that took, if it was seen."""

KEY_SECONDS: Final = 0.08
"""Between two keys: 150 words a minute."""
SUGGESTED_TOKENS: Final = 16
"""What a completion while typing may have."""
_CANCELLED_TOKENS: Final = 512
"""What a completion that is cancelled may have."""
_INSTRUCTION: Final = "Add type annotations"
_CALIBRATION_CHARS: Final = ((1000, 4000), (4000, 12_000))
"""Lengths of two texts that are asked for to learn what characters cost, and of longer ones for larger contexts."""
_LARGE_CONTEXT: Final = 8000
_OTHERS_SECONDS: Final = 1.5
"""How often each other session names a new place."""


@dataclass(frozen=True, slots=True)
class Service:
    """The service under test."""

    url: str
    api_key: str | None

    def connect(self) -> contextlib.AbstractAsyncContextManager[Session]:
        """A new session, with a budget of its own for warm work."""
        return connect(self.url, token=self.api_key)


@dataclass(frozen=True, slots=True)
class Sample:
    """One request. Times are in microseconds.

    Attributes:
        ttft: from the call to its first token; None if it had none.
        prefill: the passes over what of the prompt was not ready.
        ready: prompt tokens found computed; ``warmed`` of them by warm work, for the first request that used them.
        warming: what the warm work before it took, as far as that was seen.
    """

    ttft: int | None
    prefill: int
    prompt: int
    ready: int
    warmed: int
    reason: str
    warming: int | None = None

    @property
    def tail(self) -> int:
        """The prompt tokens that the request had to compute."""
        return self.prompt - self.ready


def sample_of(result: RequestResult, ttft: int | None) -> Sample:
    """What a result says."""
    receipt = result.receipt
    ready = receipt.warmed_tokens + receipt.cached_tokens
    return Sample(
        ttft, result.timing.engine_prefill, receipt.prompt_tokens, ready, receipt.warmed_tokens, result.reason
    )


@dataclass(frozen=True, slots=True)
class Scale:
    """What characters of code cost this service, by what it says itself of an edit's prompt.

    Attributes:
        tokens: of a character.
        around: tokens of a prompt that are not the text's.
        seconds: until the first token, a character.
    """

    tokens: float
    around: float
    seconds: float

    @classmethod
    async def measure(cls, service: Service, fresh: FreshText) -> Scale:
        """Ask for a token of edits of two texts that it has never seen."""
        async with service.connect() as session:
            lengths = _CALIBRATION_CHARS[session.context_length >= _LARGE_CONTEXT]
            # A completion may be shown a part of them only.
            short, long = [await cold(session, Asked.whole("edit", fresh(chars))) for chars in lengths]
        tokens = (long.prompt - short.prompt) / (lengths[1] - lengths[0])
        return cls(tokens, max(short.prompt - tokens * lengths[0], 0), (long.ttft or 0) / 1e6 / lengths[1])

    def chars(self, tokens: int) -> int:
        """The length of a text of which an edit's prompt has about so many tokens."""
        return max(round((tokens - self.around) / self.tokens), 1)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked for: a completion behind a text, or an edit of a range of it."""

    kind: Kind
    text: str
    span: tuple[int, int]

    @classmethod
    def whole(cls, kind: Kind, text: str) -> Asked:
        """A completion at the end, or an edit of all of it."""
        return cls(kind, text, (len(text) if kind == "complete" else 0, len(text)))


async def one_token(session: Session, document: Document, asked: Asked) -> Sample:
    """Ask for one token.

    Such a request's end is its first token's arrival, also for an edit, of which a token rarely makes an operation.
    """
    if asked.kind == "complete":
        result: RequestResult = await session.complete(document, asked.span[1], max_tokens=1).result()
    else:
        result = await session.edit(document, asked.span, _INSTRUCTION, max_tokens=1).result()
    return sample_of(result, result.timing.end_to_end)


async def cold(session: Session, asked: Asked) -> Sample:
    """A request for a text that the service has never seen. It comes right behind the text, so nothing is warm."""
    document = await session.open(f"file:///cold/{asked.text[:40].strip()}", "", "python")
    await document.change(0, 0, asked.text)
    sample = await one_token(session, document, asked)
    await document.close()
    return sample


async def warm(session: Session, asked: Asked, wait: Wait) -> Sample:
    """The same, once what the service was told to expect is warm."""
    document = await session.open(f"file:///warm/{asked.text[:40].strip()}", asked.text, "python")
    seconds = await wait(lambda: expect(document, asked))
    sample = await one_token(session, document, asked)
    await document.close()
    return replace(sample, warming=None if seconds is None else round(seconds * 1e6))


async def cancelled(session: Session, text: str, moment: Moment, cold: float) -> int | None:
    """Microseconds from the cancel of a completion to its terminal frame; None if it ended by itself before.

    ``cold`` is what its first token takes, in seconds: in half of that it is in its prompt.
    """
    document = await session.open(f"file:///cancelled/{text[:40].strip()}", "", "python")
    await document.change(0, 0, text)
    stream = session.complete(document, len(text), max_tokens=_CANCELLED_TOKENS)
    if moment == "prefill":
        await asyncio.sleep(cold / 2)
    else:
        await anext(stream, None)
    began = time.perf_counter_ns()
    stream.cancel()
    result = await stream.result()
    took = (time.perf_counter_ns() - began) // 1000
    await document.close()
    # One that has text was not in its prompt any more.
    in_time = result.reason == "cancel" and (moment == "decode" or not result.receipt.output_tokens)
    return took if in_time else None


async def expect(document: Document, asked: Asked) -> None:
    """Tell the service what `one_token` will ask."""
    start, end = asked.span
    await (document.warm(end) if asked.kind == "complete" else document.warm(start, end))


@contextlib.asynccontextmanager
async def others_warming(service: Service, sessions: int, fresh: FreshText, chars: int) -> AsyncIterator[None]:
    """So many sessions that keep naming places in new texts of this length."""

    async def wander(number: int) -> None:
        await asyncio.sleep(_OTHERS_SECONDS * number / sessions)
        async with service.connect() as session:
            while True:
                document = await session.open("file:///other", fresh(chars), "python")
                await document.warm(chars)
                await asyncio.sleep(_OTHERS_SECONDS)
                await document.close()

    tasks = [asyncio.create_task(wander(number)) for number in range(sessions)]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    for outcome in ended:
        if isinstance(outcome, Exception):
            raise outcome


async def type_keys(service: Service, typing: Typing, every: int, wait: Wait) -> list[Sample]:
    """Say where, type once that is warm, and ask for a completion behind one in ``every`` keys.

    A newer completion supersedes the one before.
    """
    async with service.connect() as session:
        document = await session.open(f"file:///typed/{typing.text[:40].strip()}", typing.text, typing.language)
        await wait(lambda: document.warm(typing.index))
        requests = []
        began = time.perf_counter()
        for number, key in enumerate(typing.keys):
            await asyncio.sleep(began + number * KEY_SECONDS - time.perf_counter())
            at = typing.index + number
            await document.change(at, at, key)
            if number % every == every - 1:
                requests.append(session.complete(document, at + 1, max_tokens=SUGGESTED_TOKENS))
        results: Sequence[RequestResult] = await asyncio.gather(*(request.result() for request in requests))
        return [sample_of(result, result.ttft) for result in results]
