"""The engine over a model without weights: ends, receipts, cancels, faults."""

from __future__ import annotations

import math

import pytest
from msgspec.structs import replace
from warmline.engine import FREE_SECONDS, CancelRequest, GenerationRequest, SamplingParams, WarmRequest, pack_tokens
from warmline.engine.batch import BLOCK_SIZE
from warmline.engine.budget import StepBudget
from warmline.engine.core import Engine
from warmline.engine.speculation.cost import PassCost

PROMPT = [5, 6, 7] * 10  # the fake model answers it with 56 tokens
SMALL = StepBudget(sequences=4, decode=8, prefill=8, prefill_beside_decode=4)


@pytest.fixture
def engine(fake):
    """An engine over the fake backend."""
    return Engine(fake.FakeBackend(), fake.FakeTokenizer())


def request(id_=1, prompt=PROMPT, draft=None, replay=None, speculation=True, salt="", **sampling):
    """A request with packed tokens."""
    return GenerationRequest(
        id_,
        pack_tokens(list(prompt)),
        SamplingParams(**sampling),
        salt=salt,
        speculation=speculation,
        draft=None if draft is None else pack_tokens(draft),
        replay=None if replay is None else pack_tokens(replay),
    )


def letters(count, start=10):
    """Tokens that the fake tokenizer shows as letters."""
    return [start + i % 50 for i in range(count)]


def hops(finished):
    """The end of the last stage, by the durations."""
    return finished.received_ns + finished.queue_ns + finished.prefill_ns + finished.first_token_ns + finished.step_ns


def test_the_end_token_ends_and_is_not_shown(engine, run, fake):
    """A sequence ends before the end-of-text token, which is neither text nor output."""
    result = run(engine, request())[1]
    assert result.finished.reason == "stop"
    assert fake.END not in result.tokens
    assert len(result.tokens) == result.finished.output_tokens == 56
    assert result.text == fake.FakeTokenizer().decode(result.tokens)


def test_max_tokens_ends_with_length(engine, run):
    """Exactly as many tokens come as were asked for, with and without drafts."""
    plain = run(engine, request(max_tokens=5))[1]
    assert (plain.finished.reason, len(plain.tokens)) == ("length", 5)
    drafted = run(engine, request(2, max_tokens=5, draft=plain.tokens + letters(20)))[2]
    assert (drafted.finished.reason, drafted.tokens) == ("length", plain.tokens)


def test_no_tokens_asked_for_computes_the_prompt(engine, run):
    """With max_tokens 0 the prompt is computed, and is there for the next request."""
    result = run(engine, request(max_tokens=0))[1]
    assert (result.finished.reason, result.tokens) == ("length", [])
    assert run(engine, request(2, [*PROMPT, 3], max_tokens=1))[2].finished.cached_tokens == BLOCK_SIZE


def test_the_end_inside_an_accepted_draft_ends_there(engine, run, fake):
    """A draft that foresees the end and more does not carry the sequence past it."""
    plain = run(engine, request())[1]
    drafted = run(engine, request(2, draft=[*plain.tokens, fake.END, *letters(30)]))[2]
    assert (drafted.tokens, drafted.text) == (plain.tokens, plain.text)
    assert drafted.finished.forward_passes < plain.finished.forward_passes / 4


def test_a_stop_string_inside_an_accepted_draft_ends_there(engine, run):
    """Tokens behind the one that completes a stop string are dropped, drafted or not."""
    whole = run(engine, request())[1]
    stop = whole.text[20:22]
    plain = run(engine, request(2, stop=(stop,)))[2]
    drafted = run(engine, request(3, stop=(stop,), draft=whole.tokens))[3]
    assert plain.text == drafted.text == whole.text[: whole.text.index(stop)]
    assert plain.tokens == drafted.tokens
    assert plain.finished.reason == drafted.finished.reason == "stop"
    assert drafted.finished.drafts[0].accepted <= len(drafted.tokens)


@pytest.mark.parametrize("drafted", [False, True])
def test_each_token_has_its_log_probability_also_where_its_text_is_held_back(engine, run, drafted):
    """The text of a stop string never shows, and what may be one waits: no token is without, and none has two."""
    whole = run(engine, request(max_tokens=30, logprobs=2))[1]
    stop = whole.text[10:14]
    draft = whole.tokens if drafted else None
    stopped = run(engine, request(2, stop=(stop,), logprobs=2, draft=draft))[2]
    assert stopped.finished.reason == "stop"
    assert len(stopped.text) < len(stopped.tokens) < len(whole.tokens)
    assert stopped.logprobs == whole.logprobs[: len(stopped.tokens)]
    for scores, token in zip(whole.logprobs, whole.tokens, strict=True):
        assert scores.top[0] == (token, scores.logprob) == (scores.token, scores.logprob)  # greedy
        assert scores.top[0][1] >= scores.top[1][1]


def test_a_receipt_adds_up(engine, run):
    """Prompt tokens are cached or computed, drafts are counted, and the stages fill the whole time."""
    first = run(engine, request(speculation=False))[1]
    second = run(engine, request(2, draft=[*first.tokens[:20], *letters(4), *first.tokens[20:]]))[2]
    for finished in (first.finished, second.finished):
        assert finished.prompt_tokens == finished.cached_tokens + finished.computed_tokens == len(PROMPT)
        assert hops(finished) == finished.sent_ns
        assert min(finished.queue_ns, finished.prefill_ns, finished.first_token_ns, finished.step_ns) >= 0
    assert (first.finished.cached_tokens, second.finished.cached_tokens) == (0, BLOCK_SIZE)
    assert first.finished.drafts == ()
    drafts = {draft.source: draft for draft in second.finished.drafts}
    assert drafts["edit"].accepted > 0 and drafts.keys() <= {"edit", "suffix"}
    assert all(draft.accepted <= draft.proposed for draft in drafts.values())
    # A pass gives one token more than it accepts; the end-of-text token is not counted as output.
    accepted = sum(draft.accepted for draft in drafts.values())
    assert accepted + second.finished.forward_passes - second.finished.output_tokens in (0, 1)


def test_the_cache_does_not_cross_salts(engine, run):
    """Another key's request for the same prompt computes all of it."""
    run(engine, request(1, salt="a"))
    assert run(engine, request(2, salt="b"))[2].finished.cached_tokens == 0
    assert run(engine, request(3, salt="a"))[3].finished.cached_tokens == BLOCK_SIZE


def test_output_is_found_in_the_cache_too(engine, run):
    """A prompt that goes on from an earlier answer reuses the blocks of that answer."""
    first = run(engine, request(max_tokens=40))[1]
    again = run(engine, request(2, [*PROMPT, *first.tokens, 5], max_tokens=1))[2]
    computed = len(PROMPT) + len(first.tokens) - 1
    assert again.finished.cached_tokens == computed // BLOCK_SIZE * BLOCK_SIZE


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        ({"prompt": [5] * 5000}, "prompt_too_long"),
        ({"prompt": []}, "invalid_parameter"),
        ({"prompt": [64]}, "invalid_parameter"),
        ({"draft": [-1]}, "invalid_parameter"),
        ({"replay": [1000]}, "invalid_parameter"),
        ({"logit_bias": {64: 1.0}}, "invalid_parameter"),
        ({"logit_bias": {2**63: 1.0}}, "invalid_parameter"),
    ],
)
def test_a_request_that_cannot_run_ends_with_an_error(engine, run, bad, code):
    """It gets its one last event, and disturbs nobody beside it."""
    results = run(engine, request(1), request(2, **bad))
    assert (results[2].finished.reason, results[2].finished.error_code) == ("error", code)
    assert results[1].finished.reason == "stop"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_tokens", -1),
        ("temperature", math.nan),
        ("temperature", -0.1),
        ("top_p", 1.1),
        ("top_p", math.nan),
        ("min_p", -0.1),
        ("min_p", 1.1),
        ("min_p", math.nan),
        ("repetition_penalty", 0.0),
        ("repetition_penalty", -1.0),
        ("repetition_penalty", math.nan),
        ("repetition_penalty", math.inf),
        ("presence_penalty", math.nan),
        ("frequency_penalty", math.inf),
        ("logit_bias", {3: math.inf}),
        ("logit_bias", {3: 0.0, 4: math.nan}),
    ],
)
def test_a_parameter_of_which_no_distribution_comes_is_named(engine, run, name, value):
    """The request ends with an error that says which, and no pass is made for it."""
    finished = run(engine, request(**{name: value}))[1].finished
    assert (finished.reason, finished.error_code) == ("error", "invalid_parameter")
    assert finished.error.startswith(name)
    assert not engine.backend.passes


@pytest.mark.parametrize("edge", [{"top_p": 0.0, "min_p": 0.0}, {"top_p": 1.0, "min_p": 1.0}, {"temperature": 100.0}])
def test_parameters_at_the_ends_of_their_ranges_are_taken(engine, run, edge):
    """The ranges include their ends."""
    assert run(engine, request(**{"temperature": 1.0, "max_tokens": 3} | edge))[1].finished.reason != "error"


@pytest.mark.parametrize(
    "bad", [{"prompt": [64]}, {"draft": [-1]}, {"logit_bias": {2**63: 1.0}}, {"temperature": math.nan}]
)
def test_nothing_is_made_for_a_request_that_is_refused(engine, run, bad):
    """What drafts for a request may hold blocks of its own, so it is not made before all was looked at."""
    made, create = [], engine.drafting
    engine.drafting = lambda *given: made.append(given) or create(*given)
    finished = run(engine, request(**bad))[1].finished
    assert finished.error_code == "invalid_parameter" and not made
    assert (hops(finished), finished.prompt_tokens) == (finished.sent_ns, len(bad.get("prompt", PROMPT)))
    assert engine.stats().finished == 1
    assert run(engine, request())[1].finished.reason == "stop" and len(made) == 1


def test_the_times_between_passes_that_bring_tokens_are_counted(engine, run):
    """One fewer than a sequence has such passes; the wait for the first token is none."""
    ended = [run(engine, request(id_, max_tokens=most))[id_].finished for id_, most in ((1, 1), (2, 6))]
    passes = [finished.forward_passes for finished in ended]
    assert passes[0] == 1 and passes[1] > 2
    stats = engine.stats()
    assert sum(stats.gaps) == passes[1] - 1
    assert stats.gap_seconds > 0


@pytest.mark.parametrize("name", ["prompt", "draft", "replay"])
def test_tokens_that_are_cut_off_are_refused(engine, run, name):
    """Bytes that are no whole number of tokens are the request's fault."""
    finished = run(engine, replace(request(), **{name: bytes(7)}))[1].finished
    assert (finished.error_code, finished.error) == ("invalid_parameter", f"the {name} ends in the middle of a token")


def test_a_prompt_that_is_too_long_is_told_both_numbers(fake, run):
    """The message names what was sent and what fits: the smaller of the context and the KV memory."""
    engine = Engine(fake.FakeBackend(num_blocks=4, context_length=1000), fake.FakeTokenizer())
    error = run(engine, request(1, letters(64)))[1].finished.error
    assert error == "the prompt has 64 tokens, but at most 63 fit"
    engine.warm(WarmRequest(3, pack_tokens(letters(100))))
    assert engine.take_events()[0].finished.error == "the prompt has 100 tokens, but at most 63 fit"
    assert run(engine, request(2, letters(63), max_tokens=10))[2].finished.reason in ("length", "stop")


def test_max_tokens_is_cut_to_what_fits(fake, run):
    """A sequence that fills the context ends with length."""
    engine = Engine(fake.FakeBackend(num_blocks=64, context_length=40), fake.FakeTokenizer())
    result = run(engine, request(1, replay=letters(100), max_tokens=100))[1]
    assert (result.finished.reason, len(result.tokens)) == ("length", 10)


def test_replay_emits_the_reference(engine, run):
    """Every pass is computed, the emitted tokens are the reference's, and it ends with stop."""
    reference = letters(50)
    plain = run(engine, request(1, replay=reference))[1]
    assert (plain.tokens, plain.finished.reason) == (reference, "stop")
    assert plain.finished.forward_passes == len(reference) + 1
    drafted = run(engine, request(2, replay=reference, draft=[*reference[:20], 6, *reference[20:]]))[2]
    assert (drafted.tokens, drafted.finished.reason) == (reference, "stop")
    assert drafted.finished.forward_passes < 10


def test_replay_samples_every_row(engine, run, monkeypatch):
    """The cost of replay is that of the real thing: each emitted token's row is sampled."""
    sampled = []
    monkeypatch.setattr("warmline.engine.core.sample", lambda row, params, position: sampled.append(position) or 5)
    run(engine, request(1, replay=letters(20), draft=letters(20), temperature=0.8))
    assert sampled == list(range(len(PROMPT), len(PROMPT) + 21))


def test_what_a_key_had_speeds_up_itself_alone(engine, run):
    """A text that was answered before is drafted for the same key; for another one nothing is known of it."""
    sampling = {"max_tokens": 40, "temperature": 0.8, "seed": 7}
    first = run(engine, request(1, salt="a", **sampling))[1]
    again = run(engine, request(2, salt="a", **sampling))[2]
    other = run(engine, request(3, salt="b", **sampling))[3]
    assert first.tokens == again.tokens == other.tokens
    assert again.finished.forward_passes < first.finished.forward_passes
    assert other.finished.forward_passes == first.finished.forward_passes
    assert other.finished.drafts == first.finished.drafts


def test_warm_texts_are_drafted_from(engine, run):
    """What was computed ahead, as open documents are, is known to the drafters of its key."""
    text = letters(50)
    engine.warm(WarmRequest(1, pack_tokens([2] * 16 + text), "a"))
    while engine.has_work:
        engine.step()
    replay = text[10:40]
    passes = {
        salt: run(engine, request(id_, replay=replay, salt=salt))[id_].finished.forward_passes
        for id_, salt in ((2, "a"), (3, "b"))
    }
    assert passes["a"] < passes["b"]


def test_texts_are_remembered_of_requests_with_speculation_alone(fake, run):
    """Who asks for none is not drafted from either: neither the prompt nor the answer."""
    prompt = letters(40, 8)
    passes = {}
    for speculation in (False, True):
        engine = Engine(fake.FakeBackend(), fake.FakeTokenizer())
        text = run(engine, request(1, prompt, speculation=speculation, max_tokens=60))[1].tokens
        again = run(engine, request(2, PROMPT, replay=[*prompt, *text]))[2].finished
        passes[speculation] = again.forward_passes, sum(draft.accepted for draft in again.drafts)
    fresh = Engine(fake.FakeBackend(), fake.FakeTokenizer())
    finished = run(fresh, request(2, PROMPT, replay=[*prompt, *text]))[2].finished
    assert passes[False] == (finished.forward_passes, sum(draft.accepted for draft in finished.drafts))
    assert passes[True][0] < passes[False][0] and passes[True][1] > passes[False][1]


def test_speculation_that_does_not_pay_takes_no_passes(engine, run):
    """A text without repetitions takes a pass a token with speculation, as without."""
    passes = {
        on: run(engine, request(int(on), speculation=on, temperature=2.0, max_tokens=60))[int(on)].finished
        for on in (False, True)
    }
    assert passes[True].output_tokens == passes[False].output_tokens
    assert passes[True].forward_passes <= passes[False].forward_passes


def test_drafters_do_not_see_the_reference(engine, run):
    """Without a draft of its own, a replay is not drafted."""
    finished = run(engine, request(1, replay=letters(20)))[1].finished
    assert finished.drafts == ()


def test_an_empty_replay_stops_at_once(engine, run):
    """A reference without tokens is an empty answer."""
    result = run(engine, request(1, replay=[]))[1]
    assert (result.tokens, result.text, result.finished.reason) == ([], "", "stop")


@pytest.mark.parametrize("steps", [0, 2, 12])
def test_a_cancel_frees_the_sequence_at_once(fake, collected, steps):
    """Queued, in prefill and in decode: no block stays, one last event comes, and no step is needed."""
    engine = Engine(fake.FakeBackend(), fake.FakeTokenizer(), SMALL)
    result = collected()
    engine.add(request(1, replay=letters(30)))
    for _ in range(steps):
        for event in engine.step():
            result(event)
    engine.cancel(1)
    assert (engine.stats().running, engine.stats().waiting, engine.stats().blocks_used) == (0, 0, 0)
    engine.check_integrity()
    (event,) = engine.step()
    result(event)
    assert (result.finished.reason, result.finished.output_tokens) == ("cancel", len(result.tokens))
    assert hops(result.finished) == result.finished.sent_ns
    assert not engine.has_work
    engine.cancel(1)
    assert not engine.has_work


def test_a_sequence_cancelled_in_the_middle_of_a_pass(fake, collected, caplog):
    """The others of the pass go on; of the cancelled one nothing counts, and its rows harm nobody."""
    engine = Engine(fake.FakeBackend(layers=3), fake.FakeTokenizer())
    alone, results = collected(), {1: collected(), 2: collected()}
    engine.add(request(1, letters(40)))
    while engine.has_work:
        for event in engine.step():
            alone(event)
    engine = Engine(fake.FakeBackend(layers=3), fake.FakeTokenizer())
    engine.add(request(1, letters(40)))
    engine.add(request(2, letters(40, start=20)))
    first = True

    def cancel_second():
        nonlocal first
        if first:
            engine.cancel(2)
        first = False
        return False

    while engine.has_work:
        for event in engine.step(cancel_second):
            results[event.id](event)
    engine.check_integrity()
    assert (results[2].finished.reason, results[2].tokens) == ("cancel", [])
    assert results[1].tokens == alone.tokens
    assert not caplog.records


def test_a_pass_is_given_up_when_all_its_sequences_are_cancelled(fake):
    """Nobody waits for a pass that nobody wants; what it left half written is never used."""
    backend = fake.FakeBackend(layers=30)
    engine = Engine(backend, fake.FakeTokenizer())
    engine.add(request(1, letters(40)))
    asked = 0

    def cancel_at_layer_three():
        nonlocal asked
        asked += 1
        if asked == 3:
            engine.cancel(1)
        return False

    (event,) = engine.step(cancel_at_layer_three)
    assert (event.finished.reason, asked, backend.passes) == ("cancel", 3, [])
    assert engine.stats().blocks_cached == 0
    engine.check_integrity()


def test_a_cancel_in_a_pass_of_others_is_told_in_that_pass(fake):
    """Its blocks are free and its event can be said before the next layer, though the pass goes on."""
    engine = Engine(fake.FakeBackend(layers=30), fake.FakeTokenizer())
    engine.add(request(1, letters(40)))
    engine.add(request(2, letters(40, start=20)))
    seen = []

    def cancel_second():
        if not seen:
            before = engine.stats().blocks_used
            engine.cancel(2)
            seen.append((before, engine.stats().blocks_used, engine.take_events(), list(engine.backend.passes)))
        return False

    later = engine.step(cancel_second)
    before, after, (event,), passes = seen[0]
    assert (before, after, event.id, event.finished.reason, passes) == (6, 3, 2, "cancel", [])
    assert [event.id for event in later] == [1]


@pytest.mark.parametrize("steps", [0, 2, 12])
def test_a_paused_sequence_rests_and_goes_on(fake, run, collected, steps):
    """Queued, in prefill and in decode: nothing is computed for it or left to do, and its tokens are the same."""
    expected = run(Engine(fake.FakeBackend(), fake.FakeTokenizer()), request())[1]
    engine, result = Engine(fake.FakeBackend(), fake.FakeTokenizer(), SMALL), collected()
    engine.add(request())
    for _ in range(steps):
        for event in engine.step():
            result(event)
    engine.pause(1, True)
    engine.pause(99, True)
    stats = engine.stats()
    assert not engine.has_work
    assert engine.step() == [] and engine.stats() == stats
    engine.check_integrity()
    engine.pause(1, False)
    while engine.has_work:
        for event in engine.step():
            result(event)
    assert (result.tokens, result.text) == (expected.tokens, expected.text)
    assert result.finished.forward_passes == len(expected.tokens) + 4


@pytest.mark.parametrize("steps", [0, 2, 12])
def test_a_paused_sequence_is_cancelled_as_any(fake, steps):
    """It ends with its one event, without going on before."""
    engine = Engine(fake.FakeBackend(), fake.FakeTokenizer(), SMALL)
    engine.add(request())
    for _ in range(steps):
        engine.step()
    engine.pause(1, True)
    engine.cancel(1)
    assert engine.has_work and engine.stats().blocks_used == 0
    (event,) = engine.step()
    assert event.finished.reason == "cancel" and not engine.has_work


@pytest.mark.parametrize("planned", [True, False])
def test_a_sequence_paused_in_a_pass_rests_from_the_next_on(fake, planned):
    """What the pass under way computes still comes; the others go on. One that is planned yet rests at once."""
    backend = fake.FakeBackend()
    engine = Engine(backend, fake.FakeTokenizer())
    forward = backend.forward

    def pausing(batch, should_abort):
        engine.pause(1, True)
        return forward(batch, should_abort)

    engine.add(request(1, replay=letters(20)))
    engine.add(request(2, letters(30), replay=letters(20)))
    if planned:
        backend.forward = pausing
        engine.step()
        backend.forward = forward
    else:
        engine.step(lambda: engine.pause(1, True))
    events = [event for _ in range(5) for event in engine.step()]
    assert {event.id for event in events} == {2}
    assert next(seq for seq in engine.scheduler.running if seq.paused).output_tokens == planned


def test_nothing_of_an_aborted_pass_counts(fake, run):
    """After an abort the sequence goes on as if the pass had not been, drafts and all."""
    expected = run(Engine(fake.FakeBackend(), fake.FakeTokenizer()), request())[1]
    engine = Engine(fake.FakeBackend(), fake.FakeTokenizer(), SMALL)
    engine.add(request(draft=expected.tokens))
    events, aborts = [], iter([True, False, False] * 100)
    while engine.has_work:
        events += engine.step(lambda: next(aborts))
        engine.check_integrity()
    assert "".join(event.text for event in events) == expected.text
    assert events[-1].finished.computed_tokens == len(PROMPT)


@pytest.mark.parametrize("failure", [EOFError("hung up"), RuntimeError("out of luck")])
def test_what_the_callback_raises_is_not_taken_for_a_failed_pass(engine, run, collected, failure):
    """It comes out of the step once the pass is given up, and the requests go on as if the pass had not been."""
    expected = run(engine, request(1))[1]
    results = {2: collected(), 3: collected()}
    engine.add(request(2))
    engine.add(request(3, [9, 8, 7]))
    asked = []

    def fail():
        asked.append(1)
        raise failure

    passes = len(engine.backend.passes)
    with pytest.raises(type(failure)) as raised:
        engine.step(fail)
    assert raised.value is failure and len(asked) == 1
    assert len(engine.backend.passes) == passes and engine.stats().running == 2
    engine.check_integrity()
    while engine.has_work:
        for event in engine.step():
            results[event.id](event)
    assert {result.finished.error_code for result in results.values()} == {""}
    assert results[2].tokens == expected.tokens


def test_what_the_callback_did_before_it_raised_stands(engine):
    """The end of a sequence that it cancelled is told by the next step."""
    engine.add(request(1))
    engine.add(request(2))

    def cancel_and_fail():
        engine.cancel(1)
        raise EOFError

    with pytest.raises(EOFError):
        engine.step(cancel_and_fail)
    ended = [event for event in engine.step() if event.finished]
    assert [(event.id, event.finished.reason) for event in ended] == [(1, "cancel")]
    assert engine.stats().running == 1


@pytest.mark.parametrize("failed", [False, True])
def test_what_the_callback_raises_comes_out_where_the_backend_does_not_mind(engine, monkeypatch, failed):
    """Also where the pass went on to its end, or to a fault of its own: what it brought is told by the next step."""
    forward = engine.backend.forward

    def deaf(batch, should_abort):
        should_abort()
        if failed:
            raise RuntimeError("out of luck")
        return forward(batch)

    monkeypatch.setattr(engine.backend, "forward", deaf)
    engine.add(request(1, replay=letters(3)))

    def hang_up():
        raise EOFError

    with pytest.raises(EOFError):
        engine.step(hang_up)
    events = engine.step()
    assert events[0].id == 1 and (events[0].finished is not None) == failed
    assert engine.step(lambda: False) or failed
    engine.check_integrity()


def test_what_is_raised_between_drafts_comes_out_of_the_step(engine, run, collected):
    """No pass is run for the plan, nothing of it counts, and a cancel in between is seen at once."""
    expected = run(engine, request(9, draft=letters(40), max_tokens=20))[9]
    results = {1: collected(), 2: collected()}
    for id_ in results:
        engine.add(request(id_, draft=letters(40), max_tokens=20))
    for event in engine.step():
        results[event.id](event)
    passes = len(engine.backend.passes)

    def cancel_and_hang_up():
        engine.cancel(2)
        raise EOFError

    with pytest.raises(EOFError):
        engine.step(cancel_and_hang_up)
    assert len(engine.backend.passes) == passes
    engine.check_integrity()
    while engine.has_work:
        for event in engine.step():
            results[event.id](event)
    assert results[1].tokens == expected.tokens and results[2].finished.reason == "cancel"


def test_a_sequence_cancelled_between_drafts_is_not_in_the_pass(engine):
    """The others' pass goes on without its rows, whichever of them it was."""
    for id_ in (1, 2, 3):
        engine.add(request(id_, letters(20, start=id_), replay=letters(300), draft=letters(300)))
    engine.step()
    running = engine.scheduler.running
    for cancelled in (1, 3):
        engine.step(lambda cancelled=cancelled: engine.cancel(cancelled))
        engine.check_integrity()
    assert [sequence.request.id for sequence in running] == [2]


def test_a_failing_pass_ends_its_sequence_and_the_engine_goes_on(engine, run):
    """The sequence that was alone in it gets an error; the next request is as any other."""
    engine.backend.fail = RuntimeError("out of luck")
    assert run(engine, request(1))[1].finished.error_code == "internal_error"
    assert engine.stats().blocks_used == 0
    assert run(engine, request(3))[3].finished.reason == "stop"


def failing_on(backend, culprits):
    """Have the passes fail in which one of these tokens is; gives the token ids of each pass that was tried."""
    tried, forward = [], backend.forward

    def fail(batch, should_abort=None):
        tried.append(list(batch.token_ids))
        if culprits & {*batch.token_ids}:
            raise RuntimeError("out of luck")
        return forward(batch, should_abort)

    backend.forward = fail
    return tried


def test_only_those_end_whom_a_pass_fails_for(engine, run):
    """Each sequence of a pass that failed is tried once more, alone; the others lose neither tokens nor a pass."""
    prompts = {id_: letters(20, start=6 + 2 * id_) for id_ in range(5)}
    expected = {id_: run(engine, request(id_, prompts[id_], max_tokens=9))[id_].tokens for id_ in (0, 2, 4)}
    tried = failing_on(engine.backend, {1})
    prompts |= {1: [1, *letters(20)], 3: [*letters(7), 1]}
    results = run(engine, *(request(id_, prompt, max_tokens=9) for id_, prompt in prompts.items()))
    assert {id_ for id_, result in results.items() if result.finished.error_code == "internal_error"} == {1, 3}
    assert {id_: results[id_].tokens for id_ in expected} == expected
    assert sorted(map(len, tried[1:6])) == [4, 4, 4, 8, 21], "not each alone"  # a block of three was in the cache
    assert sum(1 in rows for rows in tried) == 3, "tried more often than together and alone"


def test_when_every_pass_fails_everybody_ends(engine, run):
    """A pass for all and one for each, and no more."""
    tried = failing_on(engine.backend, set(range(64)))
    results = run(engine, *(request(id_, letters(20, start=6 + id_)) for id_ in range(4)))
    assert [result.finished.error_code for result in results.values()] == ["internal_error"] * 4
    assert len(tried) == 5 and engine.stats().blocks_used == 0


def test_a_cancel_is_heard_between_the_tokens_of_two_sequences(engine):
    """Choosing tokens takes a while, too: whoever is cancelled meanwhile has no more of them."""
    for id_ in (1, 2, 3):
        engine.add(request(id_, letters(20, start=6 + id_), max_tokens=9))
    engine.step()
    asked = []

    def cancel_after_the_pass():
        asked.append(engine.backend.passes[1:])
        if len(engine.backend.passes) == 2 and asked[-1] != asked[-2]:
            engine.cancel(2)

    events = {event.id: event for event in engine.step(cancel_after_the_pass)}
    assert [len(passes) for passes in asked][-2:] == [1, 1]
    assert events[2].finished.reason == "cancel" and not events[2].tokens
    assert events[1].tokens and events[3].tokens
    engine.check_integrity()


def test_a_failing_sequence_does_not_harm_its_batch(engine, run, monkeypatch):
    """An exception while one sequence's tokens are taken in ends that sequence alone."""
    expected = run(engine, request(1))[1].tokens
    from warmline.engine.sampling import sample

    def fail_for_seed_13(row, params, position):
        if params.seed == 13:
            raise ZeroDivisionError
        return sample(row, params, position)

    monkeypatch.setattr("warmline.engine.core.sample", fail_for_seed_13)
    results = run(engine, request(2), request(3, seed=13))
    assert results[3].finished.error_code == "internal_error"
    assert results[2].tokens == expected


def test_an_id_is_unique_among_the_unfinished(engine, run):
    """A second sequence with a running id is refused; after the end the id is free again."""
    engine.add(request(1))
    with pytest.raises(ValueError, match="already running"):
        engine.add(request(1))
    engine.cancel(1)
    engine.step()
    assert run(engine, request(1))[1].finished.reason == "stop"


def test_a_second_request_of_a_running_id_does_not_end_the_first(engine, run, collected):
    """Its end could not be told from the other's, so nothing is said of it, in whatever way it came."""
    result = collected()
    engine.add(request(1, max_tokens=5))
    for duplicate in (request(1, [9, 9], max_tokens=5), WarmRequest(1, pack_tokens([9] * 40))):
        with pytest.raises(ValueError, match="already running"):
            (engine.warm if isinstance(duplicate, WarmRequest) else engine.add)(duplicate)
        engine.fail(duplicate)
    while engine.has_work:
        for event in engine.step():
            result(event)
    assert result.finished.reason == "length" and len(result.tokens) == 5


@pytest.mark.parametrize("where", ["before", "after"])
@pytest.mark.parametrize("kind", ["request", "warm"])
def test_a_fault_while_a_request_is_queued_ends_it(engine, run, collected, monkeypatch, caplog, where, kind):
    """Whether or not it is in the queue by then: it has one event, nothing of it stays, and others don't notice."""
    add = engine.scheduler.add

    def fail(sequence):
        if where == "after":
            add(sequence)
        raise ZeroDivisionError

    monkeypatch.setattr(engine.scheduler, "add", fail)
    if kind == "request":
        engine.add(request(1))
    else:
        engine.warm(WarmRequest(1, pack_tokens(letters(40))))
    monkeypatch.undo()
    (event,) = engine.take_events()
    assert (event.id, event.finished.error_code) == (1, "internal_error") and "ZeroDivisionError" in caplog.text
    assert not engine.has_work and engine.stats().blocks_used == 0
    engine.check_integrity()
    assert run(engine, request(1))[1].finished.reason == "stop"


def test_a_fault_while_drafters_are_made_costs_the_drafts_alone(engine, run, caplog):
    """The request is answered as without speculation."""
    expected = run(engine, request(1))[1]

    def fail(*_):
        raise ZeroDivisionError

    engine.drafting = fail
    result = run(engine, request(2, draft=expected.tokens))[2]
    assert (result.tokens, result.finished.drafts) == (expected.tokens, ())
    assert "ZeroDivisionError" in caplog.text


def test_a_fault_while_a_sequence_is_made_ends_it(engine, run, monkeypatch, caplog):
    """It is an error for that request, not for whoever runs the engine."""
    monkeypatch.setattr("warmline.engine.sequence.Detokenizer", None)
    assert run(engine, request(1))[1].finished.error_code == "internal_error"
    monkeypatch.undo()
    assert run(engine, request(1))[1].finished.reason == "stop"


def test_special_tokens_show_nothing(engine, run, fake):
    """The text of a special token never appears, and makes no empty delta."""
    result = run(engine, request(1, replay=[10, fake.SPECIAL, 11]))[1]
    assert result.tokens == [10, fake.SPECIAL, 11]
    assert result.deltas == ["E", "F"]


def test_stats_count_what_happened(engine, run):
    """Counters add up over requests; gauges go back to zero."""
    first = run(engine, request(1, speculation=False))[1].finished
    second = run(engine, request(2, draft=letters(9)))[2].finished
    engine.add(request(3))
    engine.step()
    assert (engine.stats().running, engine.stats().waiting) == (1, 0)
    assert engine.stats().blocks_used > 0
    engine.cancel(CancelRequest(3).id)
    engine.step()
    stats = engine.stats()
    assert (stats.finished, stats.cancelled, stats.running, stats.blocks_used) == (3, 1, 0, 0)
    assert stats.forward_passes == first.forward_passes + second.forward_passes + 1
    assert stats.output_tokens >= first.output_tokens + second.output_tokens
    assert stats.prompt_tokens == 3 * len(PROMPT)
    assert stats.draft_tokens == sum(draft.proposed for draft in second.drafts) > 0
    assert stats.blocks_total == 64


def test_the_time_to_free_is_counted_from_the_sending_of_a_cancel(engine, monkeypatch):
    """By bounds and in all; not for warm requests, for ids that are unknown, or where nobody says when."""
    monkeypatch.setattr("warmline.engine.core.time.monotonic_ns", lambda: 10**12)
    for id_, microseconds in ((1, 150), (2, 200), (3, 30_000), (4, 5_000_000)):
        engine.add(request(id_))
        engine.cancel(id_, 10**12 - microseconds * 1000)
    engine.cancel(9, 1)
    engine.add(request(5))
    engine.cancel(5)
    engine.warm(WarmRequest(6, pack_tokens(letters(50))))
    engine.cancel(6, 1)
    stats = engine.stats()
    counted = dict(zip([*FREE_SECONDS, "beyond"], stats.freed, strict=True))
    assert {bound: count for bound, count in counted.items() if count} == {200e-6: 2, 50e-3: 1, "beyond": 1}
    assert stats.free_seconds == pytest.approx(5.03035)
    assert stats.cancelled == 5


def test_warming_up_leaves_nothing_behind(engine, run, fake):
    """The passes before the first request change no result."""
    expected = run(Engine(fake.FakeBackend(), fake.FakeTokenizer()), request())[1].tokens
    engine.warm_up()
    engine.check_integrity()
    assert run(engine, request())[1].tokens == expected


def test_passes_correct_what_they_are_taken_to_cost(engine):
    """Those that requests wait for and that run to their end, from the measurement on."""
    engine.warm_up()
    observed = []

    class Watched:
        cost = PassCost(((1, 1.0), (2, 1.5)))

        def observe_pass(self, batch, seconds):
            assert 0 < seconds < 60
            observed.append((len(batch.token_ids), len(batch.logit_rows)))

    engine._learned = Watched()
    engine.warm(WarmRequest(2, pack_tokens(letters(40))))
    engine.step()  # warm work alone: nobody waits for it
    engine.cancel(2)
    engine.add(request(3, letters(20), max_tokens=2, salt="other", speculation=False))
    engine.step(lambda: True)  # given up
    assert observed == []
    while engine.has_work:
        engine.step()
    assert observed == [(20, 1), (1, 1)]
    assert engine.scheduler.cost is Watched.cost


def test_thousands_of_requests_leave_nothing_behind(fake, run):
    """Blocks, sequences and roots do not pile up."""
    engine = Engine(fake.FakeBackend(num_blocks=8), fake.FakeTokenizer())
    for number in range(3_000):
        engine.add(request(number, [number % 60 + 2], max_tokens=1, salt=str(number)))
        engine.step()
        assert not engine.has_work
    engine.check_integrity()
    assert len(engine.cache._roots) <= 8
