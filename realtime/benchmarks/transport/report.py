"""The tables that the benchmark prints."""

from __future__ import annotations

from typing import Any, Final

from rich.console import Console
from rich.table import Table

from ...tables import print_table
from ..judging import TOO_SHORT
from .ratios import FASTER_TARGETS, TARGETS

_COLUMNS: Final = {
    "round_trip": "one-token round trip",
    "ttft": "first text",
    "one_way": "one way at 1 kHz",
    "server_cpu": "server CPU a token",
    "client_cpu": "client CPU a token",
}
_CLOSE: Final = 0.05
"""How far the change of a hop may be from the delay that was put into it."""
_ROUNDS: Final = 5
"""Fewer rounds say nothing about a target: one disturbance decides their median."""


def print_report(report: dict[str, Any], console: Console) -> None:
    """Show everything that was measured."""
    machine, plan = report["machine"], report["plan"]
    console.print(
        f"{machine['processor']}, {machine['cores']} cores, {machine['system']}, Python {machine['python']}\n"
        + ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
        + f"\n{plan['rounds']} rounds, in each {plan['requests']} requests for one token and one for "
        f"{plan['tokens']} from every peer in turn; medians of the rounds in µs [lowest, highest]"
    )
    for name, by_peer in report["placements"].items():
        _print_peers(name, by_peer, report["bytes_a_token"], console)
    console.print(f"The tokens' own text has {report['text_bytes_a_token']:.1f} bytes a token.")
    _print_ratios("ours over theirs, default client", report, "", TARGETS, console)
    if "faster_client_ratios" in report:
        _print_ratios("with the faster client", report, "faster_client_", TARGETS | FASTER_TARGETS, console)
    _print_hops(report["hops"], _is_long(report), console)


def _is_long(report: dict[str, Any]) -> bool:
    """Whether enough was measured to hold it against a target."""
    return bool(report["plan"]["rounds"] >= _ROUNDS)


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
    table = Table("", "ratio", "rounds", "target", "", "without the floor", title=title)
    for key, target in targets.items():
        ratio, (low, high) = report[f"{prefix}ratios"][key], report[f"{prefix}ratio_spread"][key]
        overhead = report[f"{prefix}overhead_ratios"][key]
        table.add_row(
            key,
            f"{ratio:.2f}",
            f"{low:.2f} to {high:.2f}",
            f"{target:.2f}",
            ("met" if ratio <= target else "missed") if _is_long(report) else TOO_SHORT,
            "" if overhead is None else f"{overhead:.2f}",
        )
    print_table(console, table)


def _print_hops(hops: dict[str, Any], is_long: bool, console: Console) -> None:
    delay = hops["delay"]
    table = Table("delayed", "its hop, µs", "all other hops", "", title=f"{delay / 1000:g} ms put into one hop")
    for change in hops["changes"]:
        close = abs(change["own"] - delay) <= _CLOSE * delay and abs(change["others"]) <= _CLOSE * delay
        table.add_row(
            change["delay"],
            f"{change['own']:+.0f}",
            f"{change['others']:+.0f}",
            f"{'within' if close else 'not within'} {_CLOSE:.0%}" if is_long else TOO_SHORT,
        )
    print_table(console, table)
