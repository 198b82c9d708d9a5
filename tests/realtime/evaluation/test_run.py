"""Records through prompts, a model that says what it is told, and back."""

from __future__ import annotations

import pytest
from warmline.engine import unpack_tokens
from warmline.realtime.evaluation.run import Evaluation, apply_operations, changed_tokens


def run(model, records, **options):
    evaluation = Evaluation(model, **options)
    evaluation.run(records)
    return evaluation.outcomes


def test_an_exact_edit(told, edit, tokenizer) -> None:
    """The answer is the range's text up to the fence; all scores are at their best, and nothing is at 0."""
    told.answers.append("b = 1\nprint(b)\n```")
    (outcome,) = run(told, [edit()])
    assert (outcome.answer, outcome.reason, outcome.exact) == ("b = 1\nprint(b)\n", "stop", True)
    assert outcome.edit.parses is True
    assert (outcome.edit.similarity, outcome.nothing.similarity, outcome.nothing.exact) == (1.0, 0.0, False)
    prompt = tokenizer.decode(unpack_tokens(told.requests[0].prompt))
    assert "import os" in prompt and "rename a to b" in prompt and "# end" in prompt
    assert told.requests[0].sampling.temperature == 0 and told.requests[0].speculation
    assert told.requests[0].sampling.max_tokens == len("a = 1\nprint(a)\n") + 128


def test_an_answer_that_empties_the_range(told, edit) -> None:
    """The fence comes first; the request ends there."""
    told.answers.append("```\nand more")
    (outcome,) = run(told, [edit(after="")])
    assert (outcome.answer, outcome.reason, outcome.exact) == ("", "stop", True)


def test_an_edit_that_is_cut_keeps_the_rest(told, edit) -> None:
    """As the service does it."""
    told.answers.append("b = 1\n")
    told.reason = "length"
    (outcome,) = run(told, [edit()], likelihood=False)
    assert (outcome.reason, outcome.exact) == ("length", False)
    assert outcome.answer.endswith("print(a)\n")


def test_a_record_without_room_is_a_failure(edit, told) -> None:
    """It is refused as the service would refuse it, and counts as left as it was."""
    big = edit(before="a = 1\n" * 9000, after="b = 1\n")
    (outcome,) = run(told, [big])
    assert (outcome.reason, outcome.answer, outcome.likelihood) == ("refused", big.before, None)
    assert "tokens" in outcome.error and outcome.edit == outcome.nothing
    assert told.requests == []


def test_a_completion(told, completion, tokenizer) -> None:
    """From the text before it; it may be 32 tokens longer than the text that was there."""
    told.answers.append("    return a + b")
    (outcome,) = run(told, [completion()])
    assert (outcome.answer, outcome.exact, outcome.completion.right) == ("    return a + b", True, 16)
    assert outcome.edit is None and outcome.nothing is None
    assert tokenizer.decode(unpack_tokens(told.requests[0].prompt)) == "```python\ndef add(a, b):\n"
    assert told.requests[0].sampling.max_tokens == len(tokenizer.encode("    return a + b")) + 32


def test_the_likelihood_of_the_right_answer(told, edit, completion, tokenizer) -> None:
    """Of an edit its text with the fence, after the prompt that was answered; of a completion all its tokens."""
    told.answers += ["a", "b"]
    edited, completed = run(told, [edit(), completion()])
    answer = tokenizer.encode("b = 1\nprint(b)\n```")
    prompt, scored, salt = told.scored[0]
    assert (prompt, scored) == (unpack_tokens(told.requests[0].prompt), answer)
    assert salt == told.requests[0].salt
    changed = len(changed_tokens(tokenizer.encode("a = 1\nprint(a)\n```"), answer))
    assert changed == 2
    assert edited.likelihood.tokens == len(answer) and edited.likelihood.total == -0.5 * len(answer)
    assert (edited.likelihood.changed, edited.likelihood.changed_total) == (2, -1.0)
    assert told.scored[1][1] == tokenizer.encode("    return a + b")
    assert completed.likelihood.changed == completed.likelihood.tokens == len(told.scored[1][1])


def test_no_likelihood_where_there_is_no_room_or_it_is_not_wanted(told, edit) -> None:
    """The rest is measured as ever."""
    told.answers += ["a\n", "a\n"]
    told.room = 10
    assert run(told, [edit()])[0].likelihood is None
    told.room = 8192
    assert run(told, [edit()], likelihood=False)[0].likelihood is None
    assert told.scored == []


def test_speed_is_that_after_the_first_token(told, edit, tokenizer) -> None:
    """Tokens and passes of the prompt's last pass don't count."""
    told.answers.append("b = 1\nprint(b)\n```")
    (outcome,) = run(told, [edit()])
    tokens = len(tokenizer.encode("b = 1\nprint(b)"))
    speed = outcome.speed
    assert (speed.decode_tokens, speed.decode_passes, speed.output_tokens) == (tokens - 1, 1, tokens)
    assert (speed.prefill_ms, speed.first_token_ms, speed.decode_ms, speed.total_ms) == (20, 24, 100, 124)
    assert speed.tokens_per_second == pytest.approx((tokens - 1) * 10)
    assert speed.drafts[0].accepted == 6


def test_some_run_without_speculation_too(told, edit) -> None:
    """Right after their drafted run, with nothing cached; whether the answers are the same is said."""
    told.answers += ["b\n```", "b\n```", "x\n```", "y\n```", "z\n```"]
    records = [edit(id="1"), edit(id="2"), edit(id="3")]
    outcomes = run(told, records, plain=2)
    assert [request.speculation for request in told.requests] == [True, False, True, False, True]
    assert len({request.salt for request in told.requests}) == 5
    assert [outcome.plain_agrees for outcome in outcomes] == [True, False, None]
    assert [outcome.plain is not None for outcome in outcomes] == [True, True, False]
    with pytest.raises(ValueError, match="alone"):
        Evaluation(told, plain=1, concurrency=2)


def test_several_run_at_once(told, edit) -> None:
    """Never more than asked for; speed is not measured, everything else is."""
    told.answers += ["b = 1\nprint(b)\n```"] * 7
    outcomes = run(told, [edit(id=str(number)) for number in range(7)], concurrency=3)
    assert told.most_at_once == 3
    assert len(outcomes) == 7 and all(o.exact and o.likelihood and o.speed is None for o in outcomes)


@pytest.mark.parametrize(("likelihood", "plain"), [(True, 0), (False, 0), (True, 1)])
def test_progress_adds_up(told, edit, completion, likelihood: bool, plain: int) -> None:
    """As many steps as were announced, with a refused record among them."""
    told.answers += ["b\n"] * 3
    records = [edit(), edit(before="a = 1\n" * 9000), completion()]
    evaluation = Evaluation(told, likelihood=likelihood, plain=plain)
    steps: list[None] = []
    evaluation.run(records, lambda: steps.append(None))
    assert len(steps) == evaluation.steps(records)


def test_an_interrupt_leaves_what_was_done(told, edit) -> None:
    """The outcomes so far stay."""
    told.answers += ["b = 1\nprint(b)\n```", KeyboardInterrupt()]
    evaluation = Evaluation(told)
    with pytest.raises(KeyboardInterrupt):
        evaluation.run([edit(id="1"), edit(id="2")])
    assert [outcome.record.id for outcome in evaluation.outcomes] == ["1"]
    assert evaluation.outcomes[0].likelihood is not None


def test_changed_tokens() -> None:
    """New ones, and the one that follows a deletion."""
    assert changed_tokens([1, 2, 3], [1, 2, 3]) == []
    assert changed_tokens([1, 2, 3], [1, 9, 3]) == [1]
    assert changed_tokens([1, 2, 3], [1, 3]) == [1]
    assert changed_tokens([1, 3], [1, 2, 2, 3]) == [1, 2]
    assert changed_tokens([1, 2], [1]) == []
    assert changed_tokens([], [4, 5]) == [0, 1]


def test_operations_count_utf_16_units() -> None:
    """What they don't reach stays."""
    assert apply_operations("a🎉b c", [1, -2, "x", 1]) == "axb c"
    assert apply_operations("abc", []) == "abc"
