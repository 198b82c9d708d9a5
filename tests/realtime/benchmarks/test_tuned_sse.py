"""The hand-tuned SSE server that ours is compared with does what a server must."""

from __future__ import annotations

import asyncio
import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.engine import Finished, SequenceEvent
from warmline.realtime.benchmarks.transport.servers.tuned_sse import TunedConnection
from warmline.realtime.benchmarks.transport.terms import API_KEY


class Engine:
    """Notes what it is asked; events are made by the tests."""

    def __init__(self) -> None:
        self.listeners: dict[int, object] = {}
        self.cancelled: list[int] = []
        self.tokens: list[int] = []

    def next_id(self) -> int:
        return len(self.listeners) + 1

    def submit(self, request, on_event) -> None:
        self.listeners[request.id] = on_event
        self.tokens.append(request.sampling.max_tokens)

    def cancel(self, sequence: int) -> None:
        self.cancelled.append(sequence)

    def say(self, sequence: int, text: str, finished: Finished | None = None) -> None:
        self.listeners[sequence](SequenceEvent(sequence, text, finished=finished))


class Encoder:
    """A token for each character."""

    def encode(self, text: str) -> list[int]:
        return list(map(ord, text))


class Wire(asyncio.Transport):
    """Notes what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.writes = 0
        self.closed = self.aborted = False

    def write(self, data) -> None:
        self.written += data
        self.writes += 1

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.aborted = True


class Side:
    """One connection with its engine."""

    def __init__(self) -> None:
        self.engine, self.wire = Engine(), Wire()
        self.connection = TunedConnection(self.engine, Encoder())
        self.connection.connection_made(self.wire)


@pytest.fixture
def side() -> Side:
    """A connection that has just been made."""
    return Side()


def asking(tokens=2, key=API_KEY, path="/complete", body=None) -> bytes:
    """A request's bytes."""
    body = json.dumps({"prompt": "x = ", "max_tokens": tokens}).encode() if body is None else body
    head = f"POST {path} HTTP/1.1\r\nHost: a\r\nAUTHORIZATION:  Bearer {key} \r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def answers(written: bytes) -> list[tuple[str, list[dict[str, object]]]]:
    """The status and the events of each answer, by the rules of HTTP."""
    found = []
    while written:
        head, _, written = written.partition(b"\r\n\r\n")
        status = head.split(b" ", 1)[1].split(b"\r\n")[0].decode()
        body = b""
        if b"chunked" in head:
            size = -1
            while size:
                line, _, written = written.partition(b"\r\n")
                size = int(line, 16)
                body, written = body + written[:size], written[size:]
                assert written[:2] == b"\r\n"
                written = written[2:]
        events = [json.loads(event.removeprefix(b"data: ")) for event in body.split(b"\n\n") if event]
        found.append((status, events))
    return found


def test_an_answer_is_one_write_an_event(side):
    """The head goes with the first, and the end of the body with the last."""
    side.connection.data_received(asking())
    assert side.engine.tokens == [2]
    assert side.wire.writes == 0
    side.engine.say(1, "é")
    side.engine.say(1, "b", Finished("length", prompt_tokens=4, output_tokens=2))
    assert side.wire.writes == 2
    last = {"text": "b", "finish_reason": "length", "prompt_tokens": 4, "completion_tokens": 2}
    assert answers(side.wire.written) == [("200 OK", [{"text": "é"}, last])]


@given(st.lists(st.integers(0, 2 * len(asking())), max_size=8))
def test_a_connection_is_kept_however_requests_are_cut_into_reads(cuts):
    """Two at once are answered one after the other."""
    side = Side()
    both = asking(3) + asking(5)
    ends = [0, *sorted(cuts), len(both)]
    for start, end in itertools.pairwise(ends):
        side.connection.data_received(both[start:end])
    assert side.engine.tokens == [3]
    side.engine.say(1, "a", Finished("stop"))
    assert side.engine.tokens == [3, 5]
    side.engine.say(2, "b", Finished("stop"))
    assert [[event["text"] for event in events] for _, events in answers(side.wire.written)] == [["a"], ["b"]]
    assert not side.wire.closed


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (asking(key="other"), "401 Unauthorized"),
        (asking(path="/other"), "404 Not Found"),
        (asking(body=b"{"), "422 Unprocessable Content"),
        (asking(body=b"[]"), "422 Unprocessable Content"),
    ],
)
def test_a_request_that_is_refused_leaves_the_connection_open(side, request_, status):
    """And the engine without work."""
    side.connection.data_received(request_ + asking())
    assert answers(side.wire.written) == [(status, [])]
    assert side.engine.tokens == [2]
    assert not side.wire.closed


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET / HTTP/1.0\r\n\r\n", "505 HTTP Version Not Supported"),
        (b"GET / HTTP/1.1\r\nnonsense\r\n\r\n", "400 Bad Request"),
        (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "400 Bad Request"),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "411 Length Required"),
        (b"POST / HTTP/1.1\r\nContent-Length: 9999999\r\n\r\n", "413 Content Too Large"),
        (b"x" * 20000, "431 Request Header Fields Too Large"),
    ],
)
def test_what_is_no_request_closes_the_connection(side, data, status):
    """Where the next one would begin is not known."""
    side.connection.data_received(data)
    assert answers(side.wire.written) == [(status, [])]
    assert side.wire.closed


def test_a_slow_reader_gets_what_was_held_in_one_event(side):
    """Nothing is written while the buffer is full, and nothing is lost."""
    side.connection.data_received(asking())
    side.engine.say(1, "a")
    side.connection.pause_writing()
    side.engine.say(1, "b")
    side.engine.say(1, "c", Finished("stop"))
    assert side.wire.writes == 1
    side.connection.resume_writing()
    [(_, events)] = answers(side.wire.written)
    assert [event["text"] for event in events] == ["a", "bc"]
    side.connection.pause_writing()
    side.connection.resume_writing()
    assert side.wire.writes == 2


def test_a_reader_that_never_reads_is_given_up(side):
    """Before what is held for it grows without bound."""
    side.connection.data_received(asking())
    side.connection.pause_writing()
    for _ in range(3):
        side.engine.say(1, "x" * (1 << 19))
    assert side.wire.aborted
    assert side.engine.cancelled == [1]
    side.engine.say(1, "late")
    assert side.wire.writes == 0


def test_nothing_is_made_for_somebody_who_left(side):
    """Nor written to him."""
    side.connection.data_received(asking())
    side.connection.connection_lost(None)
    assert side.engine.cancelled == [1]
    side.engine.say(1, "late")
    assert side.wire.writes == 0
