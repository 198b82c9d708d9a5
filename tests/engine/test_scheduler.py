"""The scheduler, simulated without a model: everybody gets a turn, budgets hold, no block is lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from warmline.engine import GenerationRequest, SamplingParams, pack_tokens
from warmline.engine.batch import BLOCK_SIZE
from warmline.engine.kv_cache import KVCache
from warmline.engine.scheduler import Scheduler, StepBudget
from warmline.engine.sequence import Sequence

SMALL = StepBudget(sequences=3, decode=12, prefill=32, prefill_beside_decode=8)


def sequence(id_, prompt, max_tokens=4, draft=None):
    """A sequence whose output will be made up by `apply`."""
    request = GenerationRequest(
        id_,
        pack_tokens(prompt),
        SamplingParams(max_tokens=max_tokens),
        draft=None if draft is None else pack_tokens(draft),
    )
    return Sequence.create(request, list(prompt), max_tokens, 0)


def apply(scheduler, plan, accept=lambda item: 0):
    """Act as the engine does after a pass; ``accept`` says how many draft tokens stand. Gives who ended."""
    ended = []
    for item in plan:
        seq, emitted, accepted = item.sequence, [], 0
        if item.samples:
            accepted = min(accept(item), len(item.draft.tokens))
            emitted = [*item.draft.tokens[:accepted], 9]
        seq.advance(item.rows, item.draft, accepted, emitted)
        scheduler.cache.commit(seq.table, seq.tokens, seq.computed)
        if seq.output_tokens == seq.max_tokens:
            scheduler.remove(seq)
            ended.append(seq)
    return ended


def check(scheduler):
    """Blocks, and that whoever waits holds none."""
    scheduler.cache.check_integrity([seq.table for seq in scheduler.running])
    assert all(seq.table is None and seq.computed == 0 for seq in scheduler.waiting)


def test_a_prompt_alone_is_taken_in_large_chunks():
    """With nobody decoding, a prompt gets the whole prefill budget of each pass."""
    scheduler = Scheduler(KVCache(16), SMALL)
    scheduler.add(sequence(1, range(70)))
    rows = []
    for _ in range(3):
        plan = scheduler.schedule()
        rows.append((plan[0].rows, plan[0].samples))
        apply(scheduler, plan)
    assert rows == [(32, False), (32, False), (6, True)]


def test_a_long_prompt_beside_a_decoding_sequence_is_taken_in_small_chunks():
    """Who decodes has its row in every pass, and the pass stays short."""
    scheduler = Scheduler(KVCache(32), SMALL)
    scheduler.add(sequence(1, range(3), max_tokens=5))
    apply(scheduler, scheduler.schedule())
    scheduler.add(sequence(2, range(50, 150)))
    for _ in range(4):
        plan = scheduler.schedule()
        assert [(item.sequence.request.id, item.rows) for item in plan] == [(1, 1), (2, 8)]
        apply(scheduler, plan)


def test_a_short_prompt_does_not_wait_for_a_long_one():
    """Prompts share the budget evenly, so a short one is through in its first pass."""
    scheduler = Scheduler(KVCache(32), SMALL)
    scheduler.add(sequence(1, range(200)))
    scheduler.add(sequence(2, range(300, 305)))
    plan = {item.sequence.request.id: item for item in scheduler.schedule()}
    assert plan[2].samples
    assert plan[1].rows == 27


def test_a_draft_follows_the_last_known_token():
    """A draft rides along as soon as a pass reaches the last token of the prompt, within the budget."""
    scheduler = Scheduler(KVCache(32), SMALL)
    scheduler.add(sequence(1, range(30), max_tokens=50, draft=range(100, 140)))
    (item,) = scheduler.schedule()
    assert (item.rows, item.draft.tokens) == (30, [100, 101])
    apply(scheduler, [item], accept=lambda item: 2)
    (item,) = scheduler.schedule()
    assert (item.rows, len(item.draft.tokens)) == (1, 11)


def test_no_draft_goes_beyond_the_last_token_to_emit():
    """A draft is at most one shorter than what may still be emitted: the pass gives one token more."""
    scheduler = Scheduler(KVCache(32), SMALL)
    scheduler.add(sequence(1, [1, 2], max_tokens=4, draft=range(100, 140)))
    (item,) = scheduler.schedule()
    assert len(item.draft.tokens) == 3
    assert apply(scheduler, [item], accept=lambda item: 3)


def test_the_newest_is_put_back_when_memory_runs_out():
    """The older sequence goes on to its end; the newer one is computed again later, before others that wait."""
    scheduler = Scheduler(KVCache(4), SMALL)
    old, new = sequence(1, range(30), max_tokens=20), sequence(2, range(40, 56), max_tokens=10)
    waiting = sequence(3, range(60, 100))
    for seq in (old, new, waiting):
        scheduler.add(seq)
    ended, put_back = [], False
    while scheduler.running or scheduler.waiting:
        plan = scheduler.schedule()
        put_back |= new.table is None and new.output_tokens > 0 and not ended
        ended += apply(scheduler, plan)
        check(scheduler)
    assert put_back
    assert ended == [old, new, waiting]


def test_a_sequence_reuses_what_another_computes_meanwhile():
    """A prompt that was admitted before its prefix was computed takes the blocks over as they come."""
    scheduler = Scheduler(KVCache(32), SMALL)
    first, second = sequence(1, range(100)), sequence(2, [*range(90), 500])
    scheduler.add(first)
    apply(scheduler, scheduler.schedule())
    scheduler.add(second)
    while second.output_tokens == 0:
        apply(scheduler, scheduler.schedule())
        check(scheduler)
    assert second.cached_tokens >= 32
    assert second.cached_tokens + second.computed_tokens == 91


def test_a_budget_without_a_row_for_everyone_is_refused():
    """Every running sequence must have its part in each pass."""
    with pytest.raises(ValueError, match="at least a row"):
        StepBudget(sequences=9, decode=8)


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_everybody_ends_in_bounded_time(data):
    """Random arrivals, drafts, cancels and little memory: budgets hold, nobody starves, all blocks come back."""
    blocks = data.draw(st.integers(4, 12))
    capacity = blocks * BLOCK_SIZE
    scheduler = Scheduler(KVCache(blocks), SMALL)
    accept = data.draw(st.integers(0, 20))
    arrivals = data.draw(st.lists(st.tuples(st.integers(1, capacity - 8), st.integers(1, 40)), max_size=8))
    pending = []
    for id_, (length, max_tokens) in enumerate(arrivals):
        draft = range(200, 260) if data.draw(st.booleans()) else None
        start = data.draw(st.integers(0, 1))
        pending.append(sequence(id_, range(start, start + length), min(max_tokens, capacity - length), draft))
    everybody, admitted = len(pending), []
    work = sum(len(seq.tokens) + seq.max_tokens for seq in pending)
    for _ in range(20 + 3 * work):
        if pending and data.draw(st.booleans()):
            scheduler.add(pending.pop(0))
        if scheduler.running and data.draw(st.integers(0, 9)) == 0:
            scheduler.remove(scheduler.running[-1])
            everybody -= 1
        oldest = scheduler.running[0] if scheduler.running else None
        plan = scheduler.schedule()
        assert {item.sequence for item in plan} == set(scheduler.running)
        assert bool(plan) == bool(scheduler.running or scheduler.waiting)
        assert oldest is None or oldest.table is not None, "the oldest was put back"
        admitted += [seq for seq in scheduler.running if seq not in admitted]
        decode = sum(1 + len(item.draft.tokens) for item in plan if item.sequence.remaining == 1)
        prefill = sum(item.rows + len(item.draft.tokens) for item in plan if item.sequence.remaining > 1)
        assert len(plan) <= SMALL.sequences and decode <= SMALL.decode
        assert prefill <= (SMALL.prefill_beside_decode if decode else SMALL.prefill)
        everybody -= len(apply(scheduler, plan, accept=lambda _: accept))
        check(scheduler)
        if everybody == 0 and not pending:
            break
    assert not scheduler.running and not scheduler.waiting
    assert [seq.request.id for seq in admitted] == sorted(seq.request.id for seq in admitted), "out of turn"
    assert scheduler.cache.used == 0
