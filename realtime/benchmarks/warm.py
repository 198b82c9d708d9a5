"""`warmline bench warm`: what having computed ahead is worth, measured at the client of a real service.

Cold and warm requests for texts of several scale, how soon a cancelled one ends, and typing with a request behind
every key and behind every few, alone and while other sessions warm their places. Conditions alternate within each
round, so that what drifts on the machine meets all of them. The KV cache shares full blocks of 16 tokens: of a warm
completion's prompt 1 to 16 tokens are left to compute, of an edit's those and the instruction, which nobody knew.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import platform
import sys
from collections import defaultdict
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from warmline.client import Session
from warmline.engine import BLOCK_SIZE, this_machine

from .service import running_service
from .warm_report import cancel_figures, figures, print_report, ratios
from .warm_requests import (
    KEY_SECONDS,
    Kind,
    Moment,
    Sample,
    Scale,
    Service,
    cancelled,
    cold,
    others_warming,
    type_keys,
    warm,
)
from .warm_texts import FreshText, SourceText, read_sources, typings

OTHERS: Final = 3
"""Other sessions that warm at the same time."""
_ROOM: Final = 1024
"""Tokens that a prompt and its answer may take beyond the text that is measured, at most."""


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
        if url is None:
            _say("starting a service")
            url = await stack.enter_async_context(running_service(*serve))
        return await measure(Service(url, api_key), sources, plan)


async def measure(service: Service, sources: Sequence[SourceText], plan: Plan) -> dict[str, Any]:
    """All figures as one JSON-ready object; times are in milliseconds."""
    async with service.connect() as session:
        about = {"model": session.model, "server": session.server, "context_length": session.context_length}
    fresh = FreshText(sources)
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
        "machine": {
            "processor": this_machine().processor,
            "cores": this_machine().cores,
            "python": platform.python_version(),
            "warmline": importlib.metadata.version("warmline"),
        },
        "service": about,
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
    }


class _Benchmark:
    """What is measured, as it comes in.

    Attributes:
        samples: by kind, size, state, and whether others warm.
        cancelled: microseconds to the end, by what the request was in, and size.
        typed: by place, keys between requests, and whether others warm.
    """

    def __init__(
        self, service: Service, sources: Sequence[SourceText], plan: Plan, fresh: FreshText, scale: Scale
    ) -> None:
        self.samples: defaultdict[tuple[Kind, int, str, bool], list[Sample]] = defaultdict(list)
        self.cancelled: defaultdict[tuple[Moment, int], list[int | None]] = defaultdict(list)
        self.typed: defaultdict[tuple[str, int, bool], list[Sample]] = defaultdict(list)
        self._service = service
        self._sources = sources
        self._plan = plan
        self._fresh = fresh
        self._scale = scale

    async def cold_and_warm(self, room: int) -> None:
        """One round: each kind and size that fits, cold, warm, and warm beside others.

        An edit needs room for its range twice, as it may write it anew.
        """
        sizes: list[tuple[Kind, int]] = []
        for size in self._plan.sizes:
            sizes += [("complete", size)] if size + _ROOM <= room else []
            sizes += [("edit", size)] if 2 * size + _ROOM <= room else []
        async with self._service.connect() as session:
            for kind, size in sizes:
                self.samples[kind, size, "cold", False].append(await cold(session, self._text(size), kind))
                await self._warm(session, kind, size, False)
        async with self._others(True), self._service.connect() as session:
            for kind, size in sizes:
                if size in self._plan.beside:
                    await self._warm(session, kind, size, True)

    async def cancels(self, room: int) -> None:
        """One round: each size that fits, cancelled in its prompt and in its text."""
        moments: tuple[Moment, ...] = ("prefill", "decode")
        async with self._service.connect() as session:
            for size in self._plan.sizes:
                for moment in moments if size + _ROOM <= room else ():
                    text = self._text(size)
                    took = await cancelled(session, text, moment, self._scale.seconds * len(text))
                    self.cancelled[moment, size].append(took)

    async def _warm(self, session: Session, kind: Kind, size: int, others: bool) -> None:
        text = self._text(size)
        pause = self._scale.pause(len(text), 1 + OTHERS * others)
        self.samples[kind, size, "warm", others].append(await warm(session, text, kind, pause))

    def _text(self, tokens: int) -> str:
        return self._fresh(self._scale.chars(tokens))

    async def typing(self, number: int) -> None:
        """One file: typing into it at both places, with each frequency of requests, alone and beside others."""
        for every in self._plan.every:
            for others in (False, True):
                both = list(typings(self._sources, self._plan.files, self._plan.keys))[2 * number : 2 * number + 2]
                async with self._others(others):
                    for typing in both:
                        pause = self._scale.pause(len(typing.text), 1 + OTHERS * others)
                        got = await type_keys(self._service, typing, every, pause)
                        self.typed[typing.where, every, others] += got

    def _others(self, wanted: bool) -> AbstractAsyncContextManager[None]:
        if not wanted:
            return nullcontext()
        return others_warming(self._service, OTHERS, self._fresh, self._scale.chars(self._plan.others))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
