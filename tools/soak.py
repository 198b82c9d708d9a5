"""Many people for a while: idle sessions, active ones, and some whose network breaks. ``make soak``.

Every text that an active client gets is compared with one that was generated without speculation and alone, so a
character that is lost, doubled or another's is a difference. At the end all sessions must be alive, and once they are
gone the service must have nothing of them left.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from itertools import cycle
from statistics import median
from typing import Annotated, Final
from urllib.parse import urlsplit

import typer
from warmline.client import Reconnect, Session, WarmlineError, connect
from warmline.loadtest.snippets import SNIPPETS, Snippet
from warmline.realtime.benchmarks.service import running_service
from warmline.realtime.sockets.open_files import allow_sockets
from warmline.realtime.telemetry.scrape import MetricsPage
from warmline.realtime.top.figures import Figures

from .fault_proxy import FaultProxy

OPENING: Final = 50
"""Sessions that are opened at a time."""
MAX_TOKENS: Final = 16
SEEDS: Final = 4
FAULT_SECONDS: Final = 3.0
"""About how often the flaky ones' network breaks."""
HOLE_SECONDS: Final = 1.5
"""How long it stays a black hole, about: some holes heal, and some are given up for another socket."""
MOST_GROWTH: Final = 0.05
"""Of the gateway's memory once it is warm, as a share."""
FEW_LOOKS: Final = 60
"""With fewer looks at the memory its growth is what there is to warm, and nothing is said of it."""
MOST_PER_IDLE: Final = 30 << 10
"""Bytes of the gateway for each idle session."""
FEW_IDLE: Final = 500
"""With fewer idle sessions what the allocator takes at a time is more than they do."""
LOOK_SECONDS: Final = 1.0
FAULTS: Final = ("reset", "half-close", "black hole")
"""What the network does, in turn."""
_SETTLE_SECONDS: Final = 30.0
_PATIENT: Final = Reconnect(first=0.05, longest=1.0)


@dataclass(frozen=True, slots=True)
class Plan:
    """How many, and how long.

    Attributes:
        flaky: the share of active sessions whose network breaks now and then.
    """

    idle: int
    active: int
    seconds: float
    flaky: float = 0.1
    seed: int = 1


@dataclass(slots=True)
class Outcome:
    """What came of it.

    Attributes:
        per_idle: bytes that the gateway grew for each idle session.
        memory: bytes that the gateway had, look for look, while there was activity.
        breaks: what the network of the flaky ones did, and how often.
        faults: what must not be, by its name; nothing if all is well.
    """

    plan: Plan
    answers: int = 0
    breaks: Counter[str] = field(default_factory=Counter)
    per_idle: float = 0.0
    memory: list[float] = field(default_factory=list)
    slowest_ping_us: int = 0
    faults: Counter[str] = field(default_factory=Counter)

    @property
    def growth(self) -> float:
        """Of the gateway from the second quarter of the time to the last, as a share; the first is to warm up.

        The medians of both: a single large answer that is in memory at a look is no growth.
        """
        quarter = len(self.memory) // 4
        if quarter == 0:
            return 0.0
        return median(self.memory[-quarter:]) / median(self.memory[quarter : 2 * quarter]) - 1

    def judge(self) -> None:
        """Count as faults what the gateway took too much of."""
        if len(self.memory) >= FEW_LOOKS and self.growth > MOST_GROWTH:
            self.faults[f"the gateway grew by {self.growth:.1%} once it was warm, more than {MOST_GROWTH:.0%}"] += 1
        if self.plan.idle >= FEW_IDLE and self.per_idle > MOST_PER_IDLE:
            took = f"{self.per_idle / 1024:.1f} KiB, more than {MOST_PER_IDLE >> 10}"
            self.faults[f"an idle session takes {took}"] += 1


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked; the same question has the same answer, whoever asks."""

    snippet: Snippet
    edit: bool
    position: int
    seed: int

    async def ask(self, session: Session, uri: str, speculation: str) -> str:
        """Ask it about a document of its own, and give the text that streamed."""
        snippet = self.snippet
        document = await session.open(uri, snippet.text, snippet.language)
        sampling = {"temperature": 0.8, "seed": self.seed, "max_tokens": MAX_TOKENS, "speculation": speculation}
        if self.edit:
            edit = session.edit(document, snippet.span, snippet.instruction, **sampling)  # type: ignore[arg-type]
            text = (await edit.result()).text
        else:
            completion = session.complete(document, self.position, **sampling)  # type: ignore[arg-type]
            text = "".join([piece async for piece in completion])
            if (await completion.result()).text != text:
                raise AssertionError("the deltas are not the result")
        await document.close()
        return text


def questions() -> Iterator[Question]:
    """All that is asked."""
    for snippet in SNIPPETS:
        for seed in range(SEEDS):
            yield Question(snippet, True, 0, seed)
            yield Question(snippet, False, snippet.text.index("\n", 40 * (seed + 1)), seed)


async def soak(url: str, plan: Plan) -> Outcome:
    """Run it against a service that nobody else uses."""
    outcome, page = Outcome(plan), MetricsPage(url, None)
    before = await _figures(page)
    expected = await _expected(url)
    started = await _figures(page)
    async with _idle(url, plan.idle) as idle:
        full = await _figures(page)
        outcome.per_idle = (_memory(full) - _memory(started)) / max(plan.idle, 1)
        await _activity(url, plan, expected, outcome, page)
        for session in idle:
            try:
                outcome.slowest_ping_us = max(outcome.slowest_ping_us, await session.ping())
            except WarmlineError as error:
                outcome.faults[f"an idle session is dead: {error}"] += 1
    await _check_nothing_is_left(page, before, outcome)
    outcome.judge()
    return outcome


async def _expected(url: str) -> dict[Question, str]:
    """The answers of somebody alone, without speculation."""
    async with connect(url) as session:
        return {
            question: await question.ask(session, f"alone/{number}", "off")
            for number, question in enumerate(questions())
        }


@contextlib.asynccontextmanager
async def _idle(url: str, count: int) -> AsyncIterator[list[Session]]:
    async with contextlib.AsyncExitStack() as stack:
        sessions: list[Session] = []
        while len(sessions) < count:
            opening = min(OPENING, count - len(sessions))
            sessions += await asyncio.gather(
                *(stack.enter_async_context(connect(url, ping_interval=None)) for _ in range(opening))
            )
        yield sessions


async def _activity(url: str, plan: Plan, expected: dict[Question, str], outcome: Outcome, page: MetricsPage) -> None:
    until = time.monotonic() + plan.seconds
    flaky = round(plan.active * plan.flaky)
    port = urlsplit(url).port
    assert port is not None
    async with FaultProxy(port, plan.seed) as proxy:

        async def work(number: int) -> None:
            dice = random.Random(plan.seed * 1000 + number)
            where = proxy.url if number < flaky else url
            asked = list(expected)
            async with connect(where, reconnect=_PATIENT) as session:
                turn = 0
                while time.monotonic() < until:
                    question = dice.choice(asked)
                    turn += 1
                    try:
                        text = await question.ask(session, f"{number}/{turn}", "auto")
                    except (WarmlineError, AssertionError) as error:
                        outcome.faults[f"{type(error).__name__}: {error}"] += 1
                        continue
                    outcome.answers += 1
                    if text != expected[question]:
                        outcome.faults["a text is not what it is alone"] += 1

        async def break_often() -> None:
            dice = random.Random(plan.seed)
            for fault in cycle(FAULTS):
                await asyncio.sleep(dice.expovariate(1 / FAULT_SECONDS))
                outcome.breaks[fault] += 1
                match fault:
                    case "reset":
                        proxy.reset()
                    case "half-close":
                        proxy.half_close(dice.choice(("up", "down")))
                    case _:
                        proxy.black_hole()
                        await asyncio.sleep(dice.expovariate(1 / HOLE_SECONDS))
                        proxy.heal()

        async def look() -> None:
            while True:
                outcome.memory.append(_memory(await _figures(page)))
                await asyncio.sleep(LOOK_SECONDS)

        beside = [asyncio.ensure_future(task()) for task in ((break_often, look) if flaky else (look,))]
        try:
            await asyncio.gather(*(work(number) for number in range(plan.active)))
        finally:
            for task in beside:
                task.cancel()
            await asyncio.wait(beside)
            for task in beside:
                if not task.cancelled():
                    task.result()  # one that ended by itself failed


async def _check_nothing_is_left(page: MetricsPage, before: Figures, outcome: Outcome) -> None:
    """Sessions and requests end a moment after their clients."""
    left: dict[str, float] = {}
    until = time.monotonic() + _SETTLE_SECONDS
    while time.monotonic() < until:
        now = await _figures(page)
        left = {
            "sessions": now.total("warmline_sessions") - before.total("warmline_sessions"),
            "documents": now.total("warmline_documents") - before.total("warmline_documents"),
            "requests": now.total("warmline_requests_running"),
            "blocks of the KV cache": now.total("warmline_engine_kv_blocks", state="used"),
        }
        if not any(left.values()):
            return
        await asyncio.sleep(0.2)
    for name, count in left.items():
        if count:
            outcome.faults[f"{name} are left"] += round(count)


async def _figures(page: MetricsPage) -> Figures:
    return Figures.parse(await asyncio.to_thread(page.read))


def _memory(figures: Figures) -> float:
    return figures.total("process_resident_memory_bytes")


def report(outcome: Outcome) -> str:
    """What came of it, for people."""
    plan = outcome.plan
    said = ", ".join(f"{fault} {times}" for fault, times in outcome.breaks.items()) or "not once"
    lines = [
        f"{plan.idle} idle sessions: {outcome.per_idle / 1024:.1f} KiB of the gateway each; at the end all "
        f"answered a ping within {outcome.slowest_ping_us / 1000:.1f} ms",
        f"{plan.active} active for {plan.seconds:.0f} s, {round(plan.active * plan.flaky)} of them on a network "
        f"that broke {outcome.breaks.total()} times ({said}): "
        f"{outcome.answers} texts compared with those of somebody alone",
    ]
    if outcome.memory:
        first, last = outcome.memory[0] / 2**20, outcome.memory[-1] / 2**20
        lines.append(
            f"the gateway's memory: {first:.1f} MiB, then {last:.1f}; {outcome.growth:+.1%} once it was warm"
        )
    lines += [f"FAULT, {count} times: {name}" for name, count in outcome.faults.items()]
    return "\n".join(lines)


def main(
    idle: Annotated[int, typer.Option(min=0)] = 1000,
    active: Annotated[int, typer.Option(min=1)] = 20,
    seconds: Annotated[float, typer.Option(min=1)] = 600.0,
    flaky: Annotated[float, typer.Option(min=0, max=1)] = 0.1,
    url: Annotated[str, typer.Option(help="A service that nobody else uses. [default: one of its own]")] = "",
) -> None:
    """Exit code 1 if something was lost, doubled, wrong or left, or took more memory than it may."""
    plan = Plan(idle, active, seconds, flaky)
    allow_sockets(2 * (idle + active))

    async def run() -> Outcome:
        if url:
            return await soak(url, plan)
        async with running_service() as service:
            return await soak(service.url, plan)

    outcome = asyncio.run(run())
    print(report(outcome))
    sys.exit(1 if outcome.faults else 0)


if __name__ == "__main__":
    typer.run(main)
