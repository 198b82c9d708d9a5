"""A network within the process: the real SDK and the real gateway, and frames that arrive when a test says."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from warmline.client.handshake import connect
from warmline.client.transport import Inbox, Transport
from warmline.realtime.access.accounts import Accounts
from warmline.realtime.access.gate import Gate
from warmline.realtime.access.quotas import Quotas
from warmline.realtime.access.refusals import Refusals
from warmline.realtime.auth import Authenticator
from warmline.realtime.limits import Limits
from warmline.realtime.prompting.chat_prompts import ChatPrompts
from warmline.realtime.prompting.prompts import PromptBuilder
from warmline.realtime.protocol import MSGPACK
from warmline.realtime.resuming.parking import MAX_PARKED_BYTES, Parking
from warmline.realtime.service import Service
from warmline.realtime.sockets.connection import Connection
from warmline.realtime.sockets.framing import read_unmasked
from warmline.realtime.telemetry.metrics import Metrics
from warmline.realtime.telemetry.tracing import clock
from websockets.exceptions import ConnectionClosed

Closing = tuple[int, str]


class ServerEnd:
    """What a `Connection` sees of a WebSocket."""

    subprotocol = MSGPACK
    key = None
    address = "127.0.0.1"
    congested = False

    def __init__(self, pipe: Pipe) -> None:
        self.loop = asyncio.get_running_loop()
        self.protocol = SimpleNamespace(close_sent=None, close_rcvd=None)
        self.on_congested = self.on_drained = self.on_closing = self.on_message = None
        self.received = 0
        self._pipe = pipe
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._waiting = 0
        self._ended = False

    async def recv(self) -> bytes:
        frame = None if self._ended and self._queue.empty() else await self._queue.get()
        if frame is None:
            raise ConnectionClosed(None, None)
        return frame

    def took_from_queue(self) -> None:
        self._waiting -= 1

    def write(self, frames: bytes) -> None:
        if not self._ended:
            self._pipe.put_down(frames)

    async def close(self, code: int = 1000, reason: str = "") -> None:
        if not self._ended:
            self.protocol.close_sent = SimpleNamespace(code=code)
            self._pipe.put_down((code, reason))
            self.end()

    def take(self, frame: bytes) -> None:
        self.received = clock()
        if not self._ended and (self._waiting or self.on_message is None or not self.on_message(frame)):
            self._waiting += 1
            self._queue.put_nowait(frame)

    def end(self, code: int | None = None) -> None:
        """The connection is gone: cut, or closed by the client with a code."""
        if self._ended:
            return
        self._ended = True
        if code is not None:
            self.protocol.close_rcvd = SimpleNamespace(code=code)
        closing, self.on_closing = self.on_closing, None
        if closing is not None:
            closing()
        self._queue.put_nowait(None)


class Pipe(Transport):
    """A connection; frames wait in it until they are delivered."""

    subprotocol = MSGPACK

    def __init__(self, network: Network) -> None:
        self.inbox = Inbox()
        self.up: deque[bytes | int] = deque()
        self.down: deque[bytes | Closing] = deque()
        self.server = ServerEnd(self)
        self.open = True
        self._network = network

    def send(self, frame: bytes) -> None:
        self._put_up(frame)

    @property
    def unsent(self) -> int:
        return 0

    async def close(self, code: int = 1000) -> None:
        self._put_up(code)
        self.open = False
        self.inbox.end(code, "")

    def abort(self) -> None:
        self.vanish()

    def cut(self) -> None:
        """Lose all that is under way; both ends are told."""
        self.vanish()
        self.server.end()

    def vanish(self) -> None:
        """Lose all that is under way; the server is not told."""
        if self.open:
            self.open = False
            self.up.clear()
            self.down.clear()
            self.inbox.end(1006, "cut")

    def put_down(self, frames: bytes | Closing) -> None:
        if self.open:
            self.down.append(frames)
            self._network.wake()

    def deliver_up(self) -> bool:
        if self.up:
            frame = self.up.popleft()
            self.server.end(frame) if isinstance(frame, int) else self.server.take(frame)
            return True
        return False

    def deliver_down(self) -> bool:
        if not self.down or not self.open:
            return False
        frames = self.down.popleft()
        if isinstance(frames, tuple):
            self.open = False
            self.inbox.end(*frames)
        else:
            for message in read_unmasked(frames) or ():
                self.inbox.take(message)
        return True

    def _put_up(self, frame: bytes | int) -> None:
        if self.open:
            self.up.append(frame)
            self._network.wake()


class Network:
    """A gateway over a scripted engine, and the connections to it.

    Attributes:
        pipes: every connection that was made, the newest last.
        flows: frames are delivered as they come; else only by `move`.
    """

    def __init__(
        self,
        engine: Any,
        tokenizer: Any,
        limits: Limits,
        most: int = 10,
        quotas: Quotas | None = None,
        most_bytes: int = MAX_PARKED_BYTES,
    ) -> None:
        self.engine = engine
        self.quotas = quotas or Quotas()
        self.pipes: list[Pipe] = []
        self.flows = True
        self.metrics = Metrics(lambda: engine.stats, lambda: engine.heartbeat_age)
        prompts, chat = PromptBuilder(tokenizer, 8192), ChatPrompts(tokenizer, 8192)
        self.service = Service(engine, prompts, chat, self.metrics, limits)
        accounts = Accounts(self.quotas, self.metrics)
        self.gate = Gate(Authenticator(()), accounts, Refusals(self.metrics))
        self.parking = Parking(limits.resume_seconds, most, self.metrics, most_bytes)
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        self._awake = False

    def dial(self, **options: Any) -> connect:
        """What connects the SDK to it."""
        network = self

        class Dialled(connect):
            async def _upgrade(self) -> Transport:
                return network.pipe()

        return Dialled("ws://in.process", ping_interval=None, **options)

    def pipe(self) -> Pipe:
        """A new connection."""
        pipe = Pipe(self)
        self.pipes.append(pipe)
        name = f"session {len(self.pipes)}"
        socket: Any = pipe.server
        connection = Connection(socket, self.service, self.gate, "tests", name, self.parking)
        task = self._loop.create_task(connection.run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return pipe

    def move(self, up: int, down: int) -> None:
        """Deliver so many frames of the newest connection in each direction."""
        for _ in range(up):
            self.pipes[-1].deliver_up()
        for _ in range(down):
            self.pipes[-1].deliver_down()

    def flow(self) -> None:
        """From now on deliver everything."""
        self.flows = True
        self.wake()

    def wake(self) -> None:
        if self.flows and not self._awake:
            self._awake = True
            self._loop.call_soon(self._deliver)

    async def close(self) -> None:
        """End all connections."""
        for pipe in self.pipes:
            pipe.cut()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=5)
        self.parking.close()
        await self.engine.close()

    def _deliver(self) -> None:
        self._awake = False
        for pipe in self.pipes:
            if self.flows and (pipe.deliver_up() | pipe.deliver_down()):
                self.wake()


@pytest.fixture
def make_network(tokenizer) -> Callable[..., Network]:
    """Make a network over an engine, within a running loop."""
    return lambda engine, limits=None, **fields: Network(engine, tokenizer, limits or Limits(), **fields)


@pytest.fixture
async def network(make_network, engine):
    """A network whose frames flow."""
    network = make_network(engine)
    yield network
    await network.close()


@pytest.fixture
def scripted(engine) -> Callable[[], Any]:
    """Make a scripted engine, for a loop of its own."""
    return type(engine)
