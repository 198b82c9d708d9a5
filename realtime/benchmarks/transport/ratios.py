"""Ours over theirs, held against the targets."""

from __future__ import annotations

import statistics
from typing import Any, Final

from ..judging import TOO_SHORT
from .measure import Figures

DEFAULT: Final = "warmline, websockets"
PICOWS: Final = "warmline, picows"
FLOOR: Final = "bare TCP (the floor)"
_THEIRS: Final = {
    "httpx": "FastAPI, httpx",
    "openai": "FastAPI, openai",
    "aiohttp": "FastAPI, aiohttp",
    "tuned": "tuned SSE, aiohttp",
}
_WHAT: Final = {"roundtrip": "round_trip", "ttft": "ttft", "per_token": "one_way"}
TARGETS: Final = {
    "roundtrip_vs_httpx": 0.20,
    "roundtrip_vs_openai": 0.20,
    "roundtrip_vs_tuned": 0.35,
    "ttft_vs_httpx": 0.50,
    "ttft_vs_openai": 0.50,
    "ttft_vs_aiohttp": 0.50,
    "ttft_vs_tuned": 0.50,
    "per_token_vs_httpx": 0.50,
    "per_token_vs_aiohttp": 0.70,
}
"""With the default client on two cores; less is better."""
PICOWS_TARGETS: Final = TARGETS | {"roundtrip_vs_tuned": 0.25, "per_token_vs_aiohttp": 0.50}
MET: Final = "met"
MISSED: Final = "missed"
NO_MEASURE: Final = "not above the floor"
_ROUNDS: Final = 5
"""Fewer rounds say nothing about a target: one disturbance decides their median."""


def ratios(rounds: dict[str, list[Figures]]) -> dict[str, Any]:
    """For each target the median over the rounds of ours over theirs in the same round, and its extremes.

    ``overhead_ratios`` compare what is left of both when the floor's median is taken off. ``verdicts`` say of each of
    these objects whether its ratios meet the targets.
    """
    found: dict[str, Any] = {}
    found["ratios"], found["ratio_spread"] = _against(rounds, DEFAULT)
    found["overhead_ratios"] = _overheads(rounds, DEFAULT)
    if PICOWS in rounds:
        found["picows_client_ratios"], found["picows_client_ratio_spread"] = _against(rounds, PICOWS)
        found["picows_client_overhead_ratios"] = _overheads(rounds, PICOWS)
    count = len(rounds[DEFAULT])
    found["verdicts"] = {
        name: {key: verdict(values[key], target, count) for key, target in targets.items()}
        for prefix, targets in (("", TARGETS), ("picows_client_", PICOWS_TARGETS))
        for kind in ("ratios", "overhead_ratios")
        if (values := found.get(name := f"{prefix}{kind}")) is not None
    }
    return found


def is_long(rounds: int) -> bool:
    """Whether so many rounds are enough to hold anything against a target."""
    return rounds >= _ROUNDS


def verdict(ratio: float | None, target: float, rounds: int) -> str:
    """What a ratio is, held against its target."""
    if not is_long(rounds):
        return TOO_SHORT
    if ratio is None:
        return NO_MEASURE
    return MET if ratio <= target else MISSED


def _against(rounds: dict[str, list[Figures]], ours: str) -> tuple[dict[str, float], dict[str, tuple[float, float]]]:
    medians, spreads = {}, {}
    for key in TARGETS:
        what, theirs = _sides(key)
        pairs = zip(_values(rounds, ours, what), _values(rounds, theirs, what), strict=True)
        values = [mine / other for mine, other in pairs]
        medians[key], spreads[key] = statistics.median(values), (min(values), max(values))
    return medians, spreads


def _overheads(rounds: dict[str, list[Figures]], ours: str) -> dict[str, float | None]:
    """None where theirs is no longer than the floor, as it may be on a busy machine."""
    found: dict[str, float | None] = {}
    for key in TARGETS:
        what, theirs = _sides(key)
        floor, mine, other = (statistics.median(_values(rounds, name, what)) for name in (FLOOR, ours, theirs))
        found[key] = (mine - floor) / (other - floor) if other > floor else None
    return found


def _sides(key: str) -> tuple[str, str]:
    """What a target is about, and whose it is compared with."""
    what, _, whose = key.partition("_vs_")
    return _WHAT[what], _THEIRS[whose]


def _values(rounds: dict[str, list[Figures]], peer: str, what: str) -> list[float]:
    return [figures.named()[what] for figures in rounds[peer]]
