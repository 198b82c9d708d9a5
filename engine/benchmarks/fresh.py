"""`warmline bench fresh`: what speculation costs where it can't pay, text that repeats nothing.

Code is begun from a few words and written at a high temperature, each time with speculation and without: the same
seed, so the same tokens. The two take turns of some tokens, one being paused while the other goes on, so that what
else the machine does slows down both. The time is that of a request's passes, and of taking it in.
"""

from __future__ import annotations

import json
import statistics
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from rich.table import Table

from ..messages import Finished, GenerationRequest, SamplingParams, pack_tokens
from ..offline import OfflineEngine
from ..options import EngineOptions
from ..report_tables import print_table, table_console
from .about import about_machine
from .progress import Progress

TURN: Final = 8
"""Tokens that one of a pair writes before it is the other's turn."""
AIM: Final = 1.05
"""The median ratio is to be at most this."""
BEGINNINGS: Final = (
    "def parse_duration(text: str) -> float:\n",
    "class LruCache:\n    def __init__(self, capacity):\n",
    "fn main() {\n    let args: Vec<String> = std::env::args().collect();\n",
    "SELECT customers.name, COUNT(orders.id)\n",
    "export function debounce(callback, delay) {\n",
    "package main\n\nimport (\n",
    "#include <stdio.h>\n\nint main(void) {\n",
    "public class BankAccount {\n    private double balance;\n",
    "def quicksort(values):\n",
    "import asyncio\n\nasync def fetch(url):\n",
    "interface Shape {\n",
    "@app.route('/login', methods=['POST'])\n",
    "def test_empty_input_is_refused():\n",
    "const express = require('express');\n",
    "struct Matrix {\n    rows: usize,\n",
    "#!/bin/sh\nset -e\n\nfor file in ",
    "<!DOCTYPE html>\n<html>\n<head>\n",
    "class Graph:\n    def shortest_path(self, start, goal):\n",
    "func (s *Server) handleUpload(w http.ResponseWriter, r *http.Request) {\n",
    "def moving_average(samples, window):\n",
    "type Result<T> = ",
    "CREATE TABLE invoices (\n",
    "using System;\n\nnamespace Inventory\n{\n",
    "def read_config(path):\n    with open(path) as file:\n",
)
"""Where each text begins; where there are more pairs, texts go on otherwise from the same ones."""


@dataclass(slots=True)
class Run:
    """One of the two: its time, and what has come of it."""

    seconds: float = 0.0
    tokens: bytes = b""
    finished: Finished | None = None

    @property
    def receipt(self) -> Finished:
        """What it took, once it has ended."""
        assert self.finished is not None
        return self.finished


@dataclass(frozen=True, slots=True)
class Pair:
    """The same text with speculation and without; times in ms."""

    tokens: int
    off_ms: float
    on_ms: float
    off_passes: int
    on_passes: int
    drafted: int
    accepted: int
    same_text: bool

    @property
    def ratio(self) -> float:
        """The time with speculation over that without."""
        return self.on_ms / self.off_ms


def main(options: EngineOptions, pairs: int, tokens: int, temperature: float, json_file: Path | None = None) -> None:
    """Measure, print a table, and write the figures to ``json_file`` if given.

    Raises:
        EngineError: the model can't be run.

    """
    report = measure(options, pairs, tokens, temperature)
    print_report(report)
    if json_file is not None:
        json_file.write_text(json.dumps(report, indent=2) + "\n")


def measure(options: EngineOptions, pairs: int, tokens: int, temperature: float) -> dict[str, Any]:
    """All figures as one JSON-ready object."""
    progress = Progress()
    progress.part(f"loading {options.model}, then measuring what passes cost")
    engine = OfflineEngine(options)
    progress.part("a first pair, not counted")
    one_pair(engine, 0, min(tokens, 2 * TURN), temperature, "not counted")
    measured = []
    for number in range(pairs):
        progress.part(f"pair {number + 1} of {pairs}")
        measured.append(one_pair(engine, number, tokens, temperature))
    ratios = [pair.ratio for pair in measured]
    quartiles = statistics.quantiles(ratios, n=4, method="inclusive")
    return {
        "machine": about_machine(),
        "model": options.model,
        "adapter": engine.model.adapter,
        "backend": engine.model.backend,
        "kernels": engine.model.kernels,
        "threads": engine.model.threads,
        "temperature": temperature,
        "pairs": [asdict(pair) | {"ratio": pair.ratio} for pair in measured],
        "median_ratio": statistics.median(ratios),
        "quartile_ratios": [quartiles[0], quartiles[2]],
        "range_of_ratios": [min(ratios), max(ratios)],
        "passes": {
            "off": sum(pair.off_passes for pair in measured),
            "on": sum(pair.on_passes for pair in measured),
            "pairs_with_more": sum(pair.on_passes > pair.off_passes for pair in measured),
        },
        "different_texts": sum(not pair.same_text for pair in measured),
        "aim": AIM,
    }


def one_pair(engine: OfflineEngine, number: int, tokens: int, temperature: float, salt: str = "") -> Pair:
    """Write text ``number`` both ways in an idle engine, beginning with speculation if it is odd."""
    runs = {True: Run(), False: Run()}
    order = (True, False) if number % 2 else (False, True)
    prompt = engine.tokenizer.encode(BEGINNINGS[number % len(BEGINNINGS)])
    sampling = SamplingParams(
        max_tokens=tokens,
        temperature=temperature,
        seed=number,
        logit_bias=dict.fromkeys(engine.tokenizer.eos_ids, -100.0),  # the text is to go on
    )
    for speculation in order:
        began = time.perf_counter()
        whose = f"{salt} {speculation} {number // len(BEGINNINGS)}"  # so that neither has the other's cache
        engine.submit(
            GenerationRequest(int(speculation), pack_tokens(prompt), sampling, whose, speculation=speculation)
        )
        runs[speculation].seconds += time.perf_counter() - began
        engine.pause(int(speculation), True)
    while any(run.finished is None for run in runs.values()):
        for speculation in order:
            take_turn(engine, int(speculation), runs[speculation])
    on, off = runs[True], runs[False]
    return Pair(
        tokens=off.receipt.output_tokens,
        off_ms=off.seconds * 1e3,
        on_ms=on.seconds * 1e3,
        off_passes=off.receipt.forward_passes,
        on_passes=on.receipt.forward_passes,
        drafted=sum(draft.proposed for draft in on.receipt.drafts),
        accepted=sum(draft.accepted for draft in on.receipt.drafts),
        same_text=on.tokens == off.tokens,
    )


def take_turn(engine: OfflineEngine, sequence: int, run: Run) -> None:
    """Let a paused sequence go on for `TURN` tokens, or to its end; all others are paused."""
    enough = len(run.tokens) + len(pack_tokens([0] * TURN))
    began = time.perf_counter()
    engine.pause(sequence, False)
    while run.finished is None and len(run.tokens) < enough:
        for event in engine.step():
            run.tokens += event.tokens
            run.finished = event.finished
    engine.pause(sequence, True)
    run.seconds += time.perf_counter() - began


def print_report(report: dict[str, Any]) -> None:
    """Show each pair, and what they say together."""
    machine, passes = report["machine"], report["passes"]
    to = table_console(100)
    adapter = report["adapter"] or "no adapter"
    to.print(
        f"{machine['processor']}, {machine['cores']} cores; {Path(report['model']).name}, {adapter}, "
        f"{report['backend']} backend ({report['kernels']}), {report['threads']} threads; "
        f"temperature {report['temperature']:g}",
        highlight=False,
    )
    table = Table()
    for name in ("pair", "tokens", "off, ms", "on, ms", "on / off", "passes off", "on", "drafted", "accepted"):
        table.add_column(name, justify="right")
    for number, pair in enumerate(report["pairs"], 1):
        table.add_row(
            str(number),
            str(pair["tokens"]),
            f"{pair['off_ms']:.0f}",
            f"{pair['on_ms']:.0f}",
            f"{pair['ratio']:.3f}",
            *(str(pair[name]) for name in ("off_passes", "on_passes", "drafted", "accepted")),
        )
    print_table(to, table)
    first, third = report["quartile_ratios"]
    least, most = report["range_of_ratios"]
    to.print(
        f"on / off: median {report['median_ratio']:.3f} (aim: at most {report['aim']}), quartiles {first:.3f} and "
        f"{third:.3f}, range {least:.3f} to {most:.3f}\n"
        f"passes: {passes['off']} off, {passes['on']} on; {passes['pairs_with_more']} texts took more with "
        f"speculation; {report['different_texts']} differ",
        highlight=False,
    )
