"""Our gateway, as `warmline serve` runs it; delays can be put into its hops."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

from warmline.engine import (
    PLAYER_PARTS,
    GenerationRequest,
    LocalEngine,
    PlayerReadings,
    SequenceEvent,
    Tokenizer,
)

from ....protocol import MSGPACK, Codec, Complete, Delta, client_codec
from ....requests.outputs import CompletionOutput
from ....server import GatewayServer, ServerConfig
from ....sockets.gateway_socket import GatewaySocket
from ..delays import Put, before, behind, hold_up, replaced
from ..terms import API_KEY

_DELTA: Final = client_codec(MSGPACK).encode(Delta(0, ""))[:2]
"""How a delta begins."""


def delays_of(engine: LocalEngine, readings: PlayerReadings) -> dict[str, Put]:
    """What holds up each hop between a client's frame and ours: the server's own, and its engine's."""
    return {
        "server.parse": behind(Codec, "decode", lambda message: isinstance(message, Complete)),
        "session.prompt": before(engine, "next_id"),
        "ipc.in": before(engine, "submit"),
        **{f"engine.{part}": partial(readings.hold_up, part) for part in PLAYER_PARTS},
        "ipc.out": replaced(engine, "submit", _told_late),
        "server.encode": before(CompletionOutput, "feed"),
        "server.write": before(GatewaySocket, "write", lambda _, frames: _DELTA in frames),  # the text alone
    }


def _told_late(submit: Callable[..., Any], nanoseconds: int) -> Callable[..., Any]:
    """Submits what is told of its events late."""

    def delayed(request: GenerationRequest, on_event: Callable[[SequenceEvent], None]) -> None:
        def tell(event: SequenceEvent) -> None:
            hold_up(nanoseconds)
            on_event(event)

        submit(request, tell)

    return delayed


@asynccontextmanager
async def serve(
    engine: LocalEngine, tokenizer: Tokenizer, readings: PlayerReadings
) -> AsyncIterator[tuple[dict[str, int], dict[str, Put]]]:
    """Serve it on free ports; gives them, and what delays its hops."""
    async with GatewayServer(engine, tokenizer, ServerConfig(port=0, http_port=0, api_keys=(API_KEY,))) as server:
        door = urlsplit(server.http_url).port
        assert door is not None
        yield {"warmline": server.port, "warmline HTTP": door}, delays_of(engine, readings)
