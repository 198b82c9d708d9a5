"""The cost of passes follows what they take, and nothing that only disturbs them."""

from __future__ import annotations

import math
import statistics
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from warmline.engine.batch import Batch, SequenceSlice
from warmline.engine.speculation.cost import PassCost
from warmline.engine.speculation.drafter import Draft
from warmline.engine.speculation.learning import LearnedCost
from warmline.engine.speculation.sharing import share_rows

TRUE = PassCost(((1, 0.015), (8, 0.017), (32, 0.023), (64, 0.036)), per_key=2.7e-7)
SIZES = (1, 1, 1, 2, 4, 8, 16, 32, 40, 64)
SMALL = PassCost(((1, 0.106), (8, 0.2), (32, 0.26), (64, 0.45)), per_key=1.1e-5)
POINTS = (8, 32, 64)


def run(learned, passes, sizes=SIZES, true=TRUE, slower=lambda random: 1.0, context=2000, seed=1):
    """So many passes of random sizes and contexts, each so many times as slow as it should be."""
    random = Random(seed)
    for _ in range(passes):
        rows = random.choice(sizes)
        keys = rows * random.randint(0, context)
        learned.observe(rows, keys, true.seconds(rows, keys) * slower(random), rows)


def ratios(cost, true=TRUE):
    """How many times as dear as truly passes are beside one of a row; last a key."""
    row, true_row = cost.seconds(1), true.seconds(1)
    points = [cost.seconds(rows) / row / (true.seconds(rows) / true_row) for rows in POINTS]
    return [*points, cost.per_key / row / (true.per_key / true_row)]


def with_point(rows, times, cost=TRUE):
    """The cost with one point measured wrong, and what follows no less."""
    curve, seconds = [], 0.0
    for point, right in cost.curve:
        seconds = max(seconds, right * times if point == rows else right)
        curve.append((point, seconds))
    return PassCost(tuple(curve), cost.per_key)


def test_a_right_measurement_stays():
    """Passes that take what was expected of them change nothing, not even the object."""
    learned = LearnedCost(TRUE)
    before = learned.cost
    run(learned, 300)
    assert learned.cost is before
    assert ratios(learned.cost) == pytest.approx([1, 1, 1, 1], rel=1e-6)


def test_a_size_that_was_measured_three_times_too_high_is_found():
    """A pass in ten has 32 rows: within a hundred passes most of the error is gone, and then the rest."""
    learned = LearnedCost(with_point(32, 3))
    assert ratios(learned.cost)[1] == pytest.approx(3)
    run(learned, 100)
    assert ratios(learned.cost)[1] < 1.2
    run(learned, 2000, seed=2)
    assert ratios(learned.cost) == pytest.approx([1, 1, 1, 1], rel=0.12)


@pytest.mark.parametrize("wrong", [with_point(1, 2), with_point(8, 1.8), PassCost(TRUE.curve, 4 * TRUE.per_key)])
def test_whatever_was_measured_wrong_is_found(wrong):
    """One row, a few rows and keys are told apart by passes of many sizes."""
    learned = LearnedCost(wrong)
    run(learned, 3000)
    assert ratios(learned.cost) == pytest.approx([1, 1, 1, 1], rel=0.15)


def test_keys_that_were_measured_to_cost_nothing_come_to_cost_something():
    """From nothing there is a way up."""
    learned = LearnedCost(PassCost(TRUE.curve, 0.0))
    run(learned, 5000, context=20_000)
    assert ratios(learned.cost)[-1] > 0.7


def drafted(measured, passes, seed):
    """The rows that passes verify, by what was learnt from those before them, and those that truly pay; by turns.

    Requests of some hundred tokens of context draft 40 tokens in each pass; with which chance a token stands
    varies from pass to pass. Three passes in ten are disturbed. Last, the cost by then.
    """
    random, learned, result = Random(seed), LearnedCost(measured), []

    def see(rows, context):
        keys = rows * context + rows * (rows + 1) // 2
        slower = random.uniform(1, 1.05) if random.random() < 0.7 else random.uniform(1, 3)
        learned.observe(rows, keys, SMALL.seconds(rows, keys) * slower, rows)

    for number in range(passes):
        if number % 16 == 0:
            context = random.randint(200, 700)
            see(min(context, 512), 0)
        chance = random.choice((0.5, 0.8, 0.95))
        draft = Draft([7] * 40, "test", 0, [(chance**place, chance**place) for place in range(1, 41)])
        rows, right = (share_rows([draft], [context], 1, 128, cost)[0] for cost in (learned.cost, SMALL))
        see(1 + rows, context)
        context += 5
        result.append((rows, right))
    return result, learned.cost


def share_of_right(measured, first, last):
    """How many times as many rows as pay the passes between these drafted: the median of some runs."""
    runs = [drafted(measured, last, seed)[0][first:] for seed in range(15)]
    return statistics.median(sum(rows for rows, _ in run) / sum(right for _, right in run) for run in runs)


def test_a_start_on_a_busy_machine_is_left_behind_though_it_decides_what_runs():
    """Drafts are too short where a few rows were measured too dear; after a hundred passes they are nearly right."""
    twice = PassCost((SMALL.curve[0], *((rows, 2 * seconds) for rows, seconds in SMALL.curve[1:])), SMALL.per_key)
    thrice = PassCost(((1, 0.0645), (8, 0.3715), (32, 0.3715), (64, 0.4017)), 3.26e-5)  # so it was once measured
    assert share_of_right(thrice, 0, 20) < 0.8
    assert share_of_right(thrice, 80, 100) > 0.85
    for start, after, most in ((twice, 200, 1.4), (thrice, 100, 1.7), (thrice, 200, 1.25)):
        assert share_of_right(start, 100, 200) == pytest.approx(1, abs=0.07)
        assert statistics.median(ratios(drafted(start, after, seed)[1], SMALL)[0] for seed in range(15)) < most
    assert share_of_right(SMALL, 100, 200) == pytest.approx(1, abs=0.08)


def test_passes_that_were_interrupted_move_nothing():
    """One of ten that takes ten times as long, or a thousand times, leaves every proportion as it was."""
    for times in (10, 1000):
        learned = LearnedCost(TRUE)
        run(learned, 2000, slower=lambda random, times=times: times if random.random() < 0.1 else 1)
        assert ratios(learned.cost) == pytest.approx([1, 1, 1, 1], rel=0.1)


def test_a_single_pass_moves_little():
    """Not even one of a second in place of fifteen milliseconds, and none of no time; the first ones some more."""
    for before, most in ((0, 0.09), (1000, 0.02)):
        for seconds in (1.0, 3600.0, 0.0, -1.0):
            learned = LearnedCost(TRUE)
            run(learned, before)
            learned.observe(1, 0, seconds, 1)
            assert ratios(learned.cost) == pytest.approx([1, 1, 1, 1], rel=most)


def test_other_work_on_the_machine_is_not_taken_for_another_curve():
    """While passes of one row alone run, half as fast, the others' cost beside it changes little; and comes back."""
    learned = LearnedCost(TRUE)
    run(learned, 500, sizes=(1,), slower=lambda _: 2.0)
    assert ratios(learned.cost) == pytest.approx([1, 1, 1, 1], rel=0.16)
    assert learned.row_seconds == pytest.approx(2 * TRUE.seconds(1), rel=0.1)
    run(learned, 500, seed=2)
    assert ratios(learned.cost) == pytest.approx([1, 1, 1, 1], rel=0.08)
    assert learned.row_seconds == pytest.approx(TRUE.seconds(1), rel=0.08)


def test_rows_without_logits_count_as_less_than_one():
    """A prompt's rows skip the model's head: what they save isn't taken from rows that need it."""
    learned = LearnedCost(TRUE, scored_part=0.2)
    for rows, scored in ((64, 1), (64, 0), (64, 64), (1, 1)) * 200:
        learned.observe(rows, 0, TRUE.seconds(rows - 0.2 * (rows - scored)), scored)
    assert ratios(learned.cost) == pytest.approx([1, 1, 1, 1], rel=1e-3)


def test_large_chunks_have_points_of_their_own():
    """A line goes on behind what was measured, until passes of prompts show something else."""
    learned = LearnedCost(TRUE)
    assert learned.cost.seconds(512) == pytest.approx(TRUE.seconds(512))
    steep = PassCost((*TRUE.curve, (512, 0.45)), TRUE.per_key)
    run(learned, 2000, sizes=(1, 64, 512), true=steep)
    assert learned.cost.seconds(512) / learned.cost.seconds(1) == pytest.approx(30, rel=0.1)


def test_what_a_pass_had_in_it_is_read_from_its_batch():
    """Rows, the keys that each of them attends to, and the rows whose logits are wanted."""
    seen = []
    learned = LearnedCost(TRUE)
    learned.observe = lambda *figures: seen.append(figures)
    batch = Batch([5] * 5, [SequenceSlice(0, 2, 10, [0]), SequenceSlice(2, 3, 0, [1])], [1, 4])
    learned.observe_pass(batch, 0.5)
    assert seen == [(5, 11 + 12 + 1 + 2 + 3, 0.5, 2)]


@settings(deadline=None)
@given(
    st.lists(st.floats(1e-4, 1.0), min_size=2, max_size=5),
    st.floats(0, 1e-3),
    st.lists(
        st.tuples(st.integers(1, 600), st.integers(0, 10**6), st.floats(1e-9, 1e4)), max_size=200
    ),
)  # fmt: skip
def test_whatever_passes_take_the_cost_ascends_and_stays_near_what_was_measured(times, per_key, passes):
    """More rows never cost less, and no figure leaves its bounds: a cost is always one to plan with."""
    measured = PassCost(tuple((4**place, seconds) for place, seconds in enumerate(sorted(times))), per_key)
    learned = LearnedCost(measured)
    for rows, keys, seconds in passes:
        learned.observe(rows, keys, seconds, rows)
        curve = [learned.cost.seconds(size) for size in (1, 2, 8, 33, 64, 500, 2000)]
        assert curve == sorted(curve) and curve[0] > 0
        assert math.isfinite(curve[-1]) and math.isfinite(learned.row_seconds)
    # The points are kept within eight times; each may be raised to the largest before it.
    for rows, seconds in learned.cost.curve:
        assert 1 / 8.01 <= seconds / measured.seconds(rows) <= 8.01
