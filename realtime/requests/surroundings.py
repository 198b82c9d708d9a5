"""What the requests of a session share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from warmline.engine import GenerationRequest

from ..access.accounts import Usage
from ..prompting.prompts import Layout, PromptPlan
from ..protocol import ServerMessage
from ..service import Service
from .outputs import Output

if TYPE_CHECKING:
    from .generation import Generation

Send = Callable[[ServerMessage], int]
"""Writes a message to the client; returns the clock's reading (ns) between encoding and writing it."""

Make = Callable[[PromptPlan], tuple[GenerationRequest, Output]]
"""From a plan to what the engine gets, and what makes frames of its text. May raise `Refused`."""

_clients = count(1)


@dataclass(eq=False, slots=True)
class Surroundings:
    """What the requests of a session share.

    Attributes:
        salt: keys the prefix cache.
        client: between whom the engine's time is shared evenly: each session is one.
        on_end: told of each request that was accepted, after its terminal frame.
        prepare: makes a request's plan, and starts it.
        names: what log lines about the session's requests say: which session it is, and what its client calls itself.
        usage: counts what they cost for the key and the address, if anybody does.
        paused: the engine is to compute nothing for them.
    """

    service: Service
    salt: str
    send: Send
    on_end: Callable[[Generation], None]
    prepare: Callable[[Generation, Layout, Make], None]
    names: Mapping[str, object]
    usage: Usage | None = None
    paused: bool = False
    client: str = field(default_factory=lambda: str(next(_clients)))
