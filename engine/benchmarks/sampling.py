"""`warmline bench sampling`: what choosing a token costs, beside the usual way, which sorts the vocabulary.

Both sides choose from the same rows, in turn, in one thread, and their tokens are compared. Before each, the caches
are filled with something else, as a forward pass does. A time is that of the thread on its processor: other work on
the machine counts little.
"""

from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from ..messages import SamplingParams, TokenLogprobs
from ..report_tables import print_table, table_console
from ..sampling import Adjustments, Logits, sample, token_logprobs, uniform_bits
from ..sampling.filters import WEIGHT_BITS
from .about import about_machine
from .progress import Progress

VOCABULARIES: Final = (49_152, 128_256, 151_936)
"""Those of SmolLM2, Llama 3 and Qwen 2.5."""
PROMPT_TOKENS: Final = 1500
OUTPUT_TOKENS: Final = 200
_ROWS: Final = 4
_CACHE_BYTES: Final = 16 << 20

_PENALTIES: Final = SamplingParams(repetition_penalty=1.1, presence_penalty=0.2, frequency_penalty=0.1)
SETTINGS: Final[dict[str, SamplingParams]] = {
    "greedy": SamplingParams(),
    "temperature": SamplingParams(temperature=0.8),
    "top-k 40": SamplingParams(temperature=0.8, top_k=40),
    "top-p 0.95": SamplingParams(temperature=0.8, top_p=0.95),
    "min-p 0.05": SamplingParams(temperature=0.8, min_p=0.05),
    "penalties, greedy": _PENALTIES,
    "logprobs 5, greedy": SamplingParams(logprobs=5),
    "all of these": msgspec.structs.replace(
        _PENALTIES, temperature=0.8, top_k=40, top_p=0.95, min_p=0.05, logprobs=5, logit_bias={7: 1.0}
    ),
}

Chosen = tuple[int, TokenLogprobs | None]
Choose = Callable[[Logits, int], Chosen]
"""From a row and its position to a token."""


def equal(generator: np.random.Generator, size: int) -> Logits:
    """All logits the same, as of a model that is broken: the most there can be to choose from."""
    return np.zeros(size, dtype=np.float32)


def flat(generator: np.random.Generator, size: int) -> Logits:
    """Logits that differ by thousandths: each token has nearly the same chance, and top-p keeps nearly all."""
    return generator.normal(0, 1e-3, size).astype(np.float32)


def broad(generator: np.random.Generator, size: int) -> Logits:
    """Logits that differ by a half: nearly every token has a chance, some several times that of others."""
    return generator.normal(0, 0.5, size).astype(np.float32)


def peaked(generator: np.random.Generator, size: int) -> Logits:
    """Logits as in code: a few tokens share nearly everything."""
    row = generator.normal(0, 2.5, size).astype(np.float32)
    row[generator.integers(0, size, 12)] = 10 + np.cumsum(generator.exponential(1, 12))
    return row


SHAPES: Final = {"equal": equal, "flat": flat, "broad": broad, "peaked": peaked}


@dataclass(frozen=True, slots=True)
class History:
    """The tokens before the row."""

    prompt: list[int]
    output: list[int]


@dataclass(slots=True)
class Measurement:
    """Microseconds that each way took, run by run, and how often both chose the same."""

    ours: list[float] = field(default_factory=list)
    sorting: list[float] = field(default_factory=list)
    same: int = 0


def ours(params: SamplingParams, history: History) -> Choose:
    """As the engine does it."""
    adjustments = Adjustments.of(params, history.prompt)
    if adjustments is not None:
        adjustments.emitted(history.output)

    def choose(row: Logits, position: int) -> Chosen:
        token = sample(row if adjustments is None else adjustments.apply(row), params, position)
        return token, None if params.logprobs is None else token_logprobs(row, token, params.logprobs)

    return choose


def sorting(params: SamplingParams, history: History) -> Choose:
    """The usual way: whole-vocabulary vectors, and for filters and likeliest tokens a sort of it.

    Of equal logits it takes any: a sort that keeps their order takes two and a half times as long.
    """
    prompt, output = np.array(history.prompt), np.array(history.output)

    def choose(row: Logits, position: int) -> Chosen:
        token = _sorted_choice(_dense_adjustment(row, params, prompt, output), params, position)
        return token, None if params.logprobs is None else _sorted_logprobs(row, token, params.logprobs)

    return choose


def _dense_adjustment(
    row: Logits, params: SamplingParams, prompt: NDArray[np.intp], output: NDArray[np.intp]
) -> Logits:
    if (params.repetition_penalty, params.presence_penalty, params.frequency_penalty) == (1.0, 0.0, 0.0):
        return row
    adjusted = row.astype(np.float64)
    for token, bias in params.logit_bias.items():
        adjusted[token] = np.float32(adjusted[token] + bias)
    counts = np.bincount(output, minlength=len(row))
    seen = counts + np.bincount(prompt, minlength=len(row)) > 0
    penalty = params.repetition_penalty
    adjusted = np.where(seen, np.where(adjusted > 0, adjusted / penalty, adjusted * penalty), adjusted)
    adjusted -= params.frequency_penalty * counts + params.presence_penalty * (counts > 0)
    return adjusted.astype(np.float32)


def _sorted_choice(row: Logits, params: SamplingParams, position: int) -> int:
    if params.temperature <= 0:
        return int(row.argmax())
    filters = params.top_k > 0 or params.top_p < 1 or params.min_p > 0
    order = np.argsort(-row) if filters else None
    values = row if order is None else row[order]
    weights = np.exp((values - row.max()) / np.float32(params.temperature))
    weights = np.rint(weights * np.float32(1 << WEIGHT_BITS)).astype(np.float64)
    if params.top_k > 0:
        weights[params.top_k :] = 0
    if params.min_p > 0:
        weights[values < np.float32(float(row.max()) + params.temperature * math.log(params.min_p))] = 0
    if params.top_p < 1:
        mass = np.cumsum(weights)
        weights[int(np.searchsorted(mass, params.top_p * mass[-1])) + 1 :] = 0
    if order is not None:
        by_id = np.empty_like(weights)
        by_id[order] = weights
        weights = by_id
    ends = np.cumsum(weights)
    drawn = uniform_bits(params.seed, position) * int(ends[-1]) >> 64
    return int(np.searchsorted(ends, drawn, side="right"))


def _sorted_logprobs(row: Logits, token: int, top: int) -> TokenLogprobs:
    shifted = row.astype(np.float64) - float(row.max())
    logprobs = shifted - np.log(np.exp(shifted).sum())
    likeliest = np.argsort(-row)[:top].tolist()
    return TokenLogprobs(token, float(logprobs[token]), tuple((id_, float(logprobs[id_])) for id_ in likeliest))


def main(json_file: Path | None = None, repeats: int = 60) -> None:
    """Measure, print a table, and write the figures to ``json_file`` if given."""
    report = measure(repeats)
    print_report(report)
    if json_file is not None:
        json_file.write_text(json.dumps(report, indent=2) + "\n")


def measure(repeats: int, vocabularies: Iterable[int] = VOCABULARIES) -> dict[str, Any]:
    """All figures as one JSON-ready object; times are microseconds a token."""
    progress, rows = Progress(), []
    for size in vocabularies:
        for shape in SHAPES:
            progress.part(f"{size:,} tokens, {shape} logits")
            for name, params in SETTINGS.items():
                progress.at(f"{size:,} tokens, {shape} logits, {name}")
                rows.append(_row(size, shape, name, _compare(size, shape, params, repeats)))
    return {"machine": about_machine(), "repeats": repeats, "rows": rows}


def _compare(size: int, shape: str, params: SamplingParams, repeats: int) -> Measurement:
    generator = np.random.default_rng(size)
    rows = [SHAPES[shape](generator, size) for _ in range(_ROWS)]
    history = History(*(generator.integers(0, size, count).tolist() for count in (PROMPT_TOKENS, OUTPUT_TOKENS)))
    ways = ours(params, history), sorting(params, history)
    for way in ways:
        way(rows[0], 0)
    measured, elsewhere = Measurement(), np.ones(_CACHE_BYTES // 8)
    for run in range(repeats):
        row = rows[run % _ROWS]
        chosen = set()
        for way, times in zip(ways, (measured.ours, measured.sorting), strict=True):
            elsewhere.sum()
            began = time.thread_time_ns()
            token, _ = way(row, run)
            times.append((time.thread_time_ns() - began) / 1e3)
            chosen.add(token)
        measured.same += len(chosen) == 1
    return measured


def _row(size: int, shape: str, name: str, measured: Measurement) -> dict[str, Any]:
    return {
        "vocabulary": size,
        "logits": shape,
        "setting": name,
        "microseconds": _summary(measured.ours),
        "sorting_microseconds": _summary(measured.sorting),
        "ratio": statistics.median(measured.sorting) / statistics.median(measured.ours),
        "same_tokens": measured.same / len(measured.ours),
    }


def _summary(times: list[float]) -> dict[str, float]:
    low, median, high = statistics.quantiles(times, n=4)
    return {"median": median, "spread": (high - low) / 2 / median}


def print_report(report: dict[str, Any]) -> None:
    """Show the figures as a table."""
    console = table_console(118)
    machine = report["machine"]
    console.print(
        f"{machine['processor']}, one thread, Python {machine['python']}, numpy {machine['numpy']}; "
        f"microseconds a token, caches cold; medians of {report['repeats']}, ± half the quartile distance"
    )
    table = Table("vocabulary", "logits", "setting", "us", "±", "sorting: us", "±", "times faster", "same tokens")
    for row in report["rows"]:
        mine, theirs = row["microseconds"], row["sorting_microseconds"]
        table.add_row(
            f"{row['vocabulary']:,}",
            row["logits"],
            row["setting"],
            f"{mine['median']:.0f}",
            f"{mine['spread']:.0%}",
            f"{theirs['median']:.0f}",
            f"{theirs['spread']:.0%}",
            f"{row['ratio']:.1f}",
            f"{row['same_tokens']:.0%}",
        )
    print_table(console, table, names=3)
