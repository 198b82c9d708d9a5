"""A smaller model that drafts: what it foresees, what it holds, and when it is asked."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from warmline.engine import EngineOptions, GenerationRequest, ModelError, OfflineEngine, SamplingParams, pack_tokens
from warmline.engine.backends.cpu import CpuBackend
from warmline.engine.backends.rounded import round_model
from warmline.engine.core import Engine
from warmline.engine.speculation.cost import USUAL_COST, PassCost
from warmline.engine.speculation.draft_model import DraftModel, ModelDrafter
from warmline.engine.speculation.learning import LearnedCost

PROMPT = [*range(2, 42)]
VOCABULARY = 64
"""That of the fake model."""


class Drafting(ModelDrafter):
    """With the tokens of a sequence that has nothing else."""

    def __init__(self, model, prompt, salt):
        self.sequence = list(prompt)
        super().__init__(model, self.sequence, salt)

    def observe(self, emitted):
        """The sequence has the tokens before its drafter is told."""
        self.sequence += emitted
        super().observe(emitted)


def request(id_=1, prompt=PROMPT, **sampling):
    """One whose text nothing but a model foresees."""
    return GenerationRequest(id_, pack_tokens(prompt), SamplingParams(**{"max_tokens": 30, **sampling}))


def said(fake, run, prompt=PROMPT, tokens=30):
    """What the model says to a prompt."""
    return run(Engine(fake.FakeBackend(), fake.FakeTokenizer()), request(prompt=prompt, max_tokens=tokens))[1].tokens


def drafted(fake, prompt=PROMPT, blocks=64):
    """A drafter of a model that drafts for nobody else yet."""
    model = DraftModel(fake.FakeBackend(blocks))
    return model, Drafting(model, prompt, "")


def draft(model, *drafters, tokens=3, saved=1.0):
    """What each drafts of so many tokens, once the model has computed for all of them."""
    for drafter in drafters:
        drafter.want([saved] * tokens)
    model.draft(len(drafters))
    drafts = [drafter.propose(100).tokens for drafter in drafters]
    return drafts[0] if len(drafters) == 1 else drafts


def test_it_drafts_what_the_model_would_say(fake, run):
    """The likeliest tokens, one after the other; also behind tokens that came otherwise."""
    answer = said(fake, run)
    model, drafter = drafted(fake)
    assert draft(model, drafter, tokens=6) == answer[:6]
    drafter.observe(answer[:3])
    assert drafter.propose(6).tokens == []
    assert draft(model, drafter, tokens=6) == answer[3:9]
    drafter.observe([answer[3], 50])
    assert draft(model, drafter, tokens=2) == said(fake, run, [*PROMPT, *answer[:4], 50])[:2]


def test_one_pass_drafts_a_token_for_all(fake, run):
    """Ten sequences take the passes of one; each has the draft that it would have alone."""
    model = DraftModel(fake.FakeBackend(200))
    prompts = [PROMPT[number:] for number in range(10)]
    drafters = [Drafting(model, prompt, "") for prompt in prompts]
    for drafter in drafters:
        while not draft(model, drafter):  # the prompts
            pass
        drafter.observe([50])
    model.backend.passes.clear()
    drafts = draft(model, *drafters, tokens=4)
    assert drafts == [said(fake, run, [*prompt, 50])[:4] for prompt in prompts]
    assert model.backend.passes == [10] * 4


def test_a_long_prompt_is_caught_up_with_in_pieces(fake, run):
    """The other model's passes go on meanwhile; each waits for a piece of bounded size."""
    prompt = [2 + number % 60 for number in range(150)]
    model, drafter = drafted(fake, prompt)
    assert [len(draft(model, drafter, tokens=2)) for _ in range(3)] == [0, 0, 2]
    assert max(model.backend.passes) == 64
    assert drafter.propose(2).tokens == said(fake, run, prompt)[:2]


def test_prompts_are_caught_up_with_beside_drafts(fake):
    """In the passes that draft for others, the shortest first, and together no more than a pass may have."""
    model, ready = drafted(fake, blocks=200)
    model.effort = 0.05
    draft(model, ready, tokens=1)
    ready.observe([50])
    long = [Drafting(model, [2 + number % 50] * (70 + number), "") for number in range(4)]
    model.backend.passes.clear()
    drafts = draft(model, ready, *long, tokens=2)
    assert [len(tokens) for tokens in drafts] == [2, 0, 0, 0, 0]
    assert model.backend.passes == [128, 1]
    assert [drafter.computed for drafter in long] == [64, 63, 0, 0]


def test_drafts_must_pay_for_all_that_wait(fake):
    """Passes that one sequence alone would be worth are not, where others wait that have nothing of them."""
    model, drafter = drafted(fake)
    model.effort = 0.25
    for waiting, tokens in ((1, 3), (3, 2), (4, 0)):
        drafter.want([0.9, 0.8, 0.3])
        model.draft(waiting)
        assert len(drafter.propose(9).tokens) == tokens
        drafter.observe([])


PER_ROW = PassCost(((1, 1.0), (128, 128.0)))
"""Where each row costs as much as the first."""


def test_catching_up_is_priced_by_its_rows(fake):
    """For all that wait it takes less than all that is wanted saves, and never longer than the other model's pass."""
    for waiting, rows in ((1, [9]), (4, [5]), (40, [])):
        model, drafter = drafted(fake)
        model.effort, model.cost = 0.11, PER_ROW
        drafter.want([0.9] * 4)
        model.draft(waiting)
        assert model.backend.passes == rows


def test_catching_up_does_not_hold_up_drafts_for_more_than_it_is_worth(fake):
    """Whoever is ready has its draft, beside as many rows of others as pay."""
    model, ready = drafted(fake, blocks=200)
    draft(model, ready, tokens=1)
    ready.observe([50])
    late = Drafting(model, [2 + number % 50 for number in range(100)], "")
    model.effort, model.cost = 0.1, PER_ROW
    model.backend.passes.clear()
    ready.want([0.9, 0.9])
    late.want([0.9, 0.35])
    model.draft(2)
    assert len(ready.propose(9).tokens) == 2
    assert model.backend.passes == [1 + 3, 1]
    assert late.computed == 3


@given(
    st.lists(
        st.tuples(st.integers(1, 150), st.lists(st.floats(0.01, 1.0), min_size=1, max_size=6)), min_size=1, max_size=6
    ),
    st.floats(0.001, 2.0),
    st.floats(0.0, 1.0),
    st.integers(1, 12),
)
def test_no_pass_costs_more_than_it_is_worth(fake, drafters, effort, a_row, waiting):
    """However much there is to catch up with; nor does one that catches up take longer than the other model's."""
    model = DraftModel(fake.FakeBackend(400))
    model.effort, model.cost = effort, PassCost(((1, 1.0), (128, 1.0 + 127 * a_row)), per_key=1e-4)
    worth = 0.0
    for length, wanted in drafters:
        drafter = Drafting(model, [7] * length, "")
        drafter.want(wanted)
        worth += sum(wanted)
    model.draft(waiting)
    assert waiting * sum(map(model.price, model.backend.passes)) < worth
    if all(length > 2 for length, _ in drafters):
        assert all(model.price(rows) <= 1.0 for rows in model.backend.passes[:1])


def test_whoever_does_not_draft_costs_nothing(fake):
    """Open drafters that are paused, or can't read their text, make the others' drafts no dearer."""
    model, drafter = drafted(fake)
    unreadable = Drafting(model, [2, VOCABULARY], "")
    paused = [Drafting(model, PROMPT, "") for _ in range(20)]
    assert drafter.effort == model.effort
    drafter.want([1.0] * 4)
    unreadable.want([1.0] * 4)
    assert model.wanting == [drafter]
    model.draft(waiting=2)
    assert [len(one.propose(9).tokens) for one in (drafter, unreadable, *paused)] == [4] + [0] * 21


@pytest.mark.parametrize("asked", range(8))
def test_drafting_is_given_up_at_once(fake, asked):
    """Asked before each pass and between its layers; what was drafted before stands, and nothing is lost."""
    model = DraftModel(fake.FakeBackend(layers=2))
    drafter = Drafting(model, PROMPT, "")
    expected = draft(model, Drafting(model, PROMPT, ""), tokens=4)
    model.backend.passes.clear()
    answers = iter([*[False] * asked, True])
    drafter.want([1.0] * 4)
    model.draft(1, lambda: next(answers))
    assert drafter.propose(9).tokens == expected[: asked // 3]
    assert len(model.backend.passes) == asked // 3
    drafter.observe(expected[:1])
    assert draft(model, drafter, tokens=3) == expected[1:]


@pytest.mark.parametrize("asked", range(1, 9))
def test_a_sequence_may_end_while_it_is_drafted_for(fake, asked):
    """The others' drafts are as without it, and its blocks are given back."""
    expected = draft(*drafted(fake), tokens=4)
    model = DraftModel(fake.FakeBackend(layers=2))
    ending, staying = Drafting(model, PROMPT[1:], ""), Drafting(model, PROMPT, "")
    calls = 0

    def listen():
        nonlocal calls
        calls += 1
        if calls == asked:
            ending.close()
        return False

    for drafter in (ending, staying):
        drafter.want([1.0] * 4)
    model.draft(2, listen)
    assert staying.propose(9).tokens == expected
    staying.close()
    model.cache.check_integrity()
    assert (model.cache.used, model.drafters) == (0, 0)


def test_a_pass_that_fails_ends_its_drafts_alone(fake, caplog):
    """Said once; later sequences are drafted for again."""
    model = DraftModel(fake.FakeBackend())
    drafters = [Drafting(model, PROMPT[number:], "") for number in range(3)]
    model.backend.fail = RuntimeError("a fault")
    assert draft(model, *drafters) == [[]] * 3
    assert draft(model, *drafters) == [[]] * 3
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert len(draft(model, Drafting(model, PROMPT, ""))) == 3


def test_evidence_is_what_was_foreseen(fake, run):
    """Tokens in a row, from the last wrong one on."""
    answer = said(fake, run)
    model, drafter = drafted(fake)
    draft(model, drafter, tokens=4)
    drafter.observe(answer[:4])
    assert drafter.evidence == 4
    draft(model, drafter, tokens=4)
    drafter.observe([*answer[4:6], 50])
    assert drafter.evidence == 0


@settings(deadline=None)
@given(st.data())
def test_what_it_computed_is_what_the_tokens_say(fake, data):
    """Whatever stood of the drafts and however often they were wanted, they are those of who reads all afresh."""
    model = DraftModel(fake.FakeBackend(200))
    texts = [PROMPT[number:] for number in range(data.draw(st.integers(1, 3)))]
    drafters = [Drafting(model, text, "") for text in texts]
    for _ in range(data.draw(st.integers(1, 6))):
        wanting = data.draw(st.sets(st.sampled_from(range(len(texts))), min_size=1))
        for number in wanting:
            drafters[number].want([1.0] * data.draw(st.integers(1, 6)))
        model.draft(len(wanting))
        for number in wanting:
            tokens = drafters[number].propose(100).tokens
            standing = tokens[: data.draw(st.integers(0, len(tokens)))]
            emitted = standing + data.draw(st.lists(st.integers(2, 63), max_size=2))
            drafters[number].observe(emitted)
            texts[number] = texts[number] + emitted
    for text, drafter in zip(texts, drafters, strict=True):
        alone, afresh = drafted(fake, text)
        expected = [draft(alone, afresh) for _ in range(2)][-1]
        assert [draft(model, drafter) for _ in range(2)][-1] == expected
        assert len(expected) == 3


def test_without_room_there_is_no_draft(fake):
    """A full cache, or a text beyond the draft model's context, only means that it does not draft."""
    model, drafter = drafted(fake, blocks=3)
    assert len(draft(model, drafter, tokens=8)) == 8
    assert len(draft(model, drafter, tokens=16)) == 8  # what fits
    drafter.observe([7] * 20)
    assert draft(model, drafter, tokens=4) == []
    drafter.close()
    model.cache.check_integrity()
    assert model.cache.used == 0


def test_a_draft_is_cut_to_what_others_leave(fake):
    """Where the cache has no room for all of it."""
    model, drafter = drafted(fake, blocks=5)
    other = Drafting(model, [7] * 30, "")
    assert len(draft(model, other, tokens=1)) == 1
    assert len(draft(model, drafter, tokens=16)) == 8
    assert other.propose(1).tokens


def test_closing_leaves_the_cache_to_the_same_key(fake):
    """A later sequence of the key computes only what is new; one of another key computes all."""
    model = DraftModel(fake.FakeBackend())
    first = Drafting(model, PROMPT, "a")
    draft(model, first)
    first.close()
    for salt, rows in (("a", 8), ("b", 40)):
        model.backend.passes.clear()
        drafter = Drafting(model, PROMPT, salt)
        draft(model, drafter, tokens=1)
        drafter.close()
        assert model.backend.passes == [rows]
    model.cache.check_integrity()
    assert (model.cache.used, model.drafters) == (0, 0)


def test_what_was_not_observed_is_not_taken_for_computed(fake, run):
    """A sequence whose drafter was not told of its last tokens leaves no keys of rejected drafts to others."""
    answer = said(fake, run)
    model, drafter = drafted(fake)
    assert len(draft(model, drafter, tokens=16)) == 16
    drafter.sequence += [50] * 16  # other tokens than were drafted
    drafter.close()
    follower = Drafting(model, [*PROMPT, *[50] * 16], "")
    assert follower.computed <= len(PROMPT)
    assert draft(model, Drafting(model, PROMPT, ""), tokens=4) == answer[:4]


def test_an_engine_drafts_with_it(fake, run):
    """The same text in far fewer passes, and everything is given back."""
    plain = Engine(fake.FakeBackend(), fake.FakeTokenizer())
    model = DraftModel(fake.FakeBackend())
    model.effort = 0.05
    engine = Engine(fake.FakeBackend(), fake.FakeTokenizer(), draft_model=model)
    requests = [request(number, PROMPT[number:]) for number in range(1, 4)]
    expected, results = run(plain, *requests), run(engine, *requests)
    for number in range(1, 4):
        assert results[number].tokens == expected[number].tokens
        (count,) = [count for count in results[number].finished.drafts if count.source == "model"]
        assert count.accepted == count.proposed > 0
    assert engine.stats().forward_passes < plain.stats().forward_passes / 2
    model.cache.check_integrity()
    assert (model.cache.used, model.drafters) == (0, 0)


def test_one_that_costs_as_much_as_the_model_is_not_asked(fake, run):
    """Except for a probe now and then."""
    model = DraftModel(fake.FakeBackend())
    model.effort = 1.0
    engine = Engine(fake.FakeBackend(), fake.FakeTokenizer(), draft_model=model)
    run(engine, request(max_tokens=60))
    assert len(model.backend.passes) <= 2


def test_it_drafts_no_token_that_the_model_lacks(fake):
    """Its output may have more rows, as padding."""
    model = DraftModel(fake.FakeBackend())
    fewer = fake.FakeBackend()
    fewer.config = replace(fewer.config, vocab_size=8)
    Engine(fewer, fake.FakeTokenizer(), draft_model=model)
    assert max(draft(model, Drafting(model, PROMPT, ""), tokens=16)) < 8


def test_cancelled_and_refused_requests_give_back_what_they_hold(fake):
    """However a sequence ends."""
    model = DraftModel(fake.FakeBackend())
    model.effort = 0.05
    engine = Engine(fake.FakeBackend(), fake.FakeTokenizer(), draft_model=model)
    engine.add(request(1))
    engine.step()
    engine.cancel(1)
    engine.add(request(2, [5, 10**6]))
    engine.add(request(3, []))
    engine.step()
    assert (model.cache.used, model.drafters) == (0, 0)
    model.cache.check_integrity()


def test_the_cost_of_both_is_measured(make_tiny_model, fake):
    """At start, beside the model's own."""
    config, weights = make_tiny_model()
    model = DraftModel(CpuBackend(config, round_model(config, weights), 40))
    engine = Engine(CpuBackend(config, round_model(config, weights), 40), fake.FakeTokenizer(), draft_model=model)
    model.effort = -1.0
    engine.warm_up()
    assert model.effort > 0
    assert model.cost is not USUAL_COST and model.price(1) == pytest.approx(model.effort)
    assert model.price(1) <= model.price(64)


def test_passes_of_both_correct_their_costs(fake, run):
    """From the measurement on; what a token of the draft model costs is compared by what both take by then."""
    model = DraftModel(fake.FakeBackend(60))
    engine = Engine(fake.FakeBackend(60), fake.FakeTokenizer(), draft_model=model)
    engine.warm_up()
    model.learned = LearnedCost(PassCost(((1, 1e-9), (64, 2e-9))))  # nothing is that fast
    model.effort = -1.0
    run(engine, *(request(number, max_tokens=30) for number in range(8)))
    assert model.learned.row_seconds > 2e-9
    assert model.cost is model.learned.cost
    assert 0 < model.effort == pytest.approx(model.learned.row_seconds / engine._learned.row_seconds, rel=0.5)


def test_a_folder_with_the_same_vocabulary_can_draft(tiny_folder):
    """It is loaded beside the model, and says the same as it: here it is the same."""
    requests = [request(max_tokens=8)]
    texts = []
    for draft_model in (None, str(tiny_folder)):
        engine = OfflineEngine(EngineOptions(model=str(tiny_folder), kv_memory=1 << 22, draft_model=draft_model))
        tokens = b""
        for one in requests:
            engine.submit(one)
        while engine.has_work:
            tokens += b"".join(event.tokens for event in engine.step())
        texts.append(tokens)
    assert texts[0] == texts[1] != b""


def test_another_vocabulary_is_refused(tiny_folder, tmp_path, make_tiny_model, write_tiny_folder):
    """A token would mean another text."""
    other = write_tiny_folder(tmp_path / "other", *make_tiny_model())
    tokenizer = other / "tokenizer.json"
    text = tokenizer.read_text()
    assert '"a":' in text and '"b":' in text
    swapped = text.replace('"a":', '"\0":').replace('"b":', '"a":').replace('"\0":', '"b":')
    tokenizer.write_text(swapped)
    with pytest.raises(ModelError, match="other vocabularies"):
        OfflineEngine(EngineOptions(model=str(tiny_folder), kv_memory=1 << 22, draft_model=str(other)))


def test_tokens_that_it_does_not_have_are_not_drafted_from(fake):
    """Models of one vocabulary have different numbers of rows; the larger one may say what pads the smaller."""
    model, drafter = drafted(fake, prompt=[2, 3, 4])
    assert draft(model, drafter)
    drafter.observe([VOCABULARY])
    assert draft(model, drafter) == []
    assert draft(*drafted(fake, prompt=[2, VOCABULARY])) == []


@pytest.mark.parametrize("asked", range(1, 40, 3))
def test_a_cancel_during_the_drafts_is_heard(fake, run, asked):
    """The sequence ends, the others say what they would have said, and all is given back."""
    expected = run(Engine(fake.FakeBackend(), fake.FakeTokenizer()), request(1), request(2, PROMPT[5:]))
    model = DraftModel(fake.FakeBackend(layers=3))
    model.effort = 0.05
    engine = Engine(fake.FakeBackend(), fake.FakeTokenizer(), draft_model=model)
    engine.add(request(1))
    engine.add(request(2, PROMPT[5:]))
    calls, tokens, ends = 0, {1: b"", 2: b""}, {}

    def listen():
        nonlocal calls
        calls += 1
        if calls == 20 + asked:
            engine.cancel(1)
        return False

    while engine.has_work:
        for event in engine.step(listen):
            tokens[event.id] += event.tokens
            if event.finished is not None:
                ends[event.id] = event.finished.reason
    assert ends == {1: "cancel", 2: expected[2].finished.reason}
    assert tokens[2] == pack_tokens(expected[2].tokens)
    engine.check_integrity()
    model.cache.check_integrity()
    assert (model.cache.used, model.drafters) == (0, 0)


@pytest.mark.parametrize("when", ["propose", "observe", "close", "want"])
def test_a_request_goes_on_without_a_drafter_that_fails(fake, run, when, monkeypatch):
    """A fault of what only foresees costs time."""

    def fail(*_):
        raise RuntimeError("a fault")

    answer = said(fake, run)
    monkeypatch.setattr(ModelDrafter, when, fail)
    engine = Engine(fake.FakeBackend(), fake.FakeTokenizer(), draft_model=DraftModel(fake.FakeBackend()))
    finished = run(engine, request())[1]
    assert (finished.tokens, finished.finished.reason) == (answer, "length")
