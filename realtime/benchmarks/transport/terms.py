"""What the two ends of every comparison agree on."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

API_KEY: Final = "bench-transport"
MODEL: Final = "recording"
PACKAGES: Final = (
    "warmline", "websockets", "picows", "msgspec", "uvloop", "fastapi", "starlette", "pydantic", "uvicorn",
    "httptools", "httpx", "aiohttp", "openai",
)  # fmt: skip
"""What takes part."""
PROMPT: Final = "def content_hash(text: str) -> int:\n    "

clock: Final[Callable[[], int]] = time.monotonic_ns
"""Nanoseconds. All processes of one machine read the same."""


class ServerFailed(Exception):
    """A server of the benchmark did not start or went away; the message says which."""


class MissingPackages(Exception):
    """The message says what to install."""


@dataclass(slots=True)
class Reply:
    """What a client saw of one request, in readings of `clock`.

    Attributes:
        called: it was about to ask.
        arrivals: for each piece of text, when the program had it, and how many characters it had by then.
        ended: it knew the end and what was used.
    """

    called: int
    arrivals: list[tuple[int, int]] = field(default_factory=list)
    ended: int = 0

    def took(self, text: str) -> None:
        """A piece has come."""
        before = self.arrivals[-1][1] if self.arrivals else 0
        self.arrivals.append((clock(), before + len(text)))


class Peer(Protocol):
    """A client library and the server it reads from.

    Attributes:
        name: what the report calls the pair.
        child: the process that serves it.
        server: what it reads from of what is served there.
    """

    name: str
    child: str
    server: str

    async def open(self, port: int) -> None:
        """Connect to the server on this machine."""

    async def ask(self, tokens: int) -> Reply:
        """Ask for so many tokens and read them all."""

    async def close(self) -> None:
        """Disconnect."""
