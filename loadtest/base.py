"""What every simulated user has: a connection, a document, and a way to report."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from typing import Any, Final

import gevent
from locust import User
from warmline.realtime import MSGPACK, Change, Open, ProtocolError, TextEdit

from .snippets import SNIPPETS
from .wire import Exchange, Wire, WireError, now

RETRY_SECONDS: Final = 1.0

_HOPS: Final[Mapping[str, str]] = {
    "net.up": "net.up",
    "server": "server",
    "session": "server",
    "ipc": "server",
    "engine": "engine",
    "net.down": "net.down",
}
"""Hops as they are reported, by the first part of their name or all of it."""


class WireUser(User):
    """A user with a document open. ``host`` is the WebSocket URL."""

    abstract = True
    host: str = "ws://127.0.0.1:8765"
    subprotocol = MSGPACK

    def on_start(self) -> None:
        """Choose what to work on; the first task connects."""
        self._random = random.Random()
        self._snippet = self._random.choice(SNIPPETS)
        self._wire: Wire | None = None

    def on_stop(self) -> None:
        """Close the window."""
        self._disconnect()

    def _connected(self) -> Wire | None:
        """The connection, made anew if there is none; None if that fails, after a pause."""
        if self._wire is None:
            started = now()
            try:
                self._wire = Wire(self.host, self.environment.parsed_options.api_key, self.subprotocol)
            except (WireError, ProtocolError) as error:
                self._report("CONNECT", "session", now() - started, exception=error)
                gevent.sleep(RETRY_SECONDS)
                return None
            self._report("CONNECT", "session", now() - started)
            self._requests = itertools.count(1)
            self._version = 0
            self._wire.send(Open(self._snippet.name, 0, self._snippet.language, self._snippet.text))
        return self._wire

    def _disconnect(self) -> None:
        if self._wire is not None:
            self._wire.close()
            self._wire = None

    def _line_end(self) -> int:
        """The end of some line of the document."""
        return self._random.choice([index for index, unit in enumerate(self._snippet.text) if unit == "\n"])

    def _change(self, wire: Wire, edit: TextEdit) -> None:
        base, self._version = self._version, self._version + 1
        wire.send(Change(self._snippet.name, base, self._version, [edit]))

    def _failed(self, name: str, started: int, error: Exception) -> None:
        """Report a failure and give up the connection."""
        self._report("E2E", name, now() - started, exception=error)
        self._disconnect()

    def _report_exchange(self, name: str, exchange: Exchange) -> None:
        if exchange.first is not None:
            self._report("TTFT", name, exchange.first - exchange.sent)
        if exchange.cancelled is not None:
            self._report("CANCEL", name, exchange.ended - exchange.cancelled)
        elif exchange.replaced is not None and exchange.reason == "superseded":
            self._report("SUPERSEDE", name, exchange.ended - exchange.replaced)
        else:
            self._report("E2E", name, exchange.ended - exchange.sent, length=exchange.characters)
        if exchange.hops is not None:
            totals = dict.fromkeys(_HOPS.values(), 0)
            for hop, microseconds in exchange.hops.hops.items():
                shown = _HOPS.get(hop) or _HOPS.get(hop.partition(".")[0])
                if shown is not None:
                    totals[shown] += microseconds
            for shown, microseconds in totals.items():
                self._report("HOP", f"{name} {shown}", microseconds)

    def _report(self, kind: str, name: str, microseconds: float, **details: Any) -> None:
        self.environment.events.request.fire(
            request_type=kind,
            name=f"{name} [us]",
            response_time=microseconds,
            response_length=details.get("length", 0),
            exception=details.get("exception"),
            context={},
        )
