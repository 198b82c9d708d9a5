"""Real generation of text that is mostly copied, beside llama-server's: `warmline bench edits --llama-server PATH`.

Both go on from the same prompt tokens, greedily, with the same model: llama-server reads files in which the adapter
is merged, one of four bits a weight and one of eight. Every prompt is computed beforehand on either side, one
sequence runs at a time, and what is compared is the time of the generation alone. llama-server times itself, without
the way over HTTP; ours is the time from the request to its end.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, Final

from rich.table import Table

from ..errors import EngineError
from ..messages import Finished, GenerationRequest, SamplingParams, WarmRequest, pack_tokens, unpack_tokens
from ..offline import OfflineEngine
from ..options import EngineOptions
from ..report_tables import print_table, table_console
from .about import about_machine
from .copy_request import Copying, PlanCopies
from .generated import Generated
from .llama_server import NGRAM_MODES, LlamaServer, llama_server
from .merged_gguf import FORMATS, write_merged
from .progress import Progress

PLAIN: Final = "warmline, plain"
NO_DRAFT: Final = "warmline, no range"
OURS: Final = "warmline"
_MARGIN: Final = 64
"""Tokens of context that llama-server is given beyond the longest prompt and answer."""


def main(options: EngineOptions, plan: PlanCopies, binary: Path, rounds: int) -> dict[str, Any]:
    """Measure, print a table, and return the figures, ready for JSON.

    Raises:
        EngineError: the model or llama-server can't be run.

    """
    report = measure(options, plan, binary, rounds)
    print_report(report)
    return report


def measure(options: EngineOptions, plan: PlanCopies, binary: Path, rounds: int) -> dict[str, Any]:
    """All figures: of each way its tokens a second, its drafts, and how far its text is that of our plain decoding.

    Raises:
        EngineError: the model or llama-server can't be run.

    """
    if not Path(options.model).is_file():
        raise EngineError(f"{options.model} is no GGUF file, which is what llama-server runs")
    progress = Progress()
    progress.part(f"loading {options.model} once more, to generate beside llama-server")
    ours = _Ours(options)
    requests = plan(ours.engine.tokenizer, ours.engine.model.max_sequence_tokens)
    if not requests:
        raise EngineError("no edit has a range of the length that is compared; give more edits (--limit)")
    with tempfile.TemporaryDirectory(prefix="warmline-") as folder:
        files = {}
        for number_format in FORMATS:
            files[number_format] = Path(folder) / f"{number_format}.gguf"
            adapter = None if options.adapter is None else Path(options.adapter)
            progress.part(f"writing the model with its adapter merged as {number_format}")
            write_merged(Path(options.model), adapter, files[number_format], number_format)
        context = max(len(request.prompt) + request.max_tokens for request in requests) + _MARGIN
        modes = {
            f"llama-server {number_format}, {mode or 'plain'}": (file, mode)
            for number_format, file in files.items()
            for mode in (None, *NGRAM_MODES)
        }
        ways = [PLAIN, NO_DRAFT, OURS, *modes]
        runs: dict[str, list[list[Generated]]] = {way: [] for way in ways}
        version = ""
        for number in range(rounds):
            for way in ways[number % len(ways) :] + ways[: number % len(ways)]:
                progress.part(f"beside llama-server, round {number + 1} of {rounds}: {way}")
                if way in modes:
                    file, mode = modes[way]
                    with llama_server(binary, file, context, ours.engine.model.threads, mode) as server:
                        version = version or server.version()
                        ends = ours.engine.tokenizer.eos_ids
                        runs[way].append([_by_server(server, one, ends) for one in _told(requests, way, progress)])
                else:
                    runs[way].append([ours.generate(one, way) for one in _told(requests, way, progress)])
    reference = runs[PLAIN][0]
    return {
        "machine": about_machine(),
        "llama_server": version,
        "model": Path(options.model).name,
        "adapter": Path(options.adapter).name if options.adapter is not None else None,
        "requests": len(requests),
        "context": round(statistics.mean(len(request.prompt) for request in requests)),
        "rounds": rounds,
        "ways": {way: _figures(generated, reference) for way, generated in runs.items()},
    }


def _told(requests: Sequence[Copying], way: str, progress: Progress) -> Iterator[Copying]:
    """The requests; says how far it is."""
    for number, request in enumerate(requests, 1):
        progress.at(f"{way}: request {number} of {len(requests)}")
        yield request


class _Ours:
    """Our engine, in this process."""

    def __init__(self, options: EngineOptions) -> None:
        self.engine = OfflineEngine(options)
        self._ids = count(1)

    def generate(self, request: Copying, way: str) -> Generated:
        # A salt of its own: what earlier runs said must not be known, nor drafted from.
        number = next(self._ids)
        salt, prompt = str(number), pack_tokens(request.prompt)
        self.engine.warm(WarmRequest(number, prompt, salt))
        while self.engine.has_work:
            self.engine.step()
        tokens: list[int] = []
        finished: Finished | None = None
        began = time.perf_counter()
        self.engine.submit(
            GenerationRequest(
                id=number,
                prompt=prompt,
                sampling=SamplingParams(max_tokens=request.max_tokens),
                salt=salt,
                speculation=way != PLAIN,
                draft=pack_tokens(request.draft if way == OURS else []),
            )
        )
        while finished is None:
            for event in self.engine.step():
                tokens += unpack_tokens(event.tokens)
                finished = event.finished
        seconds = time.perf_counter() - began
        proposed = sum(draft.proposed for draft in finished.drafts)
        return Generated(tokens, seconds, proposed, sum(draft.accepted for draft in finished.drafts))


def _by_server(server: LlamaServer, request: Copying, ends: Collection[int]) -> Generated:
    server.generate(request.prompt, 0)
    generated = server.generate(request.prompt, request.max_tokens)
    if generated.tokens and generated.tokens[-1] in ends:  # it counts the end token, we don't
        return replace(generated, tokens=generated.tokens[:-1])
    return generated


def _figures(rounds: Sequence[Sequence[Generated]], reference: Sequence[Generated]) -> dict[str, Any]:
    rates = [_rate(generated) for generated in rounds]
    first = rounds[0]
    proposed = sum(generated.proposed for generated in first)
    return {
        "tokens": sum(len(generated.tokens) for generated in first),
        "tokens_per_second": statistics.median(rates),
        "tokens_per_second_rounds": rates,
        "proposed": proposed,
        "accepted": sum(generated.accepted for generated in first),
        "same_text": sum(generated.tokens == other.tokens for generated, other in zip(first, reference, strict=True)),
        "same_tokens_share": sum(map(Generated.agrees_for, first, reference))
        / sum(len(other.tokens) for other in reference),
        "every_round_the_same": all(
            [generated.tokens for generated in other] == [generated.tokens for generated in first] for other in rounds
        ),
    }


def _rate(generated: Sequence[Generated]) -> float:
    return sum(len(one.tokens) for one in generated) / sum(one.seconds for one in generated)


def print_report(report: dict[str, Any]) -> None:
    """Show the figures as a table; rates are medians of the rounds, with their range."""
    ways = report["ways"]
    best = max((way for way in ways if way.startswith("llama")), key=lambda way: ways[way]["tokens_per_second"])
    table = Table(
        title=f"Text that is mostly copied: {report['requests']} requests, {report['context']} in context, "
        f"{report['rounds']} rounds, llama-server {report['llama_server']}"
    )
    for name in ("", "tok/s", "over its best", "tokens", "accepted", "as our plain text"):
        table.add_column(name, justify="right" if name else "left")
    for way, row in ways.items():
        rates = row["tokens_per_second_rounds"]
        ratios = [rate / other for rate, other in zip(rates, ways[best]["tokens_per_second_rounds"], strict=True)]
        table.add_row(
            way,
            f"{row['tokens_per_second']:.0f} ({min(rates):.0f}-{max(rates):.0f})",
            f"{statistics.median(ratios):.2f}",
            str(row["tokens"]),
            f"{row['accepted']} of {row['proposed']}" if row["proposed"] else "",
            f"{row['same_text']} of {report['requests']}, {row['same_tokens_share']:.0%} of tokens"
            + ("" if row["every_round_the_same"] else "; differs between rounds"),
        )
    print_table(table_console(118), table)
