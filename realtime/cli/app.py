"""The `warmline` command: options, and one line on stderr for whatever goes wrong.

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted by Ctrl-C. `serve` is done (0) when Ctrl-C or SIGTERM
ends it, also while it starts; after SIGTERM running requests may end first. An edit that was cut off has failed (1),
with --write or without, since half an edit is rarely what was meant; a completion that was cut off is done (0), since
most are. Both say so on stderr.
"""

from __future__ import annotations

import importlib.metadata
import logging
import os
import sys
from collections.abc import Coroutine
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from .. import protocol
from ..limits import Limits
from .called import called
from .keys import keys_app
from .measure import bench_app, eval_app
from .options import (
    Adapter,
    ApiKey,
    Backend,
    BackendName,
    CommandFailed,
    DraftModel,
    KvMemory,
    Model,
    Threads,
    WrongUsage,
    bounds,
)

if TYPE_CHECKING:
    from warmline.client import Parameters

app = typer.Typer(
    name="warmline",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
)
model_app = typer.Typer(help="The models known by name.", rich_markup_mode=None)
app.add_typer(model_app, name="model")
app.add_typer(keys_app, name="keys")
app.add_typer(bench_app, name="bench")
app.add_typer(eval_app, name="eval")

DEFAULT_URL: Final = "ws://127.0.0.1:8765"


class FillName(StrEnum):
    """What --fim takes."""

    AUTO = "auto"
    PSM = "psm"
    SPM = "spm"
    OFF = "off"


class LogLevel(StrEnum):
    """What --log-level takes."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    """What --log-format takes."""

    CONSOLE = "console"
    JSON = "json"


class UsageBy(StrEnum):
    """What `usage --by` takes."""

    KEY = "key"
    KIND = "kind"
    MODEL = "model"
    DAY = "day"


class SpeculationName(StrEnum):
    """What --speculation takes."""

    AUTO = "auto"
    OFF = "off"


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"warmline {importlib.metadata.version('warmline')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """A self-hosted code assistant that has already read your file when you ask."""


# Serving -------------------------------------------------------------------------------------------------------


@app.command()
def serve(
    model: Model = None,
    adapter: Adapter = None,
    draft_model: DraftModel = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 takes a free one.")] = 8765,
    http_port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Offer an API like OpenAI's over HTTP on this port, too. [default: off]"),
    ] = None,
    backend: Backend = BackendName.AUTO,
    threads: Threads = None,
    kv_memory: KvMemory = "1GiB",  # type: ignore[assignment]  # parsed like one that was typed
    api_key: Annotated[
        list[str] | None,
        typer.Option(envvar="WARMLINE_API_KEY", metavar="KEY", help="A key that lets clients in; repeatable."),
    ] = None,
    keys: Annotated[
        Path | None,
        typer.Option(
            envvar="WARMLINE_KEYS_FILE",
            metavar="FILE",
            help="Named keys that let clients in (`warmline keys new`); read again when it changes, and on SIGHUP.",
        ),
    ] = None,
    keys_text: Annotated[str | None, typer.Option(envvar="WARMLINE_KEYS", hidden=True)] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SCOPE.LIMIT=N",
            help="What a key, an address or a connection may use, such as key.requests=8; repeatable.",
        ),
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Speak TLS with this certificate (PEM), on both ports.")
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Its private key (PEM). [default: in --tls-cert]")
    ] = None,
    drain_seconds: Annotated[
        float,
        typer.Option(
            min=0, max=86400, help="What running requests have to end after SIGTERM; a second one ends all."
        ),
    ] = 30.0,
    allow_anonymous: Annotated[
        bool, typer.Option("--allow-anonymous", help="Listen beyond this machine without a key.")
    ] = False,
    allowed_origin: Annotated[
        list[str] | None,
        typer.Option(
            "--allowed-origin", "--allow-origin", metavar="ORIGIN", help="A page that may connect; repeatable."
        ),
    ] = None,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option("--allowed-host", "--allow-host", metavar="NAME", help="A host name to answer to; repeatable."),
    ] = None,
    allow_replay: Annotated[
        bool, typer.Option("--allow-replay", help="Permit replay mode (benchmarks and tests).")
    ] = False,
    resume_seconds: Annotated[
        float,
        typer.Option(
            min=0,
            max=86400,
            help="How long a session that lost its connection is kept, its requests running; 0: not.",
        ),
    ] = Limits().resume_seconds,
    max_parked: Annotated[int, typer.Option(min=0, help="How many such sessions are kept at once.")] = 1000,
    fim: Annotated[
        FillName,
        typer.Option(
            help="How completions show the text after the cursor: as the model was trained, or in the order named."
        ),
    ] = FillName.AUTO,
    log_level: Annotated[
        LogLevel,
        typer.Option(
            envvar="WARMLINE_LOG_LEVEL",
            case_sensitive=False,
            help="What the gateway's log has; debug: a line at the end of each request, too.",
        ),
    ] = LogLevel.INFO,
    log_format: Annotated[
        LogFormat,
        typer.Option(
            envvar="WARMLINE_LOG_FORMAT", case_sensitive=False, help="One line an event, for people or for machines."
        ),
    ] = LogFormat.CONSOLE,
    usage: Annotated[
        Path | None,
        typer.Option(
            envvar="WARMLINE_USAGE",
            metavar="FILE",
            help="Sum what each API key uses in this file, for the command `usage`. [default: off]",
        ),
    ] = None,
) -> None:
    """Run the service until Ctrl-C. The first start fetches the default model."""
    from warmline.engine import EngineError, this_machine

    from ..access.quotas import parse_quotas
    from ..auth import is_loopback
    from ..server import ConfigError, GatewayServer, ServerConfig, ServerError, check_address, run_server
    from ..telemetry.logs import configure_logging
    from ..usage.ledger import LedgerError, check_ledger
    from .doctor import no_int8_products
    from .engine_setup import engine_options, explained

    try:
        quotas = parse_quotas(limit or ())
        limits = Limits(resume_seconds=resume_seconds).within(quotas.connection)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--limit") from None
    config = ServerConfig(
        host=host,
        port=port,
        http_port=http_port,
        api_keys=tuple(api_key or ()),
        keys_file=keys,
        keys_text=keys_text,
        tls_certificate=tls_cert,
        tls_key=tls_key,
        quotas=quotas,
        limits=limits,
        drain_seconds=drain_seconds,
        allow_anonymous=allow_anonymous,
        allowed_hosts=tuple(allowed_host or ()),
        allowed_origins=tuple(allowed_origin or ()),
        allow_replay=allow_replay,
        fim=fim.value,
        usage=usage,
        max_parked_sessions=max_parked,
    )

    def say_ready(server: GatewayServer) -> None:
        model = server.model
        adapter = f" with {model.adapter}" if model.adapter else ""
        _say(f"{model.name}{adapter}, {model.backend} backend, {model.threads} threads; kernels: {model.kernels}")
        if model.backend == "cpu" and (slow := no_int8_products(this_machine())) is not None:
            _say(f"this processor: {slow} (`{called()} doctor` says more)")
        if not is_loopback(host) and tls_cert is None:
            _say("keys and code travel unencrypted from here: add --tls-cert, unless a proxy in front speaks TLS")
        if server.http_url is not None:
            _say(f"HTTP API at {server.http_url}")
        _say(f"playground at {server.page_url}")
        _say(f"ready at {server.url}  (Ctrl-C ends it)")

    try:
        check_address(config)
        if usage is not None:
            check_ledger(usage)
        with explained(model):
            options = engine_options(model, adapter, backend.value, threads, kv_memory, draft_model)
            _say(f"loading {options.model}, then measuring what it costs on this machine")
            level = logging.getLevelNamesMapping()[log_level.upper()]
            configure_logging(level, as_json=log_format is LogFormat.JSON)
            run_server(config, options, say_ready)
    except ConfigError as error:
        raise WrongUsage(str(error), f"{called()} serve") from None
    except (EngineError, ServerError, LedgerError, ValueError) as error:
        raise CommandFailed(str(error)) from None
    _say("stopped")


# Asking --------------------------------------------------------------------------------------------------------

Url = Annotated[str, typer.Option(envvar="WARMLINE_URL", help="The service to ask, such as ws://127.0.0.1:8765.")]
MaxTokens = Annotated[int | None, typer.Option(**bounds(protocol.MaxTokens), help="Where to stop at the latest.")]
Temperature = Annotated[
    float, typer.Option(**bounds(protocol.Temperature), help="0 takes the likeliest token each time.")
]
TopP = Annotated[
    float,
    typer.Option(
        **bounds(protocol.TopP),
        help="Sample from the likeliest tokens of this total probability; 1 is off, 0 takes the likeliest.",
    ),
]
TopK = Annotated[
    int, typer.Option(**bounds(protocol.Natural), help="Sample from so many of the likeliest tokens; 0 is off.")
]
MinP = Annotated[
    float,
    typer.Option(**bounds(protocol.MinP), help="Sample from tokens at least so likely beside the likeliest."),
]
Seed = Annotated[int | None, typer.Option(**bounds(protocol.Natural), help="Makes a sampled result repeatable.")]
Stop = Annotated[list[str] | None, typer.Option(metavar="TEXT", help="A text that ends the output; repeatable.")]
Speculation = Annotated[SpeculationName, typer.Option(help="Drafting changes the time, never the text.")]
Replay = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Emit this file's text instead (servers with --allow-replay).")
]


@app.command()
def complete(
    place: Annotated[str, typer.Argument(metavar="FILE:LINE:COL", help="Where the text belongs, counted from 1.")],
    url: Url = DEFAULT_URL,
    api_key: ApiKey = None,
    max_tokens: MaxTokens = 64,
    temperature: Temperature = 0.0,
    top_p: TopP = 1.0,
    top_k: TopK = 0,
    min_p: MinP = 0.0,
    seed: Seed = None,
    stop: Stop = None,
    speculation: Speculation = SpeculationName.AUTO,
    replay: Replay = None,
    timing: Annotated[
        bool | None,
        typer.Option(
            "--timing/--no-timing",
            help="Say on stderr where the time went, hop by hop, or nothing. [default: a summary on a terminal]",
        ),
    ] = None,
) -> None:
    """Print the text that belongs at a place in a file, and on a terminal what it cost."""
    from . import request_commands as requests

    path, line, column = _parsed(requests.parse_place, place, "FILE:LINE:COL")
    parameters = _parameters(max_tokens, temperature, top_p, top_k, min_p, seed, stop, speculation, replay)
    _run(requests.complete(requests.Service(url, api_key), path, line, column, parameters, timing), path)


@app.command()
def edit(
    file: Annotated[Path, typer.Argument(help="The file to edit.")],
    instruction: Annotated[str, typer.Argument(help="What to do, in words.")],
    lines: Annotated[
        str, typer.Option(metavar="A:B", help="The lines that may change, counted from 1, both included; A is one.")
    ],
    write: Annotated[bool, typer.Option("--write", help="Write the file if the edit ended by itself.")] = False,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = None,
    max_tokens: MaxTokens = None,
    temperature: Temperature = 0.0,
    top_p: TopP = 1.0,
    top_k: TopK = 0,
    min_p: MinP = 0.0,
    seed: Seed = None,
    stop: Stop = None,
    speculation: Speculation = SpeculationName.AUTO,
    replay: Replay = None,
    timing: Annotated[
        bool | None,
        typer.Option(
            "--timing/--no-timing",
            help="Say on stderr where the time went, hop by hop, or nothing of it. [default: a summary]",
        ),
    ] = None,
) -> None:
    """Edit lines of a file. Shows a diff that grows, then what it cost; into a pipe, a unified diff for git apply."""
    from . import request_commands as requests

    if not instruction.strip():
        raise typer.BadParameter("say what to do", param_hint="INSTRUCTION")
    first, last = _parsed(requests.parse_lines, lines, "--lines")
    parameters = _parameters(max_tokens, temperature, top_p, top_k, min_p, seed, stop, speculation, replay)
    service = requests.Service(url, api_key)
    _run(requests.edit(service, file, first, last, instruction, write, parameters, timing), file)


@app.command()
def lsp(
    url: Url = DEFAULT_URL,
    api_key: ApiKey = None,
    log_level: Annotated[
        LogLevel, typer.Option(case_sensitive=False, help="What the log on stderr has, which editors keep.")
    ] = LogLevel.WARNING,
) -> None:
    """Speak LSP on stdin and stdout: Neovim, Helix, Emacs and others start this."""
    from warmline.client import WarmlineError, run_language_server

    try:
        status = run_language_server(url, token=api_key, log_level=log_level)
    except WarmlineError as error:
        raise WrongUsage(str(error), f"{called()} lsp") from None
    raise typer.Exit(status)


def _parsed(parse: Any, text: str, name: str) -> Any:
    try:
        return parse(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=name) from None


def _parameters(
    max_tokens: int | None,
    temperature: float,
    top_p: float,
    top_k: int,
    min_p: float,
    seed: int | None,
    stop: list[str] | None,
    speculation: SpeculationName,
    replay: Path | None,
) -> Parameters:
    from .source_file import FileError, SourceFile

    try:
        replayed = None if replay is None else SourceFile.read(replay).text
    except FileError as error:
        raise CommandFailed(str(error)) from None
    parameters: Parameters = {
        "temperature": temperature,
        "top_p": top_p,
        "top_k": top_k,
        "min_p": min_p,
        "seed": seed,
        "stop": stop or [],
        "speculation": speculation.value,
        "replay": replayed,
    }
    if max_tokens is not None:
        parameters["max_tokens"] = max_tokens
    return parameters


def _run(request: Coroutine[Any, Any, None], file: Path) -> None:
    """Carry out a request. Ctrl-C cancels it; a file is written after its last wait only, or not at all."""
    from warmline.client import WarmlineError

    from .interrupts import run_interruptibly, work_begins
    from .request_commands import EditCut
    from .source_file import FileError

    try:
        work_begins()
        run_interruptibly(request)
    except (WarmlineError, FileError, EditCut, ValueError) as error:
        raise CommandFailed(str(error)) from None
    except KeyboardInterrupt:
        _say(f"warmline: cancelled; {file} is as it was")
        raise typer.Exit(130) from None


# Looking on ----------------------------------------------------------------------------------------------------


@app.command()
def top(
    url: Url = DEFAULT_URL,
    api_key: ApiKey = None,
    window: Annotated[float, typer.Option(min=1, max=86400, help="Seconds that what is shown is about.")] = 60.0,
    interval: Annotated[float, typer.Option(min=0.1, max=60, help="Seconds between two looks.")] = 1.0,
    once: Annotated[
        bool,
        typer.Option("--once", help="Print one screen, about all since the service's start. [default: no terminal]"),
    ] = False,
) -> None:
    """Watch a service: sessions, requests, hops, cache, drafts. Until Ctrl-C."""
    from rich.console import Console

    from ..telemetry.scrape import MetricsPage, Unreadable
    from ..top.watch import Watch, show_live, show_once

    console = Console()
    watch = Watch(MetricsPage(url, api_key), url, window)
    try:
        if once or not console.is_terminal:
            show_once(watch, console if console.is_terminal else Console(width=120))
        else:
            show_live(watch, console, interval)
    except Unreadable as error:
        raise CommandFailed(str(error)) from None


@app.command()
def usage(
    ledger: Annotated[
        Path, typer.Argument(envvar="WARMLINE_USAGE", metavar="FILE", help="What `serve --usage FILE` writes.")
    ],
    by: Annotated[UsageBy, typer.Option(help="What is summed by.")] = UsageBy.KEY,
    days: Annotated[float | None, typer.Option(min=0, help="Only the last so many days. [default: all]")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One object a line.")] = False,
) -> None:
    """Say what each API key used, and what the cache saved it."""
    import json
    import time

    from rich.console import Console

    from ..usage.ledger import LedgerError, read_usage
    from ..usage.report import as_objects, as_table

    try:
        found = read_usage(ledger, 0.0 if days is None else time.time() - days * 86400)
    except LedgerError as error:
        raise CommandFailed(str(error)) from None
    if as_json:
        for each in as_objects(found, by.value):
            print(json.dumps(each))
        return
    if not found:
        _say(f"{ledger} has nothing of that time")
    console = Console()
    to = console if console.is_terminal else Console(width=160)
    to.print(as_table(found, by.value))


# Models, this machine, measuring -------------------------------------------------------------------------------


@model_app.command("list")
def model_list() -> None:
    """List the models known by name."""
    from warmline.engine import CATALOG, DEFAULT_MODEL

    for model in CATALOG.values():
        state = f"at {model.path}" if model.path.is_file() else f"not fetched ({model.megabytes} MB)"
        default = " (default)" if model.name == DEFAULT_MODEL else ""
        print(f"{model.name}{default}: {model.description}; {state}")


@model_app.command("fetch")
def model_fetch(
    name: Annotated[str | None, typer.Argument(help="Which one. [default: the default model]")] = None,
) -> None:
    """Download a model unless it is here, check it either way, and say where it is."""
    from warmline.engine import DEFAULT_MODEL, ModelError

    from .engine_setup import fetch

    try:
        path = fetch(name or DEFAULT_MODEL)
    except ModelError as error:
        raise CommandFailed(str(error)) from None
    print(path)


@app.command()
def doctor(json: Annotated[bool, typer.Option("--json", help="For programs.")] = False) -> None:
    """Say what will compute on this machine and why. Exit code 1 if something is missing."""
    from .doctor import examine, report
    from .interrupts import no_interrupt_lost

    with no_interrupt_lost():
        findings = examine()
    print(report(findings, as_json=json))
    if any(finding.state == "missing" for finding in findings):
        raise typer.Exit(1)


# ----------------------------------------------------------------------------------------------------------------


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def run(arguments: list[str]) -> int:
    """Run the command with these arguments and return its exit code."""
    try:
        status = app(args=arguments or ["--help"], prog_name=called(), standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except WrongUsage as error:
        return _wrong_usage(str(error), error.command)
    except CommandFailed as error:
        _say(f"warmline: {error}")
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # whoever read our output has gone
        return 1
    except Exception as error:
        explain = getattr(error, "format_message", None)  # what the option parser raises
        if explain is None:
            raise
        context = getattr(error, "ctx", None)
        command = called() if context is None else context.command_path
        return _wrong_usage(" ".join(explain().split()), command)


def _wrong_usage(message: str, command: str) -> int:
    _say(f"warmline: {message} (see {command} --help)")
    return 2
