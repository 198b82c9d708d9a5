"""The language server in this process, with an editor at its other end."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from warmline.client.lsp.server import WarmlineServer
from warmline.client.lsp.stdio import serve_streams

Edited = Callable[..., contextlib.AbstractAsyncContextManager[Any]]


class _Output:
    """Where the server writes: straight into what the editor reads."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    def write(self, data: bytes) -> None:
        self._reader.feed_data(data)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self._reader.feed_eof()


@pytest.fixture(scope="session")
def lsp_editor() -> ModuleType:
    """The module `editor.py`."""
    spec = importlib.util.spec_from_file_location("lsp_editor", Path(__file__).with_name("editor.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def editing(lsp_editor: ModuleType) -> Edited:
    """``async with editing(url, options) as editor``: an editor that has started the server, and has shaken hands."""

    @asynccontextmanager
    async def editing(url: str, options: object = None, *, handshake: bool = True, **more: Any) -> AsyncIterator[Any]:
        to_server, to_editor = asyncio.StreamReader(), asyncio.StreamReader()
        editor = lsp_editor.Editor(to_server.feed_data)
        server = WarmlineServer(url, None)
        serving = asyncio.create_task(serve_streams(server, to_server, _Output(to_editor)))
        reading = asyncio.create_task(editor.read(to_editor))
        try:
            async with asyncio.timeout(30):
                if handshake:
                    await editor.initialize(options, **more)
                yield editor
                initialized = server.protocol.initialized
                if initialized and not server.protocol.ended:
                    await editor.ask("shutdown")
            to_server.feed_eof()
            assert await serving == (0 if initialized else 1)
            assert not reading.done(), "the server sent what is no LSP"
        finally:
            for task in (serving, reading):
                task.cancel()
            await asyncio.gather(serving, reading, return_exceptions=True)

    return editing
