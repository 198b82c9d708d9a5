"""Our gateway, as `warmline serve` runs it; delays can be put into its hops."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import urlsplit

from warmline.engine import LocalEngine, Tokenizer

from ....gateway_socket import GatewaySocket
from ....protocol import MSGPACK, Delta, client_codec
from ....server import GatewayServer, ServerConfig
from ..delays import hold_up
from ..terms import API_KEY

_DELTA: Final = client_codec(MSGPACK).encode(Delta(0, ""))[:2]
"""How a delta begins."""


class Delays:
    """Replaces a step of each hop by one that waits first. Without a delay everything is as it was."""

    def __init__(self, engine: LocalEngine) -> None:
        self._steps: dict[str, tuple[Any, str, Callable[..., Any]]] = {
            "prompt": (engine, "next_id", engine.next_id),
            "ipc": (engine, "submit", engine.submit),
            "write": (GatewaySocket, "write", GatewaySocket.write),
        }

    def set(self, hop: str, nanoseconds: int) -> None:
        """Delay a hop; 0 ends that."""
        holder, step, original = self._steps[hop]
        setattr(holder, step, _delayed(original, nanoseconds) if nanoseconds else original)


def _delayed(original: Callable[..., Any], nanoseconds: int) -> Callable[..., Any]:
    def delayed(*arguments: Any, **options: Any) -> Any:
        written = [argument for argument in arguments if isinstance(argument, bytes)]
        if not written or _DELTA in written[0]:  # of what is written, the text alone
            hold_up(nanoseconds)
        return original(*arguments, **options)

    return delayed


@asynccontextmanager
async def serve(engine: LocalEngine, tokenizer: Tokenizer) -> AsyncIterator[tuple[dict[str, int], Delays]]:
    """Serve it on free ports; gives them, and what delays it."""
    async with GatewayServer(engine, tokenizer, ServerConfig(port=0, http_port=0, api_keys=(API_KEY,))) as server:
        door = urlsplit(server.http_url).port
        assert door is not None
        yield {"warmline": server.port, "warmline HTTP": door}, Delays(engine)
