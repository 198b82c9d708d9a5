"""A scripted engine, a server over it on a free port, and a bare client that speaks the wire."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any, Self, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from warmline.engine import (
    DraftCount,
    EngineHandle,
    EngineStats,
    Finished,
    GenerationRequest,
    ModelInfo,
    OnEvent,
    SequenceEvent,
    Tokenizer,
    WarmRequest,
    load_tokenizer,
    pack_tokens,
)
from warmline.realtime.documents.hunks import split_lines
from warmline.realtime.documents.text import utf16_length
from warmline.realtime.protocol import (
    MSGPACK,
    Accepted,
    Delta,
    Done,
    Error,
    Hello,
    Open,
    Ops,
    ServerMessage,
    TextEdit,
    Welcome,
    client_codec,
)
from warmline.realtime.server import GatewayServer, ServerConfig
from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as websockets_connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

settings.register_profile("untimed", deadline=None)  # the cores of a test machine are shared
settings.load_profile("untimed")

DEADLINE = 10.0

_Message = TypeVar("_Message")


class ScriptedEngine(EngineHandle):
    """Plays given pieces of text, one a loop turn, and does as it is told.

    Attributes:
        scripts: what the next requests get; ``default`` once they are used up.
        reason: how a script ends.
        paused: nothing is emitted while this is set.
        requests: what was submitted.
        cancelled: the ids of sequences that were cancelled.
        cost: what a cancelled sequence has cost, as fields of `Finished`.
        warmed: what was to be warmed; each ends at once unless ``warming`` holds it.
        held: the ids of paused sequences, which say nothing until they go on.
        retry_after: what it says of its return once it has died.
    """

    retry_after: float | None = None

    def __init__(self) -> None:
        self.model = ModelInfo("scripted", "none", 8192, "scripted", "", 1, 8192)
        self.stats = EngineStats(blocks_total=10)
        self.scripts: deque[Iterable[str]] = deque()
        self.default: Iterable[str] = ("hello", " world")
        self.reason: Any = "stop"
        self.paused = False
        self.requests: list[GenerationRequest] = []
        self.cancelled: list[int] = []
        self.cost: dict[str, int] = {}
        self.warmed: list[WarmRequest] = []
        self.warming = False
        self.held: set[int] = set()
        self.closed = False
        self.beat = 0.0
        self._ids = itertools.count(1)
        self._live: dict[int, OnEvent] = {}
        self._players: set[asyncio.Task[None]] = set()

    @property
    def running(self) -> int:
        """How many sequences have not ended."""
        return len(self._live)

    def generates(self, sequence: int) -> bool:
        """Whether a sequence runs and was not cancelled."""
        return sequence in self._live and sequence not in self.cancelled

    async def start(self) -> None:
        pass

    async def close(self) -> None:
        self.closed = True
        self.fail("the engine was closed")
        for player in list(self._players):
            player.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await player

    def submit(self, request: GenerationRequest, on_event: OnEvent) -> None:
        self.requests.append(request)
        self._live[request.id] = on_event
        script = self.scripts.popleft() if self.scripts else self.default
        player = asyncio.get_running_loop().create_task(self._play(request.id, script, time.monotonic_ns()))
        self._players.add(player)
        player.add_done_callback(self._players.discard)

    def cancel(self, sequence: int) -> None:
        if sequence in self._live:
            self.cancelled.append(sequence)
            asyncio.get_running_loop().call_soon(self._end, sequence, Finished("cancel", **self.cost))

    def warm(self, request: WarmRequest, on_event: OnEvent) -> None:
        self.warmed.append(request)
        self._live[request.id] = on_event
        if not self.warming:
            asyncio.get_running_loop().call_soon(self._end, request.id, Finished("stop"))

    def pause(self, sequence: int, paused: bool) -> None:
        (self.held.add if paused else self.held.discard)(sequence)

    def next_id(self) -> int:
        return next(self._ids)

    @property
    def heartbeat_age(self) -> float:
        return self.beat

    def fail(self, message: str) -> None:
        """Die: every running sequence gets its error."""
        for sequence in list(self._live):
            self._end(sequence, Finished("error", error_code="engine_unavailable", error=message))
        self.beat = math.inf

    def come_back(self) -> None:
        """Be started again, with an empty cache."""
        self.beat = 0.0
        self.came_up()

    def emit(self, sequence: int, text: str) -> None:
        """Say something out of turn."""
        self._live[sequence](SequenceEvent(sequence, text, pack_tokens([1])))

    def finish(self, sequence: int, finished: Finished, text: str = "") -> None:
        """End a sequence out of turn, with a last text."""
        self._end(sequence, finished, text)

    def _end(self, sequence: int, finished: Finished, text: str = "") -> None:
        on_event = self._live.pop(sequence, None)
        if on_event is not None:
            on_event(SequenceEvent(sequence, text, b"", finished))

    async def _play(self, sequence: int, script: Iterable[str], received: int) -> None:
        tokens = 0
        for piece in script:
            await asyncio.sleep(0)
            while self.paused or sequence in self.held:
                await asyncio.sleep(0.002)
            if sequence not in self._live:
                return
            tokens += 1
            self.emit(sequence, piece)
        await asyncio.sleep(0)
        now = time.monotonic_ns()
        self._end(
            sequence,
            Finished(
                self.reason,
                prompt_tokens=7,
                cached_tokens=4,
                computed_tokens=3,
                output_tokens=tokens,
                forward_passes=tokens,
                drafts=(DraftCount("edit", 5, 2),),
                received_ns=received,
                queue_ns=1000,
                prefill_ns=2000,
                first_token_ns=3000,
                step_ns=now - received - 6000,
                sent_ns=now,
                error_code="internal_error" if self.reason == "error" else "",
                error="it broke" if self.reason == "error" else "",
            ),
        )


class Wire:
    """A client that shows every message."""

    def __init__(self, connection: ClientConnection) -> None:
        assert connection.subprotocol is not None
        self.connection = connection
        self.codec = client_codec(connection.subprotocol)

    async def send(self, *messages: object) -> None:
        for message in messages:
            await self.raw(self.codec.encode(message))

    async def raw(self, frame: bytes) -> None:
        """Send a frame of the subprotocol's type."""
        await self.connection.send(frame, text=self.codec.text)

    async def frame(self) -> bytes:
        async with asyncio.timeout(DEADLINE):
            frame = await self.connection.recv()
        return frame.encode() if isinstance(frame, str) else frame

    async def receive(self) -> ServerMessage:
        frame = await self.frame()
        return self.codec.decode(frame.decode() if self.codec.text else frame)

    async def until(self, kind: type[_Message]) -> _Message:
        """The next message of a kind; the others are dropped."""
        while True:
            message = await self.receive()
            if isinstance(message, kind):
                return message

    async def hello(self, token: str | None = None) -> Welcome:
        await self.send(Hello(token, "tests"))
        return await self.until(Welcome)

    async def open(self, text: str, document: str = "file:///a", language: str = "python") -> None:
        await self.send(Open(document, 1, language, text))

    async def ended(self) -> tuple[list[Any], Done | Error]:
        """Everything of one request: its texts or operations, and its terminal frame."""
        parts: list[Any] = []
        while True:
            message = await self.receive()
            match message:
                case Delta():
                    parts.append(message.text)
                case Ops():
                    parts.extend(message.operations)
                case Done() | Error():
                    return parts, message
                case Accepted():
                    pass
                case _:
                    raise AssertionError(f"unexpected {message}")

    async def closed(self) -> tuple[int | None, str | None]:
        """Wait until the server has closed the socket; its code and reason."""
        async with asyncio.timeout(DEADLINE):
            with contextlib.suppress(ConnectionClosed):
                while True:
                    await self.connection.recv()
        return self.connection.close_code, self.connection.close_reason

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.connection.close()


EDITED: st.SearchStrategy[str] = st.text(st.sampled_from("ab\r\né漢\u2028🎉👩‍💻"), max_size=30)
"""Texts to edit: line ends of all kinds, and characters of one and of two UTF-16 units."""


def units(text: str) -> list[bytes]:
    """The UTF-16 code units of a text, the simplest model of what offsets count."""
    encoded = text.encode("utf-16-le")
    return [encoded[at : at + 2] for at in range(0, len(encoded), 2)]


def from_units(code_units: list[bytes]) -> str | None:
    """The text of code units; None if they begin or end within a character."""
    try:
        return b"".join(code_units).decode("utf-16-le")
    except UnicodeDecodeError:
        return None


@st.composite
def splicing(draw: st.DrawFn, text: str) -> tuple[list[TextEdit], str | None]:
    """Edits with any offsets inside a text, in one direction or not, and what splicing its code units makes of it.

    The last edit is one that must be refused, as it splits a character, if nothing is made of it (None).
    """
    direction = draw(st.sampled_from(["down", "up", "any"]))
    current: list[bytes] = units(text)
    edits: list[TextEdit] = []
    floor, ceiling = 0, len(current)
    for _ in range(draw(st.integers(0, 12))):
        start = draw(st.integers(floor, ceiling))
        edit = TextEdit(start, draw(st.integers(start, ceiling)), draw(EDITED))
        edits.append(edit)
        if from_units(current[: edit.start]) is None or from_units(current[edit.end :]) is None:
            return edits, None
        current[edit.start : edit.end] = units(edit.text)
        floor = edit.start + utf16_length(edit.text) if direction == "down" else 0
        ceiling = edit.start if direction == "up" else len(current)
    return edits, from_units(current)


def patched(text: str, hunks: str) -> str:
    """What hunks make of a text."""
    old, rows, result, at = split_lines(text), split_lines(hunks), "", 0
    for index, row in enumerate(rows):
        ends_the_text = "".join(rows[index + 1 : index + 2]).startswith("\\")
        line = row[1:].removesuffix("\n") if ends_the_text else row[1:]
        if row.startswith("@@"):
            begin, _, count = row.split()[1][1:].partition(",")
            place = int(begin) - (count != "0")
            result, at = result + "".join(old[at:place]), place
        elif row[0] in " -":
            assert old[at] == line
            result, at = result + line * (row[0] == " "), at + 1
        elif row[0] == "+":
            result += line
    return result + "".join(old[at:])


@pytest.fixture(scope="session")
def edited() -> st.SearchStrategy[str]:
    """Texts to edit."""
    return EDITED


@pytest.fixture(scope="session")
def splices() -> Callable[[str], st.SearchStrategy[tuple[list[TextEdit], str | None]]]:
    """Edits of a text, and what must come of them, by the simplest model: see `splicing`."""
    return splicing


@pytest.fixture
def engine() -> ScriptedEngine:
    return ScriptedEngine()


@pytest.fixture(scope="session")
def tokenizer(default_model: Any) -> Tokenizer:
    """The default model's tokenizer."""
    return load_tokenizer(default_model)


@pytest.fixture
async def serve(
    engine: ScriptedEngine, tokenizer: Tokenizer
) -> AsyncIterator[Callable[..., Awaitable[GatewayServer]]]:
    """Start a server over the scripted engine, configured by keywords."""
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(engine.close)

        async def start(**config: Any) -> GatewayServer:
            return await stack.enter_async_context(GatewayServer(engine, tokenizer, ServerConfig(port=0, **config)))

        yield start


@pytest.fixture
async def dial() -> AsyncIterator[Callable[..., Awaitable[Wire]]]:
    """Connect to a server and, unless told otherwise, say hello."""
    async with contextlib.AsyncExitStack() as stack:

        async def dial(
            server: GatewayServer, subprotocol: str = MSGPACK, *, hello: bool = True, **options: Any
        ) -> Wire:
            connection = await websockets_connect(
                server.url, subprotocols=[Subprotocol(subprotocol)], compression=None, proxy=None, **options
            )
            wire = await stack.enter_async_context(Wire(connection))
            if hello:
                await wire.hello()
            return wire

        yield dial


@pytest.fixture
def until() -> Callable[[Callable[[], bool]], Awaitable[None]]:
    """Wait for a condition."""

    async def until(condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(DEADLINE):
            while not condition():
                await asyncio.sleep(0.002)

    return until


@pytest.fixture
def http() -> Callable[..., Awaitable[tuple[int, str]]]:
    """Send a plain request."""

    async def http(
        server: GatewayServer, path: str, *headers: str, method: str = "GET", host: str = "localhost"
    ) -> tuple[int, str]:
        """The status and body of a plain request."""
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        lines = [f"{method} {path} HTTP/1.1", *([f"Host: {host}"] if host else []), *headers, "", ""]
        writer.write("\r\n".join(lines).encode())
        async with asyncio.timeout(10):
            answer = (await reader.read()).decode()
        writer.close()
        await writer.wait_closed()
        head, _, body = answer.partition("\r\n\r\n")
        return int(head.split()[1]), body

    return http
