"""`warmline bench end-to-end`: what is left of the engine's tokens a second behind gateway, socket and SDK.

Real edits are replayed (each pass is computed, and the tokens of the known answer are taken) by an engine in this
process, with nothing around it, and by a service through the SDK: the same machine, cores and settings, record by
record in turn. Every prompt is computed once a round on both sides, since each round has its own cache salt.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import statistics
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.table import Table
from warmline.client import Session, connect
from warmline.engine import (
    EngineOptions,
    GenerationRequest,
    OfflineEngine,
    SamplingParams,
    about_machine,
    pack_tokens,
    print_table,
    table_console,
)

from ..evaluation.planned import plan_if_it_fits
from ..evaluation.records import EditRecord
from ..prompting.prompts import PromptBuilder, PromptPlan
from .judging import judged
from .service import running_service

_ROOM: Final = 128
"""Tokens by which an answer may outgrow its range."""


@dataclass(frozen=True, slots=True)
class Run:
    """One replayed edit: its tokens, and seconds until the first of them and until the end."""

    tokens: int
    first: float
    whole: float


def run_end_to_end_benchmark(
    options: EngineOptions, serve: Sequence[str], records: list[EditRecord], rounds: int, json_file: Path | None
) -> None:
    """Measure, print a table, and write the figures to ``json_file`` if given.

    Raises:
        EngineError, ServiceFailed: the model can't be run.
        WarmlineError: the service failed.

    """
    report = asyncio.run(measure(options, serve, records, rounds))
    print_report(report)
    if json_file is not None:
        json_file.write_text(json.dumps(report, indent=2) + "\n")


async def measure(
    options: EngineOptions, serve: Sequence[str], records: Sequence[EditRecord], rounds: int
) -> dict[str, Any]:
    """All figures as one JSON-ready object."""
    keys = [secrets.token_hex(8) for _ in range(rounds)]
    serve = [*serve, "--allow-replay", *(part for key in keys for part in ("--api-key", key))]
    # The engine has a thread to itself, as OpenMP has threads for each that it is called from. The loop goes on
    # meanwhile, and answers the socket's keep-alive.
    loop, beside = asyncio.get_running_loop(), ThreadPoolExecutor(1)
    engine = await loop.run_in_executor(beside, OfflineEngine, options)
    prompts = PromptBuilder(engine.tokenizer, engine.model.max_sequence_tokens)
    planned = [
        (record, plan)
        for record in records
        if (plan := plan_if_it_fits(prompts, record, _max_tokens(record), replayed=True)) is not None
    ]
    alone: list[list[Run]] = []
    through: list[list[Run]] = []
    async with running_service(*serve) as service:
        for number, key in enumerate(keys):
            print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
            alone.append([])
            through.append([])
            async with connect(service.url, token=key) as session:
                for index, (record, plan) in enumerate(planned):
                    request = number * len(planned) + index
                    run = await loop.run_in_executor(beside, _replay_alone, engine, plan, request, key)
                    alone[-1].append(run)
                    through[-1].append(await _replay_through(session, record))
    sides = {"engine": [_rates(runs) for runs in alone], "end_to_end": [_rates(runs) for runs in through]}
    return {
        "machine": about_machine(),
        "model": engine.model.name,
        "adapter": engine.model.adapter,
        "backend": engine.model.backend,
        "kernels": engine.model.kernels,
        "threads": engine.model.threads,
        "records": len(planned),
        "left_out": len(records) - len(planned),
        "tokens": sum(run.tokens for run in alone[0]),
        "rounds": sides,
        "ratios": {
            rate: statistics.median(
                ours[rate] / theirs[rate] for ours, theirs in zip(sides["end_to_end"], sides["engine"], strict=True)
            )
            for rate in ("whole", "decode")
        },
    }


def _max_tokens(record: EditRecord) -> int:
    return max(len(record.before.encode()), len(record.after.encode())) + _ROOM


def _replay_alone(engine: OfflineEngine, plan: PromptPlan, number: int, salt: str) -> Run:
    assert plan.replay is not None
    began = time.perf_counter()
    engine.submit(
        GenerationRequest(
            id=number,
            prompt=pack_tokens(plan.prompt),
            sampling=SamplingParams(max_tokens=len(plan.replay) + 1, stop=plan.stop),
            salt=salt,
            draft=pack_tokens(plan.draft or []),
            replay=pack_tokens(plan.replay),
        )
    )
    while True:
        for event in engine.step():
            if (finished := event.finished) is not None:
                whole = time.perf_counter() - began
                return Run(finished.output_tokens, whole - finished.step_ns / 1e9, whole)


async def _replay_through(session: Session, record: EditRecord) -> Run:
    document = await session.open(record.id, record.text, language=record.language)
    room, instruction = _max_tokens(record), record.instructions[0]
    edit = session.edit(document, record.span, instruction, max_tokens=room, replay=record.after)
    result = await edit.result()
    timing = result.timing
    # When the engine had its first tokens, as on the other side; the first operation comes with the first line.
    first = timing.client_queue + timing.net_up + timing.server_parse + timing.session_prompt + timing.ipc_in
    first += timing.engine_queue + timing.engine_prefill + timing.engine_first_token
    await document.close()
    return Run(result.receipt.output_tokens, first / 1e6, timing.end_to_end / 1e6)


def _rates(runs: Sequence[Run]) -> dict[str, float]:
    """Tokens a second of a round: over everything, and after the first tokens."""
    tokens = sum(run.tokens for run in runs)
    return {
        "whole": tokens / sum(run.whole for run in runs),
        "decode": tokens / sum(max(run.whole - run.first, 1e-9) for run in runs),
    }


def print_report(report: dict[str, Any]) -> None:
    """Both sides and their ratio: the median round, and the range of the rounds."""
    machine, adapter = report["machine"], report["adapter"] or "no adapter"
    to = table_console(100)
    to.print(
        f"{machine['processor']}, {machine['cores']} cores; {report['model']} with {adapter}, "
        f"{report['backend']} backend "
        f"({report['kernels']}), {report['threads']} threads; replay of {report['records']} edits, "
        f"{report['tokens']} tokens, {len(report['rounds']['engine'])} rounds",
        highlight=False,
    )
    table = Table()
    for name in ("tokens a second", "engine alone", "end to end", "ratio"):
        table.add_column(name, justify="left" if name.startswith("tokens") else "right")
    for rate, title in (("whole", "of whole requests"), ("decode", "after the first tokens")):
        cells = []
        for side in ("engine", "end_to_end"):
            values = [figures[rate] for figures in report["rounds"][side]]
            cells.append(f"{statistics.median(values):,.0f} ({min(values):,.0f}-{max(values):,.0f})")
        table.add_row(title, *cells, judged(f"{report['ratios'][rate]:.1%}", len(report["rounds"]["engine"])))
    print_table(to, table)
