"""A WebSocket on `picows`: messages are handed over from within the socket's own callback, without a queue or a task.

Import it only where ``picows`` is installed (the extra ``warmline[fast]``); `connect` takes it where it is named. Its
frames are read and written in native code; `WebsocketsTransport` reads and writes its own without its library's
parser, and measures the same.
"""

from __future__ import annotations

import asyncio
import contextlib
from ssl import SSLContext
from typing import Any, cast

from picows import WSError, WSFrame, WSHandshakeError, WSListener, WSMsgType, WSTransport, ws_connect

from .transport import CLOSE_TIMEOUT, LIBRARY_LOG, MAX_FRAME, Inbox, NoWebSocket, Redirected, Refused, Transport


class PicowsTransport(Transport):
    """On `picows`. Proxies are not offered."""

    def __init__(self, connection: WSTransport, listener: _Listener, text: bool) -> None:
        self.subprotocol = connection.response.headers.get("Sec-WebSocket-Protocol")
        self._connection = connection
        self._ended = listener.ended
        self.inbox = listener.inbox
        self._type = WSMsgType.TEXT if text else WSMsgType.BINARY

    @classmethod
    async def connect(
        cls,
        url: str,
        subprotocol: str,
        headers: dict[str, str],
        *,
        text: bool,
        ping_interval: float | None,
        open_timeout: float,
        ssl: SSLContext | None = None,
    ) -> PicowsTransport:
        """Connect.

        Raises:
            TimeoutError: the server took the connection and did not answer within ``open_timeout`` seconds.
            Refused, Redirected, NoWebSocket, OSError: there is no connection.

        """
        keepalive: dict[str, Any] = {}
        if ping_interval is not None:
            keepalive = {
                "enable_auto_ping": True,
                "auto_ping_idle_timeout": ping_interval,
                "auto_ping_reply_timeout": ping_interval,
            }

        async def connect() -> tuple[WSTransport, WSListener]:
            async with asyncio.timeout(2 * open_timeout):
                return await ws_connect(
                    _Listener,
                    url,
                    extra_headers={**headers, "Sec-WebSocket-Protocol": subprotocol},
                    websocket_handshake_timeout=open_timeout,
                    max_frame_size=MAX_FRAME,
                    max_redirects=0,
                    ssl_context=ssl,
                    logger_name=LIBRARY_LOG,
                    **keepalive,
                )

        # A handshake that is cancelled would leave its connection open; its own timeout closes it.
        connecting = asyncio.create_task(connect(), name="warmline connecting")
        try:
            connection, listener = await asyncio.shield(connecting)
        except asyncio.CancelledError:
            connecting.add_done_callback(_abandon)
            raise
        except WSHandshakeError as error:
            if error.response is None:
                raise NoWebSocket(str(error)) from None
            status, location = int(error.response.status), error.response.headers.get("Location")
            if 300 <= status < 400 and location is not None:
                raise Redirected(status, location) from None
            raise Refused(status, bytes(error.raw_body or b""), error.response.headers.get("Retry-After")) from None
        except OSError:  # a certificate that is not trusted is a ValueError, too
            raise
        except (WSError, ValueError) as error:
            raise NoWebSocket(str(error)) from None
        if not isinstance(listener, _Listener):
            raise NoWebSocket("the connection was closed before it answered")
        return cls(connection, listener, text)

    def send(self, frame: bytes) -> None:
        if not self._connection.is_close_frame_sent and not self._connection.is_disconnected:
            self._connection.send(self._type, frame)

    @property
    def unsent(self) -> int:
        return self._connection.underlying_transport.get_write_buffer_size()

    async def close(self, code: int = 1000) -> None:
        connection = self._connection
        if not connection.is_disconnected and not connection.is_close_frame_sent:
            connection.send_close(code)  # type: ignore[arg-type]  # the enumeration lacks our own codes
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT):
                await self._ended.wait()
        except TimeoutError:
            connection.disconnect(graceful=False)
            await self._ended.wait()

    def abort(self) -> None:
        self._connection.disconnect(graceful=False)


def _abandon(connecting: asyncio.Task[tuple[WSTransport, WSListener]]) -> None:
    if not connecting.cancelled() and connecting.exception() is None:
        connecting.result()[0].disconnect(graceful=False)


class _Listener(WSListener):
    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self.inbox = Inbox()
        self._fragments: list[bytes] = []
        self._fragments_size = 0
        self._is_text = False
        self._ending: asyncio.Task[None] | None = None

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        kind = frame.msg_type
        if frame.fin and kind == WSMsgType.BINARY:
            self.inbox.take(frame.get_payload_as_bytes())
        elif kind == WSMsgType.CLOSE:
            if not transport.is_close_frame_sent:
                transport.send_close(frame.get_close_code(), frame.get_close_message())
            transport.disconnect()
        elif kind in (WSMsgType.BINARY, WSMsgType.TEXT, WSMsgType.CONTINUATION):
            self._assemble(transport, frame)

    def _assemble(self, transport: WSTransport, frame: WSFrame) -> None:
        if frame.msg_type != WSMsgType.CONTINUATION:
            self._is_text = frame.msg_type == WSMsgType.TEXT
        self._fragments.append(frame.get_payload_as_bytes())
        self._fragments_size += frame.payload_size
        if self._fragments_size > MAX_FRAME:
            self._fail(transport, 1009)
        elif frame.fin:
            message = b"".join(self._fragments)
            self._fragments.clear()
            self._fragments_size = 0
            try:
                self.inbox.take(message.decode() if self._is_text else message)
            except UnicodeDecodeError:
                self._fail(transport, 1007)

    def _fail(self, transport: WSTransport, code: int) -> None:
        transport.send_close(code)  # type: ignore[arg-type]
        transport.disconnect()

    def on_ws_disconnected(self, transport: WSTransport) -> None:
        code, reason = 1006, ""
        handshake = transport.close_handshake
        if handshake is not None and handshake.recv is not None:
            # A close frame may be empty (RFC 6455, section 7.1.5).
            code, reason = int(cast(int, handshake.recv.code)) or 1005, handshake.recv.reason or ""
        self.inbox.end(code, reason)
        self._ending = asyncio.create_task(self._end(transport), name="warmline ending")
        self._ending.add_done_callback(lambda _: self.ended.set())

    async def _end(self, transport: WSTransport) -> None:
        """Retrieve the error that ended the connection, or asyncio logs it: picows has logged it."""
        with contextlib.suppress(Exception):
            await transport.wait_disconnected()

    def pause_writing(self) -> None:
        """`Transport.unsent` is asked instead."""

    def resume_writing(self) -> None:
        """`Transport.unsent` is asked instead."""
