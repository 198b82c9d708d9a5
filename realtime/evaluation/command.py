"""`warmline eval edits`: load the model, run the records, show what came of them, also where Ctrl-C ended it."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from warmline.engine import EngineOptions, OfflineEngine

from ..cli.interrupts import no_interrupt_lost
from .records import EditRecord, Record
from .report import as_json, console, print_failures, print_report
from .run import Evaluation, Model

SAID_SECONDS: Final = 30.0
"""How often progress is told where there is no terminal."""


@dataclass(frozen=True, slots=True)
class What:
    """What to measure and show; see the options of the command."""

    likelihood: bool = True
    concurrency: int = 1
    plain: int = 0
    failures: int = 0
    json: Path | None = None


def evaluate(options: EngineOptions, records: list[Record], what: What, about: dict[str, Any]) -> bool:
    """Load the model and run the records; returns whether all of them were done.

    Raises:
        EngineError: the model can't be run.

    """
    with no_interrupt_lost():
        model = OfflineEngine(options)
    return evaluate_model(model, records, what, about)


def evaluate_model(model: Model, records: list[Record], what: What, about: dict[str, Any]) -> bool:
    """The same with a model that is loaded."""
    able = [record for record in records if not (isinstance(record, EditRecord) and record.is_steered)]
    if len(able) < len(records):
        print(f"left out: {len(records) - len(able)} steered edits", file=sys.stderr, flush=True)
    evaluation = Evaluation(model, likelihood=what.likelihood, concurrency=what.concurrency, plain=what.plain)
    began = time.monotonic()
    complete = True
    try:
        _run(evaluation, able)
    except KeyboardInterrupt:
        complete = False
    seconds = time.monotonic() - began
    together = evaluation.tokens / evaluation.seconds if what.concurrency > 1 and evaluation.tokens else None
    outcomes = evaluation.outcomes
    to = console()
    if not complete:
        to.print(f"interrupted: {len(outcomes)} of {len(able)} records", style="bold", highlight=False)
    if outcomes:
        print_report(to, model.model, outcomes, together)
        print_failures(to, outcomes, what.failures)
    if what.json is not None:
        info = {"model": model.model, "complete": complete, "seconds": seconds, "concurrency": what.concurrency}
        what.json.write_bytes(as_json(about | info, outcomes, together))
    return complete


def _run(evaluation: Evaluation, records: list[Record]) -> None:
    errors, steps = Console(stderr=True), evaluation.steps(records)
    if not errors.is_terminal:
        evaluation.run(records, _Teller(evaluation, len(records)).advance)
        return
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=errors, transient=True) as progress:
        task = progress.add_task("", total=steps)

        def advance() -> None:
            progress.update(task, advance=1, description=_so_far(evaluation))

        evaluation.run(records, advance)


def _so_far(evaluation: Evaluation) -> str:
    exact = sum(outcome.exact for outcome in evaluation.outcomes)
    return f"{exact} of {len(evaluation.outcomes)} exact"


class _Teller:
    """Tells of progress in a line now and then."""

    def __init__(self, evaluation: Evaluation, records: int) -> None:
        self._evaluation = evaluation
        self._records = records
        self._said = time.monotonic()

    def advance(self) -> None:
        """A step was done."""
        if time.monotonic() - self._said >= SAID_SECONDS:
            self._said = time.monotonic()
            print(f"{_so_far(self._evaluation)}, of {self._records} records", file=sys.stderr, flush=True)
