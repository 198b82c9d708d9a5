"""Choosing the next token: the same as sorting everything, the same in any batch, and fairly distributed."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from warmline.engine import SamplingParams
from warmline.engine.sampling import sample, uniform_bits
from warmline.engine.sampling.choice import _draw
from warmline.engine.sampling.filters import largest, nucleus, weigh

TINY, HUGE = 1e-45, 1e300

logit = st.one_of(
    st.floats(-30, 30, width=32),
    st.sampled_from([0.0, 1.0, 2.0]),  # many ties
    st.sampled_from([-math.inf, math.nan, 1e30, -1e30, 1e-40]),
)


def one_hot(size, at):
    """A row with all mass on one token."""
    row = np.full(size, -math.inf, dtype=np.float32)
    row[at % size] = 1
    return row


rows = st.one_of(
    st.lists(logit, min_size=1, max_size=400).map(lambda values: np.array(values, dtype=np.float32)),
    st.builds(lambda value, size: np.full(size, value, np.float32), logit, st.integers(1, 3000)),  # all equal
    st.builds(one_hot, st.integers(1, 400), st.integers(0, 1000)),
    # Large ones: flat, peaked, and of few different values.
    st.builds(
        lambda seed, scale, step, size: (
            np.round(np.random.default_rng(seed).normal(0, scale, size) / step).astype(np.float32) * np.float32(step)
        ),
        st.integers(0, 99),
        st.sampled_from([0.01, 1, 10, 100]),
        st.sampled_from([1e-6, 0.5]),
        st.integers(1000, 6000),
    ),
)
params = st.builds(
    SamplingParams,
    temperature=st.sampled_from([0.0, TINY, 0.1, 0.8, 1.0, 3.0, 100.0, HUGE]),
    top_p=st.sampled_from([1.0, 1 - 1e-9, 0.95, 0.5, 0.01, 0.0]),
    top_k=st.sampled_from([0, 1, 3, 40, 1000]),
    min_p=st.sampled_from([0.0, 0.05, 0.5, 1.0]),
    seed=st.integers(0, 2**53 - 1),
)


def by_sorting(row, params, position):
    """The plain way: sort the whole vocabulary, then filter, then walk the cumulative distribution."""
    ranked = sorted((id_ for id_ in range(len(row)) if row[id_] > -math.inf), key=lambda id_: (-row[id_], id_))
    if not ranked:
        return 0
    largest = row[ranked[0]]
    if params.temperature == 0 or largest == math.inf:
        return ranked[0]
    limits = np.finfo(np.float32)
    temperature = min(max(params.temperature, float(limits.tiny)), float(limits.max))
    floor = float(largest) + temperature * (math.log(params.min_p) if params.min_p else -math.inf)
    floor = np.float32(max(floor, float(limits.min)))
    ranked = [id_ for id_ in ranked if row[id_] >= floor]
    ranked = ranked[: params.top_k or None]
    with np.errstate(over="ignore", under="ignore"):
        relative = np.exp((row[ranked] - largest) / np.float32(temperature))
    weights = dict(zip(ranked, (round(value * 2**34) for value in relative.tolist()), strict=True))
    ranked.sort(key=lambda id_: -weights[id_])  # stable, and moves nothing unless np.exp is not monotonic
    if params.top_p < 1:
        mass, kept, total = 0, 0, sum(weights.values())
        while mass < params.top_p * total or not kept:
            mass += weights[ranked[kept]]
            kept += 1
        ranked = ranked[:kept]
    draw = uniform_bits(params.seed, position) * sum(weights[id_] for id_ in ranked) >> 64
    for id_ in sorted(ranked):
        if draw < weights[id_]:
            return id_
        draw -= weights[id_]
    raise AssertionError


@settings(deadline=None, max_examples=500)
@given(rows, params, st.integers(0, 10_000))
@example(np.array([0, 5e-15], np.float32), SamplingParams(temperature=0.1, top_p=0.5, seed=0), 0)  # of equal weight
@example(np.array([3], np.float32), SamplingParams(temperature=1.0, top_p=0.0, top_k=1, min_p=1.0), 0)
def test_sampling_equals_sorting_the_vocabulary(row, params, position):
    """Thresholds, partitions and histograms choose what the full sort would."""
    assert sample(row, params, position) == by_sorting(row, params, position)


@settings(deadline=None, max_examples=300)
@given(rows.map(lambda row: np.nan_to_num(row, nan=-math.inf)), st.integers(1, 500))
def test_the_largest_are_those_of_a_sort(row, k):
    """The k largest, the first among equals, in the order of their ids."""
    expected = sorted(sorted(range(len(row)), key=lambda id_: (-row[id_], id_))[:k])
    assert largest(row, k).tolist() == expected


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 5000), st.integers(0, 2**64 - 1))
def test_a_draw_inverts_the_cumulative_distribution(size, bits):
    """Each index has as many of the numbers below 2**64 as its weight says; one without weight has none."""
    weights = np.random.default_rng(size).integers(0, 3, size + 1).astype(np.float32)
    weights[-1] = 1
    index = _draw(weights, bits)
    ends = np.cumsum(weights.astype(np.int64))
    assert weights[index] > 0
    assert int(ends[index] - weights[index]) <= bits * int(ends[-1]) >> 64 < int(ends[index])


@settings(deadline=None, max_examples=300)
@given(
    seed=st.integers(0, 99),
    size=st.integers(1, 40_000),
    spread=st.sampled_from([0.0, 1e-8, 1e-7, 1e-6, 1e-4, 1e-2, 1.0]),
    step=st.sampled_from([0.0, 1e-7, 1e-3]),
    temperature=st.sampled_from([0.05, 0.8, 1.0, 1e4]),
    top_p=st.sampled_from([0.0, 1e-9, 0.3, 0.5, 0.95, 1 - 1e-9]),
)
def test_a_nucleus_is_that_of_a_sort_however_flat(seed, size, spread, step, temperature, top_p):
    """By weight, then value, then id: also where thousands weigh the same, and where all logits are equal."""
    values = np.random.default_rng(seed).normal(0, spread, size).astype(np.float32)
    if step:
        values = np.round(values / np.float32(step)) * np.float32(step)
    weights = weigh(values, values.max(), temperature).copy()
    order = np.lexsort((-values, -weights))  # a stable sort
    mass = np.cumsum(weights[order], dtype=np.float64)
    count = int(np.searchsorted(mass, top_p * mass[-1])) + 1
    expected = np.zeros(size, dtype=np.bool_)
    expected[order[:count]] = True
    assert np.array_equal(nucleus(weights, values, top_p), expected)


def test_a_large_vocabulary_needs_more_than_the_first_nucleus():
    """A flat distribution, where top-p keeps thousands of tokens, is cut at the same place as by sorting."""
    row = np.random.default_rng(1).normal(0, 0.1, 5000).astype(np.float32)
    for position in range(20):
        params = SamplingParams(temperature=1.0, top_p=0.9, seed=3)
        assert sample(row, params, position) == by_sorting(row, params, position)


@pytest.mark.parametrize("top_k", [0, 9])
def test_min_p_leaves_out_what_top_k_left(top_k):
    """Of ten tokens, nearly as likely, nine pass top-k, and the first alone has 0.9 times its own chance."""
    row = np.linspace(1, 0, 10, dtype=np.float32)
    params = SamplingParams(temperature=1.0, top_k=top_k, min_p=0.9, seed=1)
    assert {sample(row, params, position) for position in range(200)} == {0}
    assert len({sample(row, msgspec.structs.replace(params, min_p=0.0), position) for position in range(200)}) >= 9


def test_greedy_ties_go_to_the_lowest_id():
    """Of equal largest logits the first is taken."""
    assert sample(np.array([1, 5, 5, 2], dtype=np.float32), SamplingParams(), 0) == 1


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize(
    ("row", "chosen"),
    [
        ([math.nan, 1.0, -math.inf], 1),
        ([0.0, math.inf, math.inf], 1),
        ([math.nan, math.nan], 0),
        ([-math.inf, -math.inf], 0),
    ],
)
def test_rows_that_are_not_finite_still_give_a_token(row, chosen, temperature):
    """NaN is never chosen, infinity is, and a row with nothing in it gives token 0."""
    assert sample(np.array(row, dtype=np.float32), SamplingParams(temperature=temperature, top_p=0.9), 5) == chosen


def test_sampling_follows_the_probabilities():
    """Over many positions each token comes as often as its softmax says (chi-square, 3 degrees of freedom)."""
    row = np.log(np.array([0.1, 0.2, 0.3, 0.4], dtype=np.float32))
    draws = 20_000
    counts = np.bincount(
        [sample(row, SamplingParams(temperature=1.0, seed=9), position) for position in range(draws)], minlength=4
    )
    expected = draws * np.array([0.1, 0.2, 0.3, 0.4])
    assert ((counts - expected) ** 2 / expected).sum() < 21  # one in ten thousand


def test_the_random_bits_depend_on_seed_and_position():
    """Neighbouring seeds and positions share no value, and both count."""
    values = {uniform_bits(seed, position) for seed in range(50) for position in range(50)}
    assert len(values) == 2500
    assert uniform_bits(2**53 - 1, 7) == uniform_bits(2**53 - 1, 7)


def test_the_row_is_left_as_it_was():
    """Sampling reads the logits, which other code may still need, and writes nothing."""
    row = np.array([1, math.nan, 3], dtype=np.float32)
    row.setflags(write=False)
    assert sample(row, SamplingParams(temperature=0.5, top_k=2), 1) in (0, 2)
