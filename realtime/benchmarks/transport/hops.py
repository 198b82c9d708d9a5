"""A delay put into one hop of our own path must show in that hop's time and in no other."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from .awake import kept_awake
from .children import Child
from .measure import Plan
from .peers.warmline_peer import WarmlinePeer
from .proxy import Proxy

DELAY_US: Final = 2700
SHOWS_IN: Final = {
    "prompt": ("session.prompt",),
    "ipc": ("ipc.in",),
    "write": ("server.write",),
    "network": ("net.up", "net.down"),
}
"""Where a delay is put, and the hops that must show it. Of the network's two ways only the sum is known."""


@dataclass(frozen=True, slots=True)
class HopChange:
    """What a delay did to a request's timing, in microseconds: to its own hop, and to all the others together."""

    delay: str
    own: float
    others: float
    end_to_end: float


async def measure_hops(child: Child, plan: Plan, processors: Iterable[int]) -> list[HopChange]:
    """Delay each hop in turn and compare with requests without the delay, all through the same proxy.

    Who waits for what is held up would wake later for having waited, and the hops behind would show the delay, too.
    So the processors don't sleep meanwhile.
    """
    with kept_awake(processors), Proxy(child.ports["warmline"]) as proxy:
        peer = WarmlinePeer("websockets")
        await peer.open(proxy.port)
        try:
            return [await _change(delay, child, proxy, peer, plan.hop_requests) for delay in SHOWS_IN]
        finally:
            await peer.close()


async def _change(delay: str, child: Child, proxy: Proxy, peer: WarmlinePeer, requests: int) -> HopChange:
    """Ask with and without the delay in turns, so that whatever else happens to both is the same."""

    def put(microseconds: int) -> None:
        if delay == "network":
            proxy.delay_ns = microseconds * 500  # each way
        else:
            child.delay(delay, microseconds * 1000)

    plain, delayed = [], []
    for _ in range(requests):
        put(0)
        plain.append(await peer.hops())
        put(DELAY_US)
        delayed.append(await peer.hops())
    put(0)
    changes = {hop: _median(delayed, hop) - _median(plain, hop) for hop in plain[0]}
    own = sum(changes[hop] for hop in SHOWS_IN[delay])
    total = sum(changes.values())
    return HopChange(delay, own, total - own, total)


def _median(samples: list[dict[str, int]], hop: str) -> float:
    return statistics.median(sample[hop] for sample in samples)
