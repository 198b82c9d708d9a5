"""Sums over outcomes, computed by hand."""

from __future__ import annotations

import pytest
from warmline.engine import DraftCount
from warmline.realtime.evaluation import summary
from warmline.realtime.evaluation.run import Likelihood, Outcome, Speed
from warmline.realtime.evaluation.scores import score_completion, score_edit


def outcome(record, answer, **more):
    """An edit's outcome."""
    scores = score_edit(record.before, record.after, answer, more.pop("parses", None))
    nothing = score_edit(record.before, record.after, record.before)
    return Outcome(record, answer, "stop", edit=scores, nothing=nothing, **more)


def speed(milliseconds: float, tokens: int = 20, passes: int = 10) -> Speed:
    """One request's speed, after a first token at 50 ms."""
    return Speed(100, tokens + 1, 40.0, 50.0, milliseconds, passes, tokens, (DraftCount("edit", 16, 12),))


def test_edits(edit) -> None:
    """Shares are of what was measured; a very bad answer counts as -1 in the mean similarity."""
    outcomes = [
        outcome(edit(), edit().after, parses=True, likelihood=Likelihood(10, -1.0, 2, -0.5)),
        outcome(edit(), edit().before, parses=True, likelihood=Likelihood(30, -3.0, 2, -1.5)),
        outcome(edit(), "completely different\n" * 3, parses=False),
        outcome(edit(after=edit().before), edit().before),
    ]
    total = summary.edits(outcomes)
    assert (total.records, total.exact.count, total.exact.value) == (4, 2, 0.5)
    assert (total.parses.count, total.parses.of) == (2, 3)
    assert (total.unchanged.count, total.unchanged.of) == (1, 1)
    assert (total.similarity, total.similarity_median) == (0.0, 0.0)
    assert (total.worse.count, total.worse.of) == (1, 3)
    assert total.size == 1.0
    assert (total.all_lines_kept.count, total.all_lines_kept.of) == (1, 1)  # the others keep no line
    assert total.likelihood is not None
    assert (total.likelihood.per_token, total.likelihood.per_changed_token) == (-0.1, -0.5)


def test_doing_nothing(edit) -> None:
    """It is right where nothing had to be done."""
    nothing = summary.nothing([outcome(edit(), "x"), outcome(edit(after=edit().before), "y")])
    assert (nothing.records, nothing.exact.count, nothing.similarity, nothing.size) == (2, 1, 0.0, 0.0)
    assert nothing.likelihood is None and nothing.unchanged.count == 1


def test_completions(completion) -> None:
    """The mean of right characters, and of their share."""
    record = completion(middle="abcd")
    outcomes = [
        Outcome(record, text, "stop", completion=score_completion("abcd", text, True)) for text in ("abcd", "ab")
    ]
    total = summary.completions(outcomes)
    assert (total.records, total.exact.count, total.begins.count, total.first_line.count) == (2, 1, 1, 1)
    assert (total.right, total.right_share, total.likelihood) == (3.0, 0.75, None)


def test_speed() -> None:
    """Medians with quartiles; passes, tokens and drafts all together."""
    total = summary.speed([speed(100), speed(200), speed(400), speed(50, tokens=0, passes=1)])
    assert total is not None and total.tokens_per_second is not None
    assert (total.tokens_per_second.median, total.tokens_per_second.records) == (100.0, 3)
    assert (total.tokens_per_second.low, total.tokens_per_second.high) == (50.0, 200.0)
    assert (total.output_tokens, total.decode_passes) == (64, 31)
    assert total.tokens_per_pass == pytest.approx(60 / 31)
    assert [(d.source, d.proposed, d.accepted) for d in total.drafts] == [("edit", 64, 48)]
    assert summary.speed([]) is None


def test_comparison(edit) -> None:
    """Ratios of all time together, and the median of the ratios."""
    outcomes = [
        outcome(edit(), "x", speed=speed(100), plain=speed(150), plain_agrees=True),
        outcome(edit(), "x", speed=speed(100), plain=speed(450), plain_agrees=True),
        outcome(edit(), "x", speed=speed(100)),
    ]
    compared = summary.comparison(outcomes)
    assert compared is not None
    assert (compared.records, compared.decode_ratio, compared.total_ratio) == (2, 3.0, 700 / 300)
    assert (compared.median_decode_ratio, compared.agree.count, compared.agree.of) == (3.0, 2, 2)
    assert summary.comparison(outcomes[2:]) is None
