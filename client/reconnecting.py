"""When to dial again after a connection was lost, and what a program may hear of it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from .errors import InvalidArgument, WarmlineError

ConnectionState = Literal["lost", "retrying", "resumed", "renewed", "ended"]


@dataclass(frozen=True, slots=True)
class ConnectionEvent:
    """What happened to a session's connection.

    Attributes:
        state: ``lost``: it broke, and is dialled again. ``retrying``: that failed, and is tried again. ``resumed``:
            there is another one, and everything went on. ``renewed``: there is another one, but the server did not
            know the session any more: documents were handed over again, and what ran has ended with `SessionLost`.
            ``ended``: the session is over, and ``error`` says why.
        error: why it broke, or could not be made; None where there is one again.
        attempt: how often it was dialled since it broke.
    """

    state: ConnectionState
    error: WarmlineError | None = None
    attempt: int = 0


OnConnection = Callable[[ConnectionEvent], None]


@dataclass(frozen=True, slots=True)
class Reconnect:
    """How a session gets another connection when it has lost its own. Times are in seconds.

    Each wait is drawn evenly from 0 to a bound that doubles, so that clients that lost a server together don't come
    back together ("full jitter": Brooker, Exponential Backoff And Jitter, AWS Architecture Blog, 2015).

    Attributes:
        first: the bound of the first wait.
        longest: the bound of any wait.
        give_up_after: so long after the loss the session ends, and with it the requests that wait to hear from the
            server what became of them; None: never.

    Raises:
        InvalidArgument: a time is not positive.

    """

    first: float = 0.25
    longest: float = 15.0
    give_up_after: float | None = 300.0

    def __post_init__(self) -> None:
        for name in ("first", "longest", "give_up_after"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InvalidArgument(f"{name} must be above 0, not {value!r}")

    def waits(self, draw: Callable[[float, float], float] = random.uniform) -> Iterator[float]:
        """How long to wait before each attempt, without an end."""
        bound = self.first
        while True:
            yield draw(0.0, min(bound, self.longest))
            bound = min(2 * bound, self.longest)
