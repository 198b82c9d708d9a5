"""A new completion of a document replaces the one that runs, or goes on with it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from warmline.engine import Finished
from warmline.realtime.protocol import (
    Accepted,
    Cancel,
    Change,
    Close,
    Complete,
    Continued,
    Delta,
    Done,
    Edit,
    Open,
    Receipt,
    Sampling,
    TextEdit,
)
from warmline.realtime.telemetry.tracing import HOPS

URI = "file:///a"
START = "x = "


def complete(request: int, **fields: Any) -> Complete:
    return Complete(request, URI, fields.pop("version", 1), fields.pop("position", 4), **fields)


def typed(base: int, position: int, text: str) -> Change:
    return Change(URI, base, base + 1, [TextEdit(position, position, text)])


@pytest.fixture
async def client(make, engine):
    client = make(allow_replay=True)
    client.open(START)
    yield client
    client.session.close()
    await engine.close()


async def test_a_stream_goes_on_when_the_person_typed_it(client):
    """The old request is done just before the new one is accepted, and no second sequence is started."""
    client.engine.scripts.append(["sum", "(values)", " / ", "n"])
    client.say(complete(1, sampling=Sampling(seed=7)))
    await client.until(lambda: client.text_of(1) == "sum(values)")
    done, accepted, delta = client.say(
        typed(1, 4, "sum("), complete(2, version=2, position=8, sampling=Sampling(seed=7))
    )
    assert (done.request, done.reason, done.receipt) == (1, "superseded", Receipt(seed=7))
    assert accepted == Accepted(2, accepted.stream, Continued(1, 1, 2))
    assert delta == Delta(accepted.stream, "values)")
    await client.drained()
    assert client.text_of(1) + client.text_of(2) == "sum(values)values) / n"
    assert client.reasons() == {1: "superseded", 2: "stop"}
    measured = client.metrics.render().decode()
    assert 'warmline_requests_total{kind="complete",outcome="stop"} 1.0' in measured
    assert (
        'gen_ai_server_time_per_output_token_seconds_count{gen_ai_operation_name="text_completion",kind="complete"}'
        not in measured
    )
    assert len(client.engine.requests) == 1
    assert client.engine.cancelled == []
    assert client.metric("warmline_completions_continued_total") == 1


async def test_what_the_sequence_cost_goes_to_the_one_that_goes_on(client):
    """Whole, so that nothing is counted twice; the hops of both sum to their time."""
    client.engine.scripts.append(["ab", "cd"])
    client.say(complete(1))
    await client.until(lambda: client.text_of(1) == "ab")
    client.say(typed(1, 4, "a"), complete(2, version=2, position=5))
    await client.drained()
    first, second = client.of(Done)
    assert (first.receipt.prompt_tokens, second.receipt.prompt_tokens, second.receipt.output_tokens) == (0, 7, 2)
    assert first.receipt.seed == second.receipt.seed == client.engine.requests[0].sampling.seed
    for timing in (first.timing, second.timing):
        assert sum(getattr(timing, hop) for hop in HOPS) == timing.sent - timing.received
    assert second.timing.first_sent >= second.timing.received
    assert client.metric('warmline_tokens_total{kind="prompt"}'.replace("prompt", "output")) == 2


async def test_it_goes_on_key_after_key(client):
    """Each request shows the rest; in the document's line ends, counted in UTF-16 units."""
    client.say(Open(URI, 2, "", "a\r\nx = "))
    client.engine.scripts.append(["f", "🎈", "(\n", ")"])
    client.say(complete(1, version=2, position=7))
    await client.until(lambda: client.text_of(1) == "f🎈(\r\n")
    client.say(typed(2, 7, "f"), complete(2, version=3, position=8))
    client.say(typed(3, 8, "🎈"), complete(3, version=4, position=10))
    await client.drained()
    assert client.text_of(2) == "🎈(\r\n"
    assert client.text_of(3) == "(\r\n)"
    assert client.reasons() == {1: "superseded", 2: "superseded", 3: "stop"}
    assert [accepted.continued for accepted in client.of(Accepted)] == [None, Continued(1, 2, 3), Continued(2, 3, 4)]


@pytest.mark.parametrize(
    ("change", "new"),
    [
        (typed(1, 4, "q"), complete(2, version=2, position=5)),
        (Change(URI, 1, 2, [TextEdit(3, 4, "s")]), complete(2, version=2, position=4)),
        (typed(1, 4, "s"), complete(2, version=2, position=4)),
        (typed(1, 4, "s"), complete(2, version=2, position=5, sampling=Sampling(temperature=1.0))),
        (Open(URI, 2, "", "x = s"), complete(2, version=2, position=5)),
    ],
    ids=["other text", "over what stands before", "cursor elsewhere", "other sampling", "opened again"],
)
async def test_otherwise_it_starts_afresh(client, change, new):
    """The old sequence is cancelled, and says nothing more."""
    client.engine.scripts.append(["sum"] + ["!"] * 50)
    client.say(complete(1))
    await client.until(lambda: client.text_of(1) == "sum")
    client.say(change, new)
    await client.drained()
    assert client.text_of(1) == "sum"
    assert client.reasons() == {1: "superseded", 2: "stop"}
    assert client.text_of(2) == "hello world"
    assert client.of(Accepted)[1].continued is None
    warmed = {sequence.id for sequence in client.engine.warmed}  # which may be cancelled, too
    assert set(client.engine.cancelled) - warmed == {client.engine.requests[0].id}


async def test_a_replay_goes_on(client):
    """If the new request is to get what is left of the old one's."""
    client.engine.scripts.append(["sum", "(x)"])
    client.say(complete(1, replay="sum(x)"))
    await client.until(lambda: client.text_of(1) == "sum")
    client.say(typed(1, 4, "s"), complete(2, version=2, position=5, replay="um(x)"))
    await client.drained()
    assert client.text_of(2) == "um(x)"


async def test_a_parallel_one_leaves_the_others_alone(client):
    """The next that isn't parallel ends them all, but nothing else."""
    client.engine.default = ["x"] * 30
    client.say(Open("file:///b", 1, "", ""), Complete(9, "file:///b", 1, 0), Edit(8, URI, 1, 0, 4, "x"))
    client.say(complete(1), complete(2, parallel=True), complete(3, parallel=True))
    await asyncio.sleep(0)
    client.say(complete(4, position=0))
    await client.drained()
    assert client.reasons() == {
        1: "superseded", 2: "superseded", 3: "superseded", 4: "stop", 8: "stop", 9: "stop",
    }  # fmt: skip


async def test_a_request_that_is_refused_supersedes_nothing(client):
    """Whatever is wrong with it."""
    client.say(complete(1))
    client.say(complete(2, version=9), complete(3, position=99), complete(1))
    await client.drained()
    assert client.text_of(1) == "hello world"
    assert client.reasons()[1] == "stop"


async def test_one_that_waits_for_its_prompt_is_superseded_at_once(gated, gate):
    """It is accepted and done, never reaches the engine, and nothing of it is left."""
    for request in range(20):
        gated.say(complete(request, position=20_000))
    assert [accepted.request for accepted in gated.of(Accepted)] == list(range(19))
    assert gated.reasons() == dict.fromkeys(range(19), "superseded")
    assert len(gated.session._requests._plans._waiting) <= 2
    gate.open()
    await gated.drained()
    assert gated.reasons()[19] == "stop"
    assert len(gated.engine.requests) == 1
    assert gated.metric("warmline_requests_running") == 0


async def test_one_that_was_cancelled_is_not_gone_on_with(client):
    """It is over, though the engine has not said so."""
    client.engine.scripts.append(["sum"] + ["!"] * 50)
    client.say(complete(1))
    await client.until(lambda: client.text_of(1) == "sum")
    client.say(Cancel(1), typed(1, 4, "s"), complete(2, version=2, position=5))
    await client.drained()
    assert client.reasons() == {1: "cancel", 2: "stop"}
    assert client.text_of(2) == "hello world"


async def test_it_goes_on_over_what_the_editor_closed(client):
    """It says how much of the text behind the position it takes the place of."""
    client.engine.scripts.append(["sum(", "values)", " / n"])
    client.say(complete(1))
    await client.until(lambda: client.text_of(1) == "sum(values)")
    client.say(typed(1, 4, "sum()"))
    _, accepted, delta = client.say(complete(2, version=2, position=8))
    assert accepted.continued == Continued(1, 1, 2, 1)
    assert delta.text == "values)"
    client.say(typed(2, 8, "values"))
    _, accepted, delta = client.say(complete(3, version=3, position=14))
    assert (accepted.continued, delta.text) == (Continued(2, 2, 3, 1), ")")
    _, accepted, delta = client.say(complete(4, version=3, position=14))
    assert (accepted.continued, delta.text) == (Continued(3, 3, 3, 1), ")")
    await client.drained()
    assert client.text_of(4) == ") / n"
    assert len(client.engine.requests) == 1


async def test_what_it_says_to_close_is_waited_for(client):
    """The request is accepted with the whole of it, and never shows what would leave a bracket too many."""
    client.engine.scripts.append(["sum(", "a", ", b", ")", "\n"])
    client.say(complete(1))
    await client.until(lambda: client.text_of(1) == "sum(")
    client.say(typed(1, 4, "sum()"))
    assert client.say(complete(2, version=2, position=8)) == []
    client.say(typed(2, 0, "import x\n"))  # it still answers for the version that it named
    await client.drained()
    assert client.of(Accepted)[1].continued == Continued(1, 1, 2, 1)
    assert next(frame.text for frame in client.frames_of(2) if isinstance(frame, Delta)) == "a, b)"
    assert client.text_of(2) == "a, b)\n"
    assert len(client.engine.requests) == 1


async def test_a_line_that_does_not_close_it_is_not_waited_for(client):
    """The new request gets its own text, and nothing else runs."""
    client.engine.scripts.append(["sum(", "\n", "a"] + ["!"] * 50)
    client.engine.scripts.append(["1"])
    client.say(complete(1))
    await client.until(lambda: client.text_of(1) == "sum(")
    client.say(typed(1, 4, "sum()"), complete(2, version=2, position=8))
    await client.drained()
    assert client.text_of(2) == "1"
    assert client.of(Accepted)[1].continued is None
    assert client.engine.cancelled == [client.engine.requests[0].id]


@pytest.mark.parametrize("change", [typed(1, 0, "import math\n"), typed(1, 4, "s"), Change(URI, 1, 2, [])])
async def test_a_change_elsewhere_leaves_it(client, change):
    """Also above, where it moves the place."""
    client.engine.scripts.append(["sum", "(x)"])
    client.say(complete(1))
    await client.until(lambda: client.text_of(1) == "sum")
    client.say(change)
    position = 4 + sum(len(edit.text) for edit in change.edits)
    accepted = client.say(complete(2, version=2, position=position))[1]
    assert accepted.continued == Continued(1, 1, 2)
    await client.drained()
    assert client.text_of(2) == ("um(x)" if change == typed(1, 4, "s") else "sum(x)")


SUGGESTED = "return sum(values) / len(values) if values else 0.0"


@pytest.mark.parametrize("turns", [0, 1, 3])
async def test_a_burst_of_keys_shows_suggestions_and_leaves_two_sequences_at_most(client, turns):
    """Forty keys, each a change and a request: whatever is typed, with an engine slow or fast against the keys."""
    alive: list[int] = []
    version, text, seen = 1, "", 0
    for key in range(40):
        # The person types what is suggested, but for a detour in the middle.
        character = SUGGESTED[len(text)] if not 15 <= key < 20 else "#"
        text += character
        client.engine.scripts.append(list(SUGGESTED[len(text) :] if "#" not in text else "no idea"))
        client.say(typed(version, 3 + key + 1, character))
        version += 1
        client.say(complete(key, version=version, position=4 + key + 1))
        for _ in range(turns):
            await asyncio.sleep(0)
        alive.append(len([request for request in client.engine.requests if client.engine.generates(request.id)]))
        seen += bool(client.text_of(key))
    await client.drained()
    assert max(alive) <= 2
    assert len(client.of(Accepted)) == len(client.of(Done)) == 40
    assert sorted(end.request for end in client.of(Done)) == list(range(40))
    if turns == 3:
        assert seen == 40
        assert len(client.engine.requests) == 25  # one for the first fifteen keys; one that was to come goes on


@pytest.mark.parametrize("closes", [False, True], ids=["plain editor", "editor that closes brackets"])
async def test_every_key_of_a_burst_that_follows_the_suggestion_sees_its_rest_at_once(client, closes):
    """Forty keys, one sequence for all of them: each is answered before anything else happens, with `continued`.

    Where the editor closes a bracket, the suggestion has closed it already.
    """
    begins, rest = SUGGESTED[:32], SUGGESTED[32:]
    client.engine.scripts.append([begins, *rest])
    client.say(complete(0))
    await client.until(lambda: client.text_of(0) == begins)
    version, tail = 1, ""
    for key in range(40):
        await client.until(lambda key=key: len(client.text_of(key)) > 1)
        character, version = SUGGESTED[key], version + 1
        if tail.startswith(character):
            tail = tail[1:]  # the cursor moves over it
            edits = []
        else:
            opened = ")" if closes and character == "(" else ""
            tail, edits = opened + tail, [TextEdit(4 + key, 4 + key, character + opened)]
        before = client.text_of(key)
        client.say(Change(URI, version - 1, version, edits))
        done, accepted, delta = client.say(complete(key + 1, version=version, position=4 + key + 1))
        assert (done.request, done.reason) == (key, "superseded")
        assert accepted.continued == Continued(key, version - 1, version, len(tail))
        assert delta.text == before[1:]
    await client.drained()
    assert client.text_of(40) == SUGGESTED[40:]
    assert len(client.engine.requests) == 1
    assert client.engine.cancelled == []


LINES = "value = compute(first, second)\n" * 40


async def test_a_prompt_that_is_being_computed_is_finished_for_the_newest(client):
    """Keys that come faster than the engine computes: it gets the first request and the newest, one at a time."""
    client.say(Open(URI, 2, "", LINES))
    client.engine.paused = True
    client.say(complete(1, version=2, position=len(LINES)))
    for key in range(10):
        client.say(typed(2 + key, len(LINES) + key, "x"))
        client.say(complete(2 + key, version=3 + key, position=len(LINES) + key + 1))
        await asyncio.sleep(0)
        assert len(client.engine.requests) == 1
        assert client.engine.cancelled == []
    client.engine.scripts.append(["new"])
    client.engine.paused = False
    await client.drained()
    assert client.text_of(11) == "new"
    assert [client.text_of(request) for request in range(1, 11)] == [""] * 10
    assert client.reasons() == {**dict.fromkeys(range(1, 11), "superseded"), 11: "stop"}
    assert len(client.engine.requests) == 2
    assert client.engine.cancelled == [client.engine.requests[0].id]


async def test_the_newest_goes_on_with_text_that_comes_while_it_waits(client):
    """Once more was generated than the person has typed meanwhile: nobody has to stop typing to see something."""
    client.say(Open(URI, 2, "", LINES))
    client.engine.paused = True
    client.engine.scripts.append(["re", "turn", " x"])
    client.say(complete(1, version=2, position=len(LINES)))
    for count, key in enumerate("ret", 1):
        client.say(typed(1 + count, len(LINES) + count - 1, key))
        client.say(complete(1 + count, version=2 + count, position=len(LINES) + count))
    client.engine.paused = False
    await client.drained()
    assert client.text_of(4) == "urn x"
    assert client.of(Accepted)[-1].continued == Continued(1, 2, 5)
    assert client.reasons() == {1: "superseded", 2: "superseded", 3: "superseded", 4: "stop"}
    assert len(client.engine.requests) == 1
    assert client.engine.cancelled == []


@pytest.mark.parametrize(
    "pieces",
    [
        ["if x:", "\n  y", "\nz"],
        ["if x:", "\r\n  y", "\r\nz"],
        ["if x:\r", "\n  y\r", "\nz"],
        ["if x:\r\n  y\r", "\nz"],
    ],
    ids=["LF", "CR LF", "cut within them", "cut after the takeover"],
)
async def test_text_that_comes_while_it_waits_is_in_the_documents_line_ends(client, pieces):
    """What the person typed there is compared with it, line ends and all; none is doubled where the text is cut."""
    text = LINES.replace("\n", "\r\n")
    client.say(Open(URI, 2, "", text))
    client.engine.paused = True
    client.engine.scripts.append(pieces)
    client.say(complete(1, version=2, position=len(text)), typed(2, len(text), "if x:\r\n "))
    assert client.say(complete(2, version=3, position=len(text) + 8)) == []
    client.engine.paused = False
    await client.drained()
    assert client.text_of(2) == " y\r\nz"
    assert client.of(Accepted)[-1].continued == Continued(1, 2, 3)
    assert len(client.engine.requests) == 1


async def test_a_plan_that_is_made_meanwhile_starts_nothing_after_the_takeover(gated, gate):
    """The text that it was for is shown already: a sequence for it would say it a second time."""
    gated.engine.paused = True
    gated.engine.scripts.append([" = 3"])
    gated.say(complete(1, position=20_000))
    gate.open()
    await gated.until(lambda: len(gated.engine.requests) == 1)
    gate.close()
    pasted = "value = 2\n" * 600  # so that there is much to tokenise
    gated.say(typed(1, 15_000, pasted), typed(2, 26_000, "v"), complete(2, version=3, position=26_001))
    await gated.until(lambda: gate.holds)
    gated.engine.emit(gated.engine.requests[0].id, "value")
    assert gated.text_of(2) == "alue"
    assert gated.of(Accepted)[-1].continued == Continued(1, 1, 3)
    gate.open()
    await gated.until(lambda: gated.session._requests._plans._worker is None)
    assert len(gated.engine.requests) == 1
    gated.engine.paused = False
    await gated.drained()
    assert gated.text_of(2) == "alue = 3"


async def test_what_was_planned_for_the_one_before_is_not_started_for_the_newest(gated, gate):
    """Its own plan is still being made when the text that both waited for proves to be of no use."""
    gated.engine.paused = True
    gate.open()
    gated.say(complete(1, position=20_000))
    await gated.until(lambda: len(gated.engine.requests) == 1)
    gated.say(typed(1, 20_000, "v"), complete(2, version=2, position=20_001))
    await gated.until(lambda: gated.session._requests._plans._worker is None)
    gate.close()
    pasted = "value = 2\n" * 600
    gated.say(typed(2, 15_000, pasted), typed(3, 26_001, "x"), complete(3, version=4, position=26_002))
    await gated.until(lambda: gate.holds)
    gated.engine.emit(gated.engine.requests[0].id, "none")
    assert len(gated.engine.requests) == 1
    gate.open()
    await gated.until(lambda: len(gated.engine.requests) == 2)
    gated.engine.paused = False
    await gated.drained()
    assert gated.reasons() == {1: "superseded", 2: "superseded", 3: "stop"}
    assert gated.text_of(3) == "hello world"


@pytest.mark.parametrize("reason", ["stop", "length"])
async def test_the_newest_goes_on_with_text_that_comes_with_its_end(client, reason):
    """A short suggestion may come whole in one step; nobody has to compute it again."""
    client.say(Open(URI, 2, "", LINES))
    client.engine.paused = True
    client.say(complete(1, version=2, position=len(LINES)), typed(2, len(LINES), "r"))
    client.say(complete(2, version=3, position=len(LINES) + 1))
    client.engine.finish(client.engine.requests[0].id, Finished(reason, output_tokens=3), "return x")
    assert client.text_of(2) == "eturn x"
    assert client.of(Accepted)[-1].continued == Continued(1, 2, 3)
    assert client.reasons() == {1: "superseded", 2: reason}
    assert client.ends_of(2)[0].receipt.output_tokens == 3
    assert len(client.engine.requests) == 1
    assert client.engine.cancelled == []


async def test_an_end_that_says_something_else_has_the_newest_start_afresh(client):
    """As does one that is an error."""
    client.say(Open(URI, 2, "", LINES))
    client.engine.paused = True
    client.say(complete(1, version=2, position=len(LINES)), typed(2, len(LINES), "r"))
    client.say(complete(2, version=3, position=len(LINES) + 1))
    client.engine.finish(client.engine.requests[0].id, Finished("stop"), "pass")
    client.engine.paused = False
    await client.drained()
    assert client.reasons() == {1: "superseded", 2: "stop"}
    assert client.text_of(2) == "hello world"
    assert len(client.engine.requests) == 2


async def test_a_prompt_is_not_finished_for_another_place(client):
    """What the new request has no use for is freed at once."""
    client.say(Open(URI, 2, "", LINES))
    client.engine.paused = True
    client.say(complete(1, version=2, position=len(LINES)), complete(2, version=2, position=100))
    assert client.engine.cancelled == [client.engine.requests[0].id]
    assert len(client.engine.requests) == 2
    client.engine.paused = False
    await client.drained()


@pytest.mark.parametrize("ending", [Cancel(2), Close(URI), "drain", "close", "fail"])
async def test_nothing_is_left_of_a_prompt_that_nobody_waits_for(client, ending):
    """Whatever ends the request that waits for it."""
    client.say(Open(URI, 2, "", LINES))
    client.engine.paused = True
    client.say(complete(1, version=2, position=len(LINES)), typed(2, len(LINES), "x"))
    assert client.say(complete(2, version=3, position=len(LINES) + 1)) == []
    match ending:
        case "drain":
            client.session.drain(0)
            client.session.stop_requests()
        case "close":
            client.session.close()
        case "fail":
            client.engine.fail("it died")
        case _:
            client.say(ending)
    if ending != "fail":
        assert not any(client.engine.generates(sequence.id) for sequence in client.engine.requests)
    client.engine.paused = False
    await client.drained()
    assert client.reasons()[1] == "superseded"
    assert len(client.ends_of(2)) == 1
    assert client.metric("warmline_requests_running") == 0


async def test_a_prompt_that_begins_otherwise_is_not_waited_for(client):
    """Though the text to come may be what is typed: what was computed is of no use to the new prompt."""
    client.engine.paused = True
    client.say(complete(1))
    await client.until(lambda: len(client.engine.requests) == 1)
    client.say(typed(1, 4, "s"), complete(2, version=2, position=5))
    assert client.engine.cancelled == [client.engine.requests[0].id]
    assert len(client.engine.requests) == 2
    client.engine.paused = False
    await client.drained()
    assert client.reasons() == {1: "superseded", 2: "stop"}


async def test_text_still_on_its_way_is_nobodys_once_the_one_that_waited_is_cancelled(client):
    """Though it goes beyond what was typed, it does not bring the request back."""
    client.say(Open(URI, 2, "", LINES))
    client.engine.paused = True
    client.say(complete(1, version=2, position=len(LINES)), typed(2, len(LINES), "x"))
    client.say(complete(2, version=3, position=len(LINES) + 1), Cancel(2))
    client.engine.emit(client.engine.requests[0].id, "x = 1")
    client.engine.paused = False
    await client.drained()
    assert client.reasons() == {1: "superseded", 2: "cancel"}
    assert client.of(Delta) == []
    assert client.metric("warmline_completions_continued_total") == 0


async def test_one_that_goes_on_with_another_ends_the_rest(client):
    """Those that were asked for beside it, too."""
    client.engine.scripts += [["sum", *["!"] * 50], ["other", *["?"] * 50]]
    client.say(complete(1), complete(2, parallel=True))
    await client.until(lambda: client.text_of(1) == "sum" and client.text_of(2) == "other")
    client.say(typed(1, 4, "s"), complete(3, version=2, position=5))
    await client.drained()
    assert client.reasons() == {1: "superseded", 2: "superseded", 3: "stop"}
    assert client.text_of(3) == "um" + "!" * 50
    assert client.engine.cancelled == [client.engine.requests[1].id]
