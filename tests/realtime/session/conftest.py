"""A session over the scripted engine, and everything it sent."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from warmline.realtime.limits import Limits
from warmline.realtime.prompting.chat_prompts import ChatPrompts
from warmline.realtime.prompting.prompts import PromptBuilder
from warmline.realtime.protocol import Accepted, Delta, Done, Error, Open, Operation, Ops, ServerMessage
from warmline.realtime.session import Service, Session
from warmline.realtime.telemetry.metrics import Metrics
from warmline.realtime.telemetry.tracing import clock

URI = "file:///a"


class Client:
    """A session, and everything it sent.

    Attributes:
        listening: called with each message as it is sent.
    """

    def __init__(
        self,
        engine: Any,
        tokenizer: Any,
        limits: Limits | None = None,
        allow_replay: bool = False,
        names: dict[str, object] | None = None,
    ) -> None:
        self.engine = engine
        self.metrics = Metrics(lambda: engine.stats, lambda: engine.heartbeat_age)
        self.sent: list[ServerMessage] = []
        self.listening: Callable[[ServerMessage], None] = lambda _: None
        service = Service(
            engine,
            PromptBuilder(tokenizer, 8192),
            ChatPrompts(tokenizer, 8192),
            self.metrics,
            limits or Limits(),
            allow_replay,
        )
        self.session = Session(service, "salt", self._send, names)

    def say(self, *messages: Any) -> list[ServerMessage]:
        """Send messages; returns what came back at once."""
        before = len(self.sent)
        for message in messages:
            self.session.handle(message, clock(), clock())
        return self.sent[before:]

    def open(self, text: str = "def f():\n    return 1\n", version: int = 1) -> None:
        assert self.say(Open(URI, version, "python", text)) == []

    def of(self, kind: type) -> list[Any]:
        """The messages of a kind."""
        return [message for message in self.sent if isinstance(message, kind)]

    def frames_of(self, request: int) -> list[Any]:
        """The messages of a request, in order, whatever its stream's number belonged to before."""
        frames: list[Any] = []
        stream = None
        for message in self.sent:
            if isinstance(message, Delta | Ops):
                if message.stream == stream:
                    frames.append(message)
            elif getattr(message, "request", None) == request:
                if isinstance(message, Accepted):
                    stream, frames = message.stream, []  # the id may have been refused before
                frames.append(message)
                if isinstance(message, Done | Error) and stream is not None:
                    break  # and may be used again, to be refused
        return frames

    def text_of(self, request: int) -> str:
        """The text of a completion so far."""
        return "".join(frame.text for frame in self.frames_of(request) if isinstance(frame, Delta))

    def operations_of(self, request: int) -> list[Operation]:
        """The operations of an edit so far, void ones included."""
        return [step for frame in self.frames_of(request) if isinstance(frame, Ops) for step in frame.operations]

    def ends_of(self, request: int) -> list[Done | Error]:
        """The terminal frames of a request."""
        return [frame for frame in self.frames_of(request) if isinstance(frame, Done | Error)]

    def reasons(self) -> dict[int | None, str]:
        """How requests ended."""
        return {
            end.request: end.reason if isinstance(end, Done) else end.code
            for end in self.sent
            if isinstance(end, Done | Error)
        }

    def metric(self, name: str) -> float:
        """The value of a series."""
        for line in self.metrics.render().decode().splitlines():
            if line.startswith(f"{name} "):
                return float(line.rpartition(" ")[2])
        raise AssertionError(f"no {name}")

    async def drained(self) -> None:
        """Wait until no request and no sequence runs."""
        await self.until(lambda: not self.engine.running and not self.session.running)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Let the loop turn until something is so."""
        async with asyncio.timeout(5):
            while not condition():
                await asyncio.sleep(0)

    def _send(self, message: ServerMessage) -> int:
        self.sent.append(message)
        self.listening(message)
        return clock()


class Gate:
    """A tokenizer that stands still beside the event loop until it is opened, and notes in which thread it is used.

    Attributes:
        threads: in which it tokenised, with the length of the text.
        holds: a thread stands still at it.
    """

    def __init__(self, tokenizer: Any) -> None:
        self.threads: list[tuple[int, int]] = []
        self.holds = False
        self._tokenizer = tokenizer
        self._home = threading.get_ident()
        self._open = threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tokenizer, name)

    def open(self) -> None:
        self._open.set()

    def close(self) -> None:
        self._open.clear()

    def encode(self, text: str) -> list[int]:
        self.threads.append((threading.get_ident(), len(text)))
        if threading.get_ident() != self._home:
            self.holds = not self._open.is_set()
            self._open.wait(10)
            self.holds = False
        return self._tokenizer.encode(text)


@pytest.fixture
def make(engine, tokenizer) -> Callable[..., Client]:
    """Make a session, with ``limits``, ``allow_replay``, ``names``, and another ``engine`` or ``tokenizer``."""
    return lambda *args, engine=engine, tokenizer=tokenizer, **fields: Client(engine, tokenizer, *args, **fields)


@pytest.fixture
def scripted(engine) -> Callable[[], Any]:
    """Make a scripted engine, for a loop of its own."""
    return type(engine)


@pytest.fixture
async def client(make, engine):
    """A session with one document open."""
    client = make()
    client.open()
    yield client
    client.session.close()
    await engine.close()


@pytest.fixture
def gate(tokenizer):
    """A tokenizer that stands still beside the event loop until it is opened."""
    gate = Gate(tokenizer)
    yield gate
    gate.open()


@pytest.fixture
async def gated(make, engine, gate):
    """A session whose long prompts wait for the gate, with a long document open."""
    client = make(tokenizer=gate)
    client.open("value = 1\n" * 2000)
    yield client
    client.session.close()
    gate.open()
    await engine.close()
