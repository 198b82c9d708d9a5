"""What a ledger says, for people and for machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Literal

from rich.markup import escape
from rich.table import Table

from .ledger import Totals, UsageGroup

By = Literal["key", "kind", "model", "day"]


def sum_by(found: Mapping[UsageGroup, Totals], by: By) -> dict[str, Totals]:
    """Sum a ledger's usage by one thing, in its order; days are those of UTC."""
    sums: dict[str, Totals] = {}
    for group, used in found.items():
        sums.setdefault(_name(group, by), Totals()).add(used)
    return dict(sorted(sums.items()))


def saved_us(used: Totals, of_all: Totals) -> int | None:
    """The engine's time that the cache saved: its prompt tokens, at what those computed took on average.

    That average is over ``of_all``, work ahead of requests left out, whose time is not measured; None if it has none.
    """
    if not of_all.prefill_us or not of_all.computed_tokens:
        return None
    return (used.warmed_tokens + used.cached_tokens) * of_all.prefill_us // of_all.computed_tokens


def as_objects(found: Mapping[UsageGroup, Totals], by: By) -> list[dict[str, Any]]:
    """For machines: one object for each sum, with all that was counted."""
    of_all = _requests(found)
    return [
        {by: name, **asdict(used), "saved_us": saved_us(used, of_all)} for name, used in sum_by(found, by).items()
    ]


def as_table(found: Mapping[UsageGroup, Totals], by: By) -> Table:
    """For people: what was asked for, what the cache had of it, and the engine's time, used and saved."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(by, no_wrap=True)
    for name in (
        "requests",
        "failed",
        "prompt",
        "warmed",
        "cached",
        "computed",
        "output",
        "accepted",
        "time",
        "saved",
    ):
        table.add_column(name, justify="right", no_wrap=True)
    of_all, sums = _requests(found), sum_by(found, by)
    total = Totals()
    for name, used in sums.items():
        total.add(used)
        table.add_row(escape(name), *_cells(used, of_all))
    if len(sums) > 1:
        table.add_row("in all", *_cells(total, of_all), style="bold")
    return table


def _requests(found: Mapping[UsageGroup, Totals]) -> Totals:
    """All of it but work ahead of requests."""
    total = Totals()
    for group, used in found.items():
        if group.kind != "warm":
            total.add(used)
    return total


def _name(group: UsageGroup, by: By) -> str:
    return f"{datetime.fromtimestamp(group.hour, UTC):%Y-%m-%d}" if by == "day" else str(getattr(group, by))


def _cells(used: Totals, of_all: Totals) -> list[str]:
    prompt = used.warmed_tokens + used.cached_tokens + used.computed_tokens
    shares = [_part(tokens, prompt) for tokens in (used.warmed_tokens, used.cached_tokens, used.computed_tokens)]
    saved = saved_us(used, of_all)
    return [
        f"{used.requests:,}",
        f"{used.failed:,}",
        f"{prompt:,}",
        *shares,
        f"{used.output_tokens:,}",
        _part(used.accepted_tokens, used.draft_tokens),
        _time(used.prefill_us + used.decode_us),
        "-" if saved is None else _time(saved),
    ]


def _part(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "-"


def _time(microseconds: int) -> str:
    seconds = microseconds / 1e6
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02} h" if hours else f"{minutes}:{seconds:02} min"
