"""A session carries out messages, refuses what it can't, and ends every request exactly once."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from warmline.engine import unpack_tokens
from warmline.realtime.limits import Limits
from warmline.realtime.metrics import Metrics
from warmline.realtime.planning import PlanQueue
from warmline.realtime.prompts import PromptBuilder
from warmline.realtime.protocol import (
    Accepted,
    Applied,
    Cancel,
    Change,
    Close,
    Complete,
    Delta,
    Done,
    Edit,
    Error,
    ErrorCode,
    Hello,
    Nack,
    Open,
    Ops,
    Ping,
    Pong,
    Sampling,
    ServerMessage,
    TextEdit,
)
from warmline.realtime.session import Service, Session
from warmline.realtime.tracing import HOPS, clock

URI = "file:///a"


class Client:
    """A session, and everything it sent."""

    def __init__(self, engine: Any, tokenizer: Any, limits: Limits | None = None, allow_replay: bool = False) -> None:
        self.engine = engine
        self.metrics = Metrics(lambda: engine.stats, lambda: engine.heartbeat_age)
        self.sent: list[ServerMessage] = []
        service = Service(engine, PromptBuilder(tokenizer, 8192), self.metrics, limits or Limits(), allow_replay)
        self.session = Session(service, "salt", self._send)

    def say(self, *messages: Any) -> list[ServerMessage]:
        """Send messages; returns what came back at once."""
        before = len(self.sent)
        for message in messages:
            self.session.handle(message, clock(), clock())
        return self.sent[before:]

    def open(self, text: str = "def f():\n    return 1\n", version: int = 1) -> None:
        assert self.say(Open(URI, version, "python", text)) == []

    def of(self, kind: type) -> list[Any]:
        return [message for message in self.sent if isinstance(message, kind)]

    def _send(self, message: ServerMessage) -> int:
        self.sent.append(message)
        return clock()


@pytest.fixture
def make(engine, tokenizer) -> Callable[..., Client]:
    return lambda *args, **fields: Client(engine, tokenizer, *args, **fields)


@pytest.fixture
async def client(make, engine):
    client = make()
    client.open()
    yield client
    await engine.close()


async def drained(client: Client) -> None:
    """Wait until no request and no sequence runs."""
    async with asyncio.timeout(10):
        while client.engine.running or client.session.running:
            await asyncio.sleep(0)


def complete(request: int, **fields: Any) -> Complete:
    return Complete(request, URI, fields.pop("version", 1), fields.pop("position", 0), **fields)


# Requests ------------------------------------------------------------------------------------------------------


async def test_a_completion_is_accepted_streamed_and_done(client):
    """Accepted first, then the text as it comes, then one terminal frame with receipt and timing."""
    client.say(complete(7, position=9, sampling=Sampling(seed=5)))
    await drained(client)
    accepted, *deltas, done = client.sent
    assert accepted == Accepted(7, deltas[0].stream)
    assert [delta.text for delta in deltas] == ["hello", " world"]
    assert (done.request, done.reason) == (7, "stop")
    receipt = done.receipt
    assert receipt.prompt_tokens == receipt.warmed_tokens + receipt.cached_tokens + receipt.computed_tokens == 7
    assert (receipt.output_tokens, receipt.forward_passes, receipt.seed) == (2, 2, 5)
    assert [(d.source, d.proposed, d.accepted) for d in receipt.drafts] == [("edit_cursor", 5, 2)]
    timing = done.timing
    assert sum(getattr(timing, hop) for hop in HOPS) == timing.sent - timing.received
    assert timing.received < timing.first_sent <= timing.sent
    assert (timing.engine_queue, timing.engine_prefill, timing.engine_first_token) == (1, 2, 3)


async def test_the_engine_gets_what_was_asked(client, tokenizer):
    """Prompt, parameters and salt; the draft only for an edit."""
    sampling = Sampling(9, 0.5, 0.9, 40, 0.05, 3, ("END",), "off")
    client.say(complete(1, position=9, sampling=sampling), Edit(2, URI, 1, 9, 22, "return 2"))
    completion, edit = client.engine.requests
    assert tokenizer.decode(unpack_tokens(completion.prompt)) == "def f():\n"
    asked = completion.sampling
    assert (asked.max_tokens, asked.temperature, asked.top_p, asked.top_k, asked.min_p) == (9, 0.5, 0.9, 40, 0.05)
    assert (asked.seed, asked.stop) == (3, ("END",))
    assert (completion.salt, completion.speculation, completion.draft, completion.replay) == (
        "salt",
        False,
        None,
        None,
    )
    assert tokenizer.decode(unpack_tokens(edit.draft)) == "    return 1\n```"
    assert edit.sampling.stop == ("\n```",)
    assert edit.speculation
    await drained(client)


async def test_an_edit_becomes_operations(client, apply_operations):
    """Applied to the range, they give the model's text."""
    client.engine.scripts.append(["    ret", "urn 2"])
    client.say(Edit(1, URI, 1, 9, 22, "return 2"))
    await drained(client)
    operations = [operation for frame in client.of(Ops) for operation in frame.operations]
    assert apply_operations("    return 1\n", operations) == "    return 2\n"
    assert client.of(Done)[0].reason == "stop"


async def test_an_empty_answer_ends_the_sequence_early(client):
    """The fence at once means that the range goes; what the model says after it isn't waited for."""
    client.engine.scripts.append(["```"] + ["more"] * 1000)
    client.say(Edit(1, URI, 1, 9, 22, "delete it"))
    await drained(client)
    assert client.of(Ops)[-1].operations == [-13]
    assert [done.reason for done in client.of(Done)] == ["stop"]
    assert len(client.engine.cancelled) == 1


async def test_a_seed_is_drawn_where_none_is_given(client):
    """Two requests get different ones, and the receipt names them."""
    client.say(complete(1), complete(2))
    await drained(client)
    seeds = {done.request: done.receipt.seed for done in client.of(Done)}
    assert [request.sampling.seed for request in client.engine.requests] == [seeds[1], seeds[2]]
    assert seeds[1] != seeds[2]


@pytest.mark.parametrize("reason", ["length", "cancel"])
async def test_reasons_are_passed_on(client, reason):
    """As the engine gives them."""
    client.engine.reason = reason
    client.say(complete(1))
    await drained(client)
    assert client.of(Done)[0].reason == reason


async def test_an_edit_that_is_cut_keeps_the_rest(client, apply_operations):
    """With any reason but stop, the original goes on where the two were last in step."""
    client.engine.reason = "length"
    client.engine.scripts.append(["def f():\n", "    ret"])
    client.say(Edit(1, URI, 1, 0, 22, "x"))
    await drained(client)
    operations = [operation for frame in client.of(Ops) for operation in frame.operations]
    assert apply_operations("def f():\n    return 1\n", operations) == "def f():\n    return 1\n"


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (complete(1, version=2), ErrorCode.STALE_VERSION),
        (complete(1, position=99), ErrorCode.INVALID_RANGE),
        (Complete(1, "file:///b", 1, 0), ErrorCode.UNKNOWN_DOCUMENT),
        (Edit(1, URI, 1, 5, 4, "x"), ErrorCode.INVALID_RANGE),
        (Edit(1, URI, 1, 0, 99, "x"), ErrorCode.INVALID_RANGE),
        (Edit(1, URI, 0, 0, 1, "x"), ErrorCode.STALE_VERSION),
        (complete(1, replay="x"), ErrorCode.REPLAY_DISABLED),
        (Edit(1, URI, 1, 0, 1, "x", replay="x"), ErrorCode.REPLAY_DISABLED),
    ],
)
async def test_a_request_that_can_not_be_carried_out_is_refused(client, message, code):
    """With its id and a code, without having been accepted; the session goes on."""
    (error,) = client.say(message)
    assert isinstance(error, Error)
    assert (error.request, error.code) == (1, code)
    assert client.engine.requests == []
    client.say(complete(2))
    await drained(client)
    assert client.of(Done)[0].request == 2


async def test_an_offset_inside_a_surrogate_pair_is_refused(client):
    """For a position and for a range."""
    client.say(Open("file:///e", 1, "", "a🎉b"))
    for message in (Complete(1, "file:///e", 1, 2), Edit(2, "file:///e", 1, 0, 2, "x")):
        (error,) = client.say(message)
        assert error.code == ErrorCode.INVALID_RANGE


async def test_a_request_that_can_not_fit_is_refused(client):
    """With both numbers."""
    client.say(Open("file:///long", 1, "", "word " * 10_000))
    client.say(Edit(1, "file:///long", 1, 0, 50_000, "x"))
    await drained(client)
    client.say(Edit(2, "file:///long", 1, 0, 50_000, "x", Sampling(max_tokens=9000)))
    assert [error.request for error in client.sent] == [1, 2]
    assert all(error.code == ErrorCode.PROMPT_TOO_LONG for error in client.of(Error))
    assert all("8192 are available" in error.message for error in client.of(Error))
    assert client.of(Accepted) == client.engine.requests == []


async def test_an_id_is_used_once(client):
    """A running request isn't ended by a second one of its id; an ended id is refused by name."""
    client.engine.paused = True
    client.say(complete(1))
    (error,) = client.say(complete(1))
    assert (error.request, error.code) == (None, ErrorCode.DUPLICATE_REQUEST)
    client.engine.paused = False
    await drained(client)
    assert [done.request for done in client.of(Done)] == [1]
    (error,) = client.say(Edit(1, URI, 1, 0, 0, "x"))
    assert (error.request, error.code) == (1, ErrorCode.DUPLICATE_REQUEST)


async def test_only_so_many_ended_ids_are_remembered(make, engine):
    """The memory of ended requests is bounded."""
    client = make(Limits(remembered_requests=3))
    client.open()
    for request in range(6):
        client.say(complete(request))
        await drained(client)
    assert isinstance(client.say(complete(5))[0], Error)
    assert client.say(complete(0)) == [Accepted(0, client.of(Accepted)[-1].stream)]
    await engine.close()


async def test_running_requests_have_streams_of_their_own(make, engine):
    """Numbers of running requests differ and are free again after the end; beyond the limit a request is refused."""
    client = make(Limits(max_requests=3))
    client.open()
    engine.paused = True
    client.say(*(complete(request) for request in range(3)))
    assert sorted(accepted.stream for accepted in client.of(Accepted)) == [0, 1, 2]
    (error,) = client.say(complete(9))
    assert (error.request, error.code, error.retryable) == (9, ErrorCode.TOO_MANY_REQUESTS, True)
    client.say(Cancel(1))
    await asyncio.sleep(0)
    assert client.say(complete(9)) == [Accepted(9, client.of(Accepted)[1].stream)]
    await engine.close()
    assert len(client.of(Done)) + len(client.of(Error)) == 5  # four accepted, one refused


# Ends ----------------------------------------------------------------------------------------------------------


async def test_a_cancelled_request_ends_with_cancel(client):
    """Once; cancelling what has ended or never was does nothing."""
    client.engine.default = itertools.repeat("x")
    client.say(complete(1))
    await asyncio.sleep(0)
    client.say(Cancel(1))
    await drained(client)
    assert [(done.request, done.reason) for done in client.of(Done)] == [(1, "cancel")]
    assert client.say(Cancel(1), Cancel(99)) == []


async def test_an_engine_that_dies_ends_its_requests(client):
    """Each with one error that says to try again."""
    client.engine.default = itertools.repeat("x")
    client.say(complete(1), Edit(2, URI, 1, 0, 9, "x"))
    await asyncio.sleep(0.01)
    client.engine.fail("the engine process ended")
    errors = client.of(Error)
    assert [(error.request, error.code, error.retryable) for error in errors] == [
        (1, ErrorCode.ENGINE_UNAVAILABLE, True),
        (2, ErrorCode.ENGINE_UNAVAILABLE, True),
    ]
    assert client.of(Done) == []


async def test_an_error_of_the_engine_is_passed_on(client):
    """With the engine's own words."""
    client.engine.reason = "error"
    client.say(complete(1))
    await drained(client)
    (error,) = client.of(Error)
    assert (error.request, error.code, error.message, error.retryable) == (1, "internal_error", "it broke", False)


async def test_a_fault_of_ours_still_ends_the_request(client, monkeypatch):
    """An exception on the way to the client ends that request and frees its sequence."""

    def fail(*_: object) -> None:
        raise RuntimeError("bug")

    monkeypatch.setattr("warmline.realtime.generation.EditAligner.feed", fail)
    client.engine.default = ["line\n"] * 100
    client.say(Edit(1, URI, 1, 0, 9, "x"), complete(2))
    await drained(client)
    (error,) = client.of(Error)
    assert (error.request, error.code) == (1, ErrorCode.INTERNAL_ERROR)
    assert len(client.engine.cancelled) == 1
    assert [done.request for done in client.of(Done)] == [2]


async def test_a_fault_while_preparing_ends_the_request(client, monkeypatch):
    """Nothing was accepted, and the id is answered."""
    monkeypatch.setattr("warmline.realtime.session.PromptBuilder.complete", lambda *_: 1 / 0)
    (error,) = client.say(complete(1))
    assert (error.request, error.code) == (1, ErrorCode.INTERNAL_ERROR)


async def test_closing_a_session_cancels_everything(client):
    """Closing it again does nothing, and neither do messages that come after."""
    client.engine.default = itertools.repeat("x")
    client.say(complete(1), complete(2))
    client.session.close()
    client.session.close()
    assert client.say(Open(URI, 1, "", "x"), complete(3)) == []
    assert len(client.engine.cancelled) == 2
    await drained(client)
    assert metric(client, "warmline_sessions") == metric(client, "warmline_documents") == 0
    assert metric(client, "warmline_requests_running") == 0


# Long prompts --------------------------------------------------------------------------------------------------


class Gate:
    """A tokenizer that stands still at long texts until it is opened, and notes in which thread it is used.

    Attributes:
        threads: in which it tokenised, with the length of the text.
    """

    def __init__(self, tokenizer: Any) -> None:
        self.threads: list[tuple[int, int]] = []
        self._tokenizer = tokenizer
        self._open = threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tokenizer, name)

    def open(self) -> None:
        self._open.set()

    def encode(self, text: str) -> list[int]:
        self.threads.append((threading.get_ident(), len(text)))
        if len(text) > 4000:
            self._open.wait(10)
        return self._tokenizer.encode(text)


LONG = "value = 1\n" * 2000


@pytest.fixture
def gate(tokenizer):
    gate = Gate(tokenizer)
    yield gate
    gate.open()


@pytest.fixture
async def gated(engine, gate):
    client = Client(engine, gate)
    client.open(LONG)
    yield client
    client.session.close()
    gate.open()
    await engine.close()


def long_requests(*requests: int) -> list[Complete | Edit]:
    """Completions and edits, in turns, that need much tokenised."""
    return [
        Edit(request, URI, 1, 0, 15_000, "x", Sampling(max_tokens=9))
        if request % 2
        else complete(request, position=20_000)
        for request in requests
    ]


async def test_much_text_is_not_tokenised_on_the_event_loop(gated, gate):
    """Meanwhile pings are answered, and short requests carried out, of this session and of others."""
    assert gated.say(*long_requests(1, 2)) == []
    assert isinstance(gated.say(Ping(1))[0], Pong)
    gated.say(complete(3, position=10))
    async with asyncio.timeout(10):
        while not gated.of(Done):
            await asyncio.sleep(0)
    assert [accepted.request for accepted in gated.of(Accepted)] == [3]
    gate.open()
    await drained(gated)
    assert [done.request for done in gated.of(Done)] == [3, 1, 2]
    here = threading.get_ident()
    assert max(length for thread, length in gate.threads if thread == here) <= 4000
    assert max(length for thread, length in gate.threads if thread != here) >= 15_000


async def test_a_long_request_is_for_the_version_it_named(gated, gate, tokenizer):
    """Changes that come while it is tokenised don't reach it, and its version is checked when it arrives."""
    gated.say(*long_requests(2), Change(URI, 1, 2, [TextEdit(0, 20_000, "gone")]))
    (stale,) = gated.say(*long_requests(4))
    assert (stale.request, stale.code) == (4, ErrorCode.STALE_VERSION)
    gate.open()
    await drained(gated)
    assert LONG.endswith(tokenizer.decode(unpack_tokens(gated.engine.requests[0].prompt)))


@pytest.mark.parametrize("ending", [Cancel(1), Close(URI)], ids=["cancel", "close"])
async def test_a_request_can_end_before_it_is_tokenised(gated, gate, ending):
    """It is accepted and done with cancel at once, whether its turn had come or not, and never reaches the engine."""
    gated.say(*long_requests(3, 1, 5))
    await asyncio.sleep(0.05)
    gated.say(ending)
    ended = [1] if isinstance(ending, Cancel) else [3, 1, 5]
    assert [(done.request, done.reason) for done in gated.of(Done)] == [(request, "cancel") for request in ended]
    assert [accepted.request for accepted in gated.of(Accepted)] == ended
    done = gated.of(Done)[0].timing
    assert sum(getattr(done, hop) for hop in HOPS) == done.sent - done.received
    gate.open()
    await drained(gated)
    assert sorted(done.request for done in gated.of(Done)) == [1, 3, 5]
    assert len(gated.engine.requests) == 3 - len(ended)


async def test_a_session_that_closes_leaves_nothing_to_tokenise(gated, gate):
    """What waits is dropped, and what comes out of the thread is thrown away."""
    gated.say(*long_requests(*range(10)))
    await asyncio.sleep(0.05)
    gated.session.close()
    gate.open()
    async with asyncio.timeout(10):
        while gated.session._plans._worker is not None:
            await asyncio.sleep(0)
    assert gated.engine.requests == []
    assert len(gate.threads) <= 8
    assert metric(gated, "warmline_requests_running") == 0


async def test_sessions_take_turns_with_long_requests(make, gate, engine):
    """One with many of them does not keep another waiting until they are all done."""
    first = Client(engine, gate)
    second = Client(engine, gate)
    second.session._plans = PlanQueue(first.session._service.threads)
    for client in (first, second):
        client.open(LONG)
    first.say(*long_requests(*range(0, 20, 2)))
    second.say(*long_requests(0))
    gate.open()
    async with asyncio.timeout(10):
        while not second.of(Accepted):
            await asyncio.sleep(0)
    assert len(first.of(Accepted)) < 10
    await drained(first)
    await drained(second)
    await engine.close()


async def test_cancelled_long_requests_do_not_pile_up(gated):
    """What is asked for and cancelled while a thread is busy is forgotten."""
    for request in range(100):
        gated.say(*long_requests(request), Cancel(request))
    assert len(gated.session._plans._waiting) <= 2
    assert len(gated.of(Done)) == 100


async def test_a_fault_while_tokenising_ends_the_request(gated, gate, monkeypatch):
    """Its id is answered, and the next one is carried out."""
    monkeypatch.setattr(gate, "encode", lambda text: 1 / 0)
    gated.say(*long_requests(2))
    await drained(gated)
    monkeypatch.undo()
    gate.open()
    gated.say(*long_requests(4))
    await drained(gated)
    assert [(error.request, error.code) for error in gated.of(Error)] == [(2, ErrorCode.INTERNAL_ERROR)]
    assert [done.request for done in gated.of(Done)] == [4]


async def test_a_draining_session_ends_its_requests_and_takes_no_more(gated, gate):
    """Running and waiting ones end with cancel; a new one is told to come again."""
    gated.engine.paused = True
    gated.say(complete(8, position=10), *long_requests(1))
    gated.session.drain()
    (error,) = gated.say(complete(9, position=10))
    assert (error.request, error.code, error.retryable) == (9, ErrorCode.ENGINE_UNAVAILABLE, True)
    gate.open()
    await drained(gated)
    assert {done.request: done.reason for done in gated.of(Done)} == {1: "cancel", 8: "cancel"}


# Documents -----------------------------------------------------------------------------------------------------


async def test_requests_see_the_newest_version(client, tokenizer):
    """A change is taken silently, and the next request is about its result."""
    assert client.say(Change(URI, 1, 2, [TextEdit(4, 5, "go")], Applied(1, 1))) == []
    client.say(complete(1, version=2, position=10))
    assert tokenizer.decode(unpack_tokens(client.engine.requests[0].prompt)) == "def go():\n"
    await drained(client)
    assert metric(client, 'warmline_changes_total{source="applied"}') == 1


async def test_a_running_request_goes_on_through_a_change(client):
    """It answers for the version it named."""
    client.engine.paused = True
    client.say(Edit(1, URI, 1, 9, 22, "x"))
    client.say(Change(URI, 1, 2, [TextEdit(0, 22, "")]))
    client.engine.paused = False
    client.engine.default = ["    return 1"]
    await drained(client)
    assert client.of(Done)[0].reason == "stop"


@pytest.mark.parametrize(
    ("message", "held", "code"),
    [
        (Change(URI, 3, 4, []), 1, ErrorCode.STALE_VERSION),
        (Change(URI, 1, 2, [TextEdit(0, 99, "")]), 1, ErrorCode.INVALID_RANGE),
        (Change(URI, 1, 2, [], None, 5), 1, ErrorCode.HASH_MISMATCH),
        (Change(URI, 1, 2, [TextEdit(0, 0, "x" * 100)]), 1, ErrorCode.DOCUMENT_TOO_LARGE),
        (Change("file:///b", 1, 2, []), None, ErrorCode.UNKNOWN_DOCUMENT),
        (Close("file:///b"), None, ErrorCode.UNKNOWN_DOCUMENT),
        (Open(URI, 2, "", "x" * 200), 1, ErrorCode.DOCUMENT_TOO_LARGE),
        (Open(URI, 1, "", "another text"), 1, ErrorCode.STALE_VERSION),
        (Open(URI, 0, "", "def f():\n    return 1\n"), 1, ErrorCode.STALE_VERSION),
        (Open("file:///c", 2, "", ""), None, ErrorCode.TOO_MANY_DOCUMENTS),
    ],
)
async def test_what_can_not_be_done_to_a_document_is_answered_with_a_nack(make, message, held, code):
    """It says which version is held, and that one still serves."""
    client = make(Limits(max_document_bytes=100, max_documents=1))
    client.open()
    (nack,) = client.say(message)
    assert isinstance(nack, Nack)
    assert (nack.document, nack.held, nack.code) == (message.document, held, code)
    client.say(complete(1))
    await drained(client)
    assert client.of(Done)


async def test_opening_again_replaces(client, tokenizer):
    """After a nack the client sends its whole text as a later version; that is no second document."""
    client.open("new\n", version=2)
    client.open("new\n", version=2)
    client.say(complete(1, version=2, position=4))
    assert tokenizer.decode(unpack_tokens(client.engine.requests[0].prompt)) == "new\n"
    assert metric(client, "warmline_documents") == 1
    await drained(client)


async def test_closing_a_document_cancels_its_requests(client):
    """And no others."""
    client.say(Open("file:///b", 1, "", "x"))
    client.engine.default = ["x"] * 50
    client.say(complete(1), Complete(2, "file:///b", 1, 0), Close(URI))
    await drained(client)
    assert {done.request: done.reason for done in client.of(Done)} == {1: "cancel", 2: "stop"}
    assert client.say(complete(3))[0].code == ErrorCode.UNKNOWN_DOCUMENT


# The rest ------------------------------------------------------------------------------------------------------


async def test_a_ping_is_answered_with_both_clocks(client):
    """The client's as it was, the server's in microseconds."""
    (pong,) = client.say(Ping(12345))
    assert isinstance(pong, Pong)
    assert pong.sent == 12345
    assert 0 < pong.received <= pong.replied <= clock() // 1000


async def test_hello_comes_once(client):
    """A second one changes nothing."""
    (error,) = client.say(Hello())
    assert (error.request, error.code) == (None, ErrorCode.HELLO_REQUIRED)


def metric(client: Client, name: str) -> float:
    """The value of a series."""
    for line in client.metrics.render().decode().splitlines():
        if line.startswith(f"{name} "):
            return float(line.rpartition(" ")[2])
    raise AssertionError(f"no {name}")


async def test_requests_are_counted(client):
    """By kind and outcome, with their tokens and hops."""
    client.say(complete(1), Edit(2, URI, 1, 0, 9, "x"), complete(3, position=99))
    await drained(client)
    assert metric(client, 'warmline_requests_total{kind="complete",outcome="stop"}') == 1
    assert metric(client, 'warmline_requests_total{kind="edit",outcome="stop"}') == 1
    assert metric(client, 'warmline_refused_messages_total{code="invalid_range"}') == 1
    assert metric(client, 'warmline_tokens_total{kind="output"}') == 4
    assert metric(client, 'warmline_draft_tokens_total{outcome="accepted",source="edit_cursor"}') == 4
    assert metric(client, 'warmline_time_to_first_token_seconds_count{kind="complete"}') == 1
    assert metric(client, 'warmline_hop_seconds_count{hop="engine.prefill"}') == 2


STEPS = st.lists(
    st.one_of(
        st.builds(lambda request: complete(request), st.integers(0, 9)),
        st.builds(lambda request: Edit(request, URI, 1, 0, 9, "x"), st.integers(0, 9)),
        st.builds(Cancel, st.integers(0, 9)),
        st.sampled_from([Open(URI, 1, "", "def f():\n"), Close(URI), "turn", "fail"]),
    ),
    max_size=30,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(STEPS)
def test_every_accepted_request_ends_exactly_once(make, engine, steps):
    """Whatever a client does and whenever the engine fails; deltas come only between accepted and the end."""

    async def play() -> None:
        client = make(Limits(max_requests=4))
        engine.scripts.clear()
        client.open("def f():\n")
        for step in steps:
            if step == "turn":
                await asyncio.sleep(0)
            elif step == "fail":
                engine.fail("it died")
            else:
                client.say(step)
        await drained(client)
        streams: dict[int, int] = {}
        ended: list[int] = []
        for message in client.sent:
            match message:
                case Accepted():
                    assert message.stream not in streams
                    streams[message.stream] = message.request
                case Delta() | Ops():
                    assert message.stream in streams
                case Done() | Error() if message.request in streams.values():
                    ended.append(message.request)
                    streams = {stream: request for stream, request in streams.items() if request != message.request}
        assert streams == {}
        assert sorted(ended) == sorted(accepted.request for accepted in client.of(Accepted))

    asyncio.run(play())
