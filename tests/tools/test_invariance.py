"""What the losslessness checks count and tell. The checks themselves: tests/engine/test_lossless_scenarios.py."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest
from warmline.engine.kernels.cpu import exact_levels
from warmline.engine.speculation.drafter import NO_DRAFT

from tools.invariance import report
from tools.invariance.oracle import Oracle
from tools.invariance.play import Stage, thread_count
from tools.invariance.tally import Difference, Tally
from tools.invariance.tasks import Output
from tools.invariance.worlds import tiny_world


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where results are kept."""
    monkeypatch.setattr(report, "FOLDER", tmp_path)
    return tmp_path


def test_tallies_add_up_field_by_field() -> None:
    """Numbers, counts by name and differences."""
    difference = Difference("tiny 1", 2, 3, "a", "b")
    tally = Tally(scenarios=1, tokens=4, drafted=1, proposed={"edit": 3}, threads={1: 1})
    tally.add(Tally(scenarios=2, tokens=4, drafted=5, proposed={"edit": 1, "suffix": 2}, differences=[difference]))
    assert (tally.scenarios, tally.drafted_share) == (3, 0.75)
    assert tally.proposed == {"edit": 4, "suffix": 2} and tally.threads == {1: 1}
    assert tally.differences == [difference]


def test_what_never_occurred_is_named() -> None:
    """A property that was put to no test has not held."""
    tally = Tally(cache_hits=1, warm_hits=1, chunked=1, cancelled=1, pauses=1, aborted=1, replayed=1)
    tally.proposed, tally.accepted = {"edit": 2, "suffix": 2}, {"edit": 1, "suffix": 2}
    assert tally.missing(["edit", "suffix", "model"]) == [
        "preemptions",
        "suffix drafts that failed",
        "model drafts that stood",
        "model drafts that failed",
    ]


def test_a_page_tells_each_checks_last_result(folder: Path) -> None:
    """Counts and differences, torch and instruction sets; no name of the machine."""
    report.keep("Tiny models", Tally(scenarios=7))
    report.keep("Tiny models", Tally(scenarios=1234, preemptions=56))
    report.keep_counts("Edits", {"differences": "0"})
    page = report.page()
    assert "| scenarios | 1,234 |" in page and "| preemptions | 56 |" in page and "| scenarios | 7 |" not in page
    assert page.count("| differences | 0 |") == 2
    assert "torch " in page and platform.node() not in page
    assert page.count(exact_levels().describe()) == 2  # a form of the activations that was not run is not named
    report.main(folder / "verify.md")
    assert (folder / "verify.md").read_text() == page


def test_an_oracle_errs_as_often_as_it_should() -> None:
    """From never, where it gives the output itself, to always; its drafts go on beyond the end."""
    output = list(range(10, 40))
    right = Oracle(output, 64, errors=0, longest=20, seed=1)
    wrong = Oracle(output, 64, errors=1, longest=20, seed=1)
    lengths = set()
    for at in range(len(output)):
        draft = right.propose(50)
        assert draft.tokens[: len(output) - at] == output[at : at + len(draft.tokens)]
        assert draft == NO_DRAFT or len(draft.tokens) == len(wrong.propose(50).tokens)
        lengths.add(len(draft.tokens))
        right.observe([output[at]])
        wrong.observe([output[at]])
    assert {0, 20} < lengths
    assert len(right.propose(3).tokens) <= 3


def test_scenarios_can_be_played_again() -> None:
    """The same seed gives the same passes, so a difference that was found is found again."""
    with thread_count(1):
        first, second = (Stage(tiny_world(2), seed=5, tasks=4) for _ in range(2))
        assert [first.play(number) for number in range(4)] == [second.play(number) for number in range(4)]


def test_a_single_bit_of_a_log_probability_is_a_difference() -> None:
    """And of a cancelled request, only what it had until then is compared."""
    with thread_count(1):
        (task,) = Stage(tiny_world(2), seed=6, tasks=1).tasks
    alone = task.alone
    same = Output(list(alone.tokens), list(alone.logprobs), alone.text, alone.finished)
    assert not same.differs(alone)
    last = alone.logprobs[-1]
    bit = last.logprob + abs(last.logprob) * 2**-52
    same.logprobs[-1] = type(last)(last.token, bit, last.top)
    assert same.differs(alone)
