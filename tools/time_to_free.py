"""How soon a request that is ended or turned is so: at its client, and in the engine.

    python -m tools.time_to_free [--rounds 10] [--lines 100]

A service of its own with the default model; each of the five ways to end or turn a request in turn, while the request
is in its prompt and while it is in its text, each in a new text that nothing of is computed. At the client: from the
call to the terminal frame of the request (steer: to the answer that says which operations stay), over a socket.
In the engine: from the gateway's sending the cancel to the blocks of the sequence being free. A table in Markdown,
in milliseconds: the median, and the most.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import time
import urllib.request
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Annotated, Final, Literal

import typer
from warmline.client import Completion, Document, EditStream, Session, connect
from warmline.realtime.benchmarks.service import running_service

Moment = Literal["prompt", "text"]
Stream = Completion | EditStream

MAX_TOKENS: Final = 400
IN_PROMPT: Final = 0.3
"""When a request is turned in its prompt: after so much of what its first piece takes to come."""
METRIC: Final = "warmline_engine_cancel_free_seconds"
SETTLE_SECONDS: Final = 0.6
"""The engine tells its counters twice a second."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A way to turn a request; ``act`` returns once the client was told, with a request that it made for that."""

    name: str
    is_edit: bool
    act: Callable[[Session, Document, Stream], Awaitable[Stream | None]]


async def _cancel(_: Session, __: Document, stream: Stream) -> None:
    stream.cancel()
    await stream.result()


async def _supersede(session: Session, document: Document, stream: Stream) -> Stream:
    newer = session.complete(document, 0, max_tokens=1)
    await stream.result()
    return newer


async def _interrupt(_: Session, __: Document, stream: Stream) -> None:
    stream.interrupt()
    await stream.result()


async def _steer(_: Session, __: Document, stream: Stream) -> None:
    assert isinstance(stream, EditStream)
    await stream.steer("and return 0 where there is nothing")


async def _conflict(_: Session, document: Document, stream: Stream) -> None:
    await document.change(0, len(document.text), "")
    await stream.result()


TURNS: Final = (
    Turn("cancel", False, _cancel),
    Turn("supersede", False, _supersede),
    Turn("interrupt", False, _interrupt),
    Turn("steer", True, _steer),
    Turn("conflict", True, _conflict),
)


@dataclass(slots=True)
class Times:
    """Seconds of each round. A request that is past the moment when its turn comes has none."""

    client: list[float] = field(default_factory=list)
    engine: list[float] = field(default_factory=list)


def fresh_text(lines: int) -> str:
    """Code whose every line is new."""
    names = ["".join(random.choices("abcdefghij", k=7)) for _ in range(lines)]
    return "".join(f"{name} = {number} * count\n" for number, name in enumerate(names))


def _freed(url: str) -> tuple[float, float]:
    """How many cancelled requests the engine has freed, and the seconds of all together."""
    with urllib.request.urlopen(url.replace("ws://", "http://") + "/metrics") as answer:
        lines = dict(line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if line.startswith(METRIC))
    return float(lines[f"{METRIC}_count"]), float(lines[f"{METRIC}_sum"])


def _begin(session: Session, document: Document, is_edit: bool) -> Stream:
    if is_edit:
        return session.edit(document, (0, len(document.text)), "rename count to amount", max_tokens=MAX_TOKENS)
    return session.complete(document, len(document.text), max_tokens=MAX_TOKENS, temperature=1.0)


def _has_come(stream: Stream) -> bool:
    """Whether the client was sent anything of a request."""
    return bool(stream.operations if isinstance(stream, EditStream) else stream.text)


@asynccontextmanager
async def _document(session: Session, lines: int) -> AsyncIterator[Document]:
    document = await session.open(f"file:///{random.getrandbits(64):x}.py", fresh_text(lines), "python")
    try:
        yield document
    finally:
        await document.close()


async def _first_piece(session: Session, lines: int, is_edit: bool) -> float:
    """Seconds to the first piece of a request whose prompt is computed whole."""
    async with _document(session, lines) as document:
        began = time.perf_counter()
        stream = _begin(session, document, is_edit)
        await anext(stream, None)
        took = time.perf_counter() - began
        stream.cancel()
        await stream.result()
        return took


async def _once(session: Session, lines: int, turn: Turn, moment: Moment, wait: float, times: Times) -> None:
    async with _document(session, lines) as document:
        count, seconds = await asyncio.to_thread(_freed, session.url)
        stream = _begin(session, document, turn.is_edit)
        if moment == "prompt":
            await asyncio.sleep(wait)
        else:
            await anext(stream, None)
        if stream.ended or (moment == "prompt" and _has_come(stream)):
            stream.cancel()
            await stream.result()
            return
        began = time.perf_counter()
        made = await turn.act(session, document, stream)
        times.client.append(time.perf_counter() - began)
        if made is not None:
            await made.result()
        counted, freed = await _settled(session.url)
        if counted > count:
            times.engine.append((freed - seconds) / (counted - count))
        stream.cancel()
        await stream.result()


async def _measure(rounds: int, lines: int) -> dict[tuple[str, Moment], Times]:
    moments: tuple[Moment, ...] = ("prompt", "text")
    times: defaultdict[tuple[str, Moment], Times] = defaultdict(Times)
    async with running_service() as service, connect(service.url) as session:
        waits = {is_edit: IN_PROMPT * await _first_piece(session, lines, is_edit) for is_edit in (False, True)}
        for _ in range(rounds):
            for turn in TURNS:
                for moment in moments:
                    await _once(session, lines, turn, moment, waits[turn.is_edit], times[turn.name, moment])
    return times


async def _settled(url: str) -> tuple[float, float]:
    """What `_freed` says once the engine has told of all that was cancelled."""
    await asyncio.sleep(SETTLE_SECONDS)
    return await asyncio.to_thread(_freed, url)


def _figures(seconds: list[float]) -> str:
    return f"{statistics.median(seconds) * 1e3:.1f} ({max(seconds) * 1e3:.1f})" if seconds else "-"


def main(
    rounds: Annotated[int, typer.Option(min=1, help="How often each way has its turn.")] = 10,
    lines: Annotated[int, typer.Option(min=1, help="Lines of the texts.")] = 100,
) -> None:
    """Measure, and print the table."""
    times = asyncio.run(_measure(rounds, lines))
    typer.echo("| turned by | in its | at the client | in the engine | times |\n| --- | --- | --- | --- | --- |")
    for (name, moment), got in times.items():
        typer.echo(f"| {name} | {moment} | {_figures(got.client)} | {_figures(got.engine)} | {len(got.client)} |")


if __name__ == "__main__":
    typer.run(main)
