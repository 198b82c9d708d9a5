"""Answers that come before their request's body: the rest of it is taken, so that they are read.

A client that is still sending sees its connection reset if the server closes it with bytes unread, and many then
never look for an answer (RFC 9112, section 9.6). So the answer is written, and the connection stays until the body
has come, or until that takes too much or too long.
"""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from .responses import ABORT

LINGER_BYTES: Final = 64 << 20
"""Of a body that nobody reads; then the connection is cut."""
_LINGER_SECONDS: Final = 30.0
"""For a body that nobody reads; then the connection is cut."""


class Lingering:
    """The channels of one request; its answer ends once its body has, too."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        self._comes = "transfer-encoding" in headers or headers.get("content-length", "0") != "0"
        self._cut = scope["state"][ABORT]
        self._receive = receive
        self._send = send

    async def receive(self) -> Message:
        """The next part of the body, or that the client is gone."""
        message = await self._receive()
        if not message.get("more_body", False):  # nor has who is gone
            self._comes = False
        return message

    async def send(self, message: Message) -> None:
        """Write a part of the answer; behind the last one, take what is left of the body."""
        last = message["type"] == "http.response.body" and not message.get("more_body", False)
        if not last or not self._comes:
            await self._send(message)
            return
        await self._send({**message, "more_body": True})
        await self._take_rest()
        await self._send({"type": "http.response.body", "body": b""})

    async def _take_rest(self) -> None:
        left = LINGER_BYTES
        try:
            async with asyncio.timeout(_LINGER_SECONDS):
                while self._comes and left >= 0:
                    left -= len((await self.receive()).get("body", b""))
        except TimeoutError:
            pass
        if self._comes:
            self._cut()
