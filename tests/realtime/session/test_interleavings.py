"""Whatever a client does, in whatever order, and whenever the engine fails: the wire's promises hold."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from warmline.realtime.editing.steering import divide
from warmline.realtime.limits import Limits
from warmline.realtime.prompting.held_text import text_to_hold
from warmline.realtime.protocol import (
    Accepted,
    Applied,
    Cancel,
    Change,
    Chat,
    Close,
    Complete,
    Delta,
    Done,
    Edit,
    EndChat,
    Error,
    Interrupt,
    Open,
    Ops,
    Steer,
    Steered,
    TextEdit,
    Warm,
)

URI = "file:///a"
SAID = ["al", "pha", "\n", "x = 🎈\n", "be", "ta\n", "gam", "ma"]
SCRIPT = "".join(SAID)

BACK = st.sampled_from([0, 0, 0, 1, 2])  # which request, counted from the newest
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("turns"), st.integers(1, 5)),
        st.tuples(st.just("turns"), st.integers(1, 5)),
        st.tuples(st.just("type"), st.integers(1, 3)),
        st.tuples(st.just("complete"), st.sampled_from([False, False, True])),
        st.tuples(st.just("type and complete"), st.integers(1, 3)),
        st.tuples(st.just("edit"), st.integers(0, 9), st.integers(0, 12), st.sampled_from(["", "alpha\n", "q"])),
        st.tuples(st.just("steer"), BACK, st.none() | st.integers(0, 3)),
        st.tuples(st.just("steer"), BACK, st.none()),
        st.tuples(st.just("change"), st.integers(0, 30), st.integers(0, 3), st.sampled_from(["", "x", "y\n"])),
        st.tuples(st.just("apply"), BACK),
        st.tuples(st.sampled_from([Cancel, Interrupt]), BACK),
        st.sampled_from([("again",), ("chat",), ("end chat",), ("pause",), ("resume",), ("warm",)]),
        st.sampled_from([("open",), ("close",), ("fail",), ("turns", 1)]),
    ),
    max_size=40,
)


class Person:
    """Carries out steps as a client would, and remembers what was asked for."""

    def __init__(self, client: Any, tokenizer: Any) -> None:
        self.client = client
        self.encode = tokenizer.encode
        self.cursor = 0
        self.newest = 0
        self.positions: dict[int, int] = {0: 0}
        self.ranges: dict[int, str] = {}
        self.accepted: dict[int, str] = {}

    @property
    def document(self) -> Any:
        return self.client.session._documents.get(URI)

    def do(self, step: tuple[Any, ...]) -> None:
        say, document = self.client.say, self.document
        match step:
            case ("open",):
                version = 1 if document is None else document.version + 1
                say(Open(URI, version, "", "one\ntwo = 2\nthree"))
            case ("close",):
                say(Close(URI))
            case ("pause",):
                self.client.session.pause()
            case ("resume",):
                self.client.session.resume()
            case ("fail",):
                self.client.engine.fail("it died")
            case ("again",):
                say(Complete(self.newest, URI, 1, 0))
            case ("chat",):
                say(Chat(self.next(), "c", "hello"))
            case ("end chat",):
                say(EndChat("c"))
            case (kind, back) if kind in (Cancel, Interrupt):
                say(kind(max(self.newest - back, 0)))
            case ("steer", back, operations):
                request = max(self.newest - back, 0)
                sent = standing(self.client, request)
                accepted = divide(self.ranges.get(request, ""), sent[:operations])[0]
                self.say_behind(accepted, Steer(request, "more", operations))
            case ("type and complete", count):
                self.do(("type", count))
                self.do(("complete", False))
            case _ if document is not None:
                self.write(step, document)

    def write(self, step: tuple[Any, ...], document: Any) -> None:
        say, version, length = self.client.say, document.version, document.length
        self.cursor = min(self.cursor, length)
        match step:
            case ("type", count):
                text = self.client.text_of(self.newest)[:count] or "k"  # what is suggested, if anything is
                say(Change(URI, version, version + 1, [TextEdit(self.cursor, self.cursor, text)]))
                self.cursor += len(text.encode("utf-16-le")) // 2
            case ("complete", parallel):
                request = self.next()
                self.positions[request] = self.cursor
                say(Complete(request, URI, version, self.cursor, parallel=parallel))
            case ("edit", start, size, accepted):
                request, text = self.next(), document.text
                start = min(start, len(text))
                end = min(start + size, len(text))
                if "🎈" in text or text[start:end].endswith("\n") or start == end:
                    return
                frames = self.say_behind(accepted, Edit(request, URI, version, start, end, "x", accepted=accepted))
                if any(isinstance(frame, Accepted) for frame in frames):
                    self.ranges[request], self.accepted[request] = text[start:end], accepted
            case ("change", start, size, text):
                start = min(start, length)
                say(Change(URI, version, version + 1, [TextEdit(start, min(start + size, length), text)]))
            case ("apply", back):
                say(Change(URI, version, version + 1, [], Applied(max(self.newest - back, 0), 1)))
            case ("warm",):
                say(Warm(URI, version, min(3, length)))

    def say_behind(self, accepted: str, message: Any) -> list[Any]:
        """Send a message that has the model go on behind a text, whose last white space it may have to say first."""
        self.client.engine.default = [text_to_hold(self.encode, accepted), *SAID]
        frames = self.client.say(message)
        self.client.engine.default = SAID
        return frames

    def next(self) -> int:
        self.newest += 1
        return self.newest


def standing(client: Any, request: int) -> list[int | str]:
    """The operations of an edit, without the void ones."""
    operations: list[int | str] = []
    for frame in client.frames_of(request):
        if isinstance(frame, Ops):
            operations += frame.operations
        elif isinstance(frame, Steered):
            assert frame.operations <= len(operations)
            del operations[frame.operations :]
    return operations


def check_streams(client: Any) -> None:
    """Frames of a stream come only while its request runs, and each accepted request has one terminal frame."""
    streams: dict[int, int] = {}
    ended: list[int] = []
    for message in client.sent:
        match message:
            case Accepted():
                assert message.stream not in streams
                assert message.request not in ended
                streams[message.stream] = message.request
            case Delta():
                assert message.stream in streams
                assert message.text
            case Ops():
                assert message.stream in streams
                assert message.operations
            case Steered():
                assert message.request in streams.values()
            case Done() | Error() if message.request in streams.values():
                ended.append(message.request)
                streams = {stream: request for stream, request in streams.items() if request != message.request}
            case Done():
                raise AssertionError(f"{message} of a request that doesn't run")
    assert streams == {}
    assert sorted(ended) == sorted(accepted.request for accepted in client.of(Accepted))


def check_completions(client: Any, person: Person) -> None:
    """Deltas are what was generated, from where the request begins in it on."""
    begins: dict[int, int] = {}  # UTF-16 units into the script
    script = SCRIPT.encode("utf-16-le")
    for accepted in client.of(Accepted):
        if accepted.request not in person.positions:
            continue
        begin = 0
        if accepted.continued is not None:
            old = accepted.continued.request
            begin = begins[old] + person.positions[accepted.request] - person.positions[old]
        begins[accepted.request] = begin
        whole = script[2 * begin :].decode("utf-16-le")
        (end,) = client.ends_of(accepted.request)
        text = client.text_of(accepted.request)
        assert whole.startswith(text)
        if isinstance(end, Done) and end.reason == "stop":
            assert text == whole


def check_edits(client: Any, person: Person, apply_operations: Any) -> None:
    """Operations stay within the range; of an edit that came to its end they give the model's text."""
    for request, original in person.ranges.items():
        operations = standing(client, request)
        accepted = person.accepted[request]
        steered = [frame.operations for frame in client.frames_of(request) if isinstance(frame, Steered)]
        if steered:
            accepted = divide(original, operations[: steered[-1]])[0]
        (end,) = client.ends_of(request)
        result = apply_operations(original, operations)
        if isinstance(end, Done) and end.reason == "stop":
            assert result == accepted + SCRIPT
        if isinstance(end, Done) and end.reason == "conflict":
            assert end.operations <= len(operations)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
@given(STEPS)
def test_whatever_happens_every_promise_is_kept(make, scripted, tokenizer, apply_operations, steps):
    """One terminal frame each, streams of their own, the right text, and nothing left in the engine."""

    async def play() -> None:
        engine = scripted()
        engine.default = SAID
        client = make(Limits(max_requests=4), engine=engine)
        person = Person(client, tokenizer)
        client.open("one\ntwo = 2\nthree")
        for step in steps:
            if step[0] == "turns":
                for _ in range(step[1]):
                    await asyncio.sleep(0)
            else:
                person.do(step)
        client.session.resume()
        await client.drained()
        check_streams(client)
        check_completions(client, person)
        check_edits(client, person, apply_operations)
        assert client.metric("warmline_requests_running") == 0
        client.session.close()
        await client.drained()

    asyncio.run(play())
