"""A delay put into one hop of our own path must show in that hop's time and in no other."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final

from warmline.engine import Progress

from .awake import kept_awake
from .children import Child
from .delays import Put
from .measure import Plan
from .peers.warmline_peer import WarmlinePeer
from .proxy import Proxy

DELAY_US: Final = 2700
SERVER_HOPS: Final = (
    "server.parse", "session.prompt", "ipc.in", "engine.queue", "engine.prefill", "engine.first_token", "engine.step",
    "ipc.out", "server.encode", "server.write",
)  # fmt: skip
NETWORK: Final = "net.up + net.down"
"""Of the network's two ways only the sum is known, so each gets half the delay."""
DELAYED: Final = ("client.queue", *SERVER_HOPS, NETWORK, "client.decode")
"""Where delays are put: all hops of a request."""


@dataclass(frozen=True, slots=True)
class HopChange:
    """What a delay did to a request's timing, in microseconds.

    Attributes:
        delay: the hop that was held up.
        own: the change of that hop.
        others: of all the others together.
        most: of that one among them which changed most.
        end_to_end: of the whole request.
    """

    delay: str
    own: float
    others: float
    most: float
    end_to_end: float


async def measure_hops(child: Child, plan: Plan, processors: Iterable[int], progress: Progress) -> list[HopChange]:
    """Delay each hop in turn and compare with requests without the delay, all through the same proxy.

    Who waits for what is held up would wake later for having waited, and the hops behind would show the delay, too.
    So the processors don't sleep meanwhile.
    """
    with kept_awake(processors), Proxy(child.ports["warmline"]) as proxy:
        peer = WarmlinePeer("websockets")
        await peer.open(proxy.port)
        try:
            delays = delays_of_all(child, proxy, peer)
            changes = []
            for number, hop in enumerate(DELAYED, 1):
                where = f"delaying hop {number} of {len(DELAYED)}: {hop}"
                progress.part(where) if number == 1 else progress.at(where)
                changes.append(await _change(hop, delays[hop], peer, plan.hop_requests))
            return changes
        finally:
            await peer.close()


def delays_of_all(child: Child, proxy: Proxy, peer: WarmlinePeer) -> dict[str, Put]:
    """What holds up each of `DELAYED`, wherever it is."""
    server = {hop: partial(child.delay, hop) for hop in SERVER_HOPS}
    return {**peer.delays(), **server, NETWORK: proxy.delay_both_ways}


async def _change(delay: str, put: Put, peer: WarmlinePeer, requests: int) -> HopChange:
    """Ask with and without the delay in turns, so that whatever else happens to both is the same."""
    plain, delayed = [], []
    for _ in range(requests):
        put(0)
        plain.append(await peer.hops())
        put(DELAY_US * 1000)
        delayed.append(await peer.hops())
    put(0)
    changes = {hop: _median(delayed, hop) - _median(plain, hop) for hop in plain[0]}
    total = sum(changes.values())
    own = sum(changes.pop(hop) for hop in delay.split(" + "))
    return HopChange(delay, own, total - own, max(changes.values(), key=abs), total)


def _median(samples: list[dict[str, int]], hop: str) -> float:
    return statistics.median(sample[hop] for sample in samples)
