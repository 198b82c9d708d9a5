"""The scheduler, simulated without a model: everybody gets a turn, budgets hold, no block is lost."""

from __future__ import annotations

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from warmline.engine import GenerationRequest, SamplingParams, WarmRequest, pack_tokens
from warmline.engine.batch import BLOCK_SIZE
from warmline.engine.budget import StepBudget, attended
from warmline.engine.kv_cache import KVCache
from warmline.engine.scheduler import Scheduler
from warmline.engine.sequence import Sequence
from warmline.engine.speculation.cost import USUAL_COST, PassCost
from warmline.engine.speculation.drafter import NO_DRAFT

SMALL = StepBudget(sequences=3, decode=12, prefill=32, prefill_beside_decode=8, warm=32, warm_requests=3)


def sequence(id_, prompt, max_tokens=4, draft=None, client=""):
    """A sequence whose output will be made up by `apply`."""
    request = GenerationRequest(
        id_,
        pack_tokens(prompt),
        SamplingParams(max_tokens=max_tokens),
        draft=None if draft is None else pack_tokens(draft),
        client=client,
    )
    return Sequence.create(request, list(prompt), max_tokens, 0)


def warm(id_, prompt):
    """A prompt to be computed for the cache."""
    return Sequence.create_warm(WarmRequest(id_, b""), list(prompt), 0)


def apply(scheduler, plan, accept=lambda item: 0, text=None):
    """Act as the engine does after a pass; ``accept`` says how many draft tokens stand. Gives who ended.

    What comes behind them is the next token of ``text``, if there is one.
    """
    ended = []
    for item in plan:
        seq, emitted, accepted = item.sequence, [], 0
        if item.samples:
            accepted = min(accept(item), len(item.draft.tokens))
            place = seq.output_tokens + accepted
            emitted = [*item.draft.tokens[:accepted], text[place] if text else 9]
        seq.advance(item.rows, item.draft, accepted, emitted)
        scheduler.cache.commit(seq.table, seq.tokens, seq.computed, seq.warm)
        if not seq.remaining or (seq.output_tokens == seq.max_tokens and not seq.warm):
            scheduler.remove(seq)
            ended.append(seq)
    return ended


def check(scheduler):
    """Blocks, and that whoever waits holds none."""
    warm_tables = [seq.table for seq in scheduler.warming.sequences if seq.table is not None]
    scheduler.cache.check_integrity([seq.table for seq in scheduler.running], warm_tables)
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
    assert (item.rows, item.draft.tokens) == (30, [*range(100, 111)])
    apply(scheduler, [item], accept=lambda item: 2)
    (item,) = scheduler.schedule()
    assert item.rows == 1 and 0 < len(item.draft.tokens) <= 11


def test_a_draft_is_cut_to_the_room_there_is():
    """What others' blocks leave of the cache is filled, and nobody is put back for it."""
    scheduler = Scheduler(KVCache(5), cost=PassCost(((1, 1.0), (2, 1.0))))  # in which rows cost nothing
    scheduler.add(sequence(1, range(20), max_tokens=44, draft=range(100, 160)))
    scheduler.add(sequence(2, range(50, 70), max_tokens=4))
    drafted, other = scheduler.schedule()
    assert drafted.draft.tokens == [*range(100, 128)]
    assert other.samples and not other.draft.tokens
    check(scheduler)


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


@pytest.mark.parametrize("clients", [1, 3, 8])
def test_what_many_prompts_have_in_common_is_computed_once(clients):
    """Eight that come at once compute it for one of them, whosever they are; then each what is its own."""
    scheduler = Scheduler(KVCache(400), cost=USUAL_COST)
    prompts = [sequence(id_, [*range(600), 1000 + id_], client=str(id_ % clients)) for id_ in range(8)]
    for seq in prompts:
        scheduler.add(seq)
    passes = 0
    while scheduler.busy:
        apply(scheduler, scheduler.schedule())
        check(scheduler)
        passes += 1
    assert sum(seq.computed_tokens for seq in prompts) == 601 + 7 * (601 % BLOCK_SIZE) <= 601 + 8 * BLOCK_SIZE
    assert sum(seq.cached_tokens for seq in prompts) == 7 * (601 - 601 % BLOCK_SIZE)
    assert passes < 16


def test_equal_prompts_of_two_keys_are_computed_for_each():
    """Nobody shares blocks with another key, nor waits for them."""
    scheduler = Scheduler(KVCache(400), cost=USUAL_COST)
    for id_, salt in enumerate("ab"):
        request = GenerationRequest(id_, b"", SamplingParams(max_tokens=2), salt)
        scheduler.add(Sequence.create(request, [*range(600)], 2, 0))
    assert [item.rows for item in scheduler.schedule()] == [256, 256]


def test_who_waits_for_a_block_goes_on_when_the_other_is_cancelled_in_the_middle_of_it():
    """Waiting costs a pass at most, and it is never for somebody who is not computed."""
    scheduler = Scheduler(KVCache(400), SMALL)
    first, second = sequence(1, range(100), client="a"), sequence(2, range(100), client="b")
    decoding = sequence(3, [500], max_tokens=60)
    for seq in (decoding, first, second):
        scheduler.add(seq)
    for _ in range(2):
        plan = scheduler.schedule()
        assert [item.sequence for item in plan] == [decoding, first]
        apply(scheduler, plan)
    assert first.computed % BLOCK_SIZE == 0 or first.computed == 8 + 8
    apply(scheduler, scheduler.schedule())
    assert first.computed == 24
    scheduler.remove(first)
    plan = scheduler.schedule()
    assert [(item.sequence, item.rows) for item in plan] == [(decoding, 1), (second, 8)] and second.computed == 16


def test_a_block_that_two_compute_in_part_is_taken_over_from_who_completes_it():
    """Rows of it that were computed twice are lost, and no more."""
    cache = KVCache(400)
    scheduler = Scheduler(cache, SMALL)
    late = sequence(1, range(100), client="a")
    scheduler.add(late)
    scheduler.schedule()
    late.advance(5, NO_DRAFT, 0, [])
    table = cache.open("")
    cache.reserve(table, 64)
    cache.commit(table, range(100), 64)
    (item,) = scheduler.schedule()
    assert (late.computed, item.rows) == (64, 32)
    assert (late.computed_tokens, late.cached_tokens) == (5, 59)
    cache.release(table)
    check(scheduler)


def test_a_client_s_prompts_end_one_after_the_other():
    """Split evenly, each would have its first token when all have."""
    scheduler = Scheduler(KVCache(400), cost=USUAL_COST)
    prompts = [sequence(id_, range(1000 * id_, 1000 * id_ + 400), max_tokens=1) for id_ in range(4)]
    for seq in prompts:
        scheduler.add(seq)
    ends = []
    while scheduler.busy:
        ends.append(len(apply(scheduler, scheduler.schedule())))
    assert ends == [1, 1, 1, 1]


def test_two_clients_drafts_and_prompt_take_no_more_time_than_a_prompt_alone():
    """Who only decodes waits twice as long at most, drafts included; of what is added drafts leave prompts half."""
    scheduler = Scheduler(KVCache(600), cost=USUAL_COST)
    text = [*range(600)]
    drafted, plain = sequence(1, [1] * 50, 600, draft=text, client="a"), sequence(2, [2] * 50, 600, client="b")
    scheduler.add(drafted), scheduler.add(plain)
    accept = lambda item: len(item.draft.tokens)  # noqa: E731
    for _ in range(4):
        plan = scheduler.schedule()
        apply(scheduler, plan, accept, text)
    assert len(plan[0].draft.tokens) > 35
    scheduler.add(sequence(3, range(2000, 6000), client="c"))
    for _ in range(5):
        plan = scheduler.schedule()
        assert [item.sequence.request.id for item in plan] == [1, 2, 3]
        assert 2 <= len(plan[0].draft.tokens) < plan[2].rows
        usual, whole, with_drafts = (
            USUAL_COST.seconds(sum(rows for _, rows in parts), sum(attended(*part) for part in parts))
            for parts in (
                [(item.sequence.computed, 1) for item in plan[:2]],
                [(item.sequence.computed, item.rows + len(item.draft.tokens)) for item in plan],
                [(item.sequence.computed, 1 + len(item.draft.tokens)) for item in plan[:2]],
            )
        )
        assert 1.9 * usual < whole <= 2 * usual and with_drafts <= 1.5 * usual
        apply(scheduler, plan, accept, text)


FLAT = PassCost(((1, 1.0), (2, 1.0001)))  # in which rows cost next to nothing


def test_rejected_drafts_hold_no_room():
    """What they had is there for others in the next pass, so that nobody is put back who fits."""
    scheduler = Scheduler(KVCache(6), cost=FLAT)
    drafted, other = sequence(1, [1] * 10, 70, draft=range(100, 170)), sequence(2, [2] * 10, 40)
    scheduler.add(drafted), scheduler.add(other)
    plan = scheduler.schedule()
    assert scheduler.cache.available == 0 and len(plan[0].draft.tokens) > 60
    for _ in range(30):
        apply(scheduler, plan)
        plan = scheduler.schedule()
        assert {item.sequence for item in plan} == {drafted, other}
        check(scheduler)


@pytest.mark.parametrize("right", [True, False])
def test_in_a_full_cache_drafts_are_as_long_and_evict_next_to_nothing(right):
    """They take blocks that nobody uses, and give back what was rejected: that is what the next one takes."""
    text, most = [*range(5000, 5600)], 0
    scheduler = Scheduler(KVCache(100), cost=FLAT)
    scheduler.add(sequence(1, range(100 * BLOCK_SIZE - 1), max_tokens=1))
    while scheduler.busy:
        apply(scheduler, scheduler.schedule())
    scheduler.add(drafted := sequence(2, [1] * 10, 600, draft=text))
    while drafted.output_tokens < 400:
        plan = scheduler.schedule()
        most = max(most, len(plan[0].draft.tokens))
        apply(scheduler, plan, lambda item: 200 * right, text if right else None)
        needed = -(-len(drafted.tokens) // BLOCK_SIZE)
        assert scheduler.cache.cached >= 99 - needed - 128 // BLOCK_SIZE - 1
    assert most > 60


def test_nobody_gives_way_for_nothing():
    """Warm work and paused sequences keep their blocks as long as all of them together would not make room enough."""
    scheduler = Scheduler(KVCache(64))
    running, paused = sequence(1, range(600), max_tokens=300), sequence(2, range(1000, 1060), max_tokens=300)
    for seq in (running, paused):
        scheduler.add(seq)
    for _ in range(4):
        apply(scheduler, scheduler.schedule())
    paused.paused = True
    ahead = warm(3, range(2000, 2064))
    scheduler.add(ahead)
    for _ in range(4):
        apply(scheduler, scheduler.schedule())
    blocked = sequence(4, range(3000, 3900), client="other")
    scheduler.add(blocked)
    for _ in range(20):
        computed = ahead.computed
        apply(scheduler, scheduler.schedule())
        assert paused.table is not None and blocked.table is None
        assert ahead.computed > computed or not scheduler.warming.sequences
    scheduler.remove(running)
    scheduler.schedule()
    assert blocked.table is not None and paused.table is not None
    check(scheduler)


class CountingCache(KVCache):
    """Counts how often a prompt is looked for."""

    matches = 0

    def match(self, table, tokens, logits=True):
        """See `KVCache.match`."""
        self.matches += 1
        return super().match(table, tokens, logits)


def test_who_finds_no_room_looks_for_its_prompt_once():
    """It looks again when there is that much room."""
    cache = CountingCache(16)
    scheduler = Scheduler(cache)
    running = sequence(1, range(100), max_tokens=100)
    scheduler.add(running)
    while running.remaining > 1:
        apply(scheduler, scheduler.schedule())
    blocked = sequence(2, range(1000, 1200))
    scheduler.add(blocked)
    cache.matches = 0
    for _ in range(30):
        apply(scheduler, scheduler.schedule())
    assert cache.matches == 1
    scheduler.remove(running)
    scheduler.schedule()
    assert blocked.table is not None


def test_who_finds_no_room_starts_as_soon_as_another_has_computed_what_it_lacked():
    """A shared block takes no room."""
    scheduler = Scheduler(KVCache(16), SMALL)
    first, second = sequence(1, range(160), max_tokens=40), sequence(2, [*range(150), 999], max_tokens=4)
    scheduler.add(first), scheduler.add(second)
    while second.table is None:
        plan = scheduler.schedule()
        assert first.output_tokens == 0, "it waited for the end"
        apply(scheduler, plan)
        check(scheduler)


DEAR_KEYS = PassCost(((1, 1.0), (32, 2.0), (64, 3.2), (128, 5.6)), per_key=1e-4)


def first_chunk_behind(scheduler, known):
    """The rows of a prompt's next chunk beside a sequence that decodes, once so many of its tokens are computed."""
    scheduler.add(sequence(1, [5, 6, 7], max_tokens=900))
    apply(scheduler, scheduler.schedule())
    prompt = sequence(2, range(100, 4200))
    scheduler.add(prompt)
    while True:
        plan = scheduler.schedule()
        if prompt.computed >= known:
            return next(item.rows for item in plan if item.sequence is prompt)
        apply(scheduler, plan)


def test_a_prompt_takes_no_more_time_than_those_who_decode():
    """The pass is at most twice as long as without it: 31 rows more where 32 take twice the time of one."""
    assert first_chunk_behind(Scheduler(KVCache(300), cost=USUAL_COST), 0) == 30  # their own keys cost something, too
    assert first_chunk_behind(Scheduler(KVCache(300), StepBudget(prefill_stretch=3.2), USUAL_COST), 0) == 62


def test_behind_a_long_context_chunks_are_smaller():
    """What the rows attend to counts; a row is computed in any case, so that a prompt goes on."""
    rows = [first_chunk_behind(Scheduler(KVCache(300), cost=DEAR_KEYS), known) for known in (0, 100, 3000)]
    assert rows[0] > rows[1] > rows[2] == 2
    assert first_chunk_behind(Scheduler(KVCache(300), StepBudget(prefill_stretch=1.0), DEAR_KEYS), 200) == 1


def test_a_long_context_of_who_decodes_leaves_prompts_more():
    """The pass takes longer anyway, and twice of that is more."""

    def chunk(length):
        scheduler = Scheduler(KVCache(300), cost=DEAR_KEYS)
        decoding = sequence(1, range(length), max_tokens=9)
        scheduler.add(decoding)
        while decoding.output_tokens == 0:
            apply(scheduler, scheduler.schedule())
        scheduler.add(sequence(2, range(5000, 5200)))
        return scheduler.schedule()[1].rows

    assert chunk(3000) > chunk(30)


def test_a_prompt_alone_is_taken_in_smaller_chunks_behind_a_long_context():
    """Who comes meanwhile waits for no longer pass than twice one of all rows without context."""
    scheduler = Scheduler(KVCache(300), cost=DEAR_KEYS)
    prompt, rows = sequence(1, range(4000)), []
    scheduler.add(prompt)
    while prompt.output_tokens == 0:
        plan = scheduler.schedule()
        rows.append(plan[0].rows)
        apply(scheduler, plan)
    assert rows == sorted(rows, reverse=True) and rows[0] > 300 > 150 > rows[-2]


def test_a_warm_pass_is_bounded_too():
    """Behind a long context it has fewer blocks, but one at least, and it ends with a block."""
    scheduler = Scheduler(KVCache(300), cost=PassCost(((1, 1.0), (64, 2.0)), per_key=1e-4))
    work = warm(1, range(4000))
    scheduler.add(work)
    rows = []
    while plan := scheduler.schedule():
        rows.append(plan[0].rows)
        apply(scheduler, plan)
        assert work.computed % BLOCK_SIZE == 0
    assert rows[0] == 64 and rows[-1] == BLOCK_SIZE and sum(rows) == 4000


def test_one_session_s_many_prompts_leave_anothers_its_half():
    """The rows of a pass are split between clients first, and a flood starts no more than its share."""
    scheduler = Scheduler(KVCache(64), StepBudget(sequences=8, decode=8, prefill=60), USUAL_COST)
    for id_ in range(20):
        scheduler.add(sequence(id_, range(100 * id_, 100 * id_ + 90), client="flood"))
    scheduler.add(sequence(100, range(5000, 5090), client="other"))
    rows = {}
    for item in scheduler.schedule():
        client = item.sequence.request.client
        rows[client] = rows.get(client, 0) + item.rows
    assert rows == {"flood": 30, "other": 30}


def test_a_late_request_of_another_session_starts_next():
    """It waits for a place, but not for what the flood has queued."""
    scheduler = Scheduler(KVCache(64), StepBudget(sequences=2, decode=8), USUAL_COST)
    for id_ in range(60):
        scheduler.add(sequence(id_, range(20 * id_, 20 * id_ + 10), client="flood"))
    for _ in range(9):
        apply(scheduler, scheduler.schedule())
    late = sequence(100, range(5000, 5010), client="late")
    scheduler.add(late)
    passes = 0
    while late.output_tokens < late.max_tokens:
        apply(scheduler, scheduler.schedule())
        passes += 1
    assert passes < 12 and len(scheduler.waiting) > 40


def passes_to_the_first_token(scheduler, seq):
    """How many passes it takes from now on."""
    passes = 0
    while not seq.output_tokens:
        apply(scheduler, scheduler.schedule())
        check(scheduler)
        passes += 1
    return passes


@pytest.mark.parametrize("queued", [0, 40])
@pytest.mark.parametrize("blocks", [64 * 600, 2900])
def test_who_holds_all_slots_holds_up_nobody(blocks, queued):
    """Another session's short request has its token at once, beside 64 that have 8000 to go, whatever waits there."""
    scheduler = Scheduler(KVCache(blocks), cost=USUAL_COST)
    for id_ in range(64 + queued):
        scheduler.add(sequence(id_, range(1000 * id_, 1000 * id_ + 20), max_tokens=8000, client="hog"))
    for _ in range(100):
        apply(scheduler, scheduler.schedule())
    oldest, newest = scheduler.running[0], scheduler.running[-1]
    person = sequence(1000, range(20), max_tokens=20, client="person")
    scheduler.add(person)
    assert passes_to_the_first_token(scheduler, person) <= 2
    assert newest.table is None and oldest.table is not None and len(scheduler.running) == 64


@pytest.mark.parametrize("length", [20, 700])
def test_who_fills_the_memory_holds_up_nobody(length):
    """A prompt takes as long as its rows do beside those of the other session; in a full cache, too."""
    scheduler = Scheduler(KVCache(500), StepBudget(prefill=512, prefill_beside_decode=128))
    for id_ in range(64):
        scheduler.add(sequence(id_, range(1000 * id_, 1000 * id_ + 1000), max_tokens=200, client="hog"))
    for _ in range(30):
        apply(scheduler, scheduler.schedule())
    hogs = len(scheduler.running)
    assert scheduler.cache.available < 63 + hogs and scheduler.num_waiting
    person = sequence(1000, range(10**6, 10**6 + length), max_tokens=20, client="person")
    scheduler.add(person)
    scheduler.schedule()
    assert person in scheduler.running and len(scheduler.running) >= hogs - 1, "more were put back than had to be"
    assert passes_to_the_first_token(scheduler, person) <= 4 + length // 13  # half of 29 rows in a pass


def test_who_was_put_back_does_not_come_back_before_there_is_room():
    """Its client has others that run, so nobody is put back for it in turn; nothing of what it said is lost."""
    scheduler = Scheduler(KVCache(64), StepBudget(sequences=2, decode=8))
    first, second = (sequence(id_, range(100 * id_, 100 * id_ + 20), max_tokens=90, client="hog") for id_ in (1, 2))
    scheduler.add(first), scheduler.add(second)
    for _ in range(5):
        apply(scheduler, scheduler.schedule())
    person = sequence(3, range(900, 920), max_tokens=30, client="person")
    scheduler.add(person)
    said = [*second.tokens]
    while scheduler.busy and person.output_tokens < person.max_tokens:
        plan = scheduler.schedule()
        assert [item.sequence for item in plan] == [first, person]
        apply(scheduler, plan)
    apply(scheduler, scheduler.schedule())
    assert second in scheduler.running and second.tokens[: len(said)] == said
    assert second.computed_tokens == 20 and second.cached_tokens == 0


def test_the_only_one_of_a_client_is_put_back_for_nobody():
    """With as many clients as there are slots, one more waits for an end."""
    scheduler = Scheduler(KVCache(64), StepBudget(sequences=3, decode=8))
    running = [sequence(id_, range(100 * id_, 100 * id_ + 20), 30, client=str(id_)) for id_ in range(3)]
    late = sequence(9, range(900, 920), client="late")
    for seq in running:
        scheduler.add(seq)
    apply(scheduler, scheduler.schedule())
    scheduler.add(late)
    for _ in range(29):
        assert [item.sequence for item in scheduler.schedule()] == running
        apply(scheduler, scheduler.schedule())
    assert late in [item.sequence for item in scheduler.schedule()]


def test_slots_are_shared_evenly_between_those_who_want_more():
    """A second request of a session starts, too, as long as the other has more; then both keep what they have."""
    scheduler = Scheduler(KVCache(900), StepBudget(sequences=8, decode=8))
    for id_ in range(20):
        scheduler.add(sequence(id_, range(100 * id_, 100 * id_ + 20), max_tokens=300, client="hog"))
    for _ in range(40):
        apply(scheduler, scheduler.schedule())
    for id_ in range(100, 120):
        scheduler.add(sequence(id_, range(100 * id_, 100 * id_ + 20), max_tokens=300, client="person"))
    apply(scheduler, scheduler.schedule())
    assert [seq.request.id for seq in scheduler.running] == [*range(7), 100], "the first at once"
    for _ in range(10):
        apply(scheduler, scheduler.schedule())
    for _ in range(100):
        apply(scheduler, scheduler.schedule())
        ids = [seq.request.id for seq in scheduler.running]
        assert ids == [0, 1, 2, 3, 100, 101, 102, 103], "nobody is put back for one that was"


def test_who_has_most_of_the_memory_takes_no_more_for_a_second_request():
    """Who has many small ones doesn't lose them for it: shares are of slots or blocks, of what one has most."""
    scheduler = Scheduler(KVCache(100), StepBudget(sequences=16, decode=16))
    large = sequence(0, range(1000), max_tokens=60, client="large")
    small = [sequence(id_, range(2000 * id_, 2000 * id_ + 20), max_tokens=60, client="small") for id_ in range(1, 9)]
    scheduler.add(large)
    assert passes_to_the_first_token(scheduler, large) < 5
    for seq in small:
        scheduler.add(seq)
    while not all(seq.output_tokens for seq in small):
        apply(scheduler, scheduler.schedule())
    scheduler.add(more := sequence(99, range(10**6, 10**6 + 400), client="large"))
    for _ in range(10):
        apply(scheduler, scheduler.schedule())
        assert scheduler.running == [large, *small] and scheduler.waiting == [more]


def test_when_memory_runs_out_who_holds_most_gives_up_its_newest():
    """Not the newest of all, which is the only one of its session."""
    scheduler = Scheduler(KVCache(12), StepBudget(sequences=4, decode=8))
    hogs = [sequence(id_, range(100 * id_, 100 * id_ + 30), max_tokens=100, client="hog") for id_ in range(3)]
    for seq in hogs:
        scheduler.add(seq)
    apply(scheduler, scheduler.schedule())
    person = sequence(9, range(900, 920), max_tokens=40, client="person")
    scheduler.add(person)
    while person.output_tokens < person.max_tokens:
        apply(scheduler, scheduler.schedule())
        check(scheduler)
        assert person.table is not None or person.output_tokens == person.max_tokens
    assert hogs[0].table is not None and hogs[2].table is None


def test_of_too_many_that_go_on_together_each_session_has_one_in_the_pass():
    """Who lets many rest, and then has them all go on, leaves a place to who started after them."""
    scheduler = Scheduler(KVCache(64), SMALL)
    hogs = [sequence(id_, range(20 * id_, 20 * id_ + 3), max_tokens=50, client="hog") for id_ in range(4)]
    for seq in hogs:
        scheduler.add(seq)
        apply(scheduler, scheduler.schedule())
        seq.paused = True
    person = sequence(9, range(900, 903), max_tokens=50, client="person")
    scheduler.add(person)
    apply(scheduler, scheduler.schedule())
    for seq in hogs:
        seq.paused = False
    assert [item.sequence for item in scheduler.schedule()] == [*hogs[:2], person]
    assert all(seq.table is not None for seq in hogs), "they only wait"


def test_where_not_every_session_s_prompt_has_a_row_those_have_one_that_were_served_least():
    """But for the prompt that started first, which is in every pass."""
    scheduler = Scheduler(KVCache(600), StepBudget(prefill=16, prefill_beside_decode=16, prefill_stretch=9.0), FLAT)

    def add(clients, length, max_tokens):
        added = [sequence(0, range(1000 * id_, 1000 * id_ + length), max_tokens, client=str(id_)) for id_ in clients]
        for seq in added:
            scheduler.add(seq)
        apply(scheduler, scheduler.schedule())
        return added

    add(range(10), 1, 900)
    earlier = add(range(10), 100, 4)
    add(range(10, 26), 100, 4)
    assert len(scheduler.running) == 36, "all of them started"
    for _ in range(9):
        plan = scheduler.schedule()
        prompts = [item.sequence for item in plan if item.sequence.remaining > 1]
        assert len(prompts) == 16 and earlier[0] in prompts
        assert len({seq.request.client for seq in prompts} & {str(id_) for id_ in range(10, 26)}) == 15
        apply(scheduler, plan)


def test_what_can_never_fit_is_refused_with_both_numbers():
    """It would keep everybody from starting who comes after it."""
    scheduler = Scheduler(KVCache(4), SMALL)
    with pytest.raises(ValueError, match="65 tokens, but at most 64 fit"):
        scheduler.add(sequence(1, range(60), max_tokens=5))
    scheduler.add(sequence(2, range(60), max_tokens=4))
    assert scheduler.waiting and not scheduler.running


def test_a_paused_sequence_is_left_out():
    """It keeps its blocks and its place; the others go on, and afterwards so does it."""
    scheduler = Scheduler(KVCache(16), SMALL)
    first, second = sequence(1, range(3), max_tokens=9), sequence(2, range(40, 43), max_tokens=9)
    scheduler.add(first)
    scheduler.add(second)
    apply(scheduler, scheduler.schedule())
    first.paused = True
    blocks = first.table.blocks
    for _ in range(3):
        plan = scheduler.schedule()
        assert [item.sequence for item in plan] == [second]
        apply(scheduler, plan)
    assert first.table.blocks is blocks
    second.paused = True
    assert scheduler.schedule() == [] and not scheduler.busy
    first.paused = False
    assert [item.sequence for item in scheduler.schedule()] == [first]


def test_a_paused_one_that_waits_is_passed_over():
    """Later ones start before it; on going on it is the next to start."""
    scheduler = Scheduler(KVCache(16), StepBudget(sequences=1))
    first, *others = [sequence(id_, range(10 * id_, 10 * id_ + 3), max_tokens=2) for id_ in range(4)]
    first.paused = True
    for seq in (first, *others):
        scheduler.add(seq)
    assert [item.sequence for item in scheduler.schedule()] == others[:1]
    first.paused = False
    ended = []
    while scheduler.busy:
        ended += apply(scheduler, scheduler.schedule())
    assert ended == [others[0], first, *others[1:]]


def test_the_paused_make_room_before_the_newest():
    """A sequence that grows takes the blocks of paused ones, older or not, before any that goes on is put back."""
    scheduler = Scheduler(KVCache(4), SMALL)
    paused, old, new = (sequence(id_, range(20 * id_, 20 * id_ + 14), max_tokens=18) for id_ in range(3))
    for seq in (paused, old, new):
        scheduler.add(seq)
    apply(scheduler, scheduler.schedule())
    paused.paused = True
    ended = []
    while old not in ended:
        ended += apply(scheduler, scheduler.schedule())
        assert new.table is not None or new in ended
        check(scheduler)
    assert paused.table is None and scheduler.waiting == [paused]
    paused.paused = False
    while scheduler.busy:
        ended += apply(scheduler, scheduler.schedule())
    assert {*ended} == {paused, old, new}


def test_paused_ones_that_hold_everything_hold_up_nobody():
    """One that waits gets the room of those that are paused, the newest first and no more than it needs."""
    scheduler = Scheduler(KVCache(6), SMALL)
    held = [sequence(id_, range(40 * id_, 40 * id_ + 30)) for id_ in range(3)]
    for seq in held:
        scheduler.add(seq)
    apply(scheduler, scheduler.schedule())
    for seq in held:
        seq.paused = True
    late = sequence(9, range(900, 960), max_tokens=2)
    scheduler.add(late)
    assert [item.sequence for item in scheduler.schedule()] == [late]
    assert (scheduler.running, scheduler.waiting) == ([held[0], late], held[1:])
    check(scheduler)


def test_paused_ones_that_go_on_together_keep_to_the_budget():
    """More may have started than fit a pass: the oldest have their parts in it, the others after them."""
    scheduler = Scheduler(KVCache(32), SMALL)
    everybody = [sequence(id_, range(20 * id_, 20 * id_ + 3), max_tokens=3) for id_ in range(5)]
    for seq in everybody:
        scheduler.add(seq)
        apply(scheduler, scheduler.schedule())
        seq.paused = True
    assert len(scheduler.running) == 5
    for seq in everybody:
        seq.paused = False
    ended = []
    while scheduler.busy:
        plan = scheduler.schedule()
        assert len(plan) <= SMALL.sequences
        ended += apply(scheduler, plan)
    assert ended == everybody


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_everybody_ends_in_bounded_time(data):
    """Random arrivals, drafts, cancels, pauses, warm work and little memory: budgets hold, nobody starves, all blocks
    come back, and warm work has passes of its own that nobody else wants, and two rows beside those who decode."""
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
    disturbed = 15
    for _ in range(100 + 3 * work):
        if pending and data.draw(st.booleans()):
            scheduler.add(pending.pop(0))
        if scheduler.running and data.draw(st.integers(0, 9)) == 0:
            scheduler.remove(scheduler.running[-1])
            everybody -= 1
        live = [*scheduler.running, *scheduler.waiting]
        if live and disturbed and data.draw(st.booleans()):
            disturbed -= 1
            scheduler.add(warm(1000, range(data.draw(st.integers(0, 2)), data.draw(st.integers(10, 300)))))
            turned = data.draw(st.sampled_from(live))
            turned.paused = not turned.paused
        elif not disturbed:
            for seq in live:
                seq.paused = False
        wanting = [seq for seq in scheduler.running if not seq.paused]
        plan, warm_part = scheduler.schedule(), []
        scheduler.warming.ended.clear()
        assert len(scheduler.warming.sequences) <= SMALL.warm_requests
        if plan and plan[0].sequence.warm:
            assert len(plan) == 1 and not scheduler.busy and plan[0].rows <= SMALL.warm
            apply(scheduler, plan)
            check(scheduler)
            event("a warm pass")
            continue
        active = [seq for seq in scheduler.running if not seq.paused][: SMALL.sequences]
        if plan and plan[-1].sequence.warm:
            assert plan[-1].rows <= SMALL.warm_beside_decode and not plan[-1].samples
            assert all(item.sequence.remaining == 1 for item in plan[:-1])
            warm_part = [plan.pop()]
            event("a warm part")
        assert {*active[:1]} <= {item.sequence for item in plan} <= {*active}
        assert {seq for seq in active if seq.remaining == 1} <= {item.sequence for item in plan}
        assert bool(plan) == scheduler.busy
        assert not wanting or wanting[0].table is not None, "the oldest was put back"
        admitted += [seq for seq in scheduler.running if seq not in admitted]
        decode = sum(item.sequence.remaining == 1 for item in plan)
        prefill = sum(item.rows for item in plan if item.sequence.remaining > 1)
        assert len(plan) <= SMALL.sequences
        assert sum(1 + len(item.draft.tokens) for item in plan if item.samples) <= SMALL.decode
        assert prefill <= (SMALL.prefill_beside_decode if decode else SMALL.prefill)
        everybody -= len(apply(scheduler, plan, accept=lambda _: accept))
        apply(scheduler, warm_part)
        check(scheduler)
        if everybody == 0 and not pending:
            break
        if not scheduler.busy:
            disturbed = 0
    while plan := scheduler.schedule():  # warm work that is left
        apply(scheduler, plan)
    assert not scheduler.running and not scheduler.waiting
    if disturbed == 15:
        assert [seq.request.id for seq in admitted] == sorted(seq.request.id for seq in admitted), "out of turn"
    assert scheduler.cache.used == 0
