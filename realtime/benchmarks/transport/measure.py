"""What one round of one peer shows."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Final

from warmline.engine import PlayerReadings, recorded_tokens

from .children import Child
from .terms import Peer, Reply, ServerFailed

GAP: Final = 0.001
"""Seconds between two requests, as nobody asks without a pause; the processors may idle meanwhile."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured: rounds, requests for one token in each, and tokens of the long request in each."""

    rounds: int = 7
    requests: int = 60
    tokens: int = 400
    hop_requests: int = 40


QUICK: Final = Plan(rounds=1, requests=3, tokens=30, hop_requests=3)


@dataclass(frozen=True, slots=True)
class Figures:
    """Medians of one round, in microseconds.

    Attributes:
        round_trip: from the call to the end of a request for one token, what it used included.
        ttft: from the call to its text in hand.
        one_way: from when the source sends a token until its text is in hand, at one token a millisecond.
        server_cpu, client_cpu: processor time for each of those tokens.
    """

    round_trip: float
    ttft: float
    one_way: float
    server_cpu: float
    client_cpu: float

    def named(self) -> dict[str, float]:
        """The figures by name."""
        return asdict(self)


async def measure(peer: Peer, child: Child, plan: Plan, readings: PlayerReadings) -> Figures:
    """One round."""
    replies = []
    for _ in range(plan.requests):
        await asyncio.sleep(GAP)
        replies.append(await peer.ask(1))
    server, client = child.cpu_ns(), time.process_time_ns()
    stream = await peer.ask(plan.tokens)
    server, client = child.cpu_ns() - server, time.process_time_ns() - client
    return Figures(
        round_trip=_median(reply.ended - reply.called for reply in replies),
        ttft=_median(reply.arrivals[0][0] - reply.called for reply in replies),
        one_way=_median(one_way(stream, recorded_tokens(plan.tokens), readings.first(plan.tokens))),
        server_cpu=server / plan.tokens / 1000,
        client_cpu=client / plan.tokens / 1000,
    )


def one_way(reply: Reply, tokens: list[str], sent: list[int]) -> list[int]:
    """For each token, from its sending until the program had all its text (ns). Pieces may hold several tokens.

    Raises:
        ServerFailed: the text that came isn't as long as the tokens'.

    """
    if (reply.arrivals[-1][1] if reply.arrivals else 0) != sum(map(len, tokens)):
        raise ServerFailed("a server left out text of its source")
    times, chars, arrivals = [], 0, iter(reply.arrivals)
    at, have = next(arrivals)
    for token, began in zip(tokens, sent, strict=True):
        chars += len(token)
        while have < chars:
            at, have = next(arrivals)
        times.append(at - began)
    return times


def _median(nanoseconds: Iterable[int]) -> float:
    return statistics.median(nanoseconds) / 1000
