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
    ],
)
def test_growth_is_told_once_it_is_warm(memory, growth):
    """What the first quarter brings is what there is to warm."""
    assert Outcome(Plan(0, 1, 1.0), memory=memory).growth == pytest.approx(growth)


def test_faults_are_named():
    """And how often they were seen."""
    outcome = Outcome(
        Plan(10, 4, 60.0, 0.5), answers=7, cuts=3, faults=Counter({"a text is not what it is alone": 2})
    )
    said = report(outcome).splitlines()
    assert "2 of them on a network that broke 3 times: 7 texts" in said[1]
    assert said[-1] == "FAULT, 2 times: a text is not what it is alone"


def test_no_two_questions_are_the_same():
    """Each has its own answer."""
    asked = list(questions())
    assert len({*asked}) == len(asked) > 10
