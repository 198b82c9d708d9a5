"""Which message belongs to whom, and what is sent in answer, without a socket."""

from __future__ import annotations

import asyncio
import logging

import pytest
from warmline.client.errors import OutOfSync, RequestError, ServerMisbehaved, SessionClosed
from warmline.client.mirror import DocumentMirror
from warmline.client.operations import Keep, RangeWalk
from warmline.client.state import EditState, SessionState, Signal, TextState
from warmline.realtime import RangeTracker
from warmline.realtime.protocol import (
    Accepted,
    Cancel,
    ClientMessage,
    Complete,
    Continued,
    Delta,
    Done,
    Edit,
    Error,
    Nack,
    Open,
    Ops,
    Ping,
    Pong,
    ScoredDelta,
    ServerMessage,
    Steered,
    Timing,
    TokenLogprob,
    Welcome,
)


def type_over(mirror: DocumentMirror, text: str) -> None:
    """Replace the first character."""
    mirror.change(0, 1, text, mirror.replaced(0, 1, text))


class Recorded:
    """A session state whose clock stands at ``time`` and whose messages are kept in ``sent``."""

    def __init__(self) -> None:
        self.sent: list[ClientMessage] = []
        self.time = 1_000
        self.state = SessionState(self._send, lambda: self.time)

    def _send(self, message: ClientMessage) -> int:
        self.sent.append(message)
        return self.time

    def opened(self, text: str = "text") -> DocumentMirror:
        """A document that the server took."""
        mirror = DocumentMirror("a", text, "")
        self.state.documents["a"] = mirror
        self.state.hand_over(mirror)
        self.pong()
        self.sent.clear()
        return mirror

    def pong(self) -> None:
        """Answer the last ping."""
        ping = next(message for message in reversed(self.sent) if isinstance(message, Ping))
        self.receive(Pong(ping.sent, 5, 5))

    def receive(self, *messages: ServerMessage) -> None:
        for message in messages:
            self.state.receive(message, self.time)

    def completion(self) -> TextState:
        """A running completion."""
        request = TextState(self.state.next_request(), self.time)
        self.state.start(request, Complete(request.request, "a", 0, 0))
        return request

    def edit(self, original: str) -> EditState:
        """A running edit."""
        number = self.state.next_request()
        request = EditState(number, self.time, RangeWalk(original, 0), RangeTracker(number, 0, original))
        self.state.start(request, Edit(request.request, "a", 0, 0, len(original), "do"))
        return request


@pytest.fixture
def session() -> Recorded:
    return Recorded()


def test_frames_find_their_request_by_stream(session: Recorded) -> None:
    """Two requests at once: each gets its own text or operations."""
    completion, edit = session.completion(), session.edit("abc")
    session.receive(Accepted(edit.request, 0), Accepted(completion.request, 1))
    session.receive(Delta(1, "x"), Ops(0, [3]), Delta(1, "y"))
    assert completion.pieces == ["x", "y"]
    assert edit.walk.operations == [Keep(0, "abc")]


def test_log_probabilities_are_kept_beside_the_text(session: Recorded) -> None:
    """In the order of the tokens, also those of a frame without text; an abandoned request keeps neither."""
    completion = session.completion()
    scores = [TokenLogprob(number, "x", -float(number)) for number in range(3)]
    session.receive(Accepted(completion.request, 1), ScoredDelta(1, "xx", scores[:2]), ScoredDelta(1, "", scores[2:]))
    assert ("".join(completion.pieces), completion.logprobs) == ("xx", scores)
    completion.abandoned = True
    session.receive(ScoredDelta(1, "x", scores[:1]))
    assert completion.logprobs == scores


def test_a_stream_is_free_again_after_the_terminal_frame(session: Recorded) -> None:
    """The next request may get the same stream number."""
    first = session.completion()
    session.receive(Accepted(first.request, 1), Done(first.request, "stop"))
    second = session.completion()
    session.receive(Accepted(second.request, 1), Delta(1, "second"))
    assert (first.pieces, second.pieces) == ([], ["second"])
    assert session.state.running == 1


def test_a_done_frame_gives_hops_that_sum_to_the_time_it_took(session: Recorded) -> None:
    """From the call to the result, every microsecond is in a hop."""
    request = session.completion()
    session.time += 900
    session.receive(Done(request.request, "stop", timing=Timing(received=50, sent=450, engine_step=400)))
    assert request.ended.is_set() and request.timing is not None
    assert (request.timing.end_to_end, request.timing.engine_step) == (900, 400)


def test_the_hops_of_continued_and_steered_requests_sum_to_the_time_they_took(session: Recorded) -> None:
    """From their own call to their own end, whatever they go on with."""
    first = session.completion()
    session.receive(Accepted(first.request, 0), Delta(0, "return"))
    session.time += 5_000
    second, edit = session.completion(), session.edit("abc")
    session.time += 300
    session.receive(
        Done(first.request, "superseded", timing=Timing(received=50, sent=5_200, engine_step=5_150)),
        Accepted(second.request, 0, Continued(first.request, 0, 1)),
        Delta(0, "urn"),
        Accepted(edit.request, 1),
        Ops(1, [1]),
        Steered(edit.request, 1),
    )
    session.time += 600
    session.receive(Done(second.request, "stop", timing=Timing(received=5_060, sent=5_860, engine_step=800)))
    session.receive(Done(edit.request, "stop", timing=Timing(received=5_060, sent=5_960, session_prompt=900)))
    assert first.timing is not None and first.timing.end_to_end == 5_300
    assert second.timing is not None and (second.timing.end_to_end, second.timing.engine_step) == (900, 800)
    assert edit.timing is not None and (edit.timing.end_to_end, edit.timing.session_prompt) == (900, 900)


def test_time_until_the_request_is_written_is_not_the_networks(session: Recorded) -> None:
    """What passes before it belongs to client.queue; what passes after it never makes the network negative."""
    called = session.time
    session.time += 70
    request = TextState(session.state.next_request(), called)
    session.state.start(request, Complete(request.request, "a", 0, 0))
    session.time += 400
    session.receive(Done(request.request, "stop", timing=Timing(received=50, sent=450, engine_step=400)))
    assert request.timing is not None
    assert (request.timing.client_queue, request.timing.net_up, request.timing.net_down) == (70, 0, 0)


def test_a_refused_request_ends_with_its_error(session: Recorded) -> None:
    """An error frame with the request's id ends it, with code, message and what may help."""
    request = session.completion()
    session.receive(Error(request.request, "too_many_requests", "8 are running", True, 250))
    assert isinstance(request.error, RequestError)
    assert (request.error.code, request.error.retryable, request.error.retry_after) == (
        "too_many_requests",
        True,
        0.25,
    )
    assert str(request.error) == "8 are running; try again in 1 s (too_many_requests)"
    assert request.ended.is_set() and session.state.running == 0


def test_cancel_is_sent_once_and_only_while_the_request_runs(session: Recorded) -> None:
    """Cancelling twice, or after the end, sends nothing more."""
    running, ended = session.completion(), session.completion()
    session.receive(Done(ended.request, "stop"))
    session.sent.clear()
    for request in (running, running, ended):
        session.state.cancel(request)
    assert session.sent == [Cancel(running.request)]


def test_text_of_an_abandoned_request_is_not_kept(session: Recorded) -> None:
    """What nobody can read takes no memory."""
    completion, edit = session.completion(), session.edit("abc")
    session.receive(Accepted(completion.request, 0), Accepted(edit.request, 1))
    completion.abandoned = edit.abandoned = True
    session.receive(Delta(0, "x" * 1000), Ops(1, ["y" * 1000]))
    assert completion.pieces == [] and edit.walk.operations == []


def test_a_nack_hands_the_whole_text_over_anew(session: Recorded) -> None:
    """The server says what it holds; the client answers with its own text and version."""
    mirror = session.opened("abc")
    type_over(mirror, "x")
    session.receive(Nack("a", 0, "hash_mismatch", "differs"))
    assert session.sent[0] == Open("a", 1, "", "xbc")


def test_nacks_of_changes_that_were_under_way_cause_no_second_hand_over(session: Recorded) -> None:
    """Changes sent before the first nack was read are refused too; one hand-over mends them all."""
    mirror = session.opened("abc")
    for _ in range(3):
        type_over(mirror, "x")
    for _ in range(3):
        session.receive(Nack("a", 0, "stale_version", "held is 0"))
    assert sum(isinstance(message, Open) for message in session.sent) == 1


def test_a_nack_after_the_hand_over_causes_another(session: Recorded) -> None:
    """If the server already held the text handed over, the nack is about a later change."""
    mirror = session.opened("abc")
    type_over(mirror, "x")
    session.receive(Nack("a", 0, "stale_version", ""))
    type_over(mirror, "y")
    session.receive(Nack("a", 1, "hash_mismatch", ""))
    assert [message.version for message in session.sent if isinstance(message, Open)] == [1, 2]


def test_a_hand_over_has_a_later_version_than_the_server_holds(session: Recorded) -> None:
    """The server takes another text only as a later version, so one that it refuses isn't sent again as it was."""
    mirror = session.opened("abc")
    type_over(mirror, "x")
    session.receive(Nack("a", 1, "stale_version", ""), Nack("a", 4, "stale_version", ""))
    type_over(mirror, "y")
    assert [message.version for message in session.sent if isinstance(message, Open)] == [2, 5]
    assert mirror.version == 6


def test_a_refused_hand_over_is_remembered(session: Recorded) -> None:
    """The server won't take the text: the document says why from then on."""
    mirror = session.opened()
    session.receive(Nack("a", None, "unknown_document", ""), Nack("a", None, "document_too_large", "5 > 4"))
    session.pong()
    assert isinstance(mirror.refused, RequestError) and mirror.refused.code == "document_too_large"


def test_an_error_without_a_request_belongs_to_the_document_just_handed_over(session: Recorded) -> None:
    """`open` has no answer of its own, so the error between it and its pong is about it."""
    probe = session.state.hand_over(DocumentMirror("a", "", ""))
    session.receive(Error(None, "too_many_documents", "64 are open"))
    session.pong()
    assert probe.ended.is_set()
    assert isinstance(probe.error, RequestError) and probe.error.code == "too_many_documents"


def test_an_error_that_belongs_to_nobody_is_logged(session: Recorded, caplog: pytest.LogCaptureFixture) -> None:
    """It is not lost."""
    with caplog.at_level(logging.WARNING, "warmline.client"):
        session.receive(Error(None, "internal_error", "a fault"))
    assert "a fault (internal_error)" in caplog.text


def test_a_nack_for_a_closed_document_is_ignored(session: Recorded) -> None:
    """The close and the nack crossed on the way."""
    session.receive(Nack("gone", None, "unknown_document", ""))
    assert session.sent == []


def test_codes_become_types(session: Recorded) -> None:
    """A caller can catch what it can handle."""
    request = session.completion()
    session.receive(Error(request.request, "stale_version", "held is 3"))
    assert isinstance(request.error, OutOfSync)


def test_pings_of_the_same_microsecond_stay_apart(session: Recorded) -> None:
    """Each pong finds its ping even if the clock did not move between them."""
    first, second = session.state.probe(), session.state.probe()
    session.receive(Pong(first.sent, 0, 0))
    assert first.ended.is_set() and not second.ended.is_set()


def test_the_end_of_the_connection_ends_everything(session: Recorded) -> None:
    """Running requests and waiting pings all get the error, and nothing is left."""
    requests, probe = [session.completion(), session.edit("a")], session.state.probe()
    error = SessionClosed()
    session.state.fail(error)
    assert all(waiting.error is error and waiting.ended.is_set() for waiting in (*requests, probe))
    assert session.state.running == 0


@pytest.mark.parametrize(
    "messages",
    [
        [Delta(5, "x")],
        [Ops(5, [1])],
        [Accepted(99, 0)],
        [Done(99, "stop")],
        [Pong(1, 2, 3)],
        [Welcome("", "", "", 1, 1, 1)],
        [Accepted(1, 0), Accepted(1, 0)],
        [Accepted(1, 0), Delta(0, "text for an edit")],
        [Accepted(1, 0), Ops(0, [4])],
        [Accepted(1, 0), Ops(0, [-1])],
        [Done(1, "stop"), Done(1, "stop")],
    ],
    ids=repr,
)
def test_a_message_out_of_place_is_an_error(session: Recorded, messages: list[ServerMessage]) -> None:
    """Unknown streams, requests and pings, second ends, operations that don't fit: never guessed at."""
    session.edit("😀a")
    with pytest.raises(ServerMisbehaved):
        session.receive(*messages)


async def test_a_signal_wakes_everybody_who_waits() -> None:
    """Each time anew; it remembers nothing for those who come later."""
    signal, loop = Signal(), asyncio.get_running_loop()
    signal.set()
    first, second = signal.wait(loop), signal.wait(loop)
    assert not first.done() and not second.done()
    signal.set()
    assert first.done() and second.done()
    assert not signal.wait(loop).done()


async def test_a_signal_forgets_who_gave_up() -> None:
    """A program that polls with a timeout leaves nothing behind, and the others are still woken."""
    signal, loop = Signal(), asyncio.get_running_loop()
    patient = signal.wait(loop)
    for _ in range(100):
        signal.wait(loop).cancel()
    assert len(signal._waiting) <= 2
    signal.set()
    assert patient.done() and not patient.cancelled()
