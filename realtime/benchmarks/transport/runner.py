"""Runs everything interleaved: in each round every peer has its turn, so that all see the same disturbances."""

from __future__ import annotations

import gc
import json
import os
import statistics
import tempfile
from contextlib import AsyncExitStack, ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from warmline.engine import PlayerReadings, Progress, about_machine, recorded_tokens, table_console

from ...server import run
from .children import Child
from .hops import DELAY_US, measure_hops
from .measure import QUICK, Figures, Plan, measure
from .peers import all_peers
from .placement import placements
from .proxy import Proxy
from .ratios import ratios
from .report import print_report
from .terms import PACKAGES, Peer


def main(model: str, json_file: Path | None, quick: bool) -> None:
    """Measure, print tables, and write the figures to ``json_file`` if given."""
    allowed = os.sched_getaffinity(0)
    try:
        report = run(benchmark(model, QUICK if quick else Plan()))
    finally:
        os.sched_setaffinity(0, allowed)
        gc.unfreeze()
    print_report(report, table_console(120))
    if json_file is not None:
        json_file.write_text(json.dumps(report, indent=2) + "\n")


async def benchmark(model: str, plan: Plan) -> dict[str, Any]:
    """All figures as one JSON-ready object; times are in microseconds."""
    progress = Progress()
    progress.part("loading the client libraries")
    peers = all_peers()
    machine = about_machine(PACKAGES)  # before this process is confined to a part of it
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        children = {
            name: stack.enter_context(Child(name, folder / name, model))
            for name in dict.fromkeys(peer.child for peer in peers)
        }
        readings = {}
        for number, (name, child) in enumerate(children.items(), 1):
            progress.part(f"starting the servers: {name}, {number} of {len(children)}")
            _ = child.ports  # waits until it has started
            readings[name] = stack.enter_context(PlayerReadings(child.readings))
        async with AsyncExitStack() as connections:
            progress.part("a few requests from every client, not counted")
            for peer in peers:
                progress.at(f"not counted: {peer.name}")
                await peer.open(children[peer.child].ports[peer.server])
                connections.push_async_callback(peer.close)
                await measure(peer, children[peer.child], QUICK, readings[peer.child])  # warms everything up
            gc.collect()
            gc.freeze()
            rounds: dict[str, dict[str, list[Figures]]] = {}
            places = placements()
            for placement in places:
                placement.take(children.values())
                figures: dict[str, list[Figures]] = {peer.name: [] for peer in peers}
                rounds[placement.name] = figures
                for number in range(plan.rounds):
                    for peer in _rotated(peers, number):
                        where = f"{placement.name}, round {number + 1} of {plan.rounds}"
                        progress.part(where) if peer is peers[number % len(peers)] else progress.at(where)
                        gc.collect()
                        found = await measure(peer, children[peer.child], plan, readings[peer.child])
                        figures[peer.name].append(found)
        progress.part("counting the bytes of a token")
        sizes = {}
        for peer in peers:
            progress.at(f"counting the bytes of a token: {peer.name}")
            sizes[peer.name] = await bytes_a_token(peer, children[peer.child].ports[peer.server], plan.tokens)
        hops = await measure_hops(children["warmline"], plan, places[-1].servers | places[-1].clients, progress)
    counted = list(rounds.values())[-1]
    return {
        "machine": machine,
        "plan": asdict(plan),
        "placements": {
            name: {peer: _summary(figures) for peer, figures in by_peer.items()} for name, by_peer in rounds.items()
        },
        "bytes_a_token": sizes,
        "text_bytes_a_token": len("".join(recorded_tokens(plan.tokens)[1:]).encode()) / (plan.tokens - 1),
        "hops": {"delay": DELAY_US, "changes": [asdict(change) for change in hops]},
        **ratios(counted),
    }


async def bytes_a_token(peer: Peer, port: int, tokens: int) -> float:
    """Bytes that each token after the first adds to what the server sends, counted on the wire."""
    with Proxy(port) as proxy:
        await peer.open(proxy.port)
        try:
            counts = []
            for count in (1, 1, tokens):
                before = proxy.down
                await peer.ask(count)
                counts.append(proxy.down - before)
        finally:
            await peer.close()
    return (counts[2] - counts[1]) / (tokens - 1)


def _rotated(peers: list[Peer], number: int) -> list[Peer]:
    """Another first one each round, so that nobody always follows the same one."""
    start = number % len(peers)
    return peers[start:] + peers[:start]


def _summary(figures: list[Figures]) -> dict[str, dict[str, float]]:
    """The median of the rounds, and their extremes."""
    columns = {name: [round_.named()[name] for round_ in figures] for name in figures[0].named()}
    return {
        name: {"median": statistics.median(values), "low": min(values), "high": max(values)}
        for name, values in columns.items()
    }
