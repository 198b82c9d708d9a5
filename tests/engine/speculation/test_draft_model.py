"""A smaller model that drafts: what it foresees, what it holds, and when it is asked."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from warmline.engine import EngineOptions, GenerationRequest, ModelError, OfflineEngine, SamplingParams, pack_tokens
from warmline.engine.backends.cpu import CpuBackend
from warmline.engine.core import Engine
from warmline.engine.speculation.draft_model import DraftModel, ModelDrafter

PROMPT = [*range(2, 42)]


def request(id_=1, prompt=PROMPT, **sampling):
    """One whose text nothing but a model foresees."""
    return GenerationRequest(id_, pack_tokens(prompt), SamplingParams(**{"max_tokens": 30, **sampling}))


def said(fake, run, prompt=PROMPT, tokens=30):
    """What the model says to a prompt."""
    return run(Engine(fake.FakeBackend(), fake.FakeTokenizer()), request(prompt=prompt, max_tokens=tokens))[1].tokens


def drafted(fake, prompt=PROMPT, blocks=64):
    """A drafter that has computed its prompt."""
    model = DraftModel(fake.FakeBackend(blocks))
    drafter = ModelDrafter(model, prompt, "")
    return model, drafter


def test_it_drafts_what_the_model_would_say(fake, run):
    """The likeliest tokens, one after the other; also behind tokens that came otherwise."""
    answer = said(fake, run)
    _, drafter = drafted(fake)
    assert drafter.propose(6).tokens == answer[:6]
    drafter.observe(answer[:3])
    assert drafter.propose(6).tokens == answer[3:9]
    drafter.observe([answer[3], 50])
    assert drafter.propose(2).tokens == said(fake, run, [*PROMPT, *answer[:4], 50])[:2]


def test_a_long_prompt_is_caught_up_with_in_pieces(fake, run):
    """The other model's passes go on meanwhile; each waits for a piece of bounded size."""
    prompt = [2 + number % 60 for number in range(150)]
    model, drafter = drafted(fake, prompt)
    assert [len(drafter.propose(2).tokens) for _ in range(3)] == [0, 0, 2]
    assert max(model.backend.passes) == 64
    assert drafter.propose(2).tokens == said(fake, run, prompt)[:2]


def test_evidence_is_what_was_foreseen(fake, run):
    """Tokens in a row, from the last wrong one on."""
    answer = said(fake, run)
    _, drafter = drafted(fake)
    drafter.propose(4)
    drafter.observe(answer[:4])
    assert drafter.evidence == 4
    drafter.propose(4)
    drafter.observe([*answer[4:6], 50])
    assert drafter.evidence == 0


@settings(deadline=None)
@given(st.data())
def test_what_it_computed_is_what_the_tokens_say(fake, data):
    """Whatever stood of its drafts and however often it was asked, it drafts as one that reads all tokens afresh."""
    _, drafter = drafted(fake)
    tokens = list(PROMPT)
    for _ in range(data.draw(st.integers(1, 8))):
        draft = drafter.propose(data.draw(st.integers(1, 6))).tokens
        standing = draft[: data.draw(st.integers(0, len(draft)))]
        emitted = standing + data.draw(st.lists(st.integers(2, 63), max_size=2))
        drafter.observe(emitted)
        tokens += emitted
        fresh = drafted(fake, tokens)[1]
        while not (expected := fresh.propose(3).tokens):
            pass
        assert drafter.propose(3).tokens == expected


def test_without_room_there_is_no_draft(fake):
    """A full cache, or a text beyond the draft model's context, only means that it does not draft."""
    model, drafter = drafted(fake, blocks=3)
    assert len(drafter.propose(8).tokens) == 8
    assert drafter.propose(16).tokens == drafter.propose(8).tokens  # what fits
    drafter.observe([7] * 20)
    assert drafter.propose(4).tokens == []
    drafter.close()
    model.cache.check_integrity()
    assert model.cache.used == 0


def test_closing_leaves_the_cache_to_the_same_key(fake):
    """A later sequence of the key computes only what is new; one of another key computes all."""
    model = DraftModel(fake.FakeBackend())
    first = ModelDrafter(model, PROMPT, "a")
    first.propose(1)
    first.close()
    for salt, rows in (("a", 8), ("b", 40)):
        model.backend.passes.clear()
        drafter = ModelDrafter(model, PROMPT, salt)
        drafter.propose(1)
        drafter.close()
        assert model.backend.passes == [rows]
    model.cache.check_integrity()
    assert (model.cache.used, model.drafters) == (0, 0)


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
        (draft,) = [draft for draft in results[number].finished.drafts if draft.source == "model"]
        assert draft.accepted == draft.proposed > 0
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
    assert max(ModelDrafter(model, PROMPT, "").propose(16).tokens) < 8


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
    model = DraftModel(CpuBackend(config, weights, 40))
    engine = Engine(CpuBackend(config, weights, 40), fake.FakeTokenizer(), draft_model=model)
    model.effort = -1.0
    engine.warm_up()
    assert model.effort > 0


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
    assert drafter.propose(2).tokens
    drafter.observe([model.backend.config.vocab_size])
    assert drafter.propose(2).tokens == []
    assert drafted(fake, prompt=[2, model.backend.config.vocab_size])[1].propose(2).tokens == []


@pytest.mark.parametrize("when", ["propose", "observe", "close"])
def test_a_request_goes_on_without_a_drafter_that_fails(fake, run, when, monkeypatch):
    """A fault of what only foresees costs time."""

    def fail(*_):
        raise RuntimeError("a fault")

    answer = said(fake, run)
    monkeypatch.setattr(ModelDrafter, when, fail)
    engine = Engine(fake.FakeBackend(), fake.FakeTokenizer(), draft_model=DraftModel(fake.FakeBackend()))
    finished = run(engine, request())[1]
    assert (finished.tokens, finished.finished.reason) == (answer, "length")
