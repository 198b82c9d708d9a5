"""The engine process, spoken to over its socket as the gateway does."""

from __future__ import annotations

import contextlib
import re
import signal
import socket
import subprocess
import time
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from warmline.engine import (
    CancelRequest,
    EngineOptions,
    EngineStats,
    GenerationRequest,
    ModelInfo,
    PauseRequest,
    SamplingParams,
    WarmRequest,
    pack_tokens,
    unpack_tokens,
)
from warmline.engine.core import Engine
from warmline.engine.framing import FrameDecoder, encode_frame
from warmline.engine.messages import FromEngine, StartFailed
from warmline.engine.process import HEARTBEAT_SECONDS, serve

DEADLINE = 60.0


class Gateway:
    """The other end of an engine process."""

    def __init__(self, command, model, tokens=1024) -> None:
        self.socket, theirs = socket.socketpair()
        self.socket.settimeout(DEADLINE)
        self.decoder = FrameDecoder(FromEngine)
        self.messages = []
        self.stats = EngineStats()
        self.tokens = {}
        self.finished = {}
        options = msgspec.json.encode(EngineOptions(model=model, kv_memory=tokens)).decode()
        with theirs:
            self.process = subprocess.Popen(
                [*command, str(theirs.fileno()), options], pass_fds=(theirs.fileno(),), stderr=subprocess.PIPE
            )

    def send(self, message):
        self.socket.sendall(encode_frame(message))

    def receive(self):
        """The next message."""
        while not self.messages:
            data = self.socket.recv(1 << 16)
            assert data, "the engine closed its end"
            self.messages += self.decoder.feed(data)
        message = self.messages.pop(0)
        self.stats = getattr(message, "stats", None) or self.stats
        return message

    def until_stats(self, hold):
        """Read on until the counters are as they should be."""
        while not hold(self.stats):
            self.receive()

    def until_finished(self, id_):
        """The tokens of a sequence and how it finished."""
        while id_ not in self.finished:
            for event in self.receive().events:
                self.tokens.setdefault(event.id, []).extend(unpack_tokens(event.tokens))
                if event.finished:
                    assert event.id not in self.finished
                    self.finished[event.id] = event.finished
        return self.tokens[id_], self.finished[id_]


@pytest.fixture
def start(fake_command):
    """Start an engine process; it is ended after the test."""
    with contextlib.ExitStack() as stack:

        def start_process(model="fast", **options):
            gateway = Gateway(fake_command, model, **options)
            stack.callback(gateway.process.stderr.close)
            stack.callback(gateway.process.wait, DEADLINE)
            stack.callback(gateway.process.kill)
            stack.callback(gateway.socket.close)
            return gateway

        yield start_process


def replayed(id_, count, prompt=(9, 8, 7), **sampling):
    """A request that emits so many tokens."""
    return GenerationRequest(
        id_,
        pack_tokens(list(prompt)),
        SamplingParams(max_tokens=count, **sampling),
        replay=pack_tokens([10 + i % 50 for i in range(count)]),
    )


def test_the_life_of_an_engine_process(start, fake):
    """It says what it runs, serves, gives signs of life without spinning, ignores Ctrl-C, and ends by itself."""
    gateway = start()
    info = gateway.receive()
    assert isinstance(info, ModelInfo)
    assert (info.name, info.backend, info.max_sequence_tokens) == ("fast", "fake", 1024)
    assert info.vocabulary == fake.VOCABULARY

    gateway.send(replayed(7, 40))
    tokens, finished = gateway.until_finished(7)
    assert (len(tokens), finished.reason) == (40, "length")

    gateway.process.send_signal(signal.SIGINT)
    began = time.monotonic()
    beats = [gateway.receive() for _ in range(3)]
    assert all(beat.events == [] for beat in beats)
    assert gateway.stats.finished == 1 and beats[-1].stats is None
    assert time.monotonic() - began > 0.8

    gateway.socket.close()
    assert gateway.process.wait(DEADLINE) == 0
    said = gateway.process.stderr.read().decode().splitlines()
    assert [re.sub(r"[\d.]+ s\b", "N s", line) for line in said] == [
        "engine: INFO weights packed, N s in all; now it is measured what passes cost",
        "engine: INFO warmed up and measured in N s",
    ]


def test_messages_of_megabytes_pass_both_ways(start):
    """A prompt far larger than the socket's buffer arrives whole, and so does what is said while it comes."""
    gateway = start(tokens=300_000)
    gateway.receive()
    prompt = [2 + i % 60 for i in range(262_144)]
    gateway.send(replayed(1, 1))
    gateway.send(GenerationRequest(2, pack_tokens(prompt), SamplingParams(max_tokens=1), draft=pack_tokens(prompt)))
    _, finished = gateway.until_finished(2)
    assert (finished.reason, finished.computed_tokens) == ("length", len(prompt))


def test_a_gateway_that_does_not_read_makes_the_engine_wait(start):
    """The engine blocks rather than heap up output; nothing is lost, and it still ends when the socket closes."""
    gateway = start(tokens=20_000)
    gateway.receive()
    gateway.send(replayed(1, 2_000))
    deadline, before = time.monotonic() + DEADLINE, -1
    while (used := cpu_ticks(gateway.process.pid)) != before and time.monotonic() < deadline:
        before = used
        time.sleep(0.3)
    gateway.send(replayed(2, 10))
    tokens, finished = gateway.until_finished(1)
    assert (len(tokens), finished.reason) == (2_000, "length")
    gateway.until_finished(2)
    gateway.send(replayed(3, 2_000))
    gateway.receive()
    gateway.socket.close()
    assert gateway.process.wait(DEADLINE) == 0


def cpu_ticks(pid):
    """Clock ticks that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def test_a_cancel_does_not_wait_for_the_end_of_a_pass(start):
    """In the middle of a long prefill the sequence is freed between two layers."""
    gateway = start("slow", tokens=20_000)
    gateway.receive()
    gateway.send(replayed(1, 5, prompt=[9] * 10_000))
    gateway.until_stats(lambda stats: stats.running == 1)  # a heartbeat from within the prefill
    gateway.send(CancelRequest(1))
    _, finished = gateway.until_finished(1)
    assert (finished.reason, finished.output_tokens) == ("cancel", 0)
    gateway.send(replayed(2, 1))
    gateway.until_finished(2)


def test_a_cancel_is_told_before_the_pass_of_others_ends(start):
    """The cancelled one's end comes by itself, with its blocks free, and not with what the pass brings."""
    gateway = start("slow", tokens=20_000)
    gateway.receive()
    gateway.send(replayed(1, 60))
    gateway.until_stats(lambda stats: stats.forward_passes >= 3)
    gateway.send(replayed(2, 5, prompt=[9] * 10_000))
    gateway.until_stats(lambda stats: stats.running == 2)
    gateway.send(CancelRequest(2))
    message = gateway.receive()
    while not any(event.finished for event in message.events):
        message = gateway.receive()
    assert [(event.id, event.finished.reason) for event in message.events] == [(2, "cancel")]
    gateway.until_stats(lambda stats: stats.cancelled == 1)
    assert gateway.stats.blocks_used < 10


def test_a_request_does_not_wait_for_warm_work(start):
    """It is served in the middle of a long warm-up, of which the rest follows and is cancelled at once."""
    gateway = start("slow", tokens=20_000)
    gateway.receive()
    gateway.send(WarmRequest(1, pack_tokens([9] * 10_000)))
    gateway.until_stats(lambda stats: stats.warm_computed_tokens)
    gateway.send(replayed(2, 3))
    assert gateway.until_finished(2)[1].reason == "length"
    assert not gateway.finished.get(1)
    gateway.send(CancelRequest(1))
    tokens, finished = gateway.until_finished(1)
    assert (tokens, finished.reason) == ([], "cancel")
    gateway.send(replayed(3, 1, prompt=[9] * 100))
    assert gateway.until_finished(3)[1].warmed_tokens >= 64


class ScriptedLink:
    """A socket whose messages are known beforehand; it closes when the engine has waited three times for more."""

    def __init__(self, messages) -> None:
        self.incoming = [messages]
        self.events = []
        self.waits = 0

    def receive(self):
        return self.incoming.pop() if self.incoming else []

    def send(self, message):
        self.events += message.events

    def wait(self, seconds):
        self.waits += 1
        if self.waits == 3:
            raise EOFError


@pytest.mark.parametrize(("paused", "steps", "events"), [(True, 0, 0), (False, 4, 4)])
def test_a_paused_sequence_leaves_the_process_asleep(fake, monkeypatch, paused, steps, events):
    """With nobody else to serve it waits for a message, as when it is idle, and takes no step."""
    engine, taken = Engine(fake.FakeBackend(), fake.FakeTokenizer()), []
    step = engine.step
    monkeypatch.setattr(engine, "step", lambda listen: taken.append(1) or step(listen))
    link = ScriptedLink([replayed(1, 4), PauseRequest(1, paused), PauseRequest(99, True)])
    with pytest.raises(EOFError):
        serve(engine, link)
    assert (len(taken), len(link.events)) == (steps, events)


@pytest.mark.parametrize("method", ["add", "warm"])
@pytest.mark.parametrize("reached", [False, True])
def test_a_request_that_the_engine_fails_on_takes_no_other_with_it(fake, monkeypatch, caplog, method, reached):
    """Of messages taken off the socket together, that one ends with an error, whatever was done for it already."""
    engine = Engine(fake.FakeBackend(), fake.FakeTokenizer())
    begin = getattr(engine, method)

    def fail_on_13(message):
        if message.id != 13 or reached:
            begin(message)
        if message.id == 13:
            raise ZeroDivisionError

    monkeypatch.setattr(engine, method, fail_on_13)
    prompt = pack_tokens([9] * 40)
    bad = replayed(13, 5) if method == "add" else WarmRequest(13, prompt)
    link = ScriptedLink([replayed(1, 4), bad, WarmRequest(2, prompt), replayed(3, 4), CancelRequest(3)])
    with pytest.raises(EOFError):
        serve(engine, link)
    ended = {event.id: event.finished for event in link.events if event.finished}
    assert len(ended) == sum(event.finished is not None for event in link.events)
    assert {id_: finished.reason for id_, finished in ended.items()} == {
        1: "length", 2: "stop", 3: "cancel", 13: "error"
    }  # fmt: skip
    assert ended[13].error_code == "internal_error"
    assert "ZeroDivisionError" in caplog.text
    engine.check_integrity()


def test_a_socket_that_closes_in_a_pass_ends_the_process_and_no_request(fake):
    """The hang-up comes out of the pass as what it is; nobody is told that a request failed."""
    engine, link = Engine(fake.FakeBackend(), fake.FakeTokenizer()), ScriptedLink([replayed(1, 4)])
    receive = link.receive

    def hang_up_later():
        if engine.stats().running:
            raise EOFError
        return receive()

    link.receive = hang_up_later
    with pytest.raises(EOFError):
        serve(engine, link)
    assert link.events == [] and engine.take_events() == []
    assert (engine.stats().running, engine.stats().finished) == (1, 0)


class TickingClock:
    """It goes on by a hundredth of a second each time it is read."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self):
        self.now += 0.01
        return self.now


def test_counters_come_as_often_as_heartbeats(fake, monkeypatch):
    """Not with each of the messages that events make, and never twice the same; the last ones come, too."""
    clock, told, link = TickingClock(), [], ScriptedLink([replace(replayed(1, 200), speculation=False)])
    monkeypatch.setattr("warmline.engine.process.time", clock)

    def send(message):
        link.events += message.events
        if message.stats is not None:
            told.append((clock.now, message.stats))

    def wait(seconds):
        clock.now += seconds
        ScriptedLink.wait(link, seconds)

    link.send, link.wait = send, wait
    engine = Engine(fake.FakeBackend(), fake.FakeTokenizer())
    with pytest.raises(EOFError):
        serve(engine, link)
    assert len(link.events) == 200 and 5 < len(told) < 100
    for (earlier, before), (later, stats) in pairwise(told):
        assert later - earlier >= HEARTBEAT_SECONDS and stats != before
    assert told[-1][1] == engine.stats()


@pytest.mark.parametrize("model", ["slow", "hanging"])
def test_it_ends_with_the_socket_whatever_it_is_doing(start, model):
    """In the middle of a pass and in the middle of loading, a closed socket ends the process."""
    gateway = start(model, tokens=20_000)
    if model == "slow":
        gateway.receive()
        gateway.send(replayed(1, 5, prompt=[9] * 10_000))
        gateway.receive()
    gateway.socket.close()
    assert gateway.process.wait(DEADLINE) == 0


def test_a_start_that_fails_says_why(start):
    """An unexpected exception while loading reaches the gateway as a sentence, and the log as a traceback."""
    gateway = start("broken")
    message = gateway.receive()
    assert isinstance(message, StartFailed)
    assert "this fake does not start" in message.message
    assert gateway.process.wait(DEADLINE) == 1
    assert b"Traceback" in gateway.process.stderr.read()


def test_sigterm_ends_it(start):
    """A service manager's SIGTERM is obeyed."""
    gateway = start()
    gateway.receive()
    gateway.process.terminate()
    assert gateway.process.wait(DEADLINE) == -signal.SIGTERM
