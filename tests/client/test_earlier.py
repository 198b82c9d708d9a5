"""What a completion remembers of those before it, however many the server has not answered yet."""

from __future__ import annotations

import asyncio

import pytest
from warmline.client import connect
from warmline.client.earlier import Earlier
from warmline.client.errors import ServerMisbehaved
from warmline.client.mirror import DocumentMirror
from warmline.client.state import SessionState, TextState
from warmline.realtime import Accepted, Complete, Continued, Done, PlaceTracker

IN_FLIGHT = 64


class Counted(PlaceTracker):
    """A place that counts how often any is looked at."""

    looks = 0

    def at(self, cursor: int):
        Counted.looks += 1
        return super().at(cursor)


class Typist:
    """Types a character, asks for a completion behind it, and so on."""

    def __init__(self) -> None:
        self.state = SessionState(lambda message: 0, lambda: 0)
        self.mirror = DocumentMirror("a", "", "")
        self.asked: list[TextState] = []

    def key(self) -> TextState:
        end = len(self.mirror.text)
        if self.asked:
            self.mirror.change(end, end, "x", self.mirror.replaced(end, end, "x"))
            end += 1
        place = Counted(end)
        request = TextState(self.state.next_request(), 0, place)
        request.earlier = self.state.earlier(self.mirror, end)
        self.state.start(request, Complete(request.request, "a", self.mirror.version, end))
        self.mirror.trackers.add(place)
        self.asked.append(request)
        return request

    def accept(self, request: TextState, before: TextState | None = None) -> None:
        """The server takes a request, which goes on with another one that ended just before."""
        continued = None if before is None else Continued(before.request, 0, 0)
        if before is not None:
            self.state.receive(Done(before.request, "superseded"), 0)
        self.state.receive(Accepted(request.request, request.request % 128, continued), 0)


@pytest.fixture
def typist() -> Typist:
    return Typist()


def entries(earlier: Earlier | None) -> int:
    assert earlier is not None
    return max(len(earlier._places), len(earlier._typed))


def test_unanswered_completions_cost_each_one_entry(typist: Typist) -> None:
    """Each remembers those before it once, and looks once at each of their places."""
    for number in range(IN_FLIGHT):
        Counted.looks = 0
        assert entries(typist.key().earlier) == Counted.looks == number


def test_what_was_answered_is_not_remembered_for_the_next_ones(typist: Typist) -> None:
    """Though one is always on its way while somebody types."""
    for number in range(IN_FLIGHT):
        request = typist.key()
        assert entries(request.earlier) <= 3
        if number >= 2:
            typist.accept(typist.asked[number - 1], typist.asked[number - 2])


def test_the_first_answer_may_come_after_all_were_asked(typist: Typist) -> None:
    """Each then goes on with the one before, and has the place of the first."""
    for _ in range(IN_FLIGHT):
        typist.key()
    typist.accept(typist.asked[0])
    for before, request in zip(typist.asked, typist.asked[1:], strict=False):
        typist.accept(request, before)
    place, first = typist.asked[-1].place, typist.asked[0].place
    assert place is not None and first is not None
    assert (place.start, place.passed, place.origin) == (0, "x" * (IN_FLIGHT - 1), first.origin)
    assert all(request.earlier is None for request in typist.asked)


def test_the_last_may_go_on_with_the_first(typist: Typist) -> None:
    """Those in between end without ever having been accepted."""
    for _ in range(IN_FLIGHT):
        typist.key()
    first, *between, last = typist.asked
    typist.accept(first)
    for request in between:
        typist.state.receive(Done(request.request, "superseded"), 0)
    typist.accept(last, first)
    assert last.place is not None
    assert (last.place.start, last.place.passed) == (0, "x" * (IN_FLIGHT - 1))


def test_one_that_ended_is_remembered_for_who_may_still_go_on_with_it(typist: Typist) -> None:
    """The third is asked for when the first has ended and the second has not heard that it goes on with that."""
    first, second = typist.key(), typist.key()
    typist.accept(first)
    typist.state.receive(Done(first.request, "superseded"), 0)
    third = typist.key()
    typist.state.receive(Accepted(second.request, 2, Continued(first.request, 0, 1)), 0)
    typist.accept(third, second)
    assert third.place is not None
    assert (third.place.start, third.place.passed) == (0, "xx")


async def test_parallel_completions_remember_none(scripted) -> None:
    """They go on with no other, and say so on the wire. One that is not parallel may go on with them."""
    said = []
    all_said = asyncio.Event()

    async def script(peer) -> None:
        await peer.greet()
        said.extend([(await peer.next(Complete)).parallel for _ in range(IN_FLIGHT + 1)])
        all_said.set()
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("a", "")
        parallel = [session.complete(document, 0, parallel=True) for _ in range(IN_FLIGHT)]
        assert all(completion._state.earlier is None for completion in parallel)
        assert entries(session.complete(document, 0)._state.earlier) == IN_FLIGHT
        async with asyncio.timeout(5):
            await all_said.wait()
        assert said == [True] * IN_FLIGHT + [False]
        with pytest.raises(ServerMisbehaved):
            parallel[-1]._state.accepted(Continued(parallel[0]._state.request, 0, 0))
