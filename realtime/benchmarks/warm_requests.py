"""The measurements of `warmline bench warm`, over the SDK: cold and warm requests, cancels, and typing."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from warmline.client import Document, Session, connect
from warmline.client import Result as RequestResult

from .warm_texts import FreshText, Typing

Kind = Literal["complete", "edit"]
Moment = Literal["prefill", "decode"]
"""What a request is in when it is cancelled: its prompt, or its text."""

KEY_SECONDS: Final = 0.08
"""Between two keys: 150 words a minute."""
SUGGESTED_TOKENS: Final = 16
"""What a completion while typing may have."""
_CANCELLED_TOKENS: Final = 512
"""What a completion that is cancelled may have."""
_INSTRUCTION: Final = "Add type annotations"
_CALIBRATION_CHARS: Final = 4000
_PAUSE_SECONDS: Final = 0.3
"""Beyond the time that the warm work itself should take."""
_OTHERS_SECONDS: Final = 1.5
"""How often each other session names a new place."""
_LONGEST_PAUSE: Final = 10.0


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
    """

    ttft: int | None
    prefill: int
    prompt: int
    ready: int
    warmed: int
    reason: str

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
    """What a character of code costs this service, by what it says itself."""

    tokens: float
    seconds: float

    @classmethod
    async def measure(cls, service: Service, fresh: FreshText) -> Scale:
        """Ask for a token of an edit of a text that it has never seen."""
        async with service.connect() as session:
            text = fresh(_CALIBRATION_CHARS)
            sample = await cold(session, text, "edit")  # a completion may be shown a part of it only
        return cls(sample.prompt / len(text), (sample.ttft or 0) / 1e6 / len(text))

    def chars(self, tokens: int) -> int:
        """The length of a text of about so many tokens."""
        return round(tokens / self.tokens)

    def pause(self, chars: int, sessions: int = 1) -> float:
        """Seconds in which a prompt of so many characters should be warm while so many sessions warm theirs."""
        return min(_PAUSE_SECONDS + 2 * self.seconds * chars * sessions, _LONGEST_PAUSE)


async def one_token(session: Session, document: Document, kind: Kind) -> Sample:
    """Ask for one token after the whole text, or of an edit of all of it.

    Such a request's end is its first token's arrival, also for an edit, of which a token rarely makes an operation.
    """
    end = len(document.text)
    if kind == "complete":
        result: RequestResult = await session.complete(document, end, max_tokens=1).result()
    else:
        result = await session.edit(document, (0, end), _INSTRUCTION, max_tokens=1).result()
    return sample_of(result, result.timing.end_to_end)


async def cold(session: Session, text: str, kind: Kind) -> Sample:
    """A request for a text that the service has never seen. It comes right behind the text, so nothing is warm."""
    document = await session.open(f"file:///cold/{text[:40].strip()}", "", "python")
    await document.change(0, 0, text)
    sample = await one_token(session, document, kind)
    await document.close()
    return sample


async def warm(session: Session, text: str, kind: Kind, pause: float) -> Sample:
    """The same, a pause after the service was told where the request would come."""
    document = await session.open(f"file:///warm/{text[:40].strip()}", text, "python")
    await expect(document, kind)
    await asyncio.sleep(pause)
    sample = await one_token(session, document, kind)
    await document.close()
    return sample


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


async def expect(document: Document, kind: Kind) -> None:
    """Tell the service what `one_token` will ask."""
    end = len(document.text)
    await (document.warm(end) if kind == "complete" else document.warm(0, end))


@contextlib.asynccontextmanager
async def others_warming(service: Service, sessions: int, fresh: FreshText, chars: int) -> AsyncIterator[None]:
    """So many sessions that keep naming places in new texts of this length."""

    async def wander(number: int) -> None:
        await asyncio.sleep(_OTHERS_SECONDS * number / sessions)
        async with service.connect() as session:
            while True:
                document = await session.open("file:///other", fresh(chars), "python")
                await expect(document, "complete")
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


async def type_keys(service: Service, typing: Typing, every: int, pause: float) -> list[Sample]:
    """Type, a pause after saying where, and ask for a completion behind one in ``every`` keys.

    A newer completion supersedes the one before.
    """
    async with service.connect() as session:
        document = await session.open(f"file:///typed/{typing.text[:40].strip()}", typing.text, typing.language)
        await document.warm(typing.index)
        await asyncio.sleep(pause)
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
