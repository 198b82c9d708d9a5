"""What `make verify` found, kept in build/verify and told as a page.

    python -m tools.invariance.report [--write docs/verify.md]

`make verify` prints it, `make verify-page` writes it.
"""

from __future__ import annotations

import subprocess
from datetime import date
from pathlib import Path
from typing import Annotated, Final

import warmline.engine.backends  # noqa: F401 isort: skip  (before torch: see its openmp module)
import msgspec
import torch
import typer
from warmline.engine.kernels.cpu import exact_levels
from warmline.engine.machine import this_machine

from .tally import Tally

FOLDER: Final = Path("build/verify")


class Kept(msgspec.Struct, frozen=True):
    """What one check counted, and where.

    Attributes:
        revision: the commit that was checked.
        machine: processor, its instruction sets that matter, cores, form of the activations.
    """

    check: str
    day: str
    revision: str
    machine: str
    torch: str
    counts: dict[str, str]


def keep(check: str, tally: Tally) -> None:
    """Keep what scenarios counted, in place of what the same check counted before."""
    sources = [
        f"{source} {tally.accepted.get(source, 0):,} of {proposed:,}"
        for source, proposed in sorted(tally.proposed.items(), key=lambda item: -item[1])
    ]
    keep_counts(
        check,
        {
            "scenarios": f"{tally.scenarios:,}",
            "requests alone / in scenarios": f"{tally.alone:,} / {tally.requests:,}",
            "tokens compared, with their log probabilities": f"{tally.tokens:,}",
            "of them drafted": f"{tally.drafted_share:.0%}",
            "of the replayed ones drafted": f"{tally.replayed_share:.0%} of {tally.replayed:,}",
            "draft tokens that stood": ", ".join(sources),
            "forward passes": f"{tally.passes:,}, {tally.aborted:,} given up and run again",
            "cache hits": f"{tally.cache_hits:,} requests, {tally.warm_hits:,} of what was warmed",
            "prompts in several chunks": f"{tally.chunked:,}",
            "preemptions": f"{tally.preemptions:,}",
            "cancellations": f"{tally.cancelled:,}",
            "pauses": f"{tally.pauses:,}",
            "scenarios by threads": _by(tally.threads),
            "scenarios by kernels": _by(tally.kernels),
            "differences": str(len(tally.differences)),
        },
    )


def keep_counts(check: str, counts: dict[str, str]) -> None:
    """Keep what a check counted, in place of what it counted before."""
    machine = this_machine()
    described = (
        f"{machine.processor}, {machine.cores} cores, {', '.join(machine.instructions)}; {exact_levels().describe()}"
    )
    kept = Kept(check, date.today().isoformat(), _revision(), described, str(torch.__version__), counts)
    FOLDER.mkdir(parents=True, exist_ok=True)
    name = "".join(letter if letter.isalnum() else "-" for letter in check.lower())
    (FOLDER / f"{name}.json").write_bytes(msgspec.json.format(msgspec.json.encode(kept)))


def page() -> str:
    """Everything kept, as Markdown."""
    kept = [msgspec.json.decode(path.read_bytes(), type=Kept) for path in sorted(FOLDER.glob("*.json"))]
    parts = [
        "# What `make verify` found last\n\n"
        "Written by `make verify-page` from the results of `make verify`; "
        "[architecture.md](architecture.md) says what is claimed, the tests marked `lossless` how it is checked. "
        "Each check covers the arithmetic of its machine, which is named with it: activations of 8 bits where its "
        "int8 product is exact for them, else of 7; multiplications fused with additions with AVX-512, else not.\n"
    ]
    for result in kept:
        rows = "".join(f"| {name} | {value} |\n" for name, value in result.counts.items())
        where = f"{result.day}; commit {result.revision}; {result.machine}; torch {result.torch}"
        parts.append(f"## {result.check}\n\n{where}.\n\n| what | count |\n| --- | --- |\n{rows}")
    if not kept:
        parts.append(f"{FOLDER} has no results.\n")
    return "\n".join(parts)


def _revision() -> str:
    """The commit that is checked out, and whether files differ from it."""
    command = ["git", "describe", "--always", "--dirty=, with changes"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() or "unknown"


def _by(counts: dict[int, int] | dict[str, int]) -> str:
    return ", ".join(f"{name}: {count:,}" for name, count in sorted(counts.items(), key=lambda item: str(item[0])))


def main(write: Annotated[Path | None, typer.Option(help="the page to write")] = None) -> None:
    """Print what was found, or write it to a page."""
    if write is None:
        typer.echo(page())
    else:
        write.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
