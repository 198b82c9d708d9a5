"""How long a decoding sequence waits for its next token while somebody else's long prompt is computed.

    python -m tools.prompt_beside_decode [--prompt 4000] [--context 500] [--rounds 3] [--threads 1]

One engine, the default model; ways to size the prompt's chunks take turns. A line for each: the time between tokens
(median, 90th percentile, most), how many times that without the prompt, and how long the prompt took. Time is the
process's own processor time over the number of threads, so that other work on the machine counts little, least with
one thread.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Final

import torch
import typer
from warmline.engine import (
    DEFAULT_MODEL,
    EngineOptions,
    GenerationRequest,
    SamplingParams,
    pack_tokens,
    resolve_model,
)
from warmline.engine.backends import create_backend
from warmline.engine.backends.rows import max_positions
from warmline.engine.budget import StepBudget
from warmline.engine.core import Engine
from warmline.engine.speculation.measuring import measure_cost

WAYS: Final = {
    "64 rows": StepBudget(prefill_beside_decode=64, prefill_stretch=1e9),
    "twice the time (ours)": StepBudget(),
    "1.5 times": StepBudget(prefill_stretch=1.5),
    "3 times": StepBudget(prefill_stretch=3.0),
}
WARM_UP: Final = 20
"""Tokens before the prompt comes; what they take is what is usual."""


@dataclass(slots=True)
class Waits:
    """Seconds between tokens, before a prompt came and meanwhile, and until the prompt was computed."""

    usual: list[float] = field(default_factory=list)
    beside: list[float] = field(default_factory=list)
    prompt: list[float] = field(default_factory=list)


def tokens(count: int, seed: int) -> bytes:
    """So many tokens, other ones for each seed."""
    generator = torch.Generator().manual_seed(seed)
    return pack_tokens(torch.randint(1000, 40_000, (count,), generator=generator).tolist())


def clock() -> float:
    """Seconds of the process on all its threads, over how many these are."""
    return time.process_time() / torch.get_num_threads()


def steps(engine: Engine) -> Iterator[tuple[float, set[int]]]:
    """The time of each step, and whose tokens it brought."""
    while engine.has_work:
        began = clock()
        spoke = {event.id for event in engine.step()}
        yield clock() - began, spoke


def measure(engine: Engine, waits: Waits, prompt: int, context: int, seed: int) -> None:
    """Decode behind a context, have a prompt computed beside it, and note who waited how long."""
    replay = tokens(4096, seed + 1)
    engine.add(
        GenerationRequest(1, tokens(context, seed), SamplingParams(max_tokens=4096), speculation=False, replay=replay)
    )
    spoken, waited, took, came = 0, 0.0, 0.0, False
    for seconds, spoke in steps(engine):
        waited, took = waited + seconds, took + seconds
        if 1 in spoke:
            if came:
                waits.beside.append(waited)
            elif spoken > WARM_UP // 2:
                waits.usual.append(waited)
            spoken, waited = spoken + 1, 0.0
        if came and 2 in spoke:
            waits.prompt.append(took)
            break
        if not came and spoken == WARM_UP:
            came, took = True, 0.0
            second = SamplingParams(max_tokens=1)
            engine.add(GenerationRequest(2, tokens(prompt, seed + 2), second, speculation=False, client="other"))
    engine.cancel(1)
    for _ in steps(engine):
        pass


def main(
    prompt: Annotated[int, typer.Option(help="Tokens of the prompt that comes.")] = 4000,
    context: Annotated[int, typer.Option(help="Tokens before those that are decoded.")] = 500,
    rounds: Annotated[int, typer.Option(help="How often each way has its turn.")] = 3,
    threads: Annotated[int, typer.Option(help="0: as many as the engine would have.")] = 0,
) -> None:
    """Measure all ways and print a line for each."""
    options = EngineOptions(model=str(resolve_model(DEFAULT_MODEL)), threads=threads or None)
    backend, tokenizer = create_backend(options)
    Engine(backend, tokenizer).warm_up()
    cost = measure_cost(backend, max_positions(backend.config, backend.num_blocks), clock)
    figures = " / ".join(f"{cost.seconds(rows) * 1e3:.1f}" for rows in (1, 8, 32, 64))
    typer.echo(f"passes of 1 / 8 / 32 / 64 rows: {figures} ms; {cost.per_key * 1e6:.2f} ms a row for 1,000 keys")
    ways = {name: Waits() for name in WAYS}
    for number in range(rounds):
        for index, (name, budget) in enumerate(WAYS.items()):
            engine = Engine(backend, tokenizer, budget)
            engine.scheduler.cost = cost
            measure(engine, ways[name], prompt, context, seed=100 * number + 10 * index)
    for name, waits in ways.items():
        usual = statistics.median(waits.usual)
        *_, ninth = statistics.quantiles(waits.beside, n=10)
        typer.echo(
            f"{name:22} usual {usual * 1e3:5.1f} ms, beside the prompt {statistics.median(waits.beside) * 1e3:5.1f} "
            f"(90 %: {ninth * 1e3:5.1f}, most {max(waits.beside) * 1e3:5.1f}) = "
            f"{statistics.median(waits.beside) / usual:4.2f} times (90 %: {ninth / usual:4.2f}); "
            f"prompt after {statistics.median(waits.prompt):5.2f} s, {len(waits.beside) // rounds} tokens meanwhile"
        )


if __name__ == "__main__":
    typer.run(main)
