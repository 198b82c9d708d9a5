"""The language server on standard input and output, which carry nothing else."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from threading import Event
from typing import BinaryIO

from pygls.io_ import StdoutWriter, run_async

from ..errors import InvalidArgument
from .server import WarmlineServer

_log = logging.getLogger(__name__)


def run(url: str, token: str | None, log_level: str) -> int:
    """Serve one editor; returns the exit code.

    Raises:
        InvalidArgument: a person has called this, not an editor.

    """
    if sys.stdin.isatty():
        raise InvalidArgument("a language server is started by an editor; docs/other-editors.md says how")
    logging.basicConfig(stream=sys.stderr, level=log_level.upper(), format="%(levelname)s %(name)s: %(message)s")
    quiet = logging.getLogger("pygls")  # it logs what is sent, which is people's text
    quiet.addHandler(logging.NullHandler())
    quiet.propagate = False
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever else prints does so there
    return asyncio.run(serve(WarmlineServer(url, token), sys.stdin.buffer, output))


async def serve(server: WarmlineServer, source: BinaryIO, output: BinaryIO) -> int:
    """Serve until the editor says ``exit``, which raises SystemExit with the code, or closes the source."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), source)
    return await serve_streams(server, reader, output)


async def serve_streams(server: WarmlineServer, reader: asyncio.StreamReader, output: BinaryIO) -> int:
    """The same, of a source that is read already."""
    server.protocol.set_writer(StdoutWriter(output))
    try:
        await run_async(Event(), reader, server.protocol, logging.getLogger("pygls"), server.report_server_error)
    except (asyncio.IncompleteReadError, BrokenPipeError):
        _log.info("the editor has gone")
    return 0 if server.ended else 1
