"""A network with a known delay, which counts bytes: a TCP proxy on this machine, in threads."""

from __future__ import annotations

import contextlib
import socket
import threading
from queue import SimpleQueue
from types import TracebackType
from typing import Self

from .delays import hold_up
from .terms import clock

_UnderWay = SimpleQueue[tuple[int, bytes]]
"""What was read and when it is to be passed on; b"" at the end."""


class Proxy:
    """Forwards connections to a port.

    Attributes:
        port: where it listens.
        delay_ns: how long what was read is kept before it is passed on, in either direction.
        down: bytes passed on to clients so far.
    """

    def __init__(self, target: int) -> None:
        self._target = target
        self.delay_ns = 0
        self.down = 0
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for sock in (self._listener, *self._sockets):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()

    def delay_both_ways(self, nanoseconds: int) -> None:
        """Share a delay evenly between the two directions."""
        self.delay_ns = nanoseconds // 2

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
                for sock in (client, server):
                    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    self._sockets.append(sock)
                for source, sink in ((client, server), (server, client)):
                    under_way: _UnderWay = SimpleQueue()
                    for pump in (self._take_in, self._pass_on):
                        end = source if pump == self._take_in else sink
                        threading.Thread(target=pump, args=(end, under_way, sink is client), daemon=True).start()

    def _take_in(self, source: socket.socket, under_way: _UnderWay, down: bool) -> None:
        data = b"-"
        while data:
            try:
                data = source.recv(1 << 16)
            except OSError:
                data = b""
            under_way.put((clock() + self.delay_ns, data))

    def _pass_on(self, sink: socket.socket, under_way: _UnderWay, down: bool) -> None:
        with contextlib.suppress(OSError):
            while True:
                due, data = under_way.get()
                if not data:
                    sink.shutdown(socket.SHUT_WR)
                    return
                hold_up(due - clock())
                if down:
                    self.down += len(data)
                sink.sendall(data)
