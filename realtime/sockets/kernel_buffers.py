"""How much of what is written to a client the kernel may hold, whatever the client came for."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import Final

SEND_BUFFER: Final = 128 << 10
"""Bytes not acknowledged yet that the kernel may keep, which a peer that vanished costs; Linux doubles it."""
UNSENT: Final = 16 << 10
"""Bytes that the kernel may hold unsent, so that a slow reader shows here and not megabytes later.

A client on the same machine that reads nothing then takes in 120 to 170 kB, nearly all of it in its own receive
buffer; without this bound it would be 4.2 MB.
"""


def bound_kernel_buffers(transport: asyncio.BaseTransport) -> None:
    """Set both on a connection, where the system has them."""
    sock = transport.get_extra_info("socket")
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        if hasattr(socket, "TCP_NOTSENT_LOWAT"):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT)
