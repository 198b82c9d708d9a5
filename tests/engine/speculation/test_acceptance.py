"""The running estimate of how likely draft tokens stand."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.engine.speculation.acceptance import CLASSES, USUAL_CHANCES, Acceptance, Outlook


def fair(chance=0.5):
    """One that begins with the same chance for all evidence."""
    return Acceptance([chance] * len(CLASSES))


@pytest.mark.parametrize("chances", USUAL_CHANCES.values(), ids=USUAL_CHANCES)
def test_there_is_a_usual_chance_for_each_class(chances):
    """Neither is ever sure, and evidence helps."""
    assert len(chances) == len(CLASSES)
    assert 0 < chances[0] < chances[4] < chances[8] < 1


@pytest.mark.parametrize(("evidence", "other"), [(0, 20), (20, 0)], ids=["not yet in step", "in step"])
def test_it_follows_what_stands(evidence, other):
    """Tokens that stand raise the chances, one that doesn't lowers them: in step or not yet, whichever it was."""
    acceptance = fair()
    acceptance.observe(evidence, [1, 1, 1], [1, 1, 1])
    risen = acceptance.chance(evidence)
    assert risen > 0.5
    for _ in range(9):
        acceptance.observe(evidence, [1], [2])
    assert acceptance.chance(evidence) < 0.5 < risen
    assert acceptance.chance(other) == 0.5


def test_a_text_with_many_changes_has_short_runs_soon():
    """After three changes, drafts that went well so far are expected to end sooner, whatever their evidence."""
    calm, busy = (Acceptance(USUAL_CHANCES["edit"]) for _ in range(2))
    for _ in range(3):
        calm.observe(8, [1] * 60, [1] * 60)
        busy.observe(8, [1] * 15, [1] * 14 + [2])
    for evidence in (8, 40, 100):
        assert busy.run(evidence) < 0.5 * calm.run(evidence)


def test_tokens_behind_a_wrong_one_say_nothing():
    """They were foreseen from a past that did not come."""
    acceptance = fair()
    acceptance.observe(5, [1, 2], [9, 2])
    assert acceptance.chance(5) < acceptance.chance(6) == 0.5


def test_a_run_is_what_the_chances_say():
    """With one half for every token, one token is expected to stand; a better chance gives longer runs."""
    assert fair().run(0) == pytest.approx(1)
    assert fair().run(200) == pytest.approx(1)
    assert fair(0.9).run(3) == pytest.approx(9)


@given(st.floats(0.02, 0.99), st.integers(0, 140), st.integers(1, 70))
def test_expectations_are_what_the_chances_say(chance, evidence, tokens):
    """The probability to stand is that of all before; what is saved is positive, and less than that."""
    acceptance = fair(chance)
    expected = list(islice(Outlook(acceptance, evidence), tokens))
    assert expected == list(islice(acceptance.expectations(evidence), tokens))
    standing = 1.0
    for place, (stands, saved) in enumerate(expected, evidence):
        standing *= acceptance.chance(place)
        assert stands == pytest.approx(standing)
        assert 0 < saved < stands


@given(
    st.lists(
        st.tuples(
            st.integers(0, 200), st.lists(st.integers(0, 1), max_size=70), st.lists(st.integers(0, 1), max_size=70)
        ),
        max_size=20,
    )
)
def test_chances_stay_chances(outcomes):
    """Whatever happens, they are above 0 and below 1, and runs are finite."""
    acceptance = fair()
    for evidence, draft, emitted in outcomes:
        acceptance.observe(evidence, draft, emitted)
        for place in CLASSES:
            assert 0 < acceptance.chance(place) < 1
            assert 0 < acceptance.run(place) < 1000


def test_always_right_is_not_taken_for_sure():
    """However long a source is right, drafts have an end."""
    acceptance = fair()
    for _ in range(2000):
        acceptance.observe(0, [1] * 140, [1] * 140)
    assert acceptance.run(128) < 1000
