"""What a soak says of what it saw."""

from __future__ import annotations

from collections import Counter

import pytest

from tools.soak import Outcome, Plan, questions, report


@pytest.mark.parametrize(
    ("memory", "growth"),
    [
        ([], 0.0),
        ([1.0, 2.0, 3.0], 0.0),
        ([1.0, 100.0, 100.0, 110.0], 0.1),
        ([50.0, 60.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0], 0.0),
        ([50.0] * 3 + [100.0] * 6 + [100.0, 900.0, 100.0], 0.0),
    ],
)
def test_growth_is_told_once_it_is_warm(memory, growth):
    """What the first quarter brings is what there is to warm."""
    assert Outcome(Plan(0, 1, 1.0), memory=memory).growth == pytest.approx(growth)


@pytest.mark.parametrize(
    ("idle", "per_idle", "memory", "said"),
    [
        (1000, 20_000.0, [100.0] * 600, []),
        (1000, 20_000.0, [100.0] * 300 + [104.0] * 300, []),
        (1000, 20_000.0, [100.0] * 300 + [106.0] * 300, ["the gateway grew by 6.0% once it was warm, more than 5%"]),
        (1000, 40_960.0, [100.0] * 600, ["an idle session takes 40.0 KiB, more than 30"]),
        (100, 40_960.0, [100.0] * 5 + [120.0] * 5, []),
    ],
)
def test_too_much_memory_is_a_fault(idle, per_idle, memory, said):
    """Where there was enough time, and enough of them, to tell."""
    outcome = Outcome(Plan(idle, 4, 60.0), per_idle=per_idle, memory=memory)
    outcome.judge()
    assert list(outcome.faults) == said


def test_faults_are_named():
    """And how often they were seen."""
    outcome = Outcome(
        Plan(10, 4, 60.0, 0.5),
        answers=7,
        breaks=Counter({"reset": 2, "black hole": 1}),
        faults=Counter({"a text is not what it is alone": 2}),
    )
    said = report(outcome).splitlines()
    assert "2 of them on a network that broke 3 times (reset 2, black hole 1): 7 texts" in said[1]
    assert said[-1] == "FAULT, 2 times: a text is not what it is alone"


def test_no_two_questions_are_the_same():
    """Each has its own answer."""
    asked = list(questions())
    assert len({*asked}) == len(asked) > 10
