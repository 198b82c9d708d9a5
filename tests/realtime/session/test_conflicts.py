"""A person goes on typing while an edit streams: it is shifted, merged, or ends with conflict."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from warmline.realtime.protocol import Applied, Cancel, Change, Close, Edit, Interrupt, Open, Ops, TextEdit
from warmline.realtime.telemetry.tracing import HOPS

URI = "file:///a"
HEAD = "# head\n"
RANGE = "a = 1\nb = 2\nc = 3\nd = 4\ne = 5\nf = 6\n"
TEXT = HEAD + RANGE + "# tail\n"


def edit(request: int, version: int = 1) -> Edit:
    return Edit(request, URI, version, len(HEAD), len(HEAD + RANGE), "x")


def change(start: int, end: int, text: str, base: int = 1, applied: Applied | None = None) -> Change:
    """Replace a part of the document; offsets count from the range's start."""
    return Change(URI, base, base + 1, [TextEdit(len(HEAD) + start, len(HEAD) + end, text)], applied)


@pytest.fixture
async def client(make, engine):
    """Four lines of its edit are said, of which the second changes, and two are still to come."""
    client = make()
    client.open(TEXT)
    engine.default = ["a = 1\n", "b = 5\n", "c = 3\n", "d = 4\n", *[""] * 20, "e = 5\n", "f = 6"]
    client.say(edit(1))
    await client.until(lambda: client.operations_of(1)[:4] == [6, 4, -1, "5"])
    yield client
    client.session.close()
    await engine.close()


def known(client: Any) -> int:
    """How many units the operations walk over so far."""
    return sum(abs(step) for step in client.operations_of(1) if isinstance(step, int))


@pytest.mark.parametrize(
    "person",
    [
        change(-7, -7, "import x\n"),
        change(-3, -1, ""),
        change(0, 0, "# above\n"),
        change(len(RANGE), len(RANGE), "# below\n"),
        change(len(RANGE) + 2, len(RANGE) + 4, "TAIL"),
        change(2, 3, "=="),  # in a line that is kept and known to be
    ],
    ids=["above", "deleted above", "at the start", "at the end", "below", "in a kept line"],
)
async def test_a_change_beside_what_is_to_come_does_not_end_it(client, person):
    """It goes on to its own end."""
    client.say(person)
    await client.drained()
    assert client.reasons() == {1: "stop"}
    assert client.metric('warmline_changes_total{source="person"}') == 1


@pytest.mark.parametrize(
    ("person", "stands"),
    [
        (change(len(RANGE) - 2, len(RANGE) - 1, "9"), None),  # what no operation has reached
        (change(10, 10, "x"), 2),  # where ours deletes and inserts
        (change(6, 12, ""), 2),
        (change(-7, len(RANGE) + 7, ""), 2),
    ],
    ids=["to come", "where ours are", "around ours", "everything"],
)
async def test_a_change_that_meets_ours_ends_it(client, person, stands):
    """At once: nothing more is sent, the sequence is freed, and the end says how many operations stand."""
    sent = client.operations_of(1)
    assert known(client) < len(RANGE) - 2
    client.say(person)
    assert len(client.engine.cancelled) == 1
    await client.drained()
    (done,) = client.ends_of(1)
    assert (done.reason, done.operations) == ("conflict", len(sent) if stands is None else stands)
    assert client.operations_of(1) == sent
    assert sum(getattr(done.timing, hop) for hop in HOPS) == done.timing.sent - done.timing.received


async def test_our_own_operations_are_never_taken_for_a_persons(client):
    """Applied as a change that says so, part by part, while more of them come."""
    client.say(change(10, 11, "5", 1, Applied(1, 4)))
    client.say(change(2, 3, "==", 2))  # merged: what is applied is ordinary text
    await client.drained()
    assert client.reasons() == {1: "stop"}
    assert client.metric('warmline_changes_total{source="applied"}') == 1
    assert client.metric('warmline_changes_total{source="person"}') == 1


async def test_operations_applied_while_their_edit_is_ending_are_ours(client):
    """After an interrupt, before the engine has said that it stopped."""
    client.say(Interrupt(1), change(10, 11, "5", 1, Applied(1, 4)))
    assert client.metric('warmline_changes_total{source="applied"}') == 1
    await client.drained()
    assert client.reasons() == {1: "interrupted"}


async def test_what_only_pretends_to_apply_operations_is_a_persons(client):
    """A change that has another effect than the operations it names."""
    client.say(change(10, 11, "7", 1, Applied(1, 4)))
    await client.drained()
    assert client.reasons() == {1: "conflict"}
    assert client.metric('warmline_changes_total{source="person"}') == 1


async def test_another_edits_operations_are_a_change_like_any(client):
    """Two edits of one document: what one applies shifts the other, or ends it."""
    client.say(change(0, 0, "# above\n", 1, Applied(9, 1)))
    client.say(change(8 + len(RANGE) - 2, 8 + len(RANGE) - 1, "0", 2, Applied(9, 2)))
    await client.drained()
    assert client.reasons() == {1: "conflict"}


async def test_a_document_that_is_replaced_ends_its_edits(client):
    """Of the operations those stand that were applied; opening the same text again changes nothing."""
    client.say(change(10, 11, "5", 1, Applied(1, 4)))
    text = TEXT.replace("2", "5")
    client.say(Open(URI, 3, "python", text))
    assert len(client.engine.cancelled) == 0
    client.say(Open(URI, 4, "python", "other"))
    await client.drained()
    (done,) = client.ends_of(1)
    assert (done.reason, done.operations) == ("conflict", 4)


async def test_an_edit_that_is_ending_has_no_conflict(client):
    """It was cancelled, so nothing is to come."""
    client.say(Cancel(1), change(len(RANGE) - 2, len(RANGE) - 1, "9"))
    await client.drained()
    assert client.reasons() == {1: "cancel"}


async def test_a_change_while_the_prompt_is_prepared_is_noticed(gated, gate):
    """Everything is still to come: within the range it is a conflict, beside it nothing."""
    gated.say(Edit(1, URI, 1, 0, 15_000, "x"), Edit(2, URI, 1, 100, 15_100, "x"))
    gated.say(Change(URI, 1, 2, [TextEdit(50, 51, "y")]))
    assert gated.reasons() == {1: "conflict"}
    assert gated.ends_of(1)[0].operations == 0
    gate.open()
    await gated.drained()
    assert gated.reasons()[2] == "stop"
    assert len(gated.engine.requests) <= 1


async def test_a_refused_change_is_no_change(client):
    """What is answered with a nack does nothing to an edit."""
    client.say(Change(URI, 7, 8, [TextEdit(0, len(TEXT), "")]))
    await client.drained()
    assert client.reasons() == {1: "stop"}


async def test_only_edits_of_that_document_conflict(client):
    """Others don't notice."""
    client.say(Open("file:///b", 1, "", RANGE), Edit(2, "file:///b", 1, 0, len(RANGE), "x"))
    client.say(change(0, len(RANGE), ""))
    await client.drained()
    assert client.reasons() == {1: "conflict", 2: "stop"}


async def test_a_conflict_in_the_last_words_ends_it_once(client):
    """The person's change comes with the edit's end still unsent."""
    await client.until(lambda: known(client) > 12)
    for _ in range(19):
        await asyncio.sleep(0)
    client.say(change(len(RANGE) - 2, len(RANGE) - 1, "9"), Close(URI))
    await client.drained()
    assert len(client.ends_of(1)) == 1
    assert all(frame.operations for frame in client.of(Ops))


async def test_an_operation_that_meets_a_persons_text_is_not_sent(make, engine):
    """It would delete the line before which the person typed."""
    client = make()
    client.open(TEXT)
    engine.default = ["a = 1\n", *[""] * 20, "zzz\n", "c = 3\n", "d = 4\n", "e = 5\n", "f = 6"]
    client.say(edit(1))
    await client.until(lambda: client.operations_of(1) == [6])
    client.say(change(6, 6, "# mine\n"))
    await client.drained()
    (done,) = client.ends_of(1)
    assert (done.reason, done.operations, client.operations_of(1)) == ("conflict", 1, [6])
    client.session.close()
    await engine.close()
