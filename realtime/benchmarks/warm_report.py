"""What `warmline bench warm` says: medians, spread, shares and ratios, and their tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from rich.table import Table
from warmline.engine import print_table, table_console

from .judging import judged
from .warm_requests import SUGGESTED_TOKENS, Sample

_FILE_WIDTH: Final = 130
"""Characters in a line where no terminal says how many it has."""


def figures(samples: Sequence[Sample]) -> dict[str, Any]:
    """Medians and spread of some requests, in milliseconds and tokens; shares are of all their prompt tokens.

    One that was superseded before the engine began it has no prompt tokens and is in the count alone. ``pass`` is the
    time of the passes over the tail, ``beyond_pass`` all the rest of the time to the first token. ``warming`` is what
    the warm work before took, where that was seen.
    """
    heard = [(sample.ttft / 1e3, sample.prefill / 1e3) for sample in samples if sample.ttft is not None]
    times = [ttft for ttft, _ in heard]
    begun = [sample for sample in samples if sample.prompt]
    tails = [sample.tail for sample in begun]
    prompt = max(sum(sample.prompt for sample in begun), 1)
    return {
        "requests": len(samples),
        "with_text": len(heard),
        "superseded": sum(sample.reason == "superseded" for sample in samples),
        "prompt_tokens": _quantile([sample.prompt for sample in begun], 0.5),
        "tail_tokens": _quantile(tails, 0.5),
        "tail_tokens_max": max(tails, default=None),
        "warmed_share": sum(sample.warmed for sample in samples) / prompt,
        "ready_share": sum(sample.ready for sample in samples) / prompt,
        "ttft": _quantile(times, 0.5),
        "ttft_quartiles": [_quantile(times, 0.25), _quantile(times, 0.75)],
        "ttft_p95": _quantile(times, 0.95),
        "warming": _quantile([sample.warming / 1e3 for sample in samples if sample.warming is not None], 0.5),
        "pass": _quantile([prefill for _, prefill in heard], 0.5),
        "beyond_pass": _quantile([ttft - prefill for ttft, prefill in heard], 0.5),
    }


def cancel_figures(times: Sequence[int | None]) -> dict[str, Any]:
    """Median and spread in milliseconds of those that were cancelled in time."""
    took = [time / 1e3 for time in times if time is not None]
    return {
        "requests": len(times),
        "cancelled": len(took),
        "to_end": _quantile(took, 0.5),
        "to_end_quartiles": [_quantile(took, 0.25), _quantile(took, 0.75)],
        "to_end_max": max(took, default=None),
    }


def ratios(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """The time to the first token cold over warm, by kind and size, alone and ``_beside_others``."""
    cold = {(row["kind"], row["size"]): row["ttft"] for row in rows if row["state"] == "cold"}
    return {_name(row): cold[row["kind"], row["size"]] / row["ttft"] for row in rows if row["state"] == "warm"}


def _name(row: dict[str, Any]) -> str:
    return f"{row['kind']}_{row['size']}{'_beside_others' if row['others'] else ''}"


def print_report(report: dict[str, Any]) -> None:
    """Show the figures as tables."""
    console = table_console(_FILE_WIDTH)
    machine, service = report["machine"], report["service"]
    console.print(
        f"{service['server']} with {service['runs'] or service['model']}; {machine['processor']}, "
        f"{machine['cores']} cores, python {machine['python']}\n"
        f"The cache shares full blocks of {report['block_size']} tokens: the tail is what is left to compute. "
        "TTFT is made of the passes over the tail and of what is beyond them. Heard are requests that brought text."
    )
    print_table(console, _requests(report), names=4)
    for left_out in report["left_out"]:
        console.print(f"left out: {left_out}", highlight=False, markup=False)
    print_table(console, _cancels(report), names=2)
    print_table(console, _typing(report), names=3)


def _requests(report: dict[str, Any]) -> Table:
    table = _table(
        "One token after a text of so many tokens, or of an edit of it; prompts are as long as the model was shown",
        (
            *("request", "text", "state", "others", "prompt", "tail", "ready", "TTFT ms", "passes", "beyond"),
            *("warmed in", "cold/warm"),
        ),
        names=4,
    )
    for row in report["requests"]:
        table.add_row(
            row["kind"],
            f"{row['size']:,}",
            row["state"],
            _company(row),
            _number(row["prompt_tokens"], 0),
            _number(row["tail_tokens"], 0),
            f"{row['ready_share']:.0%}",
            _spread(row),
            _number(row["pass"]),
            _number(row["beyond_pass"]),
            _number(row["warming"], 0),
            judged(f"{report['ratios'][_name(row)]:.1f}x", report["rounds"]) if row["state"] == "warm" else "",
        )
    return table


def _cancels(report: dict[str, Any]) -> Table:
    table = _table(
        "From the cancel of a completion to its terminal frame, when its blocks are free",
        ("cancelled in its", "size", "ms", "most", "cancelled"),
        names=1,
    )
    for row in report["cancels"]:
        table.add_row(
            {"prefill": "prompt", "decode": "text"}[row["moment"]],
            str(row["size"]),
            _with_quartiles(row["to_end"], row["to_end_quartiles"]),
            _number(row["to_end_max"]),
            f"{row['cancelled']}/{row['requests']}",
        )
    return table


def _typing(report: dict[str, Any]) -> Table:
    pace = f"{report['key_seconds'] * 1e3:.0f} ms a key"
    table = _table(
        f"Typing at {pace}; completions of up to {SUGGESTED_TOKENS} tokens, of which a newer one ends the last",
        ("where", "request", "others", "prompt", "tail", "most", "warmed", "ready", "TTFT ms", "95 %", "heard"),
        names=3,
    )
    for row in report["typing"]:
        table.add_row(
            row["where"],
            "each key" if row["every"] == 1 else f"1 in {row['every']}",
            _company(row),
            _number(row["prompt_tokens"], 0),
            _number(row["tail_tokens"], 0),
            _number(row["tail_tokens_max"], 0),
            f"{row['warmed_share']:.0%}",
            f"{row['ready_share']:.0%}",
            _spread(row),
            _number(row["ttft_p95"]),
            f"{row['with_text']}/{row['requests']}",
        )
    return table


def _table(title: str, columns: Sequence[str], names: int) -> Table:
    table = Table(title=title, title_justify="left")
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index < names else "right", no_wrap=True)
    return table


def _company(row: dict[str, Any]) -> str:
    return "warming" if row["others"] else "none"


def _spread(row: dict[str, Any]) -> str:
    """The median, and the quartiles."""
    return _with_quartiles(row["ttft"], row["ttft_quartiles"])


def _with_quartiles(median: float | None, quartiles: Sequence[float | None]) -> str:
    low, high = quartiles
    return "none came" if median is None else f"{_number(median)} ({_number(low)} to {_number(high)})"


def _number(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _quantile(values: Sequence[float], share: float) -> float | None:
    """By linear interpolation between order statistics; None of nothing."""
    if not values:
        return None
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    return ordered[low] + (place - low) * (ordered[min(low + 1, len(ordered) - 1)] - ordered[low])
