"""What has to be said again: nothing that was handled, and all that was not."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from warmline.client.outgoing import Outgoing
from warmline.realtime.protocol import Cancel, Complete, Ping


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(["request", "other", "ping", "handle", "handle", "hear", "hear", "break"]), max_size=60),
)
def test_the_server_handles_every_message_once_and_in_order(steps: list[str]) -> None:
    """A model of both ends: frames are handled and answered in order, and a break loses those under way."""
    outgoing = Outgoing()
    up: list[Any] = []  # under way to the server
    down: list[Any] = []  # what it answered: a request's number, or a pong
    said: list[Any] = []
    handled: list[Any] = []
    pongs = 0
    for number, step in enumerate([*steps, "break"]):
        match step:
            case "request" | "other" | "ping":
                message = {"request": Complete(number, "a", 1, 0), "other": Cancel(number), "ping": Ping(number)}[
                    step
                ]
                if step != "ping":
                    said.append(message)
                outgoing.add(message, 10, sent=True)
                up.append(message)
            case "handle" if up:
                message = up.pop(0)
                if isinstance(message, Ping):
                    down.append("pong")
                    continue
                handled.append(message)
                if isinstance(message, Complete):
                    down.append(message.request)
            case "hear" if down:
                answer = down.pop(0)
                if answer == "pong":
                    outgoing.ponged()
                    pongs += 1
                else:
                    outgoing.answered(answer)
            case "break":
                up = [entry.message for entry in outgoing.after(len(handled))]
                down = []
                outgoing.restart(len(handled), [(message, 10, True) for message in up])
        assert outgoing.size == 10 * len(outgoing)
    assert handled + [message for message in up if not isinstance(message, Ping)] == said
    asked = sum(step == "ping" for step in steps)
    assert pongs + sum(isinstance(message, Ping) for message in up) == asked


def test_little_is_kept_of_a_server_that_answers() -> None:
    """What a request's frames, or a pong, show to be handled is forgotten."""
    outgoing = Outgoing()
    for number in range(100):
        outgoing.add(Cancel(number), 10, sent=True)
        outgoing.add(Complete(number, "a", 1, 0), 10, sent=True)
        outgoing.answered(number)
    assert (len(outgoing), outgoing.size) == (0, 0)
    assert outgoing.unasked == (200, 2000)
    outgoing.add(Cancel(1), 10, sent=True)
    outgoing.add(Ping(1), 5, sent=True)
    outgoing.add(Cancel(2), 10, sent=True)
    outgoing.ponged()
    assert [entry.number for entry in outgoing.entries] == [202]
    assert outgoing.unasked == (1, 10)
