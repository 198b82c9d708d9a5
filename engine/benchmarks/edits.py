"""`warmline bench edits`: edits with known answers, replayed with each way to draft in one engine.

Every pass is computed and every token sampled; the emitted token is then taken from the answer, which no drafter
sees. So the passes are those of a model that gives the answer. All ways have the same prompts, warm but for their
last tokens, and take turns edit by edit; nothing that one edit said is told to another. Plain decoding would take
most of the time, at a rate that hardly changes within an edit: it has some tokens in the middle of each answer.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import torch
from rich.table import Table

from ..backends import create_backend
from ..backends.base import Backend
from ..batch import Batch
from ..core import Engine
from ..messages import Finished, GenerationRequest, SamplingParams, WarmRequest, pack_tokens
from ..options import EngineOptions
from ..report_tables import print_table, table_console
from ..speculation.create import CreateDrafter, create_drafter
from ..speculation.drafter import Draft, Drafter
from . import copying
from .about import about_machine, model_line
from .copy_request import PlanCopies
from .edit_replay import EditReplay, PlanEdits
from .progress import Progress
from .prompt_lookup import PromptLookup

_T = TypeVar("_T")

PLAIN: Final = "plain"
OURS: Final = "warmline"
PLAIN_TOKENS: Final = 64
"""Tokens of each answer that are decoded plainly; the time is scaled to the whole answer."""


@dataclass(slots=True)
class Totals:
    """What replays took together; times in seconds, drafts by source: proposed and accepted."""

    tokens: int = 0
    passes: int = 0
    seconds: float = 0.0
    forward: float = 0.0
    drafting: float = 0.0
    drafts: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def tokens_per_second(self) -> float:
        """From each request's arrival to its end."""
        return self.tokens / self.seconds

    @property
    def proposed(self) -> int:
        """Draft tokens of all sources."""
        return sum(proposed for proposed, _ in self.drafts.values())

    @property
    def accepted(self) -> int:
        """Those that stood."""
        return sum(accepted for _, accepted in self.drafts.values())

    def add(self, other: Totals) -> None:
        """Count another's in."""
        self.tokens += other.tokens
        self.passes += other.passes
        self.seconds += other.seconds
        self.forward += other.forward
        self.drafting += other.drafting
        for source, (proposed, accepted) in other.drafts.items():
            before = self.drafts.get(source, (0, 0))
            self.drafts[source] = (before[0] + proposed, before[1] + accepted)

    def scaled(self, factor: float) -> Totals:
        """What so many times as much would have taken, without drafts."""
        return Totals(
            round(self.tokens * factor),
            round(self.passes * factor),
            self.seconds * factor,
            self.forward * factor,
            self.drafting * factor,
        )


class Stopwatch:
    """The time that passes and drafters took."""

    def __init__(self) -> None:
        self.forward = self.drafting = 0.0


class TimedBackend(Backend):
    """A backend whose passes are timed."""

    def __init__(self, backend: Backend, watch: Stopwatch) -> None:
        self.name, self.kernels = backend.name, backend.kernels
        self.config, self.num_blocks = backend.config, backend.num_blocks
        self._backend = backend
        self._watch = watch

    def forward(self, batch: Batch, should_abort: Callable[[], bool] | None = None) -> torch.Tensor:
        """See `Backend.forward`."""
        began = time.perf_counter()
        try:
            return self._backend.forward(batch, should_abort)
        finally:
            self._watch.forward += time.perf_counter() - began


class TimedDrafter(Drafter):
    """A drafter that is timed."""

    def __init__(self, create: Callable[[], Drafter], watch: Stopwatch) -> None:
        self._watch = watch
        self._drafter = self._timed(create)
        self.source = self._drafter.source

    def observe(self, emitted: list[int]) -> None:
        """See `Drafter.observe`."""
        self._timed(partial(self._drafter.observe, emitted))

    def propose(self, budget: int) -> Draft:
        """See `Drafter.propose`."""
        return self._timed(partial(self._drafter.propose, budget))

    def close(self) -> None:
        """See `Drafter.close`."""
        self._drafter.close()

    def _timed(self, call: Callable[[], _T]) -> _T:
        began = time.perf_counter()
        try:
            return call()
        finally:
            self._watch.drafting += time.perf_counter() - began


def _lookup(longest: int, tokens: int) -> CreateDrafter:
    return lambda request, sequence, most_tokens: PromptLookup(sequence, longest, tokens)


WAYS: Final[dict[str, CreateDrafter | None]] = {
    PLAIN: None,
    "lookup 3/10": _lookup(3, 10),
    "lookup 10/32": _lookup(10, 32),
    OURS: create_drafter,
}


def main(
    options: EngineOptions,
    plan: PlanEdits,
    rounds: int,
    json_file: Path | None = None,
    beside: tuple[PlanCopies, Path] | None = None,
) -> None:
    """Measure, print tables, and write the figures to ``json_file`` if given.

    ``beside`` is what to generate beside a llama-server, and that program.
    """
    report = measure(options, plan, rounds)
    print_report(report)
    _write(json_file, report)
    if beside is not None:
        copies, llama_server = beside
        report["copying"] = copying.main(options, copies, llama_server, rounds)
        _write(json_file, report)


def _write(json_file: Path | None, report: dict[str, Any]) -> None:
    if json_file is not None:
        json_file.write_text(json.dumps(report, indent=2) + "\n")


def measure(options: EngineOptions, plan: PlanEdits, rounds: int) -> dict[str, Any]:
    """All figures as one JSON-ready object.

    Raises:
        EngineError: the model can't be run.

    """
    watch, progress = Stopwatch(), Progress()
    progress.part(f"loading {options.model}")
    backend, tokenizer = create_backend(options)
    engine = Engine(TimedBackend(backend, watch), tokenizer)
    progress.part("measuring what passes cost")
    engine.warm_up()
    edits = plan(tokenizer, engine.max_sequence_tokens)
    groups = list(dict.fromkeys(edit.group for edit in edits))
    results: dict[str, dict[str, list[Totals]]] = {group: {way: [] for way in WAYS} for group in groups}
    for number in range(rounds):
        for by_way in results.values():
            for rounds_of_way in by_way.values():
                rounds_of_way.append(Totals())
        for index, edit in enumerate(edits):
            where = f"round {number + 1} of {rounds}, edit {index + 1} of {len(edits)}"
            progress.part(where) if not index else progress.at(where)
            for way in _turns(number + index):
                salt, drafting = f"{number} {index}", WAYS[way]
                replayed = middle(edit) if drafting is None else edit
                totals = replay(engine, watch, replayed, drafting, salt, partial(progress.at, f"{where}: {way}"))
                if replayed is not edit:
                    totals = totals.scaled(len(edit.answer) / len(replayed.answer))
                results[edit.group][way][-1].add(totals)
    return {
        "machine": about_machine(),
        "model": options.model,
        "adapter": options.adapter,
        "model_and_adapter": model_line(options),
        "backend": backend.name,
        "kernels": backend.kernels,
        "threads": torch.get_num_threads(),
        "cost_curve_ms": {rows: seconds * 1e3 for rows, seconds in engine.scheduler.cost.curve},
        "cost_ns_per_row_and_key": engine.scheduler.cost.per_key * 1e9,
        "rounds": rounds,
        "groups": {
            group: {
                "edits": sum(edit.group == group for edit in edits),
                "context": round(statistics.mean(len(edit.prompt) for edit in edits if edit.group == group)),
                "ways": {way: _figures(totals, by_way[PLAIN]) for way, totals in by_way.items()},
            }
            for group, by_way in results.items()
        },
    }


def middle(edit: EditReplay) -> EditReplay:
    """An edit of which the answer is given but for `PLAIN_TOKENS` in its middle."""
    start = max((len(edit.answer) - PLAIN_TOKENS) // 2, 0)
    answer = edit.answer[start : start + PLAIN_TOKENS]
    return EditReplay(edit.group, edit.prompt + edit.answer[:start], edit.draft, answer)


def replay(
    engine: Engine,
    watch: Stopwatch,
    edit: EditReplay,
    drafting: CreateDrafter | None,
    salt: str,
    tell: Callable[[], None] = lambda: None,
) -> Totals:
    """Run one edit in an idle engine; the prompt is warm for every run with the same salt.

    ``tell`` is called between passes; the time that it takes counts.
    """
    engine.warm(WarmRequest(0, pack_tokens(edit.prompt), salt))
    while engine.has_work:
        tell()
        engine.step()
    if drafting is not None:
        engine.drafting = lambda request, prompt, most: TimedDrafter(partial(drafting, request, prompt, most), watch)
    watch.forward = watch.drafting = 0.0
    began = time.perf_counter()
    engine.add(
        GenerationRequest(
            id=1,
            prompt=pack_tokens(edit.prompt),
            sampling=SamplingParams(max_tokens=len(edit.answer)),
            salt=salt,
            speculation=drafting is not None,
            draft=pack_tokens(edit.draft),
            replay=pack_tokens(edit.answer),
        )
    )
    finished: Finished | None = None
    while finished is None:
        tell()
        for event in engine.step():
            finished = event.finished
    seconds = time.perf_counter() - began
    drafts = {draft.source: (draft.proposed, draft.accepted) for draft in finished.drafts}
    return Totals(finished.output_tokens, finished.forward_passes, seconds, watch.forward, watch.drafting, drafts)


def _turns(number: int) -> list[str]:
    """All ways, each time beginning with another."""
    ways = list(WAYS)
    first = number % len(ways)
    return ways[first:] + ways[:first]


def _figures(rounds: Sequence[Totals], plain: Sequence[Totals]) -> dict[str, Any]:
    whole = Totals()
    for totals in rounds:
        whole.add(totals)
    rates = [totals.tokens_per_second for totals in rounds]
    ratios = [rate / other.tokens_per_second for rate, other in zip(rates, plain, strict=True)]
    return {
        "tokens": whole.tokens // len(rounds),
        "passes": whole.passes // len(rounds),
        "tokens_per_pass": whole.tokens / whole.passes,
        "tokens_per_second": statistics.median(rates),
        "tokens_per_second_rounds": rates,
        "over_plain": statistics.median(ratios),
        "over_plain_rounds": ratios,
        "accepted_share": whole.accepted / whole.proposed if whole.proposed else None,
        "drafts": {
            source: {"proposed": proposed // len(rounds), "accepted": accepted // len(rounds)}
            for source, (proposed, accepted) in whole.drafts.items()
        },
        "time_shares": {
            "forward": whole.forward / whole.seconds,
            "drafting": whole.drafting / whole.seconds,
            "rest": 1 - (whole.forward + whole.drafting) / whole.seconds,
        },
    }


def print_report(report: dict[str, Any]) -> None:
    """Show the figures as tables; rates are medians of the rounds, with their range."""
    machine = report["machine"]
    to = table_console(118)
    curve = ", ".join(f"{rows}: {ms:.1f}" for rows, ms in report["cost_curve_ms"].items())
    to.print(
        f"{machine['processor']}, {machine['cores']} cores; {report['model_and_adapter']}, {report['backend']} "
        f"backend ({report['kernels']}), {report['threads']} threads; replay, {report['rounds']} rounds\n"
        f"ms a pass by rows, corrected by all: {curve}; {report['cost_ns_per_row_and_key']:.0f} ns a row and key",
        highlight=False,
    )
    for group, figures in report["groups"].items():
        tokens = figures["ways"][PLAIN]["tokens"]
        table = Table(title=f"{group}: {figures['edits']} edits, {tokens} tokens, {figures['context']} in context")
        columns = ("", "tok/s", "over plain", "tok/pass", "accepted", "by source", "forward", "drafting", "rest")
        for name in columns:
            table.add_column(name, justify="right" if name else "left")
        for way, row in figures["ways"].items():
            share, shares = row["accepted_share"], row["time_shares"]
            table.add_row(
                way,
                _with_range(row["tokens_per_second"], row["tokens_per_second_rounds"], ".0f"),
                _with_range(row["over_plain"], row["over_plain_rounds"], ".2f"),
                f"{row['tokens_per_pass']:.2f}",
                "" if share is None else f"{share:.0%}",
                "\n".join(f"{name} {d['accepted']} of {d['proposed']}" for name, d in row["drafts"].items()),
                *(f"{shares[part]:.1%}" for part in ("forward", "drafting", "rest")),
            )
        print_table(to, table)
    to.print("lookup n/k: prompt lookup by at most n tokens, k at a time", style="dim", highlight=False)


def _with_range(median: float, values: Sequence[float], form: str) -> str:
    return f"{median:{form}} ({min(values):{form}}-{max(values):{form}})"
