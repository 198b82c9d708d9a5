"""Locust users: an editor with a document open, completing and editing; and somebody who types.

What is reported, in microseconds (see `buckets`), for ``complete [us]``, ``edit [us]`` and ``type [us]`` each:

CONNECT    from the TCP connect to `welcome`, upgrade and hello included
TTFT       from writing the request to reading its first `delta` or `ops`
E2E        from writing the request to reading its terminal frame
CANCEL     from writing `cancel` to reading the terminal frame
SUPERSEDE  from writing the request that takes its place to reading the terminal frame
HOP        where the time of a request went, cancelled and superseded ones included: ``net.up``, ``server`` (the
           gateway's share), ``engine``, ``net.down``

A refused or failed request, a `nack`, and a lost connection are failures of what was under way. An editor waits for
an answer before it goes on (a closed loop), so a slow server also gets fewer requests; who types goes on at a given
pace. For latencies under a given rate use an open-loop client. Locust's own scheduling is part of every figure.
"""

from __future__ import annotations

import time
from typing import Final

import gevent
from locust import between, task
from warmline.realtime import Complete, Edit, ProtocolError, Sampling, TextEdit, Warm

from .base import WireUser
from .wire import Wire, WireError, now

COMPLETION_TOKENS: Final = 16
EDIT_TOKENS: Final = 96
INSTRUCTION_SECONDS: Final = 0.2
"""How long a person takes to say what is to be done with what they selected."""
KEY_SECONDS: Final = 0.08
TYPED: Final = "    result = "


class EditorUser(WireUser):
    """An editor window."""

    weight = 3
    wait_time = between(0.1, 0.5)

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
        """Select a function, which lets the server prepare, and ask for an edit of it."""
        wire = self._connected()
        if wire is None:
            return
        snippet = self._snippet
        started = now()
        try:
            wire.send(Warm(snippet.name, self._version, *snippet.span))
        except WireError as error:
            self._failed("edit", started, error)
            return
        gevent.sleep(INSTRUCTION_SECONDS)
        sampling = Sampling(max_tokens=EDIT_TOKENS)
        request = Edit(
            next(self._requests), snippet.name, self._version, *snippet.span, snippet.instruction, sampling
        )
        self._measure("edit", wire, request)

    def _complete(self, cancel: bool) -> None:
        wire = self._connected()
        if wire is None:
            return
        position = self._line_end()
        self._change(wire, TextEdit(position, position, " "))
        sampling = Sampling(max_tokens=COMPLETION_TOKENS)
        request = Complete(next(self._requests), self._snippet.name, self._version, position + 1, sampling)
        if self._measure("complete", wire, request, cancel=cancel):
            self._change(wire, TextEdit(position, position + 1, ""))

    def _measure(self, name: str, wire: Wire, request: Complete | Edit, *, cancel: bool = False) -> bool:
        """Run a request and report it. After a failure the connection is given up."""
        started = now()
        try:
            exchange = wire.run(request, cancel=cancel)
        except (WireError, ProtocolError) as error:
            self._failed(name, started, error)
            return False
        self._report_exchange(name, exchange)
        return True


class TypingUser(WireUser):
    """Somebody who types, and whose editor asks for a suggestion after every key."""

    weight = 1
    wait_time = between(0.5, 1.5)

    @task
    def type_line(self) -> None:
        """Type at the end of a line, a key each `KEY_SECONDS`; each request supersedes the one before."""
        wire = self._connected()
        if wire is None:
            return
        started = now()
        try:
            self._type(wire)
        except (WireError, ProtocolError) as error:
            self._failed("type", started, error)

    def _type(self, wire: Wire) -> None:
        position = self._line_end()
        sampling = Sampling(max_tokens=COMPLETION_TOKENS)
        due = time.monotonic()
        for typed, key in enumerate(TYPED):
            self._change(wire, TextEdit(position + typed, position + typed, key))
            request = Complete(
                next(self._requests), self._snippet.name, self._version, position + typed + 1, sampling
            )
            wire.start(request)
            due += KEY_SECONDS
            while (seconds := due - time.monotonic()) > 0:
                self._take(wire, seconds)
        while wire.running:
            self._take(wire)
        self._change(wire, TextEdit(position, position + len(TYPED), ""))

    def _take(self, wire: Wire, *seconds: float) -> None:
        exchange = wire.step(*seconds)
        if exchange is not None:
            self._report_exchange("type", exchange)
