"""`warmline bench engine`: prefill, plain decode, and passes of 1 to 64 tokens, at two depths of context.

Everything runs in one engine, set up once as `warmline serve` would. A pass is what verifying a draft costs: its
tokens follow a context that is already in the KV cache, and the logits of every row are computed. Plain decode goes
through the whole engine (scheduler, sampling, detokeniser) one token a pass.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
from rich.table import Table

from ..backends import create_backend
from ..backends.base import Backend
from ..backends.rows import max_positions
from ..batch import BLOCK_SIZE, Batch, SequenceSlice
from ..core import Engine
from ..errors import EngineError
from ..loading.tokenizer import Tokenizer
from ..messages import GenerationRequest, SamplingParams, pack_tokens
from ..options import EngineOptions
from ..report_tables import print_table, table_console
from .about import about_machine
from .progress import Progress

DEPTHS: Final = (512, 4000)
PASS_SIZES: Final = (1, 2, 4, 8, 16, 32, 64)
DECODE_TOKENS: Final = 64
ROOM: Final = max(*PASS_SIZES, DECODE_TOKENS + 1)
"""Tokens that are computed at a depth, beyond it."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """Seconds that repeated runs of one thing took, and the tokens and passes in each run."""

    tokens: int
    passes: int
    seconds: list[float]

    @property
    def median(self) -> float:
        """The median time of a run, in seconds."""
        return statistics.median(self.seconds)

    @property
    def tokens_per_second(self) -> float:
        """Tokens a second at the median time."""
        return self.tokens / self.median

    @property
    def spread(self) -> float:
        """Half the distance between the quartiles, as a share of the median."""
        low, _, high = statistics.quantiles(self.seconds, n=4)
        return (high - low) / 2 / self.median


def main(options: EngineOptions, json_file: Path | None = None, repeats: int = 15) -> None:
    """Measure, print a table, and write the figures to ``json_file`` if given."""
    report = measure(options, repeats)
    print_report(report)
    if json_file is not None:
        json_file.write_text(json.dumps(report, indent=2) + "\n")


def measure(options: EngineOptions, repeats: int) -> dict[str, Any]:
    """All figures as one JSON-ready object; rates are tokens a second.

    Raises:
        EngineError: the model can't be loaded, or it or the KV memory has no room for the first depth.

    """
    progress = Progress()
    progress.part(f"loading {options.model}")
    backend, tokenizer = create_backend(options)
    depths = _depths(backend)
    progress.part("memory bandwidth and prefill")
    bandwidth = memory_bandwidth()
    text_tokens = _sample_tokens(tokenizer, max(depths) + ROOM)

    prefill = measure_pass(backend, text_tokens[:512], 0, logits="last", repeats=max(repeats // 2, 3))
    passes: dict[int, dict[int, Measurement]] = {}
    for depth in depths:
        progress.part(f"passes of {PASS_SIZES[0]} to {PASS_SIZES[-1]} tokens behind {depth}")
        _fill(backend, text_tokens[:depth], progress)
        passes[depth] = {}
        for size in PASS_SIZES:
            progress.at(f"passes of {size} behind {depth}")
            passes[depth][size] = measure_pass(
                backend, text_tokens[depth : depth + size], depth, logits="all", repeats=repeats
            )
    decode = {}
    for depth in depths:
        progress.part(f"plain decoding behind {depth} tokens")
        decode[depth] = measure_decode(backend, tokenizer, text_tokens, depth, max(repeats // 3, 2), progress)

    return {
        "model_path": options.model,
        "backend": backend.name,
        "kernels": backend.kernels,
        "threads": torch.get_num_threads(),
        "machine": about_machine(),
        "adapter": options.adapter,
        "memory_bandwidth_gb_per_second": bandwidth / 1e9,
        "prefill_tokens_per_second": {"512": prefill.tokens_per_second},
        "prefill_spread": prefill.spread,
        "decode_tokens_per_second": decode[512].tokens_per_second,
        "pass_tokens_per_second": {str(n): m.tokens_per_second for n, m in passes[512].items()},
        "depths": {
            str(depth): {
                "decode": _row(decode[depth], pass_bytes(backend, depth) / bandwidth),
                "passes": {str(n): _row(m, pass_bytes(backend, depth) / bandwidth) for n, m in by_size.items()},
            }
            for depth, by_size in passes.items()
        },
    }


def measure_pass(backend: Backend, tokens: list[int], position: int, *, logits: str, repeats: int) -> Measurement:
    """Time passes over ``tokens`` at ``position``; what lies before must be in the first blocks of the cache."""
    blocks = -(-(position + len(tokens)) // BLOCK_SIZE)
    rows = list(range(len(tokens))) if logits == "all" else [len(tokens) - 1]
    batch = Batch(tokens, [SequenceSlice(0, len(tokens), position, list(range(blocks)))], rows)
    return Measurement(len(tokens), 1, _time(lambda: backend.forward(batch), repeats))


def measure_decode(
    backend: Backend, tokenizer: Tokenizer, tokens: list[int], depth: int, repeats: int, progress: Progress
) -> Measurement:
    """Time plain decoding through the engine after a prompt of ``depth`` tokens, prefill not counted."""
    seconds = []
    for number in range(repeats):
        engine = Engine(backend, tokenizer)
        request = GenerationRequest(
            id=number,
            prompt=pack_tokens(tokens[:depth]),
            sampling=SamplingParams(max_tokens=DECODE_TOKENS + 1),
            speculation=False,
            replay=pack_tokens(tokens[: DECODE_TOKENS + 1]),
        )
        engine.add(request)
        emitted = 0
        while emitted == 0:
            progress.at(f"plain decoding behind {depth} tokens, {number + 1} of {repeats}: its prompt is computed")
            emitted = sum(len(event.tokens) for event in engine.step())
        began = time.perf_counter()
        while engine.has_work:
            engine.step()
        seconds.append(time.perf_counter() - began)
    return Measurement(DECODE_TOKENS, DECODE_TOKENS, seconds)


def pass_bytes(backend: Backend, depth: int) -> int:
    """The bytes a pass must read at least: every weight once, and the keys and values of its context."""
    config = backend.config
    heads = (config.num_heads + 2 * config.num_kv_heads) * config.head_dim
    layer = config.hidden_size * (heads + config.num_heads * config.head_dim + 3 * config.ffn_size)
    weights = layer * config.num_layers + config.vocab_size * config.hidden_size
    return weights * backend.weight_bytes + config.kv_numbers * backend.kv_bytes * depth


def memory_bandwidth(megabytes: int = 512, repeats: int = 7) -> float:
    """Bytes a second that all threads together read from memory (the best of some runs over a large sum)."""
    data = torch.ones(megabytes << 18, dtype=torch.float32)
    return data.nbytes / min(_time(data.sum, repeats))


def print_report(report: dict[str, Any]) -> None:
    """Show the figures as a table."""
    console = table_console(100)
    machine = report["machine"]
    console.print(
        f"{report['model_path']}\n{machine['processor']}, {report['threads']} threads, torch {machine['torch']}, "
        f"{report['backend']}: {report['kernels']}, memory {report['memory_bandwidth_gb_per_second']:.1f} GB/s"
    )
    table = Table("what", "context", "tok/s", "ms a pass", "± quartile", "share of bandwidth")
    prefill = report["prefill_tokens_per_second"]["512"]
    table.add_row(
        "prefill 512", "0", f"{prefill:.0f}", f"{512e3 / prefill:.1f}", f"{report['prefill_spread']:.0%}", ""
    )
    for depth, figures in report["depths"].items():
        named = {"plain decode": figures["decode"]}
        named |= {f"pass of {size}": row for size, row in figures["passes"].items()}
        for name, row in named.items():
            table.add_row(
                name,
                depth,
                f"{row['tokens_per_second']:.0f}",
                f"{row['milliseconds_a_pass']:.2f}",
                f"{row['spread']:.0%}",
                f"{row['share_of_bandwidth']:.0%}",
            )
    print_table(console, table, names=2)


def _depths(backend: Backend) -> list[int]:
    """Those of `DEPTHS` that the model and the cache have room for."""
    config, room = backend.config, max_positions(backend.config, backend.num_blocks)
    depths = [depth for depth in DEPTHS if depth + ROOM <= room]
    if depths:
        return depths
    needed = DEPTHS[0] + ROOM
    if config.context_length < needed:
        raise EngineError(
            f"the benchmark needs a context of {needed} tokens; this model's is {config.context_length}"
        )
    memory = -(-needed // BLOCK_SIZE) * BLOCK_SIZE * config.kv_numbers * backend.kv_bytes
    raise EngineError(
        f"the benchmark needs room for {needed} tokens in the KV cache, which has it for {room}: "
        f"give it at least --kv-memory {-(-memory // 1024)}KiB"
    )


def _row(measurement: Measurement, seconds_to_read: float) -> dict[str, float]:
    seconds_a_pass = measurement.median / measurement.passes
    return {
        "tokens_per_second": measurement.tokens_per_second,
        "milliseconds_a_pass": seconds_a_pass * 1e3,
        "spread": measurement.spread,
        "share_of_bandwidth": seconds_to_read / seconds_a_pass,
    }


def _fill(backend: Backend, tokens: list[int], progress: Progress, chunk: int = 512) -> None:
    """Put the keys and values of ``tokens`` in the first blocks of the cache."""
    for start in range(0, len(tokens), chunk):
        progress.at(f"computing the {len(tokens)} tokens behind which passes are measured: {start} done")
        part = tokens[start : start + chunk]
        measure_pass(backend, part, start, logits="last", repeats=1)


def _sample_tokens(tokenizer: Tokenizer, count: int) -> list[int]:
    """Tokens of real code: this package's own sources."""
    tokens: list[int] = []
    for path in sorted(Path(__file__).parent.parent.rglob("*.py")):
        tokens += tokenizer.encode(path.read_text())
    while len(tokens) < count:
        tokens += tokens
    return tokens[:count]


def _time(run: Callable[[], object], repeats: int) -> list[float]:
    run()
    seconds = []
    for _ in range(max(repeats, 2)):
        began = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - began)
    return seconds
