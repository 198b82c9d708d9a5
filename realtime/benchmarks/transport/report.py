"""The tables that the benchmark prints."""

from __future__ import annotations

from typing import Any, Final

from rich.console import Console
from rich.table import Table
from warmline.engine import print_table

from ..judging import TOO_SHORT
from .ratios import PICOWS_TARGETS, TARGETS, is_long
from .terms import PACKAGES

_COLUMNS: Final = {
    "round_trip": "one-token round trip",
    "ttft": "first text",
    "one_way": "one way at 1 kHz",
    "server_cpu": "server CPU a token",
    "client_cpu": "client CPU a token",
}
_CLOSE: Final = 0.05
"""How far the change of a hop may be from what was put into it, as a part of the delay."""


def print_report(report: dict[str, Any], console: Console) -> None:
    """Show everything that was measured."""
    machine, plan = report["machine"], report["plan"]
    console.print(
        f"{machine['processor']}, {machine['cores']} cores, {machine['system']}, Python {machine['python']}\n"
        + ", ".join(f"{name} {machine[name]}" for name in PACKAGES if name in machine)
        + f"\n{plan['rounds']} rounds, in each {plan['requests']} requests for one token and one for "
        f"{plan['tokens']} from every peer in turn; medians of the rounds in µs [lowest, highest]"
    )
    for name, by_peer in report["placements"].items():
        _print_peers(name, by_peer, report["bytes_a_token"], console)
    console.print(f"The tokens' own text has {report['text_bytes_a_token']:.1f} bytes a token.")
    _print_ratios("ours over theirs, default client", report, "", TARGETS, console)
    if "picows_client_ratios" in report:
        _print_ratios("with the picows client", report, "picows_client_", PICOWS_TARGETS, console)
    _print_hops(report["hops"], is_long(plan["rounds"]), console)


def _print_peers(name: str, by_peer: dict[str, Any], sizes: dict[str, float], console: Console) -> None:
    table = Table("", *_COLUMNS.values(), "bytes a token", title=name)
    for peer, figures in by_peer.items():
        cells = [
            f"{figures[key]['median']:.1f} [{figures[key]['low']:.1f}, {figures[key]['high']:.1f}]"
            for key in _COLUMNS
        ]
        table.add_row(peer, *cells, f"{sizes[peer]:.1f}")
    print_table(console, table)


def _print_ratios(
    title: str, report: dict[str, Any], prefix: str, targets: dict[str, float], console: Console
) -> None:
    table = Table("", "target", "ratio", "rounds", "", "less the floor", "", title=title)
    verdicts = report["verdicts"]
    for key, target in targets.items():
        ratio, (low, high) = report[f"{prefix}ratios"][key], report[f"{prefix}ratio_spread"][key]
        overhead = report[f"{prefix}overhead_ratios"][key]
        table.add_row(
            key,
            f"{target:.2f}",
            f"{ratio:.2f}",
            f"{low:.2f} to {high:.2f}",
            verdicts[f"{prefix}ratios"][key],
            "" if overhead is None else f"{overhead:.2f}",
            verdicts[f"{prefix}overhead_ratios"][key],
        )
    print_table(console, table)


def _print_hops(hops: dict[str, Any], judged: bool, console: Console) -> None:
    delay = hops["delay"]
    table = Table(
        "delayed", "its hop, µs", "all others", "most of one", "", title=f"{delay / 1000:g} ms put into one hop"
    )
    for change in hops["changes"]:
        table.add_row(
            change["delay"],
            f"{change['own']:+.0f}",
            f"{change['others']:+.0f}",
            f"{change['most']:+.0f}",
            f"{'within' if _is_close(change, delay) else 'not within'} {_CLOSE:.0%}" if judged else TOO_SHORT,
        )
    print_table(console, table)


def _is_close(change: dict[str, Any], delay: float) -> bool:
    """Whether a delay shows in its own hop, in no other, and in all the others together not either."""
    rest: tuple[float, ...] = change["own"] - delay, change["others"], change["most"]
    return max(map(abs, rest)) <= _CLOSE * delay
