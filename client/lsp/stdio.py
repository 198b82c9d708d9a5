"""The language server on standard input and output, which carry nothing else."""

from __future__ import annotations

import asyncio
import logging
import os
import stat
import sys
from typing import BinaryIO, Final

from pygls.exceptions import JsonRpcException
from pygls.io_ import StdoutWriter

from ..errors import InvalidArgument
from .messages import read_message
from .server import WarmlineServer

CHUNK_BYTES: Final = 1 << 16

_log = logging.getLogger(__name__)


def run(url: str, token: str | None, log_level: str) -> int:
    """Serve one editor; returns the exit code.

    Raises:
        InvalidArgument: a person has called this, not an editor.

    """
    if sys.stdin is None or sys.stdout is None or sys.stdin.isatty():  # None: they are closed
        raise InvalidArgument("a language server is started by an editor; docs/other-editors.md says how")
    configure_logging(log_level)
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever else prints does so there
    return asyncio.run(serve(WarmlineServer(url, token), sys.stdin.buffer, output))


def configure_logging(level: str) -> None:
    """Send our records of this level and above to stderr, and other packages' at least from `logging.INFO` on.

    What other packages say for debugging may be a person's text, or the API key, which no log has.
    """
    chosen = logging.getLevelNamesMapping()[level.upper()]
    form = "%(levelname)s %(name)s: %(message)s"
    logging.basicConfig(stream=sys.stderr, level=max(chosen, logging.INFO), format=form)
    logging.getLogger("warmline").setLevel(chosen)
    quiet = logging.getLogger("pygls")  # it says at any level what is sent and what could not be read
    quiet.addHandler(logging.NullHandler())
    quiet.propagate = False


async def serve(server: WarmlineServer, source: BinaryIO, output: BinaryIO) -> int:
    """Serve until the editor says ``exit``, or closes the source; returns the exit code."""
    reader = asyncio.StreamReader()
    kind = os.fstat(source.fileno()).st_mode
    if stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind):
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), source)
        return await serve_streams(server, reader, output)
    # Files, and /dev/null, can be read at any time, so no event loop watches them.
    reading = asyncio.create_task(_read_all(source, reader), name="warmline input")
    try:
        return await serve_streams(server, reader, output)
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


async def _read_all(source: BinaryIO, reader: asyncio.StreamReader) -> None:
    try:
        while data := await asyncio.to_thread(source.read, CHUNK_BYTES):
            reader.feed_data(data)
    finally:
        reader.feed_eof()


async def serve_streams(server: WarmlineServer, reader: asyncio.StreamReader, output: BinaryIO) -> int:
    """The same, of a source that is read already."""
    protocol = server.protocol
    protocol.set_writer(StdoutWriter(output))
    try:
        while not protocol.left and (body := await read_message(reader)) is not None:
            try:
                protocol.take(body)
            except BrokenPipeError:
                raise
            except Exception as error:
                server.report_server_error(error, JsonRpcException)
    except (asyncio.IncompleteReadError, BrokenPipeError):
        _log.info("the editor has gone")
    except ValueError:
        _log.error("what came is no LSP: a line without an end where a header has to be")
        return 1
    return 0 if protocol.ended else 1
