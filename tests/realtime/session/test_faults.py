"""A fault of ours, wherever it comes, leaves nobody waiting: each request ends once, and nothing runs on."""

from __future__ import annotations

import asyncio
import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from structlog.testing import capture_logs
from warmline.engine import Finished
from warmline.realtime.protocol import (
    Accepted,
    Applied,
    Cancel,
    Change,
    Chat,
    Complete,
    Delta,
    Done,
    Edit,
    Error,
    ErrorCode,
    Interrupt,
    Ops,
    Ping,
    Sampling,
    Steer,
    TextEdit,
    Warm,
)
from warmline.realtime.requests import requests as requests_module

URI = "file:///a"
TEXT = "value = 1\n" * 40
HOME = str(Path(requests_module.__file__).parents[1])
LAST_RITES = {"break_off", "_over", "_end", "_request_ended", "_release", "_refusal", "refuse", "refused", "names"}
"""What ends a request after a fault can't fail itself."""
DOORS = {"on_event", "over", "end"}
"""Neither can what is told of something, before it does anything; what it calls can."""


class Fault(Exception):
    """A fault of ours."""


class Calls:
    """Counts the calls of our functions while something happens to requests, and has one of them fail.

    Attributes:
        count: calls so far, those of what ends requests left out.
    """

    def __init__(self, failing: int, after: str | None) -> None:
        """Count from the end of the function that is called ``after``, if one is named."""
        self.count = 0
        self._failing = failing
        self._after = after

    def __enter__(self) -> Calls:
        sys.setprofile(self._called)
        return self

    def __exit__(self, *exception: object) -> None:
        sys.setprofile(None)

    def _called(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if not code.co_filename.startswith(HOME) or code.co_name == "<genexpr>":  # which is called to be closed, too
            return
        if self._after is not None:
            if event == "return" and code.co_name == self._after:
                self._after = None
        elif event == "call" and code.co_name not in DOORS and not self._ending(frame):
            self.count += 1
            if self.count == self._failing:
                sys.setprofile(None)
                raise Fault(code.co_name)

    @staticmethod
    def _ending(frame: FrameType | None) -> bool:
        """Whether a call belongs to the end of a request; what else is told of that end may fail."""
        while frame is not None and frame.f_code.co_filename.startswith(HOME):
            if frame.f_code.co_name == "over":
                return False
            if frame.f_code.co_name in LAST_RITES:
                return True
            frame = frame.f_back
        return False


def edit(request: int = 1) -> Edit:
    return Edit(request, URI, 1, 0, 40, "x", Sampling(max_tokens=99))


def complete(request: int, version: int = 1, position: int = 400) -> Complete:
    return Complete(request, URI, version, position)


TYPED = Change(URI, 1, 2, [TextEdit(400, 400, "val")])


def says(text: str, finished: Finished | None = None) -> Callable[[Any], None]:
    """The engine says something of the first sequence."""

    def say(client: Any) -> None:
        sequence = client.engine.requests[0].id
        if finished is None:
            client.engine.emit(sequence, text)
        else:
            client.engine.finish(sequence, finished, text)

    return say


SCENES: dict[str, tuple[list[Any], bool, Any, str | None]] = {
    # What runs, whether it has said something, the message that a fault meets, and after which call that begins.
    "complete": ([], False, complete(2), "_add"),
    "complete, one at its prompt": ([complete(1)], False, complete(2), "_add"),
    "complete, one waiting for another's prompt": ([complete(0), complete(1)], False, complete(2), "_add"),
    "complete, one that says something else": ([complete(1)], True, complete(2, position=0), "_add"),
    "complete, going on with another": ([complete(1), TYPED], True, complete(2, 2, 403), "_add"),
    "complete, beside two": ([complete(0), complete(1, position=0)], True, complete(2, position=20), "_add"),
    "edit": ([], False, edit(2), "_add"),
    "chat": ([], False, Chat(2, "c", "hello", (URI,)), "lay_out"),
    "steer": ([edit()], True, Steer(1, "y"), None),
    "steer, nothing said": ([edit()], False, Steer(1, "y"), None),
    "interrupt a completion": ([complete(1)], True, Interrupt(1), None),
    "interrupt an edit": ([edit()], True, Interrupt(1), None),
    "interrupt a chat": ([Chat(1, "c", "hello")], True, Interrupt(1), None),
    "cancel one that waits": ([complete(0), complete(1)], False, Cancel(1), None),
    "change within an edit": ([edit(), complete(2)], True, Change(URI, 1, 2, [TextEdit(30, 32, "z")]), None),
    "change before an edit": ([edit(), complete(2)], True, Change(URI, 1, 2, [TextEdit(0, 0, "z")]), None),
    "apply an edit": ([edit()], True, Change(URI, 1, 2, [], Applied(1, 1)), None),
    "warm": ([complete(1)], True, Warm(URI, 1, 0, 40), None),
    "text of a completion": ([complete(1)], False, says("value"), None),
    "text of an edit": ([edit()], False, says("value = 2\nvalue = 1\n"), None),
    "text of a chat": ([Chat(1, "c", "hello")], False, says("hello"), None),
    "text that another waits for": ([complete(0), TYPED, complete(1, 2, 403)], False, says("value"), None),
    "other text than another waits for": ([complete(0), TYPED, complete(1, 2, 403)], False, says("other"), None),
    "end of a completion": ([complete(1)], False, says("value", Finished("stop")), None),
    "end of an edit": ([edit()], False, says("value = 2\n", Finished("stop")), None),
    "end of a chat": ([Chat(1, "c", "hello")], False, says("", Finished("stop")), None),
    "end of what another waits for": ([complete(0), complete(1)], False, says("", Finished("length")), None),
}


async def play(client: Any, scene: str, failing: int) -> bool:
    """Carry out a scene with the call of that number failing; returns whether there was one.

    A fault that the session doesn't deal with ends its connection, which closes the session.
    """
    before, shown, message, after = SCENES[scene]
    client.engine.default = ["value = 1\n", "va", *["lue = 1\n"] * 30]
    client.engine.paused = not shown
    client.open(TEXT)
    for earlier in before:
        if isinstance(earlier, Change) and shown:
            await client.until(lambda: bool(client.of(Delta)))
        client.say(earlier)
    if shown:
        await client.until(lambda: bool(client.of(Delta) + client.of(Ops)))
    client.engine.paused = True
    calls = Calls(failing, after)
    try:
        with calls:
            if callable(message):
                message(client)
            else:
                client.say(message)
    except Fault:
        assert not callable(message), "the engine's reader is told of no fault of ours"
        client.session.close()
    client.engine.paused = False
    await client.drained()
    return calls.count >= failing


@pytest.mark.parametrize("scene", SCENES)
def test_a_fault_in_any_call_leaves_nothing_behind(make, scripted, scene):
    """Every call on the way of a message fails once, and all requests come to their one end.

    The conversation takes its next turn then, and the session its next request.
    """

    async def once(failing: int) -> bool:
        engine = scripted()
        client = make(engine=engine)
        failed = await play(client, scene, failing)
        accepted = {frame.request for frame in client.of(Accepted)}
        ends = [end.request for end in client.sent if isinstance(end, Done | Error) and end.request is not None]
        asked = {m.request for m in (*SCENES[scene][0], SCENES[scene][2]) if isinstance(m, Complete | Edit | Chat)}
        assert sorted(ends) == sorted(asked), "one terminal frame each"
        assert accepted <= asked
        assert client.metric("warmline_requests_running") == 0
        assert len(client.session._requests._free_streams) == 128
        for later in (Chat(8, "c", "again"), Complete(9, URI, 1, 0)):
            if not client.session._closed and Change not in map(type, (*SCENES[scene][0], SCENES[scene][2])):
                client.say(later)
                await client.drained()
                assert client.reasons()[later.request] == "stop"
        client.session.close()
        await engine.close()
        return failed

    with capture_logs():  # or thousands of tracebacks are made to look nice
        for failing in itertools.count(1):
            if not asyncio.run(once(failing)):
                break
    assert failing > 5, "there were calls to fail"


@pytest.mark.parametrize("message", [Complete(1, URI, 1, 9), Edit(1, URI, 1, 0, 9, "x"), Chat(1, "c", "hello")])
async def test_what_the_engine_refuses_to_take_ends_at_once(client, monkeypatch, message):
    """It knows of no such sequence, so it will have no last words about one."""

    def submit(*_: object) -> None:
        raise ValueError("it can't be encoded")

    monkeypatch.setattr(client.engine, "submit", submit)
    client.say(message)
    (end,) = client.ends_of(1)
    assert end.code == ErrorCode.INTERNAL_ERROR
    assert client.session.running == 0


async def test_a_hint_that_fails_is_answered_and_nothing_else_notices(client, monkeypatch):
    """Warming is not worth a connection."""
    monkeypatch.setattr("warmline.realtime.warming.Warmer.asked", lambda *_: 1 / 0)
    client.engine.paused = True
    client.say(complete(1, position=0))
    answers = client.say(Warm(URI, 1, 0), Ping(1))
    assert [(answers[0].request, answers[0].code)] == [(None, ErrorCode.INTERNAL_ERROR)]
    client.engine.paused = False
    await client.drained()
    assert client.reasons()[1] == "stop"
