"""A server in a process of its own: ``python -m warmline.realtime.benchmarks.transport.servers.process``.

Arguments are the server's name, the file for the player's readings and the model that the tokenizer is of. The first
line it says is a `Started`; each line it is told is a `Delay`, answered with one; it ends when its input does.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Final

import msgspec
from warmline.engine import PLAYER_COMMAND, EngineOptions, LocalEngine, PlayerReadings, Tokenizer, load_tokenizer

from ....server import run, settle_garbage_collection
from ....telemetry.logs import configure_logging
from ..delays import Put

MODULES: Final = {
    "bare": "bare_tcp",
    "fastapi": "fastapi_sse",
    "starlette": "starlette_sse",
    "tuned": "tuned_sse",
}
"""Where the servers beside our gateway are; each with packages of its own."""


class Started(msgspec.Struct):
    """Where a server listens, by what is served there, and the processes that serve."""

    ports: dict[str, int]
    server: int
    player: int


class Delay(msgspec.Struct):
    """Hold up one hop of our gateway for so long from now on."""

    hop: str
    nanoseconds: int


async def main(name: str, readings: str, model: str) -> None:
    """Serve until standard input ends."""
    tokenizer = load_tokenizer(model)
    engine = LocalEngine(EngineOptions(readings), PLAYER_COMMAND)
    await engine.start()
    try:
        async with _serve(name, engine, tokenizer, Path(readings)) as (ports, delays):
            settle_garbage_collection()
            assert engine.pid is not None
            _say(Started(ports, os.getpid(), engine.pid))
            commands = asyncio.StreamReader()
            await asyncio.get_running_loop().connect_read_pipe(
                lambda: asyncio.StreamReaderProtocol(commands), sys.stdin
            )
            while line := await commands.readline():
                delay = msgspec.json.decode(line, type=Delay)
                delays[delay.hop](delay.nanoseconds)
                _say(delay)
    finally:
        await engine.close()


@asynccontextmanager
async def _serve(
    name: str, engine: LocalEngine, tokenizer: Tokenizer, readings: Path
) -> AsyncIterator[tuple[dict[str, int], dict[str, Put]]]:
    """Gives the ports, and what puts delays into the gateway's hops."""
    if name == "warmline":
        from . import gateway

        with PlayerReadings(readings) as shared:
            async with gateway.serve(engine, tokenizer, shared) as served:
                yield served
        return
    async with import_module(f".{MODULES[name]}", __package__).serve(engine, tokenizer) as port:
        yield {name: port}, {}


def _say(message: msgspec.Struct) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(message) + b"\n")
    sys.stdout.flush()


if __name__ == "__main__":
    configure_logging()
    run(main(*sys.argv[1:]))
