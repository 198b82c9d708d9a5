"""uvicorn in a running event loop, set up to be fast: httptools, no log of accesses, connections kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import uvicorn

_KEEP_ALIVE: Final = 3600


@asynccontextmanager
async def serve_app(app: Any) -> AsyncIterator[int]:
    """Serve an ASGI application on a free port of this machine; gives the port."""
    config = uvicorn.Config(
        app,
        host="127.0.0.1",
        port=0,
        http="httptools",
        ws="none",
        lifespan="off",
        log_level="warning",
        access_log=False,
        timeout_keep_alive=_KEEP_ALIVE,
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    try:
        while not server.started:
            if serving.done():
                await serving
            await asyncio.sleep(0.005)
        port: int = server.servers[0].sockets[0].getsockname()[1]
        yield port
    finally:
        server.should_exit = True
        server.force_exit = True
        await serving
