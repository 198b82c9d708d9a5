"""The running estimate of how likely draft tokens stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.engine.speculation.acceptance import CLASSES, USUAL_CHANCES, Acceptance


def fair(chance=0.5):
    """One that begins with the same chance for all evidence."""
    return Acceptance([chance] * len(CLASSES))


@pytest.mark.parametrize("chances", USUAL_CHANCES.values(), ids=USUAL_CHANCES)
def test_there_is_a_usual_chance_for_each_class(chances):
    """Neither is ever sure, and evidence helps."""
    assert len(chances) == len(CLASSES)
    assert 0 < chances[0] < chances[4] < chances[8] < 1


def test_it_follows_what_stands():
    """Tokens that stand raise the chance of their evidence, the one that doesn't lowers that of its own."""
    acceptance = fair()
    acceptance.observe(0, [1, 2, 3], [1, 2, 9])
    assert acceptance.chance(0) > 0.5 and acceptance.chance(1) > 0.5
    assert acceptance.chance(2) < 0.5
    assert acceptance.chance(3) == 0.5


def test_tokens_behind_a_wrong_one_say_nothing():
    """They were foreseen from a past that did not come."""
    acceptance = fair()
    acceptance.observe(0, [1, 2], [9, 2])
    assert acceptance.chance(1) == 0.5


def test_a_run_is_what_the_chances_say():
    """With one half for every token, one token is expected to stand; a better chance gives longer runs."""
    assert fair().run(0) == pytest.approx(1)
    assert fair().run(200) == pytest.approx(1)
    assert fair(0.9).run(3) == pytest.approx(9)


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
