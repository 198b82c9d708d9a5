"""Warm requests: computed where nobody else is kept waiting by it, given up if somebody is, accounted for exactly."""

from __future__ import annotations

from dataclasses import replace

import pytest
from warmline.engine import GenerationRequest, SamplingParams, WarmRequest, pack_tokens
from warmline.engine.batch import BLOCK_SIZE
from warmline.engine.budget import StepBudget
from warmline.engine.core import Engine

CHUNK = 2 * BLOCK_SIZE
BUDGET = StepBudget(
    sequences=4, decode=32, prefill=64, prefill_beside_decode=16, warm=CHUNK, warm_beside_decode=2, warm_stretch=9,
    warm_requests=3,
)  # fmt: skip


def letters(count, start=0):
    """Tokens that differ from block to block; another start, other blocks."""
    return [2 + (start + i + i // BLOCK_SIZE) % 60 for i in range(count)]


def warm(id_, prompt, salt=""):
    """A prompt to be computed ahead."""
    return WarmRequest(id_, pack_tokens(list(prompt)), salt)


def request(id_, prompt, count=2, salt=""):
    """A request that emits so many tokens, one a pass."""
    replay = pack_tokens([10 + i % 50 for i in range(count)])
    sampling = SamplingParams(max_tokens=count)
    return GenerationRequest(id_, pack_tokens(list(prompt)), sampling, salt, speculation=False, replay=replay)


@pytest.fixture
def engine(fake):
    """An engine over the fake model, with 40 blocks."""
    return Engine(fake.FakeBackend(num_blocks=40, layers=4), fake.FakeTokenizer(), BUDGET)


def drain(engine):
    """Step until nothing is left to do; how each sequence finished, by id."""
    finished = {}
    while engine.has_work:
        for event in engine.step():
            if event.finished:
                assert event.id not in finished
                finished[event.id] = event.finished
        engine.check_integrity()
    return finished


def receipt(finished):
    """The prompt's tokens: warmed, cached, computed."""
    parts = (finished.warmed_tokens, finished.cached_tokens, finished.computed_tokens)
    assert sum(parts) == finished.prompt_tokens
    return parts


def test_a_warmed_prompt_is_there_for_its_request(engine):
    """All full blocks are computed in chunks, nothing is emitted; the request computes the rest, and is told."""
    prompt = letters(100)
    engine.warm(warm(1, prompt))
    assert engine.stats().warming == 1
    (event,) = [event for _ in range(3) for event in engine.step()]
    assert (event.id, event.text, event.tokens, event.finished.reason) == (1, "", b"", "stop")
    assert receipt(event.finished) == (0, 0, 96)
    assert engine.backend.passes == [CHUNK] * 3
    assert not engine.has_work and engine.stats().blocks_used == 0

    assert receipt(drain_one(engine, request(2, prompt))) == (96, 0, 4)
    assert receipt(drain_one(engine, request(3, prompt))) == (0, 96, 4)
    stats = engine.stats()
    assert (stats.warming, stats.warm_computed_tokens, stats.warm_used_tokens, stats.warm_dropped) == (0, 96, 96, 0)
    assert (stats.prompt_tokens, stats.cached_tokens, stats.finished) == (200, 96, 2)


def drain_one(engine, message):
    """Run one request, or warm one prompt, to its end."""
    (engine.warm if isinstance(message, WarmRequest) else engine.add)(message)
    return drain(engine)[message.id]


def test_the_last_token_of_a_prompt_is_computed_by_its_request(engine):
    """A prompt that ends with a block is warmed whole, and a longer one finds it all."""
    prompt = letters(64)
    drain_one(engine, warm(1, prompt))
    assert receipt(drain_one(engine, request(2, prompt, count=0))) == (48, 0, 16)
    assert receipt(drain_one(engine, request(3, [*prompt, 5]))) == (0, 64, 1)


def test_what_requests_computed_is_not_warmed(engine):
    """Warm work goes on from what is cached, and only its own part counts as warmed."""
    drain_one(engine, request(1, letters(40)))
    assert receipt(drain_one(engine, warm(2, letters(70)))) == (0, 32, 32)
    assert receipt(drain_one(engine, request(3, letters(75)))) == (32, 32, 11)


@pytest.mark.parametrize("prompt", [letters(15), letters(64), letters(70)])
def test_what_is_cached_already_takes_no_pass(engine, prompt):
    """It ends at once, without waiting for an idle engine."""
    drain_one(engine, warm(1, letters(70)))
    engine.add(request(2, letters(30, start=9)))
    passes = len(engine.backend.passes)
    engine.warm(warm(3, prompt))
    (event,) = engine.take_events()
    assert (event.id, event.finished.reason, len(engine.backend.passes)) == (3, "stop", passes)


def test_warm_work_waits_for_everybody(engine):
    """While a request prefills no warm row is computed, and while it decodes two a pass; the rest follows."""
    engine.warm(warm(1, letters(70)))
    engine.add(request(2, letters(100, start=9), count=8))
    order = []
    while engine.has_work:
        order += [event.id for event in engine.step() if event.finished]
        engine.check_integrity()
    assert order == [2, 1]
    assert engine.backend.passes == [64, 36, *[1 + 2] * 7, CHUNK - 14, CHUNK]


def test_warm_work_need_not_wait_for_somebody_else_to_end(engine):
    """A long answer of one session doesn't keep the prompt of another from being ready, and takes no pass more."""
    prompt = letters(50)
    engine.add(request(1, letters(20, start=9), count=40))
    engine.step()
    engine.warm(warm(2, prompt))
    finished, ended = {}, []
    while engine.has_work:
        for event in engine.step():
            if event.finished:
                ended.append(event.id)
                finished[event.id] = event.finished
    assert ended == [2, 1] and engine.backend.passes.count(1 + 2) == 24
    assert finished[1].forward_passes == len(engine.backend.passes) == 40
    assert receipt(finished[2]) == (0, 0, 48)
    assert receipt(drain_one(engine, request(3, prompt))) == (48, 0, 2)


def test_nothing_rides_along_with_a_prompt(engine):
    """Where somebody decodes and somebody else prefills, warm work waits."""
    engine.add(request(1, letters(20, start=9), count=30))
    engine.step()
    engine.add(request(2, letters(60, start=30)))
    engine.warm(warm(3, letters(50)))
    for _ in range(3):
        engine.step()
    assert engine.backend.passes == [20, *[1 + 16] * 3]


def test_a_block_that_others_complete_meanwhile_is_taken_over(engine):
    """A warm request in the middle of a block goes on behind it once a request has computed it."""
    prompt = letters(64)
    engine.add(request(1, letters(20, start=9), count=60))
    engine.step()
    engine.warm(warm(2, prompt))
    engine.step()
    engine.add(request(3, prompt[:40]))
    finished = drain(engine)
    assert receipt(finished[2]) == (0, 30, 34)
    assert receipt(finished[3]) == (0, 0, 40)


def test_warm_rows_go_on_when_those_who_decode_are_cancelled(engine):
    """Half a pass is not thrown away for it, unless somebody came who waits for the next one."""

    def cancel():
        engine.cancel(1)
        return False

    def cancel_and_add():
        engine.cancel(4)
        if asked():
            engine.add(request(5, letters(20, start=30)))
        return False

    engine.add(request(1, letters(20, start=9), count=60))
    engine.step()
    engine.warm(warm(2, letters(130)))
    engine.step(cancel)
    assert engine.backend.passes == [20, 3] and engine.stats().warm_computed_tokens == 2

    asked = iter([True, False, False, False]).__next__
    engine.add(request(4, letters(20, start=9), count=60))
    engine.step()
    engine.step(cancel_and_add)
    assert engine.backend.passes == [20, 3, 4] and engine.stats().warm_computed_tokens == 2
    assert {finished.reason for finished in drain(engine).values()} == {"length", "stop"}


def test_warm_work_that_finds_no_room_beside_others_is_kept_for_later(engine):
    """It is dropped only where it would not fit an idle engine either."""
    engine.add(request(1, letters(36 * BLOCK_SIZE), count=9))
    for _ in range(9):
        engine.step()
    engine.warm(warm(2, letters(6 * BLOCK_SIZE, start=9)))
    engine.step()
    assert engine.backend.passes[-1] == 1 and engine.stats().warming == 1
    assert drain(engine)[2].reason == "stop"


def test_warm_work_that_finds_no_room_beside_others_holds_up_nobody(engine):
    """The next in turn that fits has the rows, and the one that did not fit has its turn once there is room."""
    engine.add(request(1, letters(35 * BLOCK_SIZE), count=60))
    for _ in range(9):
        engine.step()
    engine.warm(warm(2, letters(2 * BLOCK_SIZE, start=9)))
    engine.warm(warm(3, letters(6 * BLOCK_SIZE, start=30)))  # the newest has the first turn, and does not fit
    engine.step()
    engine.check_integrity()
    assert engine.backend.passes[-1] == 1 + 2
    finished, order = {}, []
    while engine.has_work:
        for event in engine.step():
            if event.finished:
                order.append(event.id)
                finished[event.id] = event.finished
        engine.check_integrity()
    assert order == [2, 1, 3]
    assert receipt(finished[2]) == (0, 0, 32) and receipt(finished[3]) == (0, 0, 96)
    assert engine.stats().warm_dropped == 0


def test_in_a_full_cache_no_pass_looks_for_warm_work_that_can_not_fit(engine, monkeypatch):
    """Each is looked up once, not in every pass; when there is room it is looked up again, and ends as any."""
    engine.scheduler.warming.most = 5
    engine.add(request(1, letters(35 * BLOCK_SIZE), count=40))
    for _ in range(9):
        engine.step()
    looked, match = [], engine.cache.match

    def counting(table, tokens, logits=True):
        looked.append(len(tokens))
        return match(table, tokens, logits)

    for id_ in range(2, 7):
        engine.warm(warm(id_, letters(6 * BLOCK_SIZE, start=id_)))
    engine.step()
    monkeypatch.setattr(engine.cache, "match", counting)
    for _ in range(20):
        engine.step()
        engine.check_integrity()
    assert not looked and engine.stats().warming == 5 and engine.stats().running == 1
    finished = drain(engine)
    assert {finished[id_].reason for id_ in range(2, 7)} == {"stop"} and looked


def test_what_the_cache_holds_of_a_waiting_prompt_stays_there(engine):
    """It is looked up once, and not evicted meanwhile; when a request needs the room, it is given up, but no more."""
    engine.scheduler.budget = replace(BUDGET, warm_beside_decode=0)
    drain_one(engine, request(1, letters(64)))
    engine.add(request(2, letters(20, start=30), count=9))
    engine.step()
    engine.warm(warm(3, letters(96)))
    engine.check_integrity()
    assert engine.stats().blocks_used == 2 + 4
    engine.add(request(4, letters(36 * BLOCK_SIZE, start=50), count=1))
    engine.step()
    assert engine.stats().running == 2 and engine.stats().warming == 1
    finished = drain(engine)
    assert (finished[3].reason, engine.stats().warm_dropped) == ("stop", 0)


def test_the_newest_goes_first(engine):
    """A later warm request overtakes an earlier one between its chunks; both end."""
    engine.warm(warm(1, letters(130)))
    engine.step()
    engine.warm(warm(2, letters(32, start=9)))
    order = []
    while engine.has_work:
        order += [event.id for event in engine.step()]
    assert order == [2, 1]


def test_a_long_prompt_has_its_turn_while_others_keep_coming(engine):
    """A session that always has another warm request under way doesn't keep a longer one from its end."""
    engine.warm(warm(1, letters(160)))
    ended: set[int] = set()
    newest = 1
    while 1 not in ended:
        if newest in ended or newest == 1:
            newest += 1
            engine.warm(warm(newest, letters(96, start=newest)))
        ended |= {event.id for event in engine.step()}
        assert newest < 20


def test_a_request_takes_the_pass_from_warm_work(engine):
    """It is given up at the next layer and nothing of it counts; the request is in the very next pass."""
    prompt, asked = letters(100), 0

    def add_at_layer_two():
        nonlocal asked
        asked += 1
        if asked == 2:
            engine.add(request(2, prompt))
        return False

    engine.warm(warm(1, prompt))
    engine.step()
    assert engine.step(add_at_layer_two) == []
    assert (asked, engine.backend.passes) == (2, [CHUNK])
    finished = drain(engine)
    assert engine.backend.passes[:3] == [CHUNK, 64, 4]
    assert receipt(finished[2]) == (32, 0, 68)
    assert receipt(finished[1]) == (0, 64, 32)
    assert engine.stats().warm_computed_tokens == 32


def test_a_resumed_sequence_takes_the_pass_from_warm_work(engine):
    """Warm work runs beside paused sequences, until they go on."""
    engine.add(request(1, letters(40), count=9))
    engine.step()
    engine.pause(1, True)
    engine.warm(warm(2, letters(70, start=9)))
    engine.step(lambda: engine.pause(1, False))
    assert engine.backend.passes == [40]
    assert {finished.reason for finished in drain(engine).values()} == {"length", "stop"}


def test_a_request_that_is_refused_or_paused_takes_no_pass(engine):
    """Only what can be computed interrupts warm work."""

    def add():
        if engine.stats().running + engine.stats().waiting == 0:
            engine.add(request(2, []))
            engine.add(request(3, letters(20)))
            engine.pause(3, True)
        return False

    engine.warm(warm(1, letters(20)))
    assert [(event.id, event.finished.reason) for event in engine.step(add)] == [(2, "error"), (1, "stop")]
    engine.pause(3, False)
    assert receipt(drain(engine)[3]) == (16, 0, 4)


def test_a_cancelled_warm_request_gives_its_pass_up(engine):
    """The next keystroke need not wait: the pass ends at that layer, and what was done before stays cached."""
    asked = 0

    def cancel_at_layer_two():
        nonlocal asked
        asked += 1
        if asked == 2:
            engine.cancel(1)
        return False

    engine.warm(warm(1, letters(100)))
    engine.step()
    (event,) = engine.step(cancel_at_layer_two)
    assert (event.finished.reason, asked, engine.backend.passes) == ("cancel", 2, [CHUNK])
    assert receipt(drain_one(engine, warm(2, letters(100)))) == (0, 32, 64)
    stats = engine.stats()
    assert (stats.warm_dropped, stats.cancelled, stats.finished) == (0, 0, 0)


def test_warm_work_gives_its_blocks_to_a_request(engine):
    """The oldest that holds some is dropped first, with one event, and no more than is needed."""
    for id_ in (1, 2):
        engine.warm(warm(id_, letters(200, start=20 * id_)))
        engine.step()
    assert engine.stats().blocks_used == 4
    engine.add(request(3, letters(37 * BLOCK_SIZE, start=50)))
    (event,) = engine.step()
    assert (event.id, event.finished.reason) == (1, "cancel")
    assert (engine.stats().warm_dropped, engine.stats().warming) == (1, 1)
    engine.check_integrity()
    engine.cancel(3)
    assert drain(engine)[2].reason == "stop"


def test_a_sequence_that_grows_takes_blocks_from_warm_work(fake, run):
    """One that goes on is not put back while warm work holds blocks."""
    budget = replace(BUDGET, warm_beside_decode=0)
    engine = Engine(fake.FakeBackend(num_blocks=6), fake.FakeTokenizer(), budget)
    engine.add(request(1, letters(30), count=60))
    engine.step()
    engine.pause(1, True)
    engine.warm(warm(2, letters(50, start=9)))
    engine.step()
    engine.pause(1, False)
    finished = drain(engine)
    assert (finished[2].reason, finished[1].reason) == ("cancel", "length")
    assert finished[1].forward_passes == 60


def test_what_does_not_fit_beside_the_running_is_dropped(engine):
    """A prompt for which there is no room is not begun, and one that could never run is an error."""
    engine.add(request(1, letters(35 * BLOCK_SIZE), count=9))
    for _ in range(9):
        engine.step()
    engine.pause(1, True)
    passes = len(engine.backend.passes)
    dropped = drain_one(engine, warm(2, letters(6 * BLOCK_SIZE, start=9)))
    assert (dropped.reason, len(engine.backend.passes)) == ("cancel", passes)
    assert engine.stats().running == 1
    assert drain_one(engine, warm(3, letters(3 * BLOCK_SIZE, start=9))).reason == "stop"
    assert drain_one(engine, warm(4, letters(40 * BLOCK_SIZE))).error_code == "prompt_too_long"


def test_a_bounded_number_waits(engine):
    """Of too many the oldest is dropped at once."""
    for id_ in range(5):
        engine.warm(warm(id_, letters(70, start=11 * id_)))
    assert [(event.id, event.finished.reason) for event in engine.take_events()] == [(0, "cancel"), (1, "cancel")]
    assert (engine.stats().warming, engine.stats().warm_dropped) == (3, 2)
    assert {id_: finished.reason for id_, finished in drain(engine).items()} == {4: "stop", 3: "stop", 2: "stop"}


@pytest.mark.parametrize("prompt", [[], [64], [-1]])
def test_a_prompt_that_cannot_run_is_an_error(engine, prompt):
    """It ends with its one event, and a running id is refused as for requests."""
    assert drain_one(engine, warm(1, prompt)).error_code == "invalid_parameter"
    engine.warm(warm(1, letters(20)))
    with pytest.raises(ValueError, match="already running"):
        engine.add(request(1, letters(20)))


def test_a_failing_warm_pass_ends_that_request(engine):
    """It is an error for the one, and the engine goes on."""
    engine.backend.fail = RuntimeError("out of luck")
    assert drain_one(engine, warm(1, letters(70))).error_code == "internal_error"
    assert drain_one(engine, request(2, letters(70))).reason == "length"


def test_warm_work_does_not_cross_salts(engine):
    """Another key's request finds nothing of it."""
    drain_one(engine, warm(1, letters(70), salt="a"))
    assert receipt(drain_one(engine, request(2, letters(70), salt="b"))) == (0, 0, 70)
    assert receipt(drain_one(engine, request(3, letters(70), salt="a"))) == (64, 0, 6)


def test_warm_work_goes_on_from_what_others_compute_meanwhile(engine):
    """A warm request and a request for the same prompt compute no block twice."""
    engine.warm(warm(1, letters(160)))
    engine.step()
    engine.add(request(2, letters(100)))
    finished = drain(engine)
    assert receipt(finished[2]) == (32, 0, 68)
    assert receipt(finished[1]) == (0, 64, 96)


def test_a_receipt_adds_up_when_its_sequence_is_put_back(fake):
    """What was warmed before it was put back and what was warmed since both count once, to the token."""
    small = StepBudget(sequences=4, decode=10, prefill=10, prefill_beside_decode=10, warm=CHUNK)
    engine = Engine(fake.FakeBackend(), fake.FakeTokenizer(), small)
    prompt = letters(90)
    drain_one(engine, warm(1, prompt[:32]))
    engine.add(request(2, prompt))
    engine.step()
    engine.pause(2, True)
    assert engine.scheduler._give_way()
    drain_one(engine, warm(3, prompt[:80]))
    engine.pause(2, False)
    assert receipt(drain(engine)[2]) == (32 + 38, 0, 10 + 10)
