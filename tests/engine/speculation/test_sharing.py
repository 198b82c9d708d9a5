"""How many draft tokens a pass verifies: what pays, by value."""

from __future__ import annotations

from itertools import accumulate, count, islice
from operator import mul

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.engine.speculation.cost import USUAL_COST, PassCost
from warmline.engine.speculation.drafter import NO_DRAFT, Draft
from warmline.engine.speculation.sharing import _further_rows, share_rows

FREE = PassCost(((1, 1.0), (2, 1.0)))
DEAR = PassCost(((1, 1.0), (2, 2.0)))


def draft(*chances, saved=0.5):
    """A draft whose tokens stand with these probabilities, each given those before it."""
    standing = list(accumulate(chances, mul))
    return Draft([7] * len(chances), "test", 0, [(stands, stands * saved) for stands in standing])


def share(*drafts, cost=USUAL_COST, most=100, rows=None, contexts=None):
    """The lengths, in a pass of nothing but these sequences."""
    contexts = contexts or [500] * len(drafts)
    return share_rows(drafts, contexts, rows or len(drafts), most, cost)


def test_rows_that_cost_nothing_are_all_taken():
    """Where a pass of many rows takes no longer than one of one, whatever was foreseen is tried."""
    assert share(draft(*[0.1] * 9), cost=FREE) == [9]


def test_nothing_is_taken_where_a_row_costs_a_pass():
    """Then verifying can't be faster than decoding, unless it is next to sure."""
    assert share(draft(*[0.6] * 9), cost=DEAR) == [0]
    assert share(draft(*[0.999] * 9), cost=DEAR)[0] > 0


def test_a_likely_draft_is_longer_than_an_unlikely_one():
    """The length follows the chances."""
    lengths = [share(draft(*[chance] * 64))[0] for chance in (0.1, 0.5, 0.9, 0.99)]
    assert lengths == sorted(lengths)
    assert 0 < lengths[0] < lengths[2] < lengths[3]


def test_the_surer_draft_gets_the_rows():
    """Under a tight budget, value decides, not the order."""
    unsure, sure = draft(*[0.5] * 20), draft(*[0.95] * 20)
    assert share(unsure, sure, most=8) == [0, 8]
    assert share(sure, unsure, most=8) == [8, 0]


def test_what_saves_less_goes_first_if_it_wastes_less_still():
    """A nearly sure token against an even chance that saves twice as much, but wastes twenty times as much."""
    gamble = Draft([7], "test", 0, [(0.5, 0.5)])
    safe = Draft([7], "test", 0, [(0.975, 0.25)])
    assert share(gamble, safe, most=1, cost=FREE) == [0, 1]
    assert share(safe, gamble, most=1, cost=FREE) == [1, 0]


def test_a_short_draft_leaves_its_share_to_others():
    """What one can't use, another may."""
    assert share(draft(0.95, 0.95), draft(*[0.9] * 30), most=12) == [2, 10]


def test_who_waits_for_a_pass_counts():
    """A long draft pays less where it keeps others waiting."""
    long = draft(*[0.8] * 40)
    alone = share(long)[0]
    (beside, *_) = share(long, *[NO_DRAFT] * 15)
    assert 0 < beside < alone


def test_a_prompt_beside_it_makes_no_draft_worth_more():
    """What a token saves is a pass that decodes, not the long one it is verified in."""
    unsure = draft(*[0.3] * 20)
    straight = PassCost(((1, 1.0), (101, 4.0)))
    assert share(unsure, rows=500, cost=straight) == share(unsure, rows=1, cost=straight)


def test_a_deep_context_makes_drafts_shorter():
    """Attention makes each of its rows dearer."""
    long = draft(*[0.9] * 64)
    assert share(long, contexts=[30_000])[0] < share(long, contexts=[100])[0]


@given(
    st.lists(st.lists(st.floats(0.01, 0.99), max_size=12), min_size=1, max_size=5),
    st.integers(0, 30),
    st.integers(1, 40),
)
def test_budgets_and_drafts_bound_the_lengths(chances, most, rows):
    """Never more than is drafted, nor than the budget."""
    drafts = [draft(*some) for some in chances]
    lengths = share(*drafts, most=most, rows=rows)
    assert sum(lengths) <= most
    assert all(0 <= length <= len(one.tokens) for length, one in zip(lengths, drafts, strict=True))


@given(st.lists(st.lists(st.floats(0.01, 0.99), max_size=9), min_size=1, max_size=4))
def test_the_result_depends_on_nothing_else(chances):
    """Asked again, the same lengths."""
    drafts = [draft(*some) for some in chances]
    assert share(*drafts) == share(*drafts)


def test_no_more_of_an_outlook_is_asked_for_than_is_looked_at():
    """With many sequences and few rows, each draft's next token alone; and none behind the draft."""
    asked = []

    def outlook(number):
        for place in count():
            asked.append((number, place))
            yield 0.9**place, 0.5 * 0.9**place

    share(*(Draft([7] * 64, "test", 0, outlook(number)) for number in range(16)), most=10)
    assert len(asked) <= 16 + 10
    asked.clear()
    assert share(Draft([7] * 3, "test", 0, outlook(0)), cost=FREE) == [3]
    assert len(asked) <= 4


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 8, 40, 200])
def test_each_row_costs_what_the_curve_rises_by(rows):
    """Before, between, at and beyond its points."""
    cost = PassCost(((2, 1.0), (3, 1.5), (8, 1.6), (41, 4.0)), per_key=0.1)
    rises = [cost.seconds(size + 1) - cost.seconds(size) for size in range(rows, rows + 50)]
    assert list(islice(_further_rows(cost, rows), 50)) == pytest.approx(rises)
