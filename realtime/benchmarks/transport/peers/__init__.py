"""The clients that are compared, each with the server it reads from."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from ..terms import MissingPackages, Peer

_NEEDED: Final = ("aiohttp", "fastapi", "httpx", "openai")


def all_peers() -> list[Peer]:
    """Ours first.

    Raises:
        MissingPackages: one of the other sides' packages isn't installed.

    """
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise MissingPackages(
            f"{', '.join(missing)} not installed; in a clone of Warmline: .venv/bin/pip install -e '.[bench]'"
        )
    from .aiohttp_peer import AiohttpPeer, MsgspecPeer
    from .bare_peer import BarePeer
    from .httpx_peer import HttpxPeer
    from .openai_peer import OpenAIPeer
    from .warmline_peer import WarmlinePeer

    peers: list[Peer] = [WarmlinePeer("websockets")]
    if find_spec("picows") is not None:
        peers.append(WarmlinePeer("picows"))
    return [
        *peers,
        HttpxPeer(),
        AiohttpPeer("FastAPI, aiohttp", "fastapi", "fastapi"),
        OpenAIPeer(),
        MsgspecPeer("Starlette + msgspec, aiohttp", "starlette"),
        MsgspecPeer("tuned SSE, aiohttp", "tuned"),
        AiohttpPeer("warmline HTTP, aiohttp", "warmline", "warmline HTTP"),
        BarePeer(),
    ]
