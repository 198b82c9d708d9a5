"""A network that does what networks do: a TCP proxy in the event loop of whoever tests with it.

`tc netem` is not to be had everywhere, and needs privileges. What it would do to packets is done to the stream here:
delay, jitter and bandwidth by holding data back; loss can only be a stall, as TCP makes it one.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import struct
from collections import deque
from typing import Final, Self

_CHUNK: Final = 1 << 16
_BUFFER: Final = 1 << 16
"""Bytes under way in one direction, above which nothing more is read: what is slow is slow for the sender, too."""


class FaultProxy:
    """Forwards connections to a port of this machine. ``async with``.

    Attributes:
        port: where it listens.
        delay, jitter: seconds that data is held back in each direction, and at most so many more; order is kept.
        bandwidth: bytes a second in each direction; None: unbounded.
        refuses: new connections are reset at once.
        connections: how many there have been.
        up, down: bytes forwarded to the server and to clients.
    """

    def __init__(self, target: int, seed: int = 0) -> None:
        self.delay = 0.0
        self.jitter = 0.0
        self.bandwidth: float | None = None
        self.refuses = False
        self.connections = 0
        self.up = self.down = 0
        self._target = target
        self._dice = random.Random(seed)
        self._holes = asyncio.Event()  # cleared: everything falls into one
        self._holes.set()
        self._cut_at: tuple[str, int] | None = None
        self._open: set[_Connection] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=_CHUNK)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exception: object) -> None:
        self._server.close()
        for connection in list(self._open):
            connection.reset()
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        """Where clients of the WebSocket connect."""
        return f"ws://127.0.0.1:{self.port}"

    # Faults ----------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Both ends of all connections get an RST; what is under way is lost."""
        for connection in list(self._open):
            connection.reset()

    def reset_after(self, direction: str, count: int) -> None:
        """Do so once so many more bytes were forwarded ``up`` or ``down``, exactly; once."""
        self._cut_at = direction, getattr(self, direction) + count

    def half_close(self, direction: str) -> None:
        """No more goes ``up`` or ``down``: that end gets a FIN, and the other direction goes on."""
        for connection in list(self._open):
            connection.half_close(direction)

    def black_hole(self) -> None:
        """Nothing is forwarded any more, and nobody is told: of new connections, too."""
        self._holes.clear()

    def heal(self) -> None:
        """End the black hole: what waited in it arrives after all, as with TCP."""
        self._holes.set()

    # ------------------------------------------------------------------------------------------------------------

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.connections += 1
        if self.refuses:
            _reset(writer)
            return
        try:
            there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self._target, limit=_CHUNK)
        except OSError:
            _reset(writer)
            return
        connection = _Connection(writer, there_writer)
        self._open.add(connection)
        try:
            with contextlib.suppress(OSError):
                await asyncio.gather(
                    self._pump("up", reader, there_writer, connection),
                    self._pump("down", there_reader, writer, connection),
                )
        finally:
            self._open.discard(connection)
            connection.close()

    async def _pump(
        self, direction: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: _Connection
    ) -> None:
        """Read, hold back, write; in order."""
        loop = asyncio.get_running_loop()
        held: deque[tuple[float, bytes]] = deque()
        arrived, room = asyncio.Event(), asyncio.Event()

        async def take_in() -> None:
            size = -1
            while size:
                data = b""
                with contextlib.suppress(OSError):
                    data = await reader.read(_CHUNK)
                size = len(data)
                due = loop.time() + self.delay + self._dice.uniform(0, self.jitter)
                held.append((max(due, held[-1][0] if held else 0.0), data))
                arrived.set()
                while sum(len(waiting) for _, waiting in held) > _BUFFER:
                    room.clear()
                    await room.wait()

        taking = asyncio.ensure_future(take_in())
        try:
            while True:
                while not held:
                    arrived.clear()
                    await arrived.wait()
                due, data = held[0]
                if due > loop.time():
                    await asyncio.sleep(due - loop.time())
                await self._holes.wait()
                held.popleft()
                room.set()
                if not data:
                    if writer.can_write_eof() and not writer.is_closing():
                        writer.write_eof()
                    return
                await self._forward(direction, data, writer, connection)
        finally:
            taking.cancel()

    async def _forward(
        self, direction: str, data: bytes, writer: asyncio.StreamWriter, connection: _Connection
    ) -> None:
        count = getattr(self, direction)
        cut = self._cut_at is not None and self._cut_at[0] == direction and count + len(data) >= self._cut_at[1]
        if cut:
            assert self._cut_at is not None
            data = data[: max(self._cut_at[1] - count, 0)]
            self._cut_at = None
        setattr(self, direction, count + len(data))
        if connection.closed_ways >= {direction}:
            return
        writer.write(data)
        await writer.drain()
        if cut:
            await asyncio.sleep(0)
            connection.reset()
        elif self.bandwidth is not None:
            await asyncio.sleep(len(data) / self.bandwidth)


class _Connection:
    """A client's socket and the one to the server."""

    def __init__(self, client: asyncio.StreamWriter, server: asyncio.StreamWriter) -> None:
        self.closed_ways: set[str] = set()
        self._sinks = {"up": server, "down": client}

    def reset(self) -> None:
        for writer in self._sinks.values():
            _reset(writer)

    def half_close(self, direction: str) -> None:
        self.closed_ways.add(direction)
        writer = self._sinks[direction]
        if writer.can_write_eof() and not writer.is_closing():
            writer.write_eof()

    def close(self) -> None:
        for writer in self._sinks.values():
            writer.close()


def _reset(writer: asyncio.StreamWriter) -> None:
    sock = writer.get_extra_info("socket")
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
