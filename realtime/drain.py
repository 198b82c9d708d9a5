"""How a server goes away: its clients are told, what runs may end, and their sockets close in waves."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Collection, Sequence
from typing import Final, Protocol

from .protocol import CloseCode

_POLL_SECONDS: Final = 0.02
_LAST_WORDS_SECONDS: Final = 1.0
"""What requests that were told to end have for their last frames."""
_WAVE: Final = 100
"""Sockets that are closed at once: their clients come again at once, too."""
_MOST_WAVES: Final = 50
_BETWEEN_WAVES: Final = 0.2
"""Seconds, on average."""


class Draining(Protocol):
    """What has requests that may end."""

    def drain(self, seconds: float) -> None:
        """Take no more requests; those that run have so many seconds."""

    def stop_requests(self) -> None:
        """End all requests now."""

    @property
    def drained(self) -> bool:
        """Whether none runs."""

    @property
    def dead(self) -> bool:
        """Whether nobody takes what they make."""


class Closing(Protocol):
    """A socket."""

    async def close(self, code: int, reason: str) -> None:
        """Close it; returns when that is done."""


async def drain(clients: Callable[[], Collection[Draining]], seconds: float, hurry: asyncio.Event) -> None:
    """Let the requests of clients end, and end those that haven't after so many seconds, or once ``hurry`` is set.

    Whoever takes nothing of what is sent to him is not waited for.
    """
    loop = asyncio.get_running_loop()
    for client in clients():
        client.drain(seconds)

    def over() -> bool:
        # All are asked each time: a dead one is known by what it did since it was asked first.
        waited_for = [client for client in clients() if not (client.drained or client.dead)]
        return not waited_for

    await _until(lambda: hurry.is_set() or over(), loop.time() + seconds)
    for client in clients():
        client.stop_requests()
    await _until(lambda: all(client.drained for client in clients()), loop.time() + _LAST_WORDS_SECONDS)


async def close_in_waves(sockets: Sequence[Closing], hurry: asyncio.Event) -> None:
    """Close sockets with 1012, in random order and a random while apart, so that not all come again at once."""
    order = random.sample(sockets, len(sockets))
    size = max(_WAVE, -(-len(order) // _MOST_WAVES))
    closing: list[asyncio.Task[None]] = []
    for first in range(0, len(order), size):
        if first and not hurry.is_set():
            await _until(hurry.is_set, asyncio.get_running_loop().time() + random.uniform(0, 2 * _BETWEEN_WAVES))
        closing += [
            asyncio.create_task(socket.close(CloseCode.SERVICE_RESTART, "the server restarts"))
            for socket in order[first : first + size]
        ]
    if closing:
        await asyncio.wait(closing)


async def _until(condition: Callable[[], bool], deadline: float) -> None:
    loop = asyncio.get_running_loop()
    while (left := deadline - loop.time()) > 0:
        if condition():
            break
        await asyncio.sleep(min(left, _POLL_SECONDS))
