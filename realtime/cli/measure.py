"""The commands that measure: `warmline bench ...` and `warmline eval ...`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from .options import (
    Adapter,
    ApiKey,
    Backend,
    BackendName,
    CommandFailed,
    EditsFile,
    KvMemory,
    Model,
    Threads,
    check_folder,
)

if TYPE_CHECKING:
    from ..evaluation.records import Record

bench_app = typer.Typer(help="Measure this machine.", rich_markup_mode=None)
eval_app = typer.Typer(help="Measure a model's answers.", rich_markup_mode=None)

KV_MEMORY: Final = 1 << 30
"""Bytes for keys and values, as `serve` takes unless told otherwise."""
_QUICK_EDITS: Final = 2


@bench_app.command("engine")
def bench_engine(
    model: Model = None,
    adapter: Adapter = None,
    backend: Backend = BackendName.AUTO,
    threads: Threads = None,
    kv_memory: KvMemory = "1GiB",  # type: ignore[assignment]
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the figures here, too.")] = None,
    repeats: Annotated[int, typer.Option(min=2, max=1000, help="How often each pass is timed.")] = 15,
) -> None:
    """Measure prefill, decode and passes of 1 to 64 tokens."""
    check_folder(json)
    from warmline.engine import EngineError, run_engine_benchmark

    from .engine_setup import engine_options, explained
    from .interrupts import no_interrupt_lost

    try:
        with no_interrupt_lost(), explained(model):
            options = engine_options(model, adapter, backend.value, threads, kv_memory)
            run_engine_benchmark(options, json, repeats)
    except EngineError as error:
        raise CommandFailed(str(error)) from None


@bench_app.command("edits")
def bench_edits(
    file: EditsFile = None,
    model: Model = None,
    adapter: Adapter = None,
    backend: Backend = BackendName.AUTO,
    threads: Threads = None,
    kv_memory: KvMemory = "1GiB",  # type: ignore[assignment]
    limit: Annotated[int, typer.Option(min=1, help="How many of them, chosen at random.")] = 24,
    rounds: Annotated[int, typer.Option(min=1, max=100, help="How often all of them are replayed.")] = 3,
    llama_server: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, metavar="PROGRAM", help="Generate beside this llama-server, too."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="See that it works: the two shortest, once.")] = False,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the figures here, too.")] = None,
) -> None:
    """Replay real edits by the engine: what drafting is worth, beside plain decoding and prompt lookup."""
    check_folder(json)
    from warmline.engine import EngineError

    from ..benchmarks import edits
    from ..benchmarks.warm_texts import PROJECT_EDITS
    from ..evaluation.records import EditRecord, RecordError, choose, read_records
    from .engine_setup import engine_options, explained
    from .interrupts import no_interrupt_lost

    try:
        records = read_records(file or PROJECT_EDITS)
        chosen = _shortest(records) if quick else choose(records, limit=limit)
    except RecordError as error:
        raise CommandFailed(str(error)) from None
    replayed, all_edits = (
        [record for record in some if isinstance(record, EditRecord) and not record.is_steered]
        for some in (chosen, records)
    )
    if not replayed:
        raise CommandFailed(f"{file or PROJECT_EDITS} has no edit that can be replayed")
    try:
        with no_interrupt_lost(), explained(model):
            options = engine_options(model, adapter, backend.value, threads, kv_memory)
            edits.run(options, replayed, [] if quick else all_edits, 1 if quick else rounds, json, llama_server)
    except EngineError as error:
        raise CommandFailed(str(error)) from None


@bench_app.command("fresh")
def bench_fresh(
    model: Model = None,
    adapter: Adapter = None,
    backend: Backend = BackendName.AUTO,
    threads: Threads = None,
    kv_memory: KvMemory = "1GiB",  # type: ignore[assignment]
    pairs: Annotated[int, typer.Option(min=2, max=1000, help="Texts that are written both ways.")] = 20,
    tokens: Annotated[int, typer.Option(min=1, max=2048, help="Tokens of each text, at most.")] = 128,
    temperature: Annotated[float, typer.Option(min=0.0, max=5.0, help="How freely they are chosen.")] = 1.0,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the figures here, too.")] = None,
) -> None:
    """Write new code with speculation and without, in turn: what drafting costs where little can be foreseen."""
    check_folder(json)
    from warmline.engine import EngineError, run_fresh_benchmark

    from .engine_setup import engine_options, explained
    from .interrupts import no_interrupt_lost

    try:
        with no_interrupt_lost(), explained(model):
            options = engine_options(model, adapter, backend.value, threads, kv_memory)
            run_fresh_benchmark(options, pairs, tokens, temperature, json)
    except EngineError as error:
        raise CommandFailed(str(error)) from None


@bench_app.command("sampling")
def bench_sampling(
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the figures here, too.")] = None,
    repeats: Annotated[int, typer.Option(min=2, max=100_000, help="How often each choice is timed.")] = 60,
) -> None:
    """Measure what choosing a token costs, with each filter, beside the usual way that sorts the vocabulary."""
    check_folder(json)
    from warmline.engine import run_sampling_benchmark

    run_sampling_benchmark(json, repeats)


@bench_app.command("warm")
def bench_warm(
    file: EditsFile = None,
    url: Annotated[
        str | None,
        typer.Option(
            envvar="WARMLINE_URL",
            help="The running service to measure, with the model it has. [default: one of the benchmark's own]",
        ),
    ] = None,
    api_key: ApiKey = None,
    model: Model = None,
    adapter: Adapter = None,
    threads: Threads = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the figures here, too.")] = None,
    rounds: Annotated[int, typer.Option(min=2, max=1000, help="How often each request is timed.")] = 7,
    quick: Annotated[bool, typer.Option("--quick", help="See that it works: a few short measurements.")] = False,
) -> None:
    """Measure what it is worth that a prompt was computed before its request: first tokens cold, warm and typing.

    FILE.jsonl has the code that is typed.
    """
    check_folder(json)
    serve = _served(model, adapter, threads)
    if url is not None and serve:
        raise typer.BadParameter(
            "is for a service of the benchmark's own; leave out --url, and unset WARMLINE_URL", param_hint=serve[0]
        )
    if url is not None:
        print(f"measuring the service at {url}, which --url or WARMLINE_URL names", file=sys.stderr, flush=True)
    from warmline.client import WarmlineError

    from ..benchmarks.service import ServiceFailed
    from ..benchmarks.warm import QUICK, Plan, run_warm_benchmark
    from ..benchmarks.warm_texts import TextsMissing

    try:
        run_warm_benchmark(url, api_key, serve, file, QUICK if quick else Plan(rounds=rounds), json)
    except (WarmlineError, ServiceFailed, TextsMissing) as error:
        raise CommandFailed(str(error)) from None


@bench_app.command("transport")
def bench_transport(
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the figures here, too.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="See that it works: a few requests of each kind.")] = False,
) -> None:
    """Compare the WebSocket with server-sent events over HTTP; a recording takes the engine's place."""
    check_folder(json)
    from warmline.engine import EngineError

    from ..benchmarks.transport import MissingPackages, ServerFailed, run_transport_benchmark
    from .engine_setup import engine_options

    try:
        tokenizer_of = engine_options(None, "none", "auto", None, 1).model
        run_transport_benchmark(tokenizer_of, json, quick)
    except (EngineError, MissingPackages, ServerFailed) as error:
        raise CommandFailed(str(error)) from None


@bench_app.command("end-to-end")
def bench_end_to_end(
    file: EditsFile = None,
    model: Model = None,
    adapter: Adapter = None,
    threads: Threads = None,
    limit: Annotated[int, typer.Option(min=1, help="How many of them, chosen at random.")] = 24,
    rounds: Annotated[int, typer.Option(min=1, max=100, help="How often all of them are replayed.")] = 5,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the figures here, too.")] = None,
) -> None:
    """Replay real edits by the engine alone and through the whole service: what of its tokens a second is left."""
    check_folder(json)
    from ..benchmarks.warm_texts import PROJECT_EDITS
    from ..evaluation.records import EditRecord, RecordError, choose, read_records

    try:
        records = choose(read_records(file or PROJECT_EDITS), limit=limit)
    except RecordError as error:
        raise CommandFailed(str(error)) from None
    from warmline.client import WarmlineError
    from warmline.engine import EngineError

    from ..benchmarks.end_to_end import run_end_to_end_benchmark
    from ..benchmarks.service import ServiceFailed
    from .engine_setup import engine_options, explained

    replayed = [record for record in records if isinstance(record, EditRecord) and not record.is_steered]
    try:
        with explained(model):
            options = engine_options(model, adapter, "auto", threads, KV_MEMORY)
            run_end_to_end_benchmark(options, _served(model, adapter, threads), replayed, rounds, json)
    except (EngineError, ServiceFailed, WarmlineError) as error:
        raise CommandFailed(str(error)) from None


@eval_app.command("edits")
def eval_edits(
    file: EditsFile = None,
    model: Model = None,
    adapter: Adapter = None,
    backend: Backend = BackendName.AUTO,
    threads: Threads = None,
    kv_memory: KvMemory = "1GiB",  # type: ignore[assignment]
    kind: Annotated[list[str] | None, typer.Option(metavar="K", help="Only this kind; repeatable.")] = None,
    language: Annotated[list[str] | None, typer.Option(metavar="L", help="Only this language; repeatable.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only so many, chosen at random.")] = None,
    seed: Annotated[int, typer.Option(help="Of that choice.")] = 0,
    likelihood: Annotated[
        bool, typer.Option("--likelihood/--no-likelihood", help="How likely the right answers are to the model.")
    ] = True,
    concurrency: Annotated[
        int, typer.Option(min=1, max=64, help="Records that run at once; speed is measured with 1.")
    ] = 1,
    plain: Annotated[
        int, typer.Option(min=0, metavar="N", help="Run N of them without speculation, too, and compare.")
    ] = 0,
    failures: Annotated[int, typer.Option(min=0, metavar="N", help="Show N that aren't exact.")] = 0,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write everything here, too.")] = None,
) -> None:
    """Run a model over edits with known answers, and say how many it gets right, how likely they are and how fast."""
    if plain and concurrency > 1:
        raise typer.BadParameter("compares requests that run alone; leave out --concurrency", param_hint="--plain")
    check_folder(json)
    from ..benchmarks.warm_texts import PROJECT_EDITS
    from ..evaluation.records import RecordError, choose, read_records

    file = file or PROJECT_EDITS
    try:
        records = choose(read_records(file), kinds=kind or (), languages=language or (), limit=limit, seed=seed)
    except RecordError as error:
        raise CommandFailed(str(error)) from None
    from warmline.engine import EngineError

    from ..evaluation.command import What, evaluate
    from .engine_setup import engine_options, explained

    what = What(likelihood, concurrency, plain, failures, json)
    try:
        with explained(model):
            options = engine_options(model, adapter, backend.value, threads, kv_memory)
            about = {"file": str(file), "seed": seed, "adapter": options.adapter}
            complete = evaluate(options, records, what, about)
    except EngineError as error:
        raise CommandFailed(str(error)) from None
    if not complete:
        raise typer.Exit(130)


def _shortest(records: Sequence[Record]) -> Sequence[Record]:
    """The edits that take the least time to replay."""
    from ..evaluation.records import EditRecord

    edits = [record for record in records if isinstance(record, EditRecord) and not record.is_steered]
    return sorted(edits, key=lambda edit: len(edit.before) + 2 * len(edit.after))[:_QUICK_EDITS]


def _served(model: str | None, adapter: str | None, threads: int | None) -> list[str]:
    """The arguments of a service with this model."""
    given = {"--model": model, "--adapter": adapter, "--threads": threads}
    return [text for name, value in given.items() if value is not None for text in (name, str(value))]
