"""`warmline bench warm`: what having computed ahead is worth, measured at the client of a real service.

Cold and warm requests for texts of several scale, how soon a cancelled one ends, and typing with a request behind
every key and behind every few, alone and while other sessions warm their places. Conditions alternate within each
round, so that what drifts on the machine meets all of them. The KV cache shares full blocks of 16 tokens: of a warm
completion's prompt 1 to 16 tokens are left to compute, of an edit's those and the instruction, which nobody knew.

A warm request comes once the service says that it has ended all its warm work. Beside others there is no such time,
as they go on: there it comes after as many times as long as it took alone as there are sessions, which take turns.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import defaultdict
from collections.abc import Awaitable, Callable, Hashable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from warmline.engine import BLOCK_SIZE, about_machine

from .service import running_service
from .warm_report import cancel_figures, figures, print_report, ratios
from .warm_requests import (
    KEY_SECONDS,
    Kind,
    Moment,
    Sample,
    Scale,
    Service,
    Wait,
    cancelled,
    cold,
    others_warming,
    type_keys,
    warm,
)
from .warm_sizes import LeftOut, asked
from .warm_texts import FreshText, SourceText, read_sources, typings
from .warm_watch import LONGEST_SECONDS, WarmWatch

OTHERS: Final = 3
"""Other sessions that warm at the same time."""
_MARGIN_SECONDS: Final = 0.3
"""How much longer than expected one waits beside others."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured.

    Attributes:
        sizes: prompt scale in tokens.
        beside: those of them that are measured beside other sessions, too.
        rounds: how often each is.
        files: how many files are typed into, and ``keys`` how far, with a request behind ``every`` so many keys.
        others: the size of the places that the other sessions name; about what their budgets allow for ever.
    """

    sizes: tuple[int, ...] = (500, 1500, 5000)
    beside: tuple[int, ...] = (500, 1500)
    rounds: int = 7
    files: int = 4
    keys: int = 40
    every: tuple[int, ...] = (1, 4)
    others: int = 1500


QUICK: Final = Plan(sizes=(200,), beside=(200,), rounds=2, files=1, keys=6, every=(1, 3), others=200)


def run_warm_benchmark(
    url: str | None, api_key: str | None, serve: Sequence[str], edits: Path | None, plan: Plan, json_file: Path | None
) -> None:
    """Measure, print tables, and write the figures to ``json_file`` if given.

    Without a URL a service is started for it, with the arguments ``serve``.

    Raises:
        TextsMissing, ServiceFailed: there is nothing to type, or nobody to ask.
        WarmlineError: the service can't be reached, or failed.

    """
    report = asyncio.run(_run(url, api_key, serve, read_sources(edits), plan))
    print_report(report)
    if json_file is not None:
        json_file.write_text(json.dumps(report, indent=2) + "\n")


async def _run(
    url: str | None, api_key: str | None, serve: Sequence[str], sources: list[SourceText], plan: Plan
) -> dict[str, Any]:
    async with AsyncExitStack() as stack:
        if url is not None:
            return await measure(Service(url, api_key), sources, plan)
        _say("starting a service")
        running = await stack.enter_async_context(running_service(*serve))
        return await measure(Service(running.url, api_key), sources, plan, running.runs)


async def measure(
    service: Service, sources: Sequence[SourceText], plan: Plan, runs: str | None = None
) -> dict[str, Any]:
    """All figures as one JSON-ready object; times are in milliseconds. ``runs`` is what is known of the service."""
    async with service.connect() as session:
        about = {"model": session.model, "server": session.server, "context_length": session.context_length}
    fresh = FreshText(sources)
    _say("asking for two edits, to learn how many tokens characters are")
    benchmark = _Benchmark(service, sources, plan, fresh, await Scale.measure(service, fresh))
    for number in range(plan.rounds):
        _say(f"cold and warm requests, round {number + 1} of {plan.rounds}")
        await benchmark.cold_and_warm(session.context_length)
        await benchmark.cancels(session.context_length)
    for number in range(plan.files):
        _say(f"typing into file {number + 1} of {plan.files}")
        await benchmark.typing(number)
    rows = [
        {"kind": kind, "size": size, "state": state, "others": others, **figures(got)}
        for (kind, size, state, others), got in benchmark.samples.items()
    ]
    return {
        "machine": about_machine(),
        "service": about | {"runs": runs},
        "rounds": plan.rounds,
        "block_size": BLOCK_SIZE,
        "key_seconds": KEY_SECONDS,
        "requests": rows,
        "cancels": [
            {"moment": moment, "size": size, **cancel_figures(got)}
            for (moment, size), got in benchmark.cancelled.items()
        ],
        "typing": [
            {"where": where, "every": every, "others": others, **figures(got)}
            for (where, every, others), got in benchmark.typed.items()
        ],
        "ratios": ratios(rows),
        "left_out": [f"{name}: {why}" for name, why in benchmark.left_out.items()],
    }


class _Benchmark:
    """What is measured, as it comes in.

    Attributes:
        samples: by kind, size, state, and whether others warm.
        cancelled: microseconds to the end, by what the request was in, and size.
        typed: by place, keys between requests, and whether others warm.
        left_out: why, by what it is called.
    """

    def __init__(
        self, service: Service, sources: Sequence[SourceText], plan: Plan, fresh: FreshText, scale: Scale
    ) -> None:
        self.samples: defaultdict[tuple[Kind, int, str, bool], list[Sample]] = defaultdict(list)
        self.cancelled: defaultdict[tuple[Moment, int], list[int | None]] = defaultdict(list)
        self.typed: defaultdict[tuple[str, int, bool], list[Sample]] = defaultdict(list)
        self.left_out: dict[str, str] = {}
        self._service = service
        self._watch = WarmWatch(service.url, service.api_key)
        self._alone: dict[Hashable, float] = {}  # seconds that warm work took last
        self._sources = sources
        self._plan = plan
        self._fresh = fresh
        self._scale = scale

    async def cold_and_warm(self, room: int) -> None:
        """One round: each kind and size that fits, cold, warm, and warm beside others."""
        kinds: tuple[Kind, ...] = ("complete", "edit")
        asked_for = [(kind, size) for size in self._plan.sizes for kind in kinds if self._fits(kind, size, room)]
        # A session each, whose budget for warm work is its own.
        for kind, size in asked_for:
            async with self._service.connect() as session:
                one, other = (asked(kind, size, room, self._fresh, self._scale) for _ in range(2))
                self.samples[kind, size, "cold", False].append(await cold(session, one))
                self.samples[kind, size, "warm", False].append(await warm(session, other, self._wait((kind, size))))
        async with self._others(True):
            for kind, size in asked_for:
                if size in self._plan.beside:
                    async with self._service.connect() as session:
                        one = asked(kind, size, room, self._fresh, self._scale)
                        sample = await warm(session, one, self._wait((kind, size), others=True))
                        self.samples[kind, size, "warm", True].append(sample)

    async def cancels(self, room: int) -> None:
        """One round: each size that fits, cancelled in its prompt and in its text."""
        moments: tuple[Moment, ...] = ("prefill", "decode")
        async with self._service.connect() as session:
            for size in self._plan.sizes:
                for moment in moments if self._fits("complete", size, room) else ():
                    text = asked("complete", size, room, self._fresh, self._scale).text
                    took = await cancelled(session, text, moment, self._scale.seconds * len(text))
                    self.cancelled[moment, size].append(took)

    def _fits(self, kind: Kind, size: int, room: int) -> bool:
        try:
            asked(kind, size, room, self._fresh, self._scale)
        except LeftOut as why:
            self.left_out[f"{kind} {size:,}"] = str(why)
        return f"{kind} {size:,}" not in self.left_out

    def _wait(self, what: Hashable, *, others: bool = False) -> Wait:
        """What waits until a place is warm, see the module; ``what`` is the same for places that cost the same."""

        async def alone(name_place: Callable[[], Awaitable[None]]) -> float | None:
            before = await self._watch.counts()
            await name_place()
            seconds = await self._watch.until_done(before)
            if seconds is not None:
                self._alone[what] = seconds
            return seconds

        async def beside(name_place: Callable[[], Awaitable[None]]) -> float | None:
            await name_place()
            seconds = (1 + OTHERS) * self._alone.get(what, LONGEST_SECONDS) + _MARGIN_SECONDS
            await asyncio.sleep(min(seconds, LONGEST_SECONDS))
            return None

        return beside if others else alone

    async def typing(self, number: int) -> None:
        """One file: typing into it at both places, with each frequency of requests, alone and beside others."""
        for every in self._plan.every:
            for others in (False, True):
                both = list(typings(self._sources, self._plan.files, self._plan.keys))[2 * number : 2 * number + 2]
                async with self._others(others):
                    for typing in both:
                        wait = self._wait((number, typing.where), others=others)
                        got = await type_keys(self._service, typing, every, wait)
                        self.typed[typing.where, every, others] += got

    def _others(self, wanted: bool) -> AbstractAsyncContextManager[None]:
        if not wanted:
            return nullcontext()
        return others_warming(self._service, OTHERS, self._fresh, self._scale.chars(self._plan.others))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
