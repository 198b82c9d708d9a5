"""Losslessness: the tokens depend on the request alone, whatever the engine does beside and behind it."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from warmline.engine import EngineOptions, GenerationRequest, SamplingParams, WarmRequest, pack_tokens, unpack_tokens
from warmline.engine.backends import create_backend
from warmline.engine.backends.cpu import CpuBackend
from warmline.engine.backends.reference import ReferenceBackend
from warmline.engine.backends.rounded import round_model
from warmline.engine.batch import BLOCK_SIZE, Batch, SequenceSlice
from warmline.engine.budget import StepBudget
from warmline.engine.core import Engine
from warmline.engine.sampling import Adjustments, sample, token_logprobs
from warmline.engine.speculation.cost import USUAL_COST, PassCost
from warmline.engine.speculation.draft_model import DraftModel

pytestmark = pytest.mark.lossless

BUDGETS = [
    StepBudget(),
    StepBudget(sequences=3, decode=3, prefill=7, prefill_beside_decode=3),
    StepBudget(sequences=8, decode=40, prefill=16, prefill_beside_decode=8),
]
COSTS = [USUAL_COST, PassCost(((1, 1.0), (2, 1.0))), PassCost(((1, 1.0), (2, 1.6), (9, 4.0)), per_key=1e-3)]
"""Of passes: by which drafts get their lengths. In the second, whatever is foreseen is verified."""


def adjusted(row, params, prompt, output):
    """Bias and penalties as their formulas say, token by token, from nothing but the tokens so far."""
    row = row.copy()
    for token, bias in params.logit_bias.items():
        row[token] = np.float64(row[token]) + bias
    for token in {*prompt, *output}:
        logit, times = np.float64(row[token]), output.count(token)
        if params.repetition_penalty != 1:
            logit = logit / params.repetition_penalty if logit > 0 else logit * params.repetition_penalty
        if times:
            logit -= params.frequency_penalty * times + params.presence_penalty
        row[token] = logit
    return row


def plain(fake, request, prompt):
    """The yardstick: one token at a time, each from a whole pass over all tokens, without an engine."""
    backend, tokens = fake.FakeBackend(), list(prompt)
    table = list(range(backend.num_blocks))
    while len(tokens) < len(prompt) + request.sampling.max_tokens:
        part = SequenceSlice(0, len(tokens), 0, table)
        row = backend.forward(Batch(tokens, [part], [len(tokens) - 1])).numpy()[0]
        row = adjusted(row, request.sampling, prompt, tokens[len(prompt) :])
        token = sample(row, request.sampling, len(tokens))
        if token == fake.END:
            break
        tokens.append(token)
    return tokens[len(prompt) :]


def scores(fake, request, prompt, output):
    """The log probabilities that belong to a request's output: of rows of one pass over everything."""
    if request.sampling.logprobs is None or not output:
        return []
    backend, tokens = fake.FakeBackend(), [*prompt, *output]
    part = SequenceSlice(0, len(tokens), 0, list(range(backend.num_blocks)))
    rows = backend.forward(Batch(tokens, [part], list(range(len(prompt) - 1, len(tokens) - 1)))).numpy()
    return [token_logprobs(row, token, request.sampling.logprobs) for row, token in zip(rows, output, strict=True)]


@st.composite
def workloads(draw, least=1):
    """Requests whose prompts share beginnings of so many tokens at least; drafts are right, partly right or wrong."""
    stem = draw(st.lists(st.integers(2, 63), min_size=least, max_size=60))
    requests = []
    for id_ in range(draw(st.integers(1, 6))):
        prompt = stem[: draw(st.integers(least, len(stem)))] + draw(st.lists(st.integers(2, 63), max_size=6))
        sampling = SamplingParams(
            max_tokens=draw(st.integers(1, 50)),
            temperature=draw(st.sampled_from([0.0, 0.8])),
            top_p=draw(st.sampled_from([1.0, 0.9])),
            top_k=draw(st.sampled_from([0, 5])),
            seed=draw(st.integers(0, 3)),
            repetition_penalty=draw(st.sampled_from([1.0, 1.0, 1.3])),
            presence_penalty=draw(st.sampled_from([0.0, 0.0, 0.5])),
            frequency_penalty=draw(st.sampled_from([0.0, 0.0, -0.4])),
            logit_bias=draw(st.sampled_from([{}, {}, {2: 3.0, 9: -100.0}])),
            logprobs=draw(st.sampled_from([None, 0, 3])),
        )
        requests.append(
            (GenerationRequest(id_, pack_tokens(prompt), sampling, salt=draw(st.sampled_from("ab"))), prompt)
        )
    return requests


def with_draft(draw, request, output):
    """The request with no draft, or its own output with a few changes as draft."""
    if draw(st.booleans()):
        return request
    draft = list(output)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(draft)))
        draft[at : at + draw(st.integers(0, 3))] = draw(st.lists(st.integers(0, 63), max_size=3))
    return GenerationRequest(
        request.id, request.prompt, request.sampling, request.salt, draw(st.booleans()), pack_tokens(draft)
    )


def draft_model(fake, draw):
    """None, or one that knows what the model says, in more or less memory: sampling and penalties make it fail."""
    if draw(st.booleans()):
        return None
    model = DraftModel(fake.FakeBackend(draw(st.sampled_from([4, 60]))))
    model.effort = draw(st.sampled_from([0.02, 0.3]))
    return model


class FickleCost:
    """What passes cost is learnt to be something else in every pass."""

    def __init__(self, draw) -> None:
        self.draw = draw

    @property
    def cost(self) -> PassCost:
        return self.draw(st.sampled_from(COSTS))

    def observe_pass(self, batch, seconds) -> None:
        assert seconds >= 0


def check_lossless(fake, run, draw):
    """Run a drawn workload in a drawn engine, twice, against the yardstick."""
    workload = draw(workloads())
    expected = {request.id: plain(fake, request, prompt) for request, prompt in workload}
    requests = [with_draft(draw, request, expected[request.id]) for request, _ in workload]
    longest = max(len(prompt) + request.sampling.max_tokens for request, prompt in workload)
    blocks = -(-longest // BLOCK_SIZE) + draw(st.sampled_from([0, 2, 40]))
    drafting = draft_model(fake, draw)
    engine = Engine(fake.FakeBackend(blocks), fake.FakeTokenizer(), draw(st.sampled_from(BUDGETS)), drafting)
    engine.scheduler.cost = draw(st.sampled_from(COSTS))
    if drafting is None and draw(st.booleans()):
        engine._learned = FickleCost(draw)
    for _ in ("empty cache", "filled cache"):
        results = run(engine, *requests)
        assert {id_: result.tokens for id_, result in results.items()} == expected
        for request, prompt in workload:
            assert results[request.id].logprobs == scores(fake, request, prompt, expected[request.id])
        if drafting is not None:
            drafting.cache.check_integrity()
            assert drafting.cache.used == drafting.drafters == 0


@settings(deadline=None, max_examples=100)
@given(st.data())
def test_tokens_depend_on_the_request_alone(fake, run, data):
    """Drafts, company, memory, chunk sizes, cache and preemption change no token and no log probability."""
    check_lossless(fake, run, data.draw)


def test_drafts_of_every_source_stand_and_fail_in_it(fake, run):
    """The property above is about drafts from an original, from repetitions and of a model, right and wrong ones."""
    seen = Counter()

    def counting(engine, *requests):
        results = run(engine, *requests)
        for result in results.values():
            for draft in result.finished.drafts:
                seen[draft.source, "stood"] += draft.accepted
                seen[draft.source, "failed"] += draft.proposed - draft.accepted
        return results

    @settings(deadline=None, max_examples=60, database=None, derandomize=True, phases=[Phase.generate])
    @given(st.data())
    def property_(data):
        check_lossless(fake, counting, data.draw)

    property_()
    for source in ("edit", "suffix", "model"):
        assert min(seen[source, "stood"], seen[source, "failed"]) > 15, seen


class Disturbed:
    """An engine whose requests are disturbed at random, between its steps and between the layers of its passes.

    The driver of the property below: it draws what happens, and checks each plan, each event and each receipt.
    """

    def __init__(self, fake, workload, expected, draw, collected) -> None:
        self.fake, self.draw, self.expected = fake, draw, expected
        longest = max(len(prompt) + request.sampling.max_tokens for request, prompt in workload)
        blocks = -(-longest // BLOCK_SIZE) + draw(st.sampled_from([0, 2, 40]))
        sequences = draw(st.integers(1, 3))
        budget = StepBudget(
            sequences,
            decode=draw(st.integers(3, 20)),
            prefill=draw(st.integers(3, 40)),
            prefill_beside_decode=3,
            warm=draw(st.sampled_from([16, 64])),
            warm_beside_decode=draw(st.sampled_from([0, 2, 7, 40])),
            warm_requests=2,
        )
        drafting = draft_model(fake, draw)
        self.engine = Engine(fake.FakeBackend(blocks, layers=2), fake.FakeTokenizer(), budget, drafting)
        self.engine.scheduler.cost = draw(st.sampled_from(COSTS))
        self.schedule, self.engine.scheduler.schedule = self.engine.scheduler.schedule, self.checked_schedule
        self.pending = [with_draft(draw, request, expected[request.id]) for request, _ in workload]
        self.workload = workload
        self.results, self.collected = {}, collected
        self.cancelled = set()
        self.ops = draw(st.integers(0, 40))

    def checked_schedule(self, between=None):
        """A pass is of all that decode, prompts that share what is left, and a warm one where there are none."""
        plan = self.schedule(between)
        scheduler = self.engine.scheduler
        requests = [item.sequence for item in plan if not item.sequence.warm]
        warm = [item for item in plan if item.sequence.warm]
        assert len(warm) <= 1 and (not warm or plan[-1] is warm[0])
        if warm and requests:
            assert all(sequence.remaining == 1 for sequence in requests)
            assert warm[0].rows <= scheduler.budget.warm_beside_decode
        unpaused = [sequence for sequence in scheduler.running if not sequence.paused]
        assert {*requests} <= {*unpaused}
        assert len(requests) <= scheduler.budget.sequences
        if len(unpaused) <= scheduler.budget.sequences:  # else some are left out
            assert all(sequence in requests for sequence in unpaused if sequence.remaining == 1)
        assert bool(requests) == scheduler.busy
        return plan

    def disturb(self) -> None:
        """Something happens, or nothing."""
        if self.ops == 0:
            return
        self.ops -= 1
        self.take(self.engine.take_events())
        live = [id_ for id_ in self.results if self.results[id_].finished is None]
        what = self.draw(
            st.sampled_from(["nothing", "add", "warm", "warm", "pause", "pause all", "resume", "cancel"])
        )
        if what == "add" and self.pending:
            request = self.pending.pop(0)
            self.results[request.id] = self.collected()
            self.engine.add(request)
        elif what == "warm":
            (request, prompt), id_ = self.draw(st.sampled_from(self.workload)), 1000 + self.ops
            tokens = [*prompt, *self.expected[request.id], *self.draw(st.lists(st.integers(2, 5), max_size=40))]
            self.results[id_] = self.collected()
            self.engine.warm(WarmRequest(id_, pack_tokens(tokens), request.salt))
        elif what == "pause all":
            for id_ in live:
                self.engine.pause(id_, True)
        elif what in ("pause", "resume") and live:
            self.engine.pause(self.draw(st.sampled_from(live)), what == "pause")
        elif what == "cancel" and live and self.draw(st.integers(0, 2)) == 0:
            id_ = self.draw(st.sampled_from(live))
            self.cancelled.add(id_)
            self.engine.cancel(id_)

    def step(self) -> None:
        """One step with things happening in it."""

        def between_layers() -> bool:
            if self.draw(st.integers(0, 4)) == 0:
                self.disturb()
            return False

        self.take(self.engine.step(between_layers))
        self.engine.check_integrity()

    def take(self, events) -> None:
        for event in events:
            self.results[event.id](event)

    def run(self) -> None:
        """To the end: when nothing disturbs any more, everybody goes on and ends in bounded time."""
        while self.ops:
            self.disturb()
            for _ in range(self.draw(st.integers(1, 4))):
                self.step()
        for request in self.pending:
            self.results[request.id] = self.collected()
            self.engine.add(request)
        for id_ in self.results:
            self.engine.pause(id_, False)
        for _ in range(60 * len(self.results) + 400):
            if not self.engine.has_work:
                break
            self.step()
        assert self.engine.stats().blocks_used == 0

    def check(self) -> None:
        """One end each; whole outputs are those of a run alone, and cut ones begin like them; receipts add up."""
        for request, prompt in self.workload:
            result = self.results[request.id]
            whole = scores(self.fake, request, prompt, self.expected[request.id])
            assert result.logprobs == whole[: len(result.tokens)]
        for id_, result in self.results.items():
            finished = result.finished
            assert finished is not None, "starved"
            assert finished.reason == "cancel" or id_ not in self.cancelled
            parts = finished.warmed_tokens + finished.cached_tokens + finished.computed_tokens
            if finished.reason == "cancel":
                assert id_ in self.cancelled or id_ not in self.expected
                assert parts <= finished.prompt_tokens
                assert result.tokens == self.expected.get(id_, [])[: len(result.tokens)]
            elif id_ in self.expected:
                assert result.tokens == self.expected[id_]
                assert parts == finished.prompt_tokens and finished.computed_tokens > 0
            else:
                assert (finished.reason, result.tokens, parts) in (
                    ("stop", [], finished.prompt_tokens),
                    ("error", [], 0),  # longer than anything that could run
                )


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_warm_work_pauses_and_cancels_change_no_token(fake, collected, data):
    """Whatever happens when, each request has its own tokens, an exact receipt, one end and its turn."""
    workload = data.draw(workloads(least=30))
    expected = {request.id: plain(fake, request, prompt) for request, prompt in workload}
    disturbed = Disturbed(fake, workload, expected, data.draw, collected)
    disturbed.run()
    disturbed.check()


def accepting_everything(draft, target):
    """A broken verification: the whole draft is emitted."""
    return [*draft, target(len(draft))]


def accepting_one_too_many(draft, target):
    """A broken verification: the first wrong draft token is emitted in place of the target's."""
    for index, guess in enumerate(draft):
        if target(index) != guess:
            return draft[: index + 1]
    return [*draft, target(len(draft))]


def dropping_the_correction(draft, target):
    """A broken verification: behind a rejected token it goes on with the next row."""
    emitted = []
    for index, guess in enumerate(draft):
        emitted.append(target(index))
        if emitted[-1] != guess:
            return [*emitted, target(index + 1)]
    return [*emitted, target(len(draft))]


@pytest.mark.parametrize("broken", [accepting_everything, accepting_one_too_many, dropping_the_correction])
def test_a_broken_verification_is_noticed(fake, run, monkeypatch, broken):
    """The property above fails when verification is wrong."""
    monkeypatch.setattr("warmline.engine.core.verify", broken)

    @settings(deadline=None, max_examples=120, database=None, derandomize=True, phases=[Phase.generate])
    @given(st.data())
    def property_(data):
        check_lossless(fake, run, data.draw)

    with pytest.raises(AssertionError):
        property_()


def never_taking_back(self, ahead):
    """Broken penalties: draft tokens stay counted, whether or not they stand."""
    for token in ahead[len(self._ahead) :]:
        self._count(token)
        self._ahead.append(token)


def never_looking_ahead(self, ahead):
    """Broken penalties: the draft tokens before a row are not counted."""


@pytest.mark.parametrize("broken", [never_taking_back, never_looking_ahead])
def test_broken_penalties_are_noticed(fake, run, monkeypatch, broken):
    """The property above fails when penalties count other tokens than those before their row."""
    monkeypatch.setattr(Adjustments, "_count_ahead", broken)

    @settings(deadline=None, max_examples=200, database=None, derandomize=True, phases=[Phase.generate])
    @given(st.data())
    def property_(data):
        check_lossless(fake, run, data.draw)

    with pytest.raises(AssertionError):
        property_()


@pytest.mark.parametrize("length", [15, 16, 17])
def test_a_conversation_goes_on_from_the_cache(fake, run, length):
    """What follows a prompt and its answer is the same from the cache, also where they end with a block.

    The last token's key is not computed when a sequence ends: its block must not be shared.
    """
    engine = Engine(fake.FakeBackend(), fake.FakeTokenizer())
    tokens = [2 + number % 7 for number in range(length)]
    for turn in range(6):
        sampling = SamplingParams(max_tokens=16, temperature=0.8, seed=turn)
        request = GenerationRequest(turn, pack_tokens(tokens), sampling)
        result = run(engine, request)[turn]
        assert result.tokens == plain(fake, request, tokens)
        tokens += result.tokens


def test_a_rejected_draft_leaves_no_trace_in_the_cache(fake, run):
    """Blocks reached only by rejected draft tokens are not shared: a later request computes them."""
    prompt = list(range(2, 33))
    engine = Engine(fake.FakeBackend(), fake.FakeTokenizer())
    wrong = [5] * 40
    request = GenerationRequest(1, pack_tokens(prompt), SamplingParams(max_tokens=1), draft=pack_tokens(wrong))
    run(engine, request)
    follower = GenerationRequest(2, pack_tokens([*prompt, *wrong]), SamplingParams(max_tokens=8))
    result = run(engine, follower)[2]
    assert result.finished.cached_tokens <= len(prompt) // BLOCK_SIZE * BLOCK_SIZE
    assert result.tokens == plain(fake, follower, [*prompt, *wrong])


SHAPED = {"repetition_penalty": 1.2, "presence_penalty": 0.3, "frequency_penalty": 0.2, "logit_bias": {7: -2.0}}


def requests_for(prompts, temperature, drafts=None, shaped=False):
    """A request per prompt, with its own seed; drafted if there are drafts; penalties for every second if shaped."""
    return [
        GenerationRequest(
            id_,
            pack_tokens(prompt),
            SamplingParams(
                max_tokens=24,
                temperature=temperature,
                top_p=0.95,
                seed=100 + id_,
                logprobs=id_ % 3,
                **(SHAPED if shaped and id_ % 2 == 0 else {}),
            ),
            speculation=drafts is not None,
            draft=None if drafts is None else pack_tokens(drafts[id_]),
        )
        for id_, prompt in enumerate(prompts)
    ]


def outcome(results):
    """What must not differ: the tokens and, bit for bit, their log probabilities."""
    return {id_: (result.tokens, result.logprobs) for id_, result in results.items()}


def check_backend(make_backend, tokenizer, run, prompts, temperature, budgets=BUDGETS, shaped=False):
    """Alone and undrafted, together and drafted in several engines, from the cache, from a warmed cache: the same."""
    alone = {}
    for request in requests_for(prompts, temperature, shaped=shaped):
        alone.update(run(Engine(make_backend(), tokenizer), request))
    expected = outcome(alone)
    assert all(len(tokens) == len(logprobs) for tokens, logprobs in expected.values())
    # Drafts that are right, but for a wrong piece in the middle.
    drafts = [[*tokens[:9], 7, 7, *tokens[11:], 5] for tokens, _ in expected.values()]
    for budget in budgets:
        engine = Engine(make_backend(), tokenizer, budget)
        for _ in ("empty cache", "filled cache"):
            assert outcome(run(engine, *requests_for(prompts, temperature, drafts, shaped))) == expected
    accompanied, tokens = Engine(make_backend(), tokenizer), {id_: [] for id_ in expected}
    for request in requests_for(prompts, temperature, drafts, shaped):
        accompanied.warm(WarmRequest(1000 + request.id, pack_tokens(prompts[request.id][::-1])))
        accompanied.add(request)
    while accompanied.scheduler.busy:
        for event in accompanied.step():
            if event.id in tokens:
                tokens[event.id] += unpack_tokens(event.tokens)
    assert tokens == {id_: emitted for id_, (emitted, _) in expected.items()}
    assert accompanied.stats().warm_computed_tokens > 0
    warmed = Engine(make_backend(), tokenizer)
    for id_, prompt in enumerate(prompts):
        warmed.warm(WarmRequest(id_, pack_tokens(prompt)))
    while warmed.has_work:
        warmed.step()
    assert outcome(run(warmed, *requests_for(prompts, temperature, drafts, shaped))) == expected
    assert warmed.stats().warm_used_tokens > 0
    assert engine.stats().accepted_tokens > sum(len(tokens) for tokens, _ in expected.values()) / 2
    assert engine.stats().cached_tokens > 0


@pytest.mark.parametrize("shaped", [False, True])
@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize("kind", [ReferenceBackend, CpuBackend])
def test_a_tiny_model_is_lossless(fake, run, make_tiny_model, kind, temperature, shaped):
    """Real attention and matrix products on each backend: speculation, company, chunks and cache change nothing."""
    config, weights = make_tiny_model(head_dim=32, num_heads=2, num_kv_heads=1)
    prompts = [[(3 * i * n + i + 2) % 300 + 2 for i in range(10 + 7 * n)] for n in range(8)]
    model = round_model(config, weights) if kind is CpuBackend else weights
    check_backend(lambda: kind(config, model, 40), fake.FakeTokenizer(), run, prompts, temperature, shaped=shaped)


@pytest.fixture(scope="module")
def real(default_model):
    """The default model on the cpu backend, and its tokenizer."""
    return create_backend(EngineOptions(str(default_model), backend="cpu", kv_memory=1 << 29))


def endings(tokenizer, records, tokens):
    """The last tokens of real code, one prompt a record."""
    return [tokenizer.encode(record.context + record.before)[-tokens:] for record in records]


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_the_default_model_is_lossless(run, real, edit_records, temperature):
    """The same for twenty pieces of real code on the default model."""
    backend, tokenizer = real
    prompts = endings(tokenizer, edit_records[:: max(len(edit_records) // 20, 1)][:20], 200)
    check_backend(lambda: backend, tokenizer, run, prompts, temperature, BUDGETS[:1], shaped=temperature > 0)


@pytest.mark.verify
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_the_default_model_is_lossless_in_every_budget(run, real, edit_records, temperature):
    """Longer prompts, cut in chunks of all sizes."""
    backend, tokenizer = real
    check_backend(lambda: backend, tokenizer, run, endings(tokenizer, edit_records[::27][:8], 600), temperature)


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_replay_samples_the_same_with_and_without_drafts(run, real, edit_records, monkeypatch, temperature):
    """When real edits are replayed, mostly from drafts, every position is sampled as in plain decoding."""
    backend, tokenizer = real
    sampled = {}

    def recording(row, params, position):
        token = sample(row, params, position)
        sampled.setdefault((params.seed, position), set()).add(token)
        return token

    monkeypatch.setattr("warmline.engine.core.sample", recording)
    results = {}
    for speculation in (False, True):
        requests = [
            GenerationRequest(
                id_,
                pack_tokens(tokenizer.encode(record.context)[-100:]),
                SamplingParams(max_tokens=100, temperature=temperature, seed=id_),
                speculation=speculation,
                draft=pack_tokens(tokenizer.encode(record.before)),
                replay=pack_tokens(tokenizer.encode(record.after)),
            )
            for id_, record in enumerate(edit_records[::40])
        ]
        results[speculation] = run(Engine(backend, tokenizer), *requests)
    assert {len(tokens) for tokens in sampled.values()} == {1}
    accepted = sum(draft.accepted for result in results[True].values() for draft in result.finished.drafts)
    assert accepted >= sum(len(result.tokens) for result in results[True].values()) / 2
    assert {id_: result.tokens for id_, result in results[True].items()} == {
        id_: result.tokens for id_, result in results[False].items()
    }
