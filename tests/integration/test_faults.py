"""Clients that leave or give up at a bad moment, over a real engine process: nobody else notices, nothing is left."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from warmline.engine import EngineOptions, LocalEngine, load_tokenizer
from warmline.realtime.protocol import (
    MSGPACK,
    Accepted,
    Cancel,
    Chat,
    Complete,
    Delta,
    Done,
    Edit,
    Error,
    Hello,
    Open,
    Ping,
    Pong,
    Sampling,
    Welcome,
    client_codec,
)
from warmline.realtime.server import GatewayServer, ServerConfig
from warmline.realtime.top.figures import Figures
from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as websockets_connect
from websockets.typing import Subprotocol

pytestmark = pytest.mark.asyncio(loop_scope="module")

PLACES = 3
"""Sequences that run at a time; others wait."""
ENGINE = f"""
import functools
from warmline.engine import budget, process, scheduler
scheduler.StepBudget = functools.partial(
    budget.StepBudget, sequences={PLACES}, prefill=16, prefill_beside_decode=16
)
process.HEARTBEAT_SECONDS = 0.01
process.main()
"""
"""An engine with few places, that computes prompts in many passes and tells of each."""
SHORT = "x = 1\n"
PASSES_OF_PROMPT = 60
"""More than the prompt about a short document takes."""
NUMBERS = itertools.count()
GOING_ON = Sampling(max_tokens=4000, temperature=1.0, seed=3)
BRIEF = Sampling(max_tokens=8, temperature=1.0, seed=5)
WITNESS = Sampling(max_tokens=2000, temperature=1.0, seed=7)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine(tiny_model: Path) -> AsyncIterator[LocalEngine]:
    options = EngineOptions(model=str(tiny_model), threads=1)
    engine = LocalEngine(options, command=(sys.executable, "-P", "-c", ENGINE))
    await engine.start()
    yield engine
    await engine.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(engine: LocalEngine, tiny_model: Path) -> AsyncIterator[GatewayServer]:
    async with GatewayServer(engine, load_tokenizer(tiny_model), ServerConfig(port=0)) as server:
        yield server


class Client:
    """A session that nobody resumes, and all that it was sent."""

    def __init__(self, connection: ClientConnection) -> None:
        self.got: list[Any] = []
        self._connection = connection
        self._codec = client_codec(Subprotocol(MSGPACK))

    async def say(self, *messages: Any) -> None:
        for message in messages:
            await self._connection.send(self._codec.encode(message))

    async def until(self, wanted: Callable[[Any], bool]) -> Any:
        """The next message of a kind; all that come are kept."""
        async with asyncio.timeout(60):
            while True:
                frame = await self._connection.recv()
                assert isinstance(frame, bytes)
                self.got.append(self._codec.decode(frame))
                if wanted(self.got[-1]):
                    return self.got[-1]

    async def accepted(self, request: int) -> Accepted:
        found: Accepted = await self.until(lambda it: isinstance(it, Accepted) and it.request == request)
        return found

    async def ended(self, request: int) -> Done | Error:
        found: Done | Error = await self.until(lambda it: isinstance(it, Done | Error) and it.request == request)
        return found

    async def ends(self, request: int) -> list[Any]:
        """All ends of a request that has ended, once whatever might follow has come."""
        await self.say(Ping(1))
        await self.until(lambda it: isinstance(it, Pong))
        return [it for it in self.got if isinstance(it, Done | Error) and it.request == request]

    def text(self, request: int) -> str:
        """What a request's deltas brought, if no other took over its stream since."""
        (stream,) = (it.stream for it in self.got if isinstance(it, Accepted) and it.request == request)
        return "".join(it.text for it in self.got if isinstance(it, Delta) and it.stream == stream)

    def lose(self) -> None:
        """Its socket is gone, without a word."""
        self._connection.transport.abort()

    def read_no_more(self) -> None:
        self._connection.transport.pause_reading()


@contextlib.asynccontextmanager
async def client(server: GatewayServer, document: str = SHORT) -> AsyncIterator[Client]:
    """A client with an open document of a name of its own."""
    async with websockets_connect(
        server.url, subprotocols=[Subprotocol(MSGPACK)], compression=None, proxy=None, max_queue=None
    ) as connection:
        client = Client(connection)
        await client.say(Hello(), Open("file:///a", 1, "python", document))
        await client.until(lambda it: isinstance(it, Welcome))
        yield client


def complete(request: int, sampling: Sampling, position: int = len(SHORT)) -> Complete:
    return Complete(request, "file:///a", 1, position, sampling, parallel=True)


def long_text() -> str:
    """A text that nobody has had computed, of some hundred tokens."""
    return f"value_{next(NUMBERS)} = other + 1\n" + "value = other + 1\n" * 60


class Watch:
    """What there is of requests, sessions and tasks, beside what there was before."""

    def __init__(self, server: GatewayServer, engine: LocalEngine) -> None:
        self._server = server
        self._engine = engine
        self._tasks = len(asyncio.all_tasks())
        self._requests = self._total("warmline_requests_total")

    @property
    def requests(self) -> int:
        """How many have ended since."""
        return round(self._total("warmline_requests_total") - self._requests)

    async def nothing_is_left(self) -> None:
        """Wait until all is as it was before: the engine's memory, sessions, documents, and tasks."""
        names = ("warmline_sessions", "warmline_documents", "warmline_requests_running")
        async with asyncio.timeout(60):
            await self.until(lambda stats: not (stats.running or stats.waiting or stats.warming or stats.blocks_used))
            while any(self._total(name) for name in names) or len(asyncio.all_tasks()) > self._tasks:
                await asyncio.sleep(0.01)

    async def until(self, condition: Callable[[Any], bool]) -> None:
        """Wait until the engine tells something of itself."""
        async with asyncio.timeout(60):
            while not condition(self._engine.stats):
                await asyncio.sleep(0.005)

    def _total(self, name: str) -> float:
        return Figures.parse(self._server._metrics.render()).total(name)


@pytest_asyncio.fixture(loop_scope="module")
async def watch(server: GatewayServer, engine: LocalEngine) -> AsyncIterator[Watch]:
    """Whatever a test does, nothing is left at its end."""
    watch = Watch(server, engine)
    yield watch
    await watch.nothing_is_left()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def alone(server: GatewayServer) -> str:
    """What the witness writes beside nobody."""
    async with client(server) as witness:
        await witness.say(complete(1, WITNESS))
        await witness.ended(1)
        return witness.text(1)


@contextlib.asynccontextmanager
async def unmoved(server: GatewayServer, alone: str) -> AsyncIterator[Client]:
    """A witness, whose request runs all the while: its text is what it is beside nobody, and it ends once."""
    async with client(server) as witness:
        await witness.say(complete(1, WITNESS))
        await witness.until(lambda it: isinstance(it, Delta))
        yield witness
        await witness.say(Cancel(1))
        assert (await witness.ended(1)).reason == "cancel", "it ran all the while"
        assert len(await witness.ends(1)) == 1
        assert alone.startswith(witness.text(1))


async def test_two_hundred_clients_leave_at_once(server, watch, alone):
    """While a few of their requests run and the others wait."""
    async with contextlib.AsyncExitStack() as stack:
        opened = [client(server, long_text()) for _ in range(200)]
        clients = [await stack.enter_async_context(one) for one in opened]
        async with unmoved(server, alone):
            for one in clients:
                await one.say(complete(1, GOING_ON, 500))
            for one in clients:
                await one.accepted(1)
            await watch.until(lambda stats: stats.waiting > 150)
            for one in clients:
                one.lose()
        await watch.until(lambda stats: not (stats.running or stats.waiting))
    assert watch.requests == 201


async def test_a_request_is_given_up_while_another_s_prompt_is_computed(server, watch):
    """A hundred times, at any moment of it: the other one's text is what it is alone."""
    dice, texts = random.Random(1), {}
    async with client(server) as leaving:
        for turn in range(100):
            text = long_text()
            async with client(server, text) as other:
                await leaving.say(complete(turn, GOING_ON))
                await leaving.accepted(turn)
                await leaving.until(lambda it: isinstance(it, Delta))
                await other.say(complete(1, BRIEF, len(text)))
                await other.accepted(1)
                if turn % 2:
                    await asyncio.sleep(dice.uniform(0, 0.02))
                await leaving.say(Cancel(turn))
                assert (await leaving.ended(turn)).reason == "cancel"
                await other.ended(1)
                assert len(await other.ends(1)) == len(await leaving.ends(turn)) == 1
                texts[text] = other.text(1)
    assert watch.requests == 200
    for text, found in texts.items():
        async with client(server, text) as other:
            await other.say(complete(1, BRIEF, len(text)))
            await other.ended(1)
            assert other.text(1) == found


@contextlib.asynccontextmanager
async def all_places_taken(server: GatewayServer, watch: Watch) -> AsyncIterator[None]:
    """Requests of somebody else run in all places but the witness's, until they are given up."""
    async with client(server) as holder:
        for request in range(PLACES - 1):
            await holder.say(complete(request, GOING_ON))
            await holder.accepted(request)
        await watch.until(lambda stats: stats.running == PLACES)
        yield
        for request in range(PLACES - 1):
            await holder.say(Cancel(request))
            assert (await holder.ended(request)).reason == "cancel"


async def test_a_queued_request_is_cancelled_beside_running_ones(server, watch, alone):
    """It ends once, and those go on."""
    async with unmoved(server, alone), all_places_taken(server, watch), client(server, long_text()) as queued:
        await queued.say(complete(1, BRIEF, 500))
        await watch.until(lambda stats: stats.waiting == 1)
        await queued.say(Cancel(1))
        await queued.ended(1)
        (end,) = await queued.ends(1)
        assert end.reason == "cancel"
        await watch.until(lambda stats: stats.waiting == 0 and stats.running == PLACES)
    assert watch.requests == PLACES + 1


async def test_a_queued_request_leaves_with_its_client(server, watch, alone):
    """While what is before it goes on."""
    async with unmoved(server, alone), all_places_taken(server, watch):
        async with client(server, long_text()) as queued:
            await queued.say(complete(1, BRIEF, 500))
            await watch.until(lambda stats: stats.waiting == 1)
            queued.lose()
        await watch.until(lambda stats: stats.waiting == 0 and stats.running == PLACES)
    assert watch.requests == PLACES + 1


KINDS: dict[str, Callable[[int], Any]] = {
    "complete": lambda end: Complete(1, "file:///a", 1, end, GOING_ON),
    "edit": lambda end: Edit(1, "file:///a", 1, 0, end, "rename value to price", GOING_ON),
    "chat": lambda end: Chat(1, "talk", "What is this?", ("file:///a",), GOING_ON),
}


@pytest.mark.parametrize("state", ["sent", "queued", "prompt", "text", "not read", "cancelled"])
@pytest.mark.parametrize("kind", KINDS)
async def test_a_socket_is_lost_in_each_state_of_a_request(server, watch, alone, kind, state):
    """The request ends once and is freed at once, in whatever state; a session that can't be resumed ends with it."""
    text = SHORT if state in ("text", "not read", "cancelled") else long_text()
    async with unmoved(server, alone), contextlib.AsyncExitStack() as stack:
        if state == "queued":
            await stack.enter_async_context(all_places_taken(server, watch))
        async with client(server, text) as lost:
            await watch.until(lambda stats: stats.warming == 0)
            passes = watch._engine.stats.forward_passes
            await lost.say(KINDS[kind](len(text)))
            if state == "queued":
                await watch.until(lambda stats: stats.waiting == 1)
            elif state == "prompt":
                await watch.until(lambda stats: stats.forward_passes > passes and stats.running == 2)
            elif state != "sent" and kind == "edit":  # which may have nothing to show for long
                await watch.until(lambda stats: stats.forward_passes > passes + PASSES_OF_PROMPT)
            elif state != "sent":
                await lost.until(lambda it: isinstance(it, Delta))
            if state == "not read":
                lost.read_no_more()
                await asyncio.sleep(0.05)
            if state == "cancelled":
                await lost.say(Cancel(1))
            lost.lose()
        others = PLACES if state == "queued" else 1
        await watch.until(lambda stats: stats.waiting == 0 and stats.running <= others)
    began = 1 + (PLACES - 1 if state == "queued" else 0)
    assert watch.requests == began + 1 or (state == "sent" and watch.requests == began)
