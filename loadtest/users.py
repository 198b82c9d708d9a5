"""One locust user: an editor with a document open, typing, completing and editing.

What is reported, in microseconds (see `buckets`), for ``complete [us]`` and ``edit [us]`` each:

CONNECT  from the TCP connect to `welcome`, upgrade and hello included
TTFT     from writing the request to reading its first `delta` or `ops`
E2E      from writing the request to reading its terminal frame
CANCEL   from writing `cancel` to reading the terminal frame

A refused or failed request, a `nack`, and a lost connection are failures of what was under way. Users wait for an
answer before they go on (a closed loop), so a slow server also gets fewer requests; for latencies under a given rate
use an open-loop client. Locust's own scheduling is part of every figure.
"""

from __future__ import annotations

import itertools
import random
from typing import Any, Final

import gevent
from locust import User, between, task
from warmline.realtime import MSGPACK, Change, Complete, Edit, Open, ProtocolError, Sampling, TextEdit

from .snippets import SNIPPETS
from .wire import Wire, WireError, now

COMPLETION_TOKENS: Final = 16
EDIT_TOKENS: Final = 96
RETRY_SECONDS: Final = 1.0


class EditorUser(User):
    """An editor window. ``host`` is the WebSocket URL."""

    host: str = "ws://127.0.0.1:8765"
    wait_time = between(0.1, 0.5)
    subprotocol = MSGPACK

    def on_start(self) -> None:
        """Choose what to work on; the first task connects."""
        self._random = random.Random()
        self._snippet = self._random.choice(SNIPPETS)
        self._wire: Wire | None = None

    def on_stop(self) -> None:
        """Close the window."""
        self._disconnect()

    @task(6)
    def complete(self) -> None:
        """Type a space at the end of a line, ask for what follows, and take the space back."""
        self._complete(cancel=False)

    @task(1)
    def type_on(self) -> None:
        """As `complete`, but go on typing as soon as something is shown, which cancels it."""
        self._complete(cancel=True)

    @task(3)
    def edit(self) -> None:
        """Ask for an edit of a function."""
        wire = self._connected()
        if wire is None:
            return
        snippet = self._snippet
        sampling = Sampling(max_tokens=EDIT_TOKENS)
        request = Edit(
            next(self._requests), snippet.name, self._version, *snippet.span, snippet.instruction, sampling
        )
        self._measure("edit", wire, request)

    def _complete(self, cancel: bool) -> None:
        wire = self._connected()
        if wire is None:
            return
        position = self._random.choice([index for index, unit in enumerate(self._snippet.text) if unit == "\n"])
        self._change(wire, TextEdit(position, position, " "))
        sampling = Sampling(max_tokens=COMPLETION_TOKENS)
        request = Complete(next(self._requests), self._snippet.name, self._version, position + 1, sampling)
        if self._measure("complete", wire, request, cancel=cancel):
            self._change(wire, TextEdit(position, position + 1, ""))

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

    def _change(self, wire: Wire, edit: TextEdit) -> None:
        base, self._version = self._version, self._version + 1
        wire.send(Change(self._snippet.name, base, self._version, [edit]))

    def _measure(self, name: str, wire: Wire, request: Complete | Edit, *, cancel: bool = False) -> bool:
        """Run a request and report it. After a failure the connection is given up."""
        started = now()
        try:
            exchange = wire.run(request, cancel=cancel)
        except (WireError, ProtocolError) as error:
            self._report("E2E", name, now() - started, exception=error)
            self._disconnect()
            return False
        if exchange.first is not None:
            self._report("TTFT", name, exchange.first - exchange.sent)
        if exchange.cancelled is not None:
            self._report("CANCEL", name, exchange.ended - exchange.cancelled)
        else:
            self._report("E2E", name, exchange.ended - exchange.sent, length=exchange.characters)
        return True

    def _report(self, kind: str, name: str, microseconds: float, **details: Any) -> None:
        self.environment.events.request.fire(
            request_type=kind,
            name=f"{name} [us]",
            response_time=microseconds,
            response_length=details.get("length", 0),
            exception=details.get("exception"),
            context={},
        )
